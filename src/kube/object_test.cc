#include "kube/object.h"

#include <gtest/gtest.h>

#include "kube/frames.h"
#include "kube/list_page.h"
#include "kube/resource.h"
#include "kube/status.h"
#include "kube/wire_time.h"

namespace fairlead::kube {
namespace {

using base::ErrorCode;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Object, KnowsItsMetadata) {
  const base::Result<ObjectPtr> object = Object::parse(R"({"kind":"Pod","metadata":{
    "name":"web-0","namespace":"default","uid":"u1","resourceVersion":"17","generation":3,
    "labels":{"app":"web","quote\"d":"a\u00e9"},
    "ownerReferences":[{"apiVersion":"apps/v1","kind":"StatefulSet","name":"web","uid":"u0",
    "controller":true,"blockOwnerDeletion":true}]},"spec":{"name":"other"}})");
  ASSERT_TRUE(object) << object.error().describe();
  EXPECT_EQ((*object)->name(), "web-0");
  EXPECT_EQ((*object)->space(), "default");
  EXPECT_EQ((*object)->uid(), "u1");
  EXPECT_EQ((*object)->resource_version(), "17");
  EXPECT_EQ((*object)->key(), "default/web-0");
  EXPECT_FALSE((*object)->deleting());
  EXPECT_EQ((*object)->label("app"), "web");
  EXPECT_EQ((*object)->label("quote\"d"), "a\xc3\xa9");
  EXPECT_EQ((*object)->label("absent"), std::nullopt);
  const std::vector<OwnerReference> owners = (*object)->owners();
  ASSERT_EQ(owners.size(), 1u);
  EXPECT_EQ(owners[0].api_version, "apps/v1");
  EXPECT_EQ(owners[0].kind, "StatefulSet");
  EXPECT_EQ(owners[0].name, "web");
  EXPECT_EQ(owners[0].uid, "u0");
  EXPECT_TRUE(owners[0].controller);
}

TEST(Object, LeavesOutManagedFieldsAloneWhereverTheyStand) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"metadata":{"managedFields":[{"a":[1]}],"name":"n"}})", R"({"metadata":{"name":"n"}})"},
      {R"({"metadata":{"name":"n","managedFields":[],"uid":"u"},"x":1})",
       R"({"metadata":{"name":"n","uid":"u"},"x":1})"},
      {R"({"metadata":{"name":"n", "managedFields":[]}})", R"({"metadata":{"name":"n"}})"},
      {R"({"metadata":{"managedFields":[]},"spec":{"managedFields":[]}})",
       R"({"metadata":{},"spec":{"managedFields":[]}})"},
      {R"({"metadata":{"name":"n","managedFields": null }})", R"({"metadata":{"name":"n"}})"}};
  for (const auto& [text, expected] : cases) {
    const base::Result<ObjectPtr> object = Object::parse(text);
    ASSERT_TRUE(object) << text;
    EXPECT_EQ(*codec::parse_json((*object)->json()), *codec::parse_json(expected)) << text;
    if (std::string_view(text).find("\"name\"") != std::string_view::npos) {
      EXPECT_EQ((*object)->name(), "n") << text;
    }
  }
  const base::Result<ObjectPtr> after =
      Object::parse(R"({"metadata":{"managedFields":[],"uid":"u","resourceVersion":"9"}})");
  EXPECT_EQ((*after)->uid(), "u");
  EXPECT_EQ((*after)->resource_version(), "9");
}

TEST(Object, TheLastMetadataWins) {
  const auto object =
      Object::parse(R"({"metadata":{"name":"a","uid":"u"},"metadata":{"name":"b"}})");
  ASSERT_TRUE(object);
  EXPECT_EQ((*object)->name(), "b");
  EXPECT_EQ((*object)->uid(), "");
}

TEST(Object, RefusesWhatIsNone) {
  for (const char* text : {"", "[]", "1", "{", R"({"metadata":{"name":1}})", R"({"metadata":[]})",
                           R"({"metadata":{"name":"a\n"}})", "{} {}"}) {
    EXPECT_FALSE(Object::parse(text)) << text;
  }
  EXPECT_TRUE(Object::parse("{}"));
  EXPECT_TRUE(Object::parse(R"({"metadata":null})"));
}

