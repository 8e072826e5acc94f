// first_answer: asks a question through the router and hands on the text of the stream as it comes.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "net/network.h"
#include "rt/task.h"

namespace fairlead::laptop {

struct FirstAnswer {
  size_t pieces = 0;        // events with text
  base::Nanos first{0};     // from the question to the first text
  base::Nanos whole{0};     // to the end
  std::string explanation;  // of the router: which replica, and why
};

// Until GET `path` is answered with 200 and a body that holds `wanted`; the last failure otherwise.
rt::Task<base::Result<>> await_ok(net::Network& network, net::Address address, std::string path,
                                  std::string wanted, base::TimePoint deadline);

// kUnavailable, with what the router said, where the answer is not a whole stream.
rt::Task<base::Result<FirstAnswer>> first_answer(net::Network& network, net::Address router,
                                                 std::string body,
                                                 std::function<void(std::string_view)> on_text,
                                                 base::TimePoint deadline);

}  // namespace fairlead::laptop
