#include "protocol/text_stream.h"

#include <algorithm>

#include "codec/utf8.h"

namespace fairlead::protocol {
namespace {

bool within(char c, int low, int high) {
  const int byte = static_cast<unsigned char>(c);
  return byte >= low && byte <= high;
}

// Whether more bytes could make `text` one character (Unicode 15, table 3-7).
bool is_cut_short(std::string_view text) {
  const int lead = static_cast<unsigned char>(text[0]);
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() >= length) return false;
  if (text.size() == 1) return true;
  const int low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const int high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  return within(text[1], low, high) && (text.size() == 2 || within(text[2], 0x80, 0xbf));
}

}  // namespace

void TextStream::feed(TokenId id, std::string& out) {
  if (special_ == SpecialTokens::kSkip && tokenizer_.is_special(id)) return;
  tokenizer_.append_bytes(id, held_);
  std::string_view text = held_;
  while (!text.empty()) {
    if (const size_t length = codec::utf8_sequence(text); length > 0) {
      out.append(text, 0, length);
      text.remove_prefix(length);
      continue;
    }
    if (is_cut_short(text)) break;
    size_t broken = 1;
    while (broken < text.size() && is_cut_short(text.substr(0, broken + 1))) ++broken;
    out.append(codec::kReplacementCharacter);
    text.remove_prefix(broken);
  }
  held_.erase(0, held_.size() - text.size());
}

void TextStream::finish(std::string& out) {
  if (!held_.empty()) out.append(codec::kReplacementCharacter);
  held_.clear();
}

StopFinder::StopFinder(std::vector<std::string> stops, Include include)
    : stops_(std::move(stops)), include_(include) {
  for (const std::string& stop : stops_) overlap_ = std::max(overlap_, stop.size());
  if (overlap_ > 0) --overlap_;
}

void StopFinder::send_up_to(size_t end, std::string& out) {
  if (end <= sent_) return;
  out.append(text_, sent_, end - sent_);
  sent_ = end;
}

std::optional<size_t> StopFinder::feed(std::string_view text, std::string& out) {
  if (stops_.empty()) {
    out.append(text);
    return std::nullopt;
  }
  const size_t from = text_.size() - std::min(text_.size(), overlap_);
  text_.append(text);
  size_t place = std::string::npos, which = 0;
  for (size_t i = 0; i < stops_.size(); ++i) {
    const size_t found = text_.find(stops_[i], from);
    if (found < place) place = found, which = i;
  }
  if (place != std::string::npos) {
    send_up_to(include_ == Include::kYes ? place + stops_[which].size() : place, out);
    text_.clear();
    sent_ = 0;
    return which;
  }
  size_t end =
      include_ == Include::kYes ? text_.size() : text_.size() - std::min(text_.size(), overlap_);
  while (end > sent_ && end < text_.size() && within(text_[end], 0x80, 0xbf)) --end;
  send_up_to(end, out);
  const size_t done = std::min(sent_, text_.size() - std::min(text_.size(), overlap_));
  text_.erase(0, done);
  sent_ -= done;
  return std::nullopt;
}

void StopFinder::finish(std::string& out) {
  send_up_to(text_.size(), out);
  text_.clear();
  sent_ = 0;
}

}  // namespace fairlead::protocol
