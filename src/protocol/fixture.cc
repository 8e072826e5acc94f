#include "protocol/fixture.h"

#include <charconv>
#include <fstream>
#include <sstream>

#include "base/check.h"

namespace fairlead::protocol {
namespace {

codec::Json read(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(std::string(FAIRLEAD_SOURCE "/tests/fixtures/vllm-0.20.2/") + file).rdbuf();
  auto json = codec::parse_json(text.str());
  CHECK(json.ok(), "the fixture is JSON");
  return std::move(*json);
}

void append_exchanges(const codec::Json& list, std::vector<Exchange>& out) {
  for (const codec::Json& item : list.items()) {
    const codec::Json& body = *item.find("body");
    const std::string& response = item.find("response")->as_string();
    Exchange exchange{.name = item.find("name")->as_string(),
                      .method = item.find("method")->as_string(),
                      .path = item.find("path")->as_string(),
                      .request = body.is_null()     ? ""
                                 : body.is_string() ? body.as_string()
                                                    : codec::to_string(body),
                      .status = 0,
                      .answer = response.substr(response.find("\n\n") + 2)};
    std::from_chars(response.data() + 9, response.data() + 12, exchange.status);
    out.push_back(std::move(exchange));
  }
}

}  // namespace

std::vector<Exchange> recorded_exchanges() {
  std::vector<Exchange> all;
  append_exchanges(read("exchanges.json"), all);
  append_exchanges(*read("exchanges_small_cache.json").find("exchanges"), all);
  return all;
}

Exchange recorded(std::string_view name) {
  for (Exchange& exchange : recorded_exchanges()) {
    if (exchange.name == name) return std::move(exchange);
  }
  CHECK(false, "an exchange of that name was recorded");
  return {};
}

std::vector<std::string> events_of(const Exchange& exchange) {
  constexpr std::string_view kData = "data: ";
  std::vector<std::string> events;
  std::istringstream lines(exchange.answer);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kData) || line == "data: [DONE]") continue;
    events.push_back(line.substr(kData.size()));
  }
  return events;
}

}  // namespace fairlead::protocol
