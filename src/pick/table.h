// Which replicas serve which model: immutable once built, replaced as a whole when it changes.
// Readable from any thread; the round-robin turn is the one thing in it that moves.
//
//   Table table(std::array{Table::Replica{.slot = 0, .models = {"llama"}}});
//   const Model* model = table.find("llama");      // nullptr: nobody serves it
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cache_line.h"
#include "pick/columns.h"

namespace fairlead::pick {

struct Model {
  std::vector<Slot> slots;  // ascending
  // Written by every pick of round-robin: apart from what all other picks read.
  alignas(base::kCacheLine) mutable std::atomic<uint64_t> turn{0};
};

class Table {
 public:
  struct Replica {
    Slot slot = 0;
    std::vector<std::string> models;
  };

  explicit Table(std::span<const Replica> replicas);
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  const Model* find(std::string_view name) const;
  const std::map<std::string, Model, std::less<>>& models() const { return models_; }

 private:
  std::map<std::string, Model, std::less<>> models_;
};

}  // namespace fairlead::pick
