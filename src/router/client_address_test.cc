#include "router/client_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace fairlead::router {
namespace {

using ::testing::HasSubstr;

std::string ip_of(const net::Address& address) {
  std::string text;
  net::append_ip(text, address);
  return text;
}

struct Seen {
  std::string client;
  std::string chain;
};

Seen seen(const std::string& proxies, const std::string& peer, const std::string& fields) {
  const auto trusted = TrustedProxies::parse(proxies);
  EXPECT_TRUE(trusted) << trusted.error().describe();
  const std::string text = "GET / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
  net::RequestHead head;
  EXPECT_FALSE(net::parse_request_head(text, {}, head)) << fields;
  head.peer = *net::parse_ip(peer);
  const ClientChain chain = client_chain(*trusted, head);
  Seen out{.client = ip_of(chain.client()), .chain = ""};
  append_chain(out.chain, chain);
  return out;
}

std::string forwarded(const std::string& value) { return "X-Forwarded-For: " + value + "\r\n"; }

TEST(ClientAddress, IsThePeerWhereNobodyIsTrusted) {
  const Seen s = seen("", "192.0.2.9", forwarded("203.0.113.5"));
  EXPECT_EQ(s.client, "192.0.2.9");
  EXPECT_EQ(s.chain, "192.0.2.9") << "what a client claims goes no further";
  EXPECT_EQ(seen("10.0.0.0/8", "192.0.2.9", forwarded("10.0.0.1")).chain, "192.0.2.9");
}

TEST(ClientAddress, IsTheRightmostThatIsNoTrustedProxy) {
  struct Case {
    std::string peer, fields, client, chain;
  };
  const std::vector<Case> cases = {
      {"10.0.0.1", "", "10.0.0.1", "10.0.0.1"},
      {"10.0.0.1", forwarded("203.0.113.5"), "203.0.113.5", "203.0.113.5, 10.0.0.1"},
      // The client lied about itself in front.
      {"10.0.0.1", forwarded("1.2.3.4, 203.0.113.5"), "203.0.113.5", "203.0.113.5, 10.0.0.1"},
      {"10.0.0.1", forwarded("1.2.3.4,203.0.113.5 ,\t10.0.0.2"), "203.0.113.5",
       "203.0.113.5, 10.0.0.2, 10.0.0.1"},
      // Several fields are one list.
      {"10.0.0.1",
       forwarded("1.2.3.4") + "Via: x\r\n" + forwarded("203.0.113.5") +
           "x-forwarded-for: 10.0.0.2\r\n",
       "203.0.113.5", "203.0.113.5, 10.0.0.2, 10.0.0.1"},
      // All are trusted: the one farthest away.
      {"10.0.0.1", forwarded("10.0.0.3, 10.0.0.2"), "10.0.0.3", "10.0.0.3, 10.0.0.2, 10.0.0.1"},
      // What is no address ends what is known.
      {"10.0.0.1", forwarded("203.0.113.5, unknown"), "10.0.0.1", "10.0.0.1"},
      {"10.0.0.1", forwarded("203.0.113.5, , 10.0.0.2"), "10.0.0.2", "10.0.0.2, 10.0.0.1"},
      {"10.0.0.1", forwarded(""), "10.0.0.1", "10.0.0.1"},
      // As some write them.
      {"10.0.0.1", forwarded("203.0.113.5:50001"), "203.0.113.5", "203.0.113.5, 10.0.0.1"},
      {"10.0.0.1", forwarded("[2001:db8::7]:443"), "2001:db8::7", "2001:db8::7, 10.0.0.1"},
      {"fd00::1", forwarded("2001:db8::7"), "2001:db8::7", "2001:db8::7, fd00::1"},
      // A v4 client of a v6 socket is that v4 client.
      {"::ffff:10.0.0.1", forwarded("203.0.113.5"), "203.0.113.5", "203.0.113.5, 10.0.0.1"},
  };
  for (const Case& c : cases) {
    const Seen s = seen("10.0.0.0/8, fd00::/8", c.peer, c.fields);
    EXPECT_EQ(s.client, c.client) << c.peer << " " << c.fields;
    EXPECT_EQ(s.chain, c.chain) << c.peer << " " << c.fields;
  }
}

TEST(ClientAddress, BelievesSoManyHopsAndNoMore) {
  std::string value = "203.0.113.5";
  for (size_t i = 1; i < ClientChain::kHopsMax - 1; ++i) value += ", 10.0.0.2";
  EXPECT_EQ(seen("10.0.0.0/8", "10.0.0.1", forwarded(value)).client, "203.0.113.5");
  EXPECT_EQ(seen("10.0.0.0/8", "10.0.0.1", forwarded(value + ", 10.0.0.2")).client, "10.0.0.2");
}

TEST(ClientAddress, NobodyOutsideCanChooseWhoTheyAre) {
  const std::vector<std::string> words = {"10.0.0.7", "203.0.113.5", "unknown",        "", "[",
                                          "fd00::1",  "10.0.0.7:1",  "::ffff:10.0.0.9"};
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    base::Random random(seed);
    std::string claimed;
    const uint64_t count = random.below(6);
    for (uint64_t i = 0; i < count; ++i) claimed += words[random.below(words.size())] + ",";
    // The trusted proxy has put the client it saw behind whatever that client claimed.
    const Seen s = seen("10.0.0.0/8,fd00::/8", "10.0.0.1", forwarded(claimed + "192.0.2.9"));
    EXPECT_EQ(s.client, "192.0.2.9") << "seed " << seed << ": " << claimed;
  }
}

TEST(TrustedProxies, AreNetworksOrAddresses) {
  const auto trusted = TrustedProxies::parse("10.32.0.0/11,192.0.2.7,2001:db8::/33,0.0.0.0/32");
  ASSERT_TRUE(trusted) << trusted.error().describe();
  for (const char* in : {"10.32.0.0", "10.63.255.255", "192.0.2.7", "2001:db8:7fff::1", "0.0.0.0",
                         "::ffff:10.32.0.1"}) {
    EXPECT_TRUE(trusted->trusts(*net::parse_ip(in))) << in;
  }
  for (const char* out : {"10.31.255.255", "10.64.0.0", "192.0.2.6", "192.0.2.8",
                          "2001:db8:8000::1", "::", "0.0.0.1"}) {
    EXPECT_FALSE(trusted->trusts(*net::parse_ip(out))) << out;
  }
  EXPECT_TRUE(TrustedProxies::parse("0.0.0.0/0")->trusts(*net::parse_ip("203.0.113.5")));
  EXPECT_FALSE(TrustedProxies::parse("0.0.0.0/0")->trusts(*net::parse_ip("::1")));
}

TEST(TrustedProxies, ErrorsSayWhatIsMeant) {
  const auto why = [](std::string_view list) {
    const auto trusted = TrustedProxies::parse(list);
    return trusted ? "" : trusted.error().describe();
  };
  EXPECT_THAT(why("10.0.0.0/8,proxy.example"), HasSubstr("'proxy.example' is no network"));
  EXPECT_THAT(why("10.1.2.3/8"), HasSubstr("10.0.0.0/8?"));
  EXPECT_THAT(why("10.0.0.0/33"), HasSubstr("from 0 to 32"));
  EXPECT_THAT(why("fd00::/129"), HasSubstr("from 0 to 128"));
  for (const char* bad :
       {",", "10.0.0.0/8,", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8x", "10.0.0"}) {
    EXPECT_NE(why(bad), "") << bad;
  }
}

}  // namespace
}  // namespace fairlead::router
