#include "router/waiting_lines.h"

#include <algorithm>

#include "base/check.h"

namespace fairlead::router {
namespace {

constexpr auto kRetryAfterMin = std::chrono::seconds(1);
constexpr auto kRetryAfterMax = std::chrono::seconds(60);

}  // namespace

std::string_view to_string(Shed shed) {
  switch (shed) {
    case Shed::kRequests:
      return "queue_requests";
    case Shed::kBytes:
      return "queue_bytes";
    case Shed::kWait:
      return "queue_wait";
  }
  return "queue_wait";
}

WaitingLines::~WaitingLines() { CHECK(lines_.empty(), "nobody waits any more"); }

std::optional<Shed> WaitingLines::enter(Entry& entry, std::string_view model,
                                        std::span<const pick::Slot> slots) {
  CHECK(entry.line_ == nullptr, "a request waits in one line");
  if (requests_ >= bounds_.requests_max) return Shed::kRequests;
  if (entry.bytes_ > bounds_.bytes_max.count - bytes_) return Shed::kBytes;
  const auto [found, is_new] = lines_.try_emplace(std::string(model));
  Line& line = found->second;
  if (is_new) {
    line.model = found->first;
    serve(line, slots);
  }
  entry.order_ = {entry.arrived_, entered_++};
  entry.line_ = &line;
  entry.called_ = false;
  line.entries.emplace(entry.order_, &entry);
  ++requests_;
  bytes_ += entry.bytes_;
  return std::nullopt;
}

void WaitingLines::leave(Entry& entry) {
  look(entry);
  Line& line = *std::exchange(entry.line_, nullptr);
  line.entries.erase(entry.order_);
  --requests_;
  bytes_ -= entry.bytes_;
  if (!line.entries.empty()) return;
  serve(line, {});
  lines_.erase(lines_.find(line.model));
}

void WaitingLines::look(Entry& entry) {
  if (entry.called_) --entry.line_->called;
  entry.called_ = false;
}

WaitingLines::Entry* WaitingLines::call_next() {
  std::vector<std::pair<Order, Line*>> hopeful;
  for (auto& [model, line] : lines_) {
    if (const Entry* first = first_uncalled(line)) hopeful.emplace_back(first->order_, &line);
  }
  return call_first(hopeful);
}

WaitingLines::Entry* WaitingLines::call_next_at(pick::Slot slot) {
  std::vector<std::pair<Order, Line*>> hopeful;
  for (auto& [model, line] : lines_) {
    if (!std::binary_search(line.slots.begin(), line.slots.end(), slot)) continue;
    if (const Entry* first = first_uncalled(line)) hopeful.emplace_back(first->order_, &line);
  }
  return call_first(hopeful);
}

WaitingLines::Entry* WaitingLines::call_first(std::vector<std::pair<Order, Line*>>& hopeful) {
  std::sort(hopeful.begin(), hopeful.end());
  for (const auto& [order, line] : hopeful) {
    if (!has_turn(*line)) continue;
    Entry* entry = first_uncalled(*line);
    call(*entry);
    return entry;
  }
  return nullptr;
}

WaitingLines::Entry* WaitingLines::call_behind(const Entry& entry) {
  const auto& entries = entry.line_->entries;
  for (auto next = entries.upper_bound(entry.order_); next != entries.end(); ++next) {
    if (next->second->called_) continue;
    call(*next->second);
    return next->second;
  }
  return nullptr;
}

void WaitingLines::update(const pick::Table& table) {
  for (auto& [name, line] : lines_) {
    const pick::Model* model = table.find(name);
    serve(line, model == nullptr ? std::span<const pick::Slot>() : model->slots);
  }
}

std::chrono::seconds WaitingLines::retry_after(base::TimePoint now) const {
  base::TimePoint oldest = now;
  for (const auto& [model, line] : lines_) {
    oldest = std::min(oldest, line.entries.begin()->first.first);
  }
  return std::clamp(std::chrono::ceil<std::chrono::seconds>(now - oldest), kRetryAfterMin,
                    kRetryAfterMax);
}

WaitingLines::Entry* WaitingLines::first_uncalled(const Line& line) {
  for (const auto& [order, entry] : line.entries) {
    if (!entry->called_) return entry;
  }
  return nullptr;
}

// As the policies' filter of health goes: suspects count only where nothing is ready.
bool WaitingLines::has_turn(const Line& line) const {
  struct Group {
    bool any = false;
    uint64_t room = 0;
  } ready, suspect;
  for (const pick::Slot slot : line.slots) {
    const pick::Health health = columns_.health(slot);
    if (health == pick::Health::kDown) continue;
    Group& group = health == pick::Health::kReady ? ready : suspect;
    const uint32_t in_flight = columns_.in_flight(slot);
    group.any = true;
    group.room += bounds_.in_flight_max > in_flight ? bounds_.in_flight_max - in_flight : 0;
  }
  if (!ready.any && !suspect.any) return true;
  return (ready.any ? ready.room : suspect.room) > line.called;
}

void WaitingLines::call(Entry& entry) {
  entry.called_ = true;
  ++entry.line_->called;
}

void WaitingLines::serve(Line& line, std::span<const pick::Slot> slots) {
  if (std::equal(slots.begin(), slots.end(), line.slots.begin(), line.slots.end())) return;
  for (const pick::Slot slot : line.slots) columns_.remove_line(slot);
  line.slots.assign(slots.begin(), slots.end());
  for (const pick::Slot slot : line.slots) columns_.add_line(slot);
}

}  // namespace fairlead::router
