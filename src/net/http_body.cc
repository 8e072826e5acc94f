#include "net/http_body.h"

#include <algorithm>

namespace fairlead::net {
namespace {

constexpr size_t kSizeLineBytesMax = 256;
constexpr uint32_t kTrailerBytesMax = 8 * 1024;
constexpr size_t kSizeDigitsMax = 15;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && byte != '\t') || byte == 0x7f;
  });
}

}  // namespace

BodyDecoder::Step BodyDecoder::step(std::string_view in) {
  if (ended_) return {Status::kEnd, 0, {}};
  if (in.empty()) return {Status::kInput, 0, {}};
  switch (kind_) {
    case BodyKind::kNone:
      break;
    case BodyKind::kUntilClose:
      return {Status::kMore, in.size(), in};
    case BodyKind::kLength: {
      const size_t n = static_cast<size_t>(std::min<uint64_t>(left_, in.size()));
      left_ -= n;
      ended_ = left_ == 0;
      return {ended_ ? Status::kEnd : Status::kMore, n, in.substr(0, n)};
    }
    case BodyKind::kChunked:
      return chunked(in);
  }
  return {Status::kEnd, 0, {}};
}

BodyDecoder::Step BodyDecoder::chunked(std::string_view in) {
  switch (state_) {
    case Chunk::kSize:
      return chunk_size(in);
    case Chunk::kData: {
      const size_t n = static_cast<size_t>(std::min<uint64_t>(left_, in.size()));
      left_ -= n;
      if (left_ == 0) state_ = Chunk::kDataEnd;
      return {Status::kMore, n, in.substr(0, n)};
    }
    case Chunk::kDataEnd:
      if (in[0] != '\r' || (in.size() > 1 && in[1] != '\n')) return {Status::kError, 0, {}};
      if (in.size() < 2) return {Status::kInput, 0, {}};
      state_ = Chunk::kSize;
      return {Status::kMore, 2, {}};
    case Chunk::kTrailer:
      return trailer(in);
  }
  return {Status::kError, 0, {}};
}

BodyDecoder::Step BodyDecoder::chunk_size(std::string_view in) {
  const size_t lf = in.substr(0, kSizeLineBytesMax).find('\n');
  if (lf == std::string_view::npos) {
    // Refuse early what can no longer become a size.
    const size_t cr = in.find('\r');
    const bool bare_cr = cr != std::string_view::npos && cr + 1 < in.size();
    const bool hopeless = hex_digit(in[0]) < 0 || bare_cr || in.size() >= kSizeLineBytesMax;
    return {hopeless ? Status::kError : Status::kInput, 0, {}};
  }
  if (lf == 0 || in[lf - 1] != '\r') return {Status::kError, 0, {}};
  const std::string_view line = in.substr(0, lf - 1);
  size_t digits = 0;
  uint64_t size = 0;
  while (digits < line.size() && hex_digit(line[digits]) >= 0) {
    if (digits == kSizeDigitsMax) return {Status::kError, 0, {}};
    size = size * 16 + static_cast<uint64_t>(hex_digit(line[digits]));
    ++digits;
  }
  if (digits == 0) return {Status::kError, 0, {}};
  if (digits < line.size()) {
    // An extension: ";name[=value]", perhaps after blanks.
    const size_t semicolon = line.find_first_not_of(" \t", digits);
    if (semicolon == std::string_view::npos || line[semicolon] != ';' || has_control(line)) {
      return {Status::kError, 0, {}};
    }
    plain_ = false;
  }
  left_ = size;
  state_ = size == 0 ? Chunk::kTrailer : Chunk::kData;
  return {Status::kMore, lf + 1, {}};
}

BodyDecoder::Step BodyDecoder::trailer(std::string_view in) {
  const size_t lf = in.find('\n');
  if (lf == std::string_view::npos) {
    const bool too_large = trailer_bytes_ + in.size() > kTrailerBytesMax;
    return {too_large ? Status::kError : Status::kInput, 0, {}};
  }
  if (lf == 0 || in[lf - 1] != '\r') return {Status::kError, 0, {}};
  trailer_bytes_ += static_cast<uint32_t>(std::min<size_t>(lf + 1, kTrailerBytesMax + 1));
  if (trailer_bytes_ > kTrailerBytesMax) return {Status::kError, 0, {}};
  if (lf == 1) {
    ended_ = true;
    return {Status::kEnd, 2, {}};
  }
  plain_ = false;
  return {Status::kMore, lf + 1, {}};
}

}  // namespace fairlead::net