TEST(Resource, HasItsPath) {
  const Resource pods{.group = "", .version = "v1", .plural = "pods", .kind = "Pod"};
  const Resource nodes{
      .group = "", .version = "v1", .plural = "nodes", .kind = "Node", .namespaced = false};
  const Resource apps{
      .group = "apps", .version = "v1", .plural = "deployments", .kind = "Deployment"};
  EXPECT_EQ(*path_of({pods}), "/api/v1/pods");
  EXPECT_EQ(*path_of({pods, "a"}), "/api/v1/namespaces/a/pods");
  EXPECT_EQ(*path_of({pods, "a", "b", "status"}), "/api/v1/namespaces/a/pods/b/status");
  EXPECT_EQ(*path_of({nodes, "", "n"}), "/api/v1/nodes/n");
  EXPECT_EQ(*path_of({apps, "a", "b"}), "/apis/apps/v1/namespaces/a/deployments/b");
  EXPECT_EQ(*path_of({pods, "a", "b/c?d"}), "/api/v1/namespaces/a/pods/b%2Fc%3Fd");
  EXPECT_FALSE(path_of({pods, "a", ".."}));
  EXPECT_FALSE(path_of({pods, "", "b"}));
  EXPECT_EQ(split_key("a/b").space, "a");
  EXPECT_EQ(split_key("a/b").name, "b");
  EXPECT_EQ(split_key("n").name, "n");
}

std::vector<std::string> frames_of(std::string_view text, size_t step) {
  FrameSplitter splitter;
  std::vector<std::string> frames;
  for (size_t i = 0; i < text.size(); i += step) {
    splitter.feed(text.substr(i, step));
    while (true) {
      const auto frame = splitter.next();
      if (!frame || !*frame) break;
      frames.emplace_back(**frame);
    }
  }
  return frames;
}

TEST(Frames, AreSplitWhereverTheBytesWere) {
  const std::string text = "{\"a\":1}\n\n  \r\n{\"b\":2}\r\n{\"c\":3}\n{\"rest\"";
  for (size_t step = 1; step <= text.size(); ++step) {
    const std::vector<std::string> frames = frames_of(text, step);
    ASSERT_EQ(frames.size(), 3u) << step;
    EXPECT_EQ(frames[0], "{\"a\":1}");
    EXPECT_EQ(frames[1], "{\"b\":2}\r");
    EXPECT_EQ(frames[2], "{\"c\":3}");
  }
}

TEST(Frames, HaveABound) {
  FrameSplitter exact(base::Bytes(4));
  exact.feed("1234\n");
  EXPECT_TRUE(exact.next());
  FrameSplitter more(base::Bytes(4));
  more.feed("123");
  EXPECT_TRUE(more.next());
  more.feed("45\n");
  const auto frame = more.next();
  ASSERT_FALSE(frame);
  EXPECT_EQ(frame.error().code(), ErrorCode::kProtocol);
}

TEST(Frames, AreEvents) {
  const auto event = parse_frame(
      R"({"type":"MODIFIED","object":{"metadata":{"name":"n","namespace":"s","resourceVersion":"5"}}})");
  ASSERT_TRUE(event) << event.error().describe();
  EXPECT_EQ(event->type, WatchEvent::Type::kModified);
  EXPECT_EQ(event->object->key(), "s/n");
  const auto bookmark =
      parse_frame(R"({"object":{"metadata":{"resourceVersion":"6"}},"type":"BOOKMARK"})");
  ASSERT_TRUE(bookmark);
  EXPECT_EQ(bookmark->object->resource_version(), "6");
  for (const char* bad :
       {"", "[]", "{}", R"({"type":"ADDED"})",
        R"({"type":"NEW","object":{"metadata":{"name":"n","resourceVersion":"5"}}})",
        R"({"type":"ADDED","object":{"metadata":{"name":"n"}}})",
        R"({"type":"ADDED","object":{"metadata":{"resourceVersion":"5"}}})"}) {
    const auto none = parse_frame(bad);
    ASSERT_FALSE(none) << bad;
    EXPECT_EQ(none.error().code(), ErrorCode::kProtocol) << bad;
  }
}

