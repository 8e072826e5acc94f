// A policy is filters in order and one picker, which says what scorers it reads: a named preset, or
// what a scheduling file describes, a weighted sum.
//
//   auto policy = Policy::make("prefix-cache", PolicyOptions{});
//   if (!policy) return policy.error();            // names the policies there are
//   auto described = Policy::make_weighted({{"least-request"}}, {.weights = {{"gpu-usage", 2}}});
//
// Immutable; one serves all shards.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cache_index/prefix_hasher.h"
#include "pick/filters/least_request.h"
#include "pick/pickers/expected_ttft.h"
#include "pick/pickers/prefix_affinity.h"
#include "pick/pickers/weighted.h"
#include "pick/plugin.h"
#include "pick/scorers/least_latency.h"
#include "pick/scorers/prefix_cache.h"

namespace fairlead::pick {

struct PolicyOptions {
  PrefixAffinityOptions prefix_affinity;
  ExpectedTtftOptions expected_ttft;
  LeastRequestOptions least_request;
  LeastLatencyOptions least_latency;
  PrefixCacheOptions prefix_cache;
  cache_index::PrefixHasherOptions hashing;  // of prompts, for what reads prefixes
  std::vector<WeightedScore> weights;        // what a weighted policy adds up

  base::Result<> validate() const;
};

// All plugins of a process by name.
struct Plugins {
  std::map<std::string_view, std::unique_ptr<const Filter>> filters;
  std::map<std::string_view, std::unique_ptr<const Scorer>> scorers;
  std::map<std::string_view, std::unique_ptr<const Picker>> pickers;
};
void register_filters(Plugins& plugins, const PolicyOptions& options);
void register_scorers(Plugins& plugins, const PolicyOptions& options);
void register_pickers(Plugins& plugins, const PolicyOptions& options);

class Policy {
 public:
  static base::Result<std::unique_ptr<const Policy>> make(std::string_view name,
                                                          const PolicyOptions& options);
  // `filters` besides those that every policy has, and options.weights.
  static base::Result<std::unique_ptr<const Policy>> make_weighted(
      std::span<const std::string> filters, const PolicyOptions& options);
  // For help texts and errors, in the order to show them.
  static std::span<const std::string_view> names();

  std::string_view name() const { return name_; }
  std::span<const Filter* const> filters() const { return filters_; }
  std::span<const Scorer* const> scorers() const { return scorers_; }
  const Picker& picker() const { return *picker_; }
  // Whether picks are worth recording in the prefix index.
  bool reads_prefixes() const { return reads_prefixes_; }
  // Whether first tokens are worth learning from.
  bool predicts() const { return predicts_; }
  const cache_index::PrefixHasherOptions& hashing() const { return hashing_; }
  // Whether it wants to know a request's session.
  bool reads_sessions() const { return picker_->name() == "session-affinity"; }

 private:
  Policy() = default;
  static base::Result<std::unique_ptr<const Policy>> assemble(std::string_view name,
                                                              std::span<const std::string> filters,
                                                              std::string_view picker,
                                                              const PolicyOptions& options);

  std::string_view name_;
  Plugins plugins_;
  std::vector<const Filter*> filters_;
  std::vector<const Scorer*> scorers_;
  const Picker* picker_ = nullptr;
  cache_index::PrefixHasherOptions hashing_;
  bool reads_prefixes_ = false;
  bool predicts_ = false;
};

}  // namespace fairlead::pick
