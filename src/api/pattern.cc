#include "api/pattern.h"

#include <re2/re2.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace fairlead::api {

bool pattern_found(std::string_view pattern, std::string_view text) {
  // Patterns are ours, from schemas: a few dozen.
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<RE2>, std::less<>> compiled;
  const RE2* expression = nullptr;
  {
    const std::lock_guard lock(mutex);
    auto it = compiled.find(pattern);
    if (it == compiled.end()) {
      RE2::Options options;
      options.set_log_errors(false);
      const std::string key(pattern);
      it = compiled.emplace(key, std::make_unique<RE2>(key, options)).first;
    }
    expression = it->second.get();
  }
  return expression->ok() &&
         RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *expression);
}

std::string pattern_error(const std::string& pattern) {
  RE2::Options options;
  options.set_log_errors(false);
  return RE2(pattern, options).error();
}

}  // namespace fairlead::api