TEST(Frames, AnErrorEventIsItsStatus) {
  const auto gone = parse_frame(
      R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}})");
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code(), ErrorCode::kExpired);
  EXPECT_EQ(gone.error().message(), "too old");
}

// As it comes in pieces of `step` bytes; objects are looked for at every opportunity.
base::Result<ListPage> read_list(std::string_view text, size_t step) {
  ListReader reader(step);
  for (size_t i = 0; i < text.size(); i += step) reader.feed(text.substr(i, step));
  return reader.finish();
}

base::Result<ListPage> read_list(std::string_view text) { return read_list(text, text.size() + 1); }

TEST(List, HasItsItemsAndWhereToGoOnHoweverItWasSplit) {
  const std::string_view first =
      R"({"kind":"PodList","metadata":{"resourceVersion":"8","continue":"x=","remainingItemCount":1},
          "items": [ {"metadata":{"name":"a"}} , {"metadata":{"name":"b"},"s":"]}, "}, {"metadata":{"name":"c"}}]
          })";
  const std::string_view last =
      R"({"other":[{"items":[1]}],"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"},"s":"]}, "},
          {"metadata":{"name":"c"}}],"metadata":{"continue":"x=","resourceVersion":"8"}})";
  for (const std::string_view text : {first, last}) {
    for (size_t step = 1; step <= text.size(); ++step) {
      const auto page = read_list(text, step);
      ASSERT_TRUE(page) << step << ": " << page.error().describe();
      EXPECT_EQ(page->resource_version, "8");
      EXPECT_EQ(page->continue_token, "x=");
      ASSERT_EQ(page->items.size(), 3u) << step;
      EXPECT_EQ(page->items[0]->name(), "a");
      EXPECT_EQ(page->items[1]->json(), R"({"metadata":{"name":"b"},"s":"]}, "})");
      EXPECT_EQ(page->items[2]->name(), "c");
    }
  }
}

TEST(List, MayBeEmpty) {
  for (const char* text : {R"({"items":null})", R"({"items":[]})", R"({"metadata":{},"items":[ ]})",
                           R"({"items":[],"items":[]})"}) {
    const auto page = read_list(text);
    ASSERT_TRUE(page) << text;
    EXPECT_TRUE(page->items.empty());
  }
}

TEST(List, RefusesWhatIsNoneHoweverItWasSplit) {
  const std::string item = R"({"metadata":{"name":"a"}})";
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string(R"({"metadata":{}})"),
        std::string(R"({"items":[{}]})"), std::string(R"({"items":[1]})"),
        std::string(R"({"items":[)"), std::string(R"({"items":{}})"), R"({"items":[)" + item,
        R"({"items":[)" + item + "]", R"({"items":[)" + item + ",]}",
        R"({"items":[,)" + item + "]}", R"({"items":[)" + item + item + "]}",
        R"({"items":[)" + item + "]}x", R"({"items":[)" + item + R"(],"items":[)" + item + "]}",
        R"({"items":[)" + item + R"(],"metadata":1})"}) {
    for (size_t step = 1; step <= text.size() + 1; ++step) {
      const auto page = read_list(text, step);
      ASSERT_FALSE(page) << text << " in pieces of " << step;
      EXPECT_EQ(page.error().code(), ErrorCode::kProtocol) << text;
    }
  }
}

TEST(List, SaysWhichItemIsBroken) {
  const auto page = read_list(R"({"items":[{"metadata":{"name":"a"}},{"metadata":{}}]})", 4);
  ASSERT_FALSE(page);
  EXPECT_NE(page.error().message().find("after 1 items: "), std::string::npos)
      << page.error().message();
  EXPECT_NE(page.error().message().find("an item without a name"), std::string::npos);
}

