#include "bench/trace_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace fairlead::bench {
namespace {

constexpr size_t kPieceBytes = 1U << 20;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

base::Result<std::shared_ptr<const workload::Trace>> read_trace(const std::string& path,
                                                                workload::TraceFormat format) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "re"));
  if (!file) {
    return base::invalid_argument(fmt::format("--trace {}: {}", path, std::strerror(errno)));
  }
  workload::TraceReader reader(format);
  std::vector<char> piece(kPieceBytes);
  while (const size_t size = std::fread(piece.data(), 1, piece.size(), file.get())) {
    if (auto fed = reader.feed(std::string_view(piece.data(), size)); !fed) {
      return fed.error().wrap(fmt::format("--trace {}", path));
    }
  }
  if (std::ferror(file.get()) != 0) {
    return base::invalid_argument(fmt::format("--trace {}: cannot be read", path));
  }
  auto trace = reader.finish();
  if (!trace) return trace.error().wrap(fmt::format("--trace {}", path));
  return std::make_shared<const workload::Trace>(*std::move(trace));
}

}  // namespace fairlead::bench
