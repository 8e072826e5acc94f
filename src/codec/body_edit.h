// Changes to a request body as splices into its original bytes (see body_scan.h).
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "codec/body_scan.h"

namespace fairlead::codec {

// Take `remove` bytes out at `offset` and put `insert` there.
struct Splice {
  size_t offset = 0;
  size_t remove = 0;
  std::string_view insert;
};

// Made once the body is scanned. What the splices insert are views of this object and of what it
// was given.
class BodyEdits {
 public:
  static constexpr size_t kReplacedMax = 3;

  explicit BodyEdits(const BodyScan& scan) : scan_(scan) {}
  BodyEdits(const BodyEdits&) = delete;
  BodyEdits& operator=(const BodyEdits&) = delete;

  // Replaces the value at `current`, or adds the member in front if `current` is not present. A key
  // may be set once, and only a key that the scan knows can be replaced; kReplacedMax of them.
  void set(std::string_view key, BodySpan current, std::string_view json);
  // Makes stream_options.include_usage true, keeping other options. Does nothing if it is already,
  // or if stream_options is of a type that the engine will refuse. Allocates nothing.
  void request_usage(std::string_view body);

  bool empty() const { return splices().empty(); }
  // In order of offset, not overlapping; valid until the next change.
  std::span<const Splice> splices() const;

 private:
  void replace(const Splice& splice);
  void add(std::string_view members);

  const BodyScan& scan_;
  // The first holds what is added in front, the others what is replaced.
  std::array<Splice, 1 + kReplacedMax> splices_;
  size_t replaced_ = 0;
  std::string added_;  // where it is not a literal
};

// Splices must be in order of offset and must not overlap.
std::string spliced(std::string_view body, std::span<const Splice> splices);

}  // namespace fairlead::codec