TEST(List, ItsItemsMayBeAsDeepAsInAWholeText) {
  const auto deep = [](size_t levels) {
    return R"({"items":[{"metadata":{"name":"a"},"x":)" + std::string(levels, '[') +
           std::string(levels, ']') + "}]}";
  };
  // List, items and item are three.
  EXPECT_TRUE(read_list(deep(codec::kJsonDepthMax - 3)));
  EXPECT_FALSE(read_list(deep(codec::kJsonDepthMax - 2)));
}

TEST(Status, SaysWhatToDo) {
  struct Case {
    int http;
    const char* reason;
    ErrorCode code;
  };
  for (const Case& c :
       {Case{409, "AlreadyExists", ErrorCode::kAlreadyExists},
        Case{409, "Conflict", ErrorCode::kConflict}, Case{410, "Gone", ErrorCode::kExpired},
        Case{422, "Invalid", ErrorCode::kInvalidArgument},
        Case{404, "NotFound", ErrorCode::kNotFound},
        Case{403, "Forbidden", ErrorCode::kPermissionDenied},
        Case{401, "Unauthorized", ErrorCode::kUnauthenticated},
        Case{429, "TooManyRequests", ErrorCode::kResourceExhausted},
        Case{504, "Timeout", ErrorCode::kUnavailable},
        Case{418, "SomethingNew", ErrorCode::kInvalidArgument},
        Case{599, "SomethingNew", ErrorCode::kUnavailable}}) {
    const std::string body = fmt::format(
        R"({{"kind":"Status","reason":"{}","message":"why","code":{}}})", c.reason, c.http);
    const base::Error error = status_error(c.http, body, std::nullopt);
    EXPECT_EQ(error.code(), c.code) << c.reason;
    EXPECT_EQ(error.message(), "why");
    EXPECT_FALSE(error.retry_after());
  }
}

TEST(Status, TellsHowLongToWait) {
  const char* body =
      R"({"kind":"Status","reason":"TooManyRequests","details":{"retryAfterSeconds":3},"code":429})";
  EXPECT_EQ(status_error(429, body, std::nullopt).retry_after(), milliseconds(3000));
  EXPECT_EQ(status_error(429, body, milliseconds(7000)).retry_after(), milliseconds(7000));
  EXPECT_EQ(parse_retry_after("5"), milliseconds(5000));
  EXPECT_EQ(parse_retry_after("99999999"), milliseconds(3600'000));
  for (const char* bad : {"", "-1", "5s", "Wed, 21 Oct 2015 07:28:00 GMT"}) {
    EXPECT_EQ(parse_retry_after(bad), std::nullopt) << bad;
  }
}

TEST(Status, AVersionOfAnotherHistoryMeansListingAnew) {
  const char* body = R"({"kind":"Status","reason":"Timeout","code":504,
    "details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}})";
  EXPECT_EQ(status_error(504, body, std::nullopt).code(), ErrorCode::kExpired);
}

TEST(Status, WithoutABodyTheNumberSaysIt) {
  const base::Error error = status_error(502, "<html>bad gateway", std::nullopt);
  EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
  EXPECT_EQ(error.message(), "HTTP 502: <html>bad gateway");
}

TEST(WireTime, ReadsWhatItWrites) {
  const base::WallTime time{std::chrono::sys_days(std::chrono::year(2026) / 11 / 30) +
                            seconds(3723) + std::chrono::microseconds(45)};
  EXPECT_EQ(time_text(time), "2026-11-30T01:02:03Z");
  EXPECT_EQ(micro_time_text(time), "2026-11-30T01:02:03.000045Z");
  EXPECT_EQ(parse_time(micro_time_text(time)), time);
  EXPECT_EQ(parse_time("2026-11-30T03:02:03.000045+02:00"), time);
  EXPECT_EQ(parse_time("2026-11-29T23:32:03.000045123999-01:30"), time);
  for (const char* bad :
       {"", "2026-11-30", "2026-13-01T00:00:00Z", "2026-02-29T00:00:00Z", "2026-11-30T24:00:00Z",
        "2026-11-30T00:00:00", "2026-11-30T00:00:00.Z", "2026-11-30T00:00:00Zx",
        "9999-01-01T00:00:00Z", "2026-11-30T00:00:00+0100"}) {
    EXPECT_EQ(parse_time(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace fairlead::kube
