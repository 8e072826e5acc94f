// A policy is a named preset: filters in order and one picker, which says what scorers it reads.
//
//   auto policy = Policy::make("prefix-cache", PolicyOptions{});
//   if (!policy) return policy.error();            // names the policies there are
//
// Immutable; one serves all shards.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pick/pickers/prefix_affinity.h"
#include "pick/plugin.h"

namespace fairlead::pick {

struct PolicyOptions {
  PrefixAffinityOptions prefix_affinity;

  base::Result<> validate() const { return prefix_affinity.validate(); }
};

// All plugins of a process by name.
struct Plugins {
  std::map<std::string_view, std::unique_ptr<const Filter>> filters;
  std::map<std::string_view, std::unique_ptr<const Scorer>> scorers;
  std::map<std::string_view, std::unique_ptr<const Picker>> pickers;
};
void register_filters(Plugins& plugins);
void register_scorers(Plugins& plugins);
void register_pickers(Plugins& plugins, const PolicyOptions& options);

class Policy {
 public:
  static base::Result<std::unique_ptr<const Policy>> make(std::string_view name,
                                                          const PolicyOptions& options);
  // For help texts and errors, in the order to show them.
  static std::span<const std::string_view> names();

  std::string_view name() const { return name_; }
  std::span<const Filter* const> filters() const { return filters_; }
  std::span<const Scorer* const> scorers() const { return scorers_; }
  const Picker& picker() const { return *picker_; }
  // Whether picks are worth recording in the prefix index.
  bool reads_prefixes() const { return reads_prefixes_; }

 private:
  Policy() = default;

  std::string_view name_;
  Plugins plugins_;
  std::vector<const Filter*> filters_;
  std::vector<const Scorer*> scorers_;
  const Picker* picker_ = nullptr;
  bool reads_prefixes_ = false;
};

}  // namespace fairlead::pick
