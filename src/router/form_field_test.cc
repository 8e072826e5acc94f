#include "router/form_field.h"

#include <gtest/gtest.h>

#include <string>

namespace fairlead::router {
namespace {

const std::string kType = "multipart/form-data; boundary=XX";

std::string disposed_part(const std::string& disposition, const std::string& value) {
  return "--XX\r\nContent-Disposition: form-data; " + disposition + "\r\n\r\n" + value + "\r\n";
}
std::string form(const std::string& parts) { return parts + "--XX--\r\n"; }

TEST(FormField, FindsAFieldAmongOthers) {
  const std::string body =
      form(disposed_part("name=\"file\"; filename=\"a.wav\"", "RIFF") +
           disposed_part("name=\"model\"", "whisper") + disposed_part("name=\"n\"", ""));
  EXPECT_EQ(form_field(kType, body, "model"), "whisper");
  EXPECT_EQ(form_field(kType, body, "n"), "");
  EXPECT_EQ(form_field(kType, body, "mode"), "");
  EXPECT_EQ(form_field(kType, body, "file"), "") << "a file is no field";
}

TEST(FormField, TakesTheBoundaryInEverySpelling) {
  const std::string body = form(disposed_part("name=\"model\"", "w"));
  for (const char* type :
       {"multipart/form-data; boundary=XX", "multipart/form-data; boundary=\"XX\"",
        "multipart/form-data;boundary=XX; charset=utf-8", "multipart/form-data; Boundary=XX",
        "Multipart/Form-Data; charset=utf-8; BOUNDARY=XX"}) {
    EXPECT_EQ(form_field(type, body, "model"), "w") << type;
  }
  for (const char* type :
       {"", "multipart/form-data", "multipart/form-data; boundary=", "application/json",
        "multipart/form-data; boundary=YY", "multipart/form-data; boundary=X"}) {
    EXPECT_EQ(form_field(type, body, "model"), "") << type;
  }
}

TEST(FormField, OfARepeatedFieldTheLastCounts) {
  EXPECT_EQ(form_field(kType,
                       form(disposed_part("name=\"model\"", "first") +
                            disposed_part("name=\"model\"", "last")),
                       "model"),
            "last");
}

TEST(FormField, ContentIsNotMistakenForStructure) {
  // A boundary counts only at the start of a line, a name only in a part's head.
  for (const std::string content :
       {"--XX\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nforged",
        "x--XX\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nforged",
        "name=\"model\"\r\n\r\nforged", "\n--XX\nname=\"model\"\n\nforged"}) {
    const std::string body =
        form(disposed_part("name=\"model\"", "true") +
             disposed_part("name=\"file\"; filename=\"f\"", "sound " + content));
    EXPECT_EQ(form_field(kType, body, "model"), "true") << content;
  }
  // Of a boundary that another one begins with, too.
  const std::string longer =
      "--XXX\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nforged";
  EXPECT_EQ(form_field(kType,
                       form(disposed_part("name=\"model\"", "true") +
                            disposed_part("name=\"prompt\"", longer)),
                       "model"),
            "true");
}

TEST(FormField, NamesAreComparedWhole) {
  EXPECT_EQ(form_field(kType, form(disposed_part("filename=\"model\"", "x")), "model"), "");
  EXPECT_EQ(form_field(kType, form(disposed_part("name=\"my_model\"", "x")), "model"), "");
  EXPECT_EQ(form_field(kType, form(disposed_part("name=\"a\"; x-name=\"model\"", "x")), "model"),
            "");
  EXPECT_EQ(form_field(kType, form(disposed_part("name=model", "bare")), "model"), "bare");
  EXPECT_EQ(form_field(kType, form(disposed_part("NAME=\"model\"", "upper")), "model"), "upper");
}

TEST(FormField, SurvivesWhatIsCutOffAnywhere) {
  const std::string body =
      form(disposed_part("name=\"model\"", "whisper") + disposed_part("name=\"model\"", "second"));
  for (size_t end = 0; end <= body.size(); ++end) {
    const std::string_view found =
        form_field(kType, std::string_view(body).substr(0, end), "model");
    EXPECT_TRUE(found.empty() || found == "whisper" || found == "second") << end << found;
  }
}

}  // namespace
}  // namespace fairlead::router
