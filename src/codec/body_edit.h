// Changes to a request body as splices into its original bytes (see body_scan.h).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/body_scan.h"

namespace fairlead::codec {

// Take `remove` bytes out at `offset` and put `insert` there.
struct Splice {
  size_t offset = 0;
  size_t remove = 0;
  std::string insert;
};

class BodyEdits {
 public:
  explicit BodyEdits(const BodyScan& scan) : scan_(scan) {}

  // Replaces the value at `current`, or adds the member in front if `current` is not present. A key
  // may be set once, and only a key that the scan knows can be replaced.
  void set(std::string_view key, BodySpan current, std::string_view json);
  // Makes stream_options.include_usage true, keeping other options. Does nothing if it is already,
  // or if stream_options is of a type that the engine will refuse.
  void request_usage(std::string_view body);

  bool empty() const { return replaced_.empty() && added_.empty(); }
  // In order of offset, not overlapping.
  std::vector<Splice> splices() const;

 private:
  const BodyScan& scan_;
  std::vector<Splice> replaced_;
  std::string added_;  // members for the front, joined by commas
};

// Splices must be in order of offset and must not overlap.
std::string spliced(std::string_view body, std::span<const Splice> splices);

}  // namespace fairlead::codec
