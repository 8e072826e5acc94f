#include "router/scheduling_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "codec/reflect.h"
#include "codec/suggest.h"
#include "codec/yaml.h"

namespace fairlead::router {
namespace {

using codec::Field;
using codec::Json;
using codec::Reader;

// Arguments, called as in the file.

struct LeastRequestArgs {
  uint32_t maxWaitingRequests = 10;
};
BOOST_DESCRIBE_STRUCT(LeastRequestArgs, (), (maxWaitingRequests))
auto fields_of(const LeastRequestArgs*) {
  return std::tuple{Field<&LeastRequestArgs::maxWaitingRequests>{
      .doc = "so many waiting requests keep a replica out", .min = 1U, .max = 1'000'000U}};
}
const codec::StructInfo& info_of(const LeastRequestArgs*) {
  return codec::describe<LeastRequestArgs>();
}

struct LeastLatencyArgs {
  double TTFTTPOTWeightFactor = 0.5;
};
BOOST_DESCRIBE_STRUCT(LeastLatencyArgs, (), (TTFTTPOTWeightFactor))
auto fields_of(const LeastLatencyArgs*) {
  return std::tuple{Field<&LeastLatencyArgs::TTFTTPOTWeightFactor>{
      .doc = "share of the time to first token", .min = 0.0, .max = 1.0}};
}
const codec::StructInfo& info_of(const LeastLatencyArgs*) {
  return codec::describe<LeastLatencyArgs>();
}

struct PrefixCacheArgs {
  uint32_t blockSizeToHash = 64;
  uint32_t maxBlocksToMatch = 128;
  std::optional<uint32_t> maxHashCacheSize;
  uint32_t topKMatches = 5;
};
BOOST_DESCRIBE_STRUCT(PrefixCacheArgs, (),
                      (blockSizeToHash, maxBlocksToMatch, maxHashCacheSize, topKMatches))
auto fields_of(const PrefixCacheArgs*) {
  using A = PrefixCacheArgs;
  using Hasher = cache_index::PrefixHasherOptions;
  return std::tuple{
      Field<&A::blockSizeToHash>{.doc = "bytes of prompt in a block",
                                 .min = Hasher::kBlockBytesMin,
                                 .max = Hasher::kBlockBytesMax},
      Field<&A::maxBlocksToMatch>{
          .doc = "blocks of a prompt that are looked at", .min = 1U, .max = Hasher::kBlocksMax},
      Field<&A::maxHashCacheSize>{.doc = "not used: see --index-bytes-max"},
      Field<&A::topKMatches>{.doc = "replicas that score",
                             .min = 1U,
                             .max = cache_index::PrefixIndexOptions::kSlotsMax}};
}
const codec::StructInfo& info_of(const PrefixCacheArgs*) {
  return codec::describe<PrefixCacheArgs>();
}

struct ScoreEntry {
  std::string name;
  double weight = 1;
};
BOOST_DESCRIBE_STRUCT(ScoreEntry, (), (name, weight))
auto fields_of(const ScoreEntry*) {
  return std::tuple{
      Field<&ScoreEntry::name>{.doc = "a scorer", .required = true},
      Field<&ScoreEntry::weight>{
          .doc = "how much it counts", .min = 0.0, .max = pick::WeightedScore::kWeightMax}};
}
const codec::StructInfo& info_of(const ScoreEntry*) { return codec::describe<ScoreEntry>(); }

constexpr std::array<std::string_view, 2> kFilters{"least-request", "lora-affinity"};
constexpr std::array<std::string_view, 5> kScorers{"least-request", "least-latency", "gpu-usage",
                                                   "prefix-cache", "random"};

bool contains(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

// What a file that says nothing about plugins asks for: the set of Kthena's chart.
void set_default_plugins(Scheduling& out) {
  out.filters = {"least-request"};
  out.options.weights = {
      {"least-request", 1}, {"gpu-usage", 1}, {"least-latency", 1}, {"prefix-cache", 1}};
}

class FileReader {
 public:
  base::Result<Scheduling> read(const Json& tree) {
    set_default_plugins(out_);
    if (!document(tree)) return reader_.error();
    drop_random_among_others();
    if (warnings_.size() > kSchedulingWarningsMax) {
      const size_t more = warnings_.size() - kSchedulingWarningsMax;
      warnings_.resize(kSchedulingWarningsMax);
      warnings_.push_back(fmt::format("and {} more", more));
    }
    out_.warnings = std::move(warnings_);
    return std::move(out_);
  }

 private:
  struct Key {
    std::string_view name;
    bool (FileReader::*read)(const Json& value);
  };

  bool mapping(const Json& value, std::span<const Key> keys) {
    if (value.is_null()) return true;
    if (!value.is_object()) return reader_.fail(value, "must be a mapping of fields");
    for (const auto& [key, member] : value.members()) {
      const auto known = std::find_if(keys.begin(), keys.end(),
                                      [&](const Key& candidate) { return candidate.name == key; });
      const Reader::Step step(reader_, key);
      if (known == keys.end()) {
        std::vector<std::string_view> names;
        for (const Key& candidate : keys) names.push_back(candidate.name);
        reader_.warn(member, "unknown field" + hint(key, names));
      } else if (!(this->*known->read)(member)) {
        return false;
      }
    }
    return true;
  }

  bool list(const Json& value, bool (FileReader::*read)(const Json& item)) {
    if (value.is_null()) return true;
    if (!value.is_array()) return reader_.fail(value, "must be a list");
    size_t index = 0;
    for (const Json& item : value.items()) {
      const Reader::Step step(reader_, index++);
      if (!(this->*read)(item)) return false;
    }
    return true;
  }

  static std::string hint(std::string_view name, std::span<const std::string_view> known) {
    const std::string_view nearest = codec::nearest_name(name, known);
    if (known.empty()) return ", there are none here";
    if (!nearest.empty()) return fmt::format(", did you mean '{}'?", nearest);
    return fmt::format(", known are {}", fmt::join(known, ", "));
  }

  bool document(const Json& value) {
    static constexpr std::array kKeys{Key{"scheduler", &FileReader::scheduler},
                                      Key{"auth", &FileReader::auth}};
    return mapping(value, kKeys);
  }

  // What should be closed must not be open because a router reads the file in another way.
  bool auth(const Json& value) {
    const auto is_set = [](const Json& member) {
      return !(member.is_null() || (member.is_string() && member.as_string().empty()) ||
               (member.is_array() && member.items().empty()));
    };
    if (value.is_null()) return true;
    if (!value.is_object()) return reader_.fail(value, "must be a mapping of fields");
    for (const auto& [key, member] : value.members()) {
      const Reader::Step step(reader_, key);
      if (is_set(member)) {
        return reader_.fail(member,
                            "tokens of clients cannot be checked here; put a proxy that "
                            "does before the router and remove this");
      }
    }
    return true;
  }

  bool scheduler(const Json& value) {
    static constexpr std::array kKeys{Key{"pluginConfig", &FileReader::plugin_configs},
                                      Key{"plugins", &FileReader::plugins}};
    return mapping(value, kKeys);
  }

  bool plugins(const Json& value) {
    static constexpr std::array kKeys{Key{"Filter", &FileReader::filters},
                                      Key{"Score", &FileReader::scores}};
    return mapping(value, kKeys);
  }

  bool filters(const Json& value) {
    static constexpr std::array kKeys{Key{"enabled", &FileReader::enabled_filters},
                                      Key{"disabled", &FileReader::disabled}};
    return mapping(value, kKeys);
  }

  bool scores(const Json& value) {
    static constexpr std::array kKeys{Key{"enabled", &FileReader::enabled_scores},
                                      Key{"disabled", &FileReader::disabled}};
    return mapping(value, kKeys);
  }

  // Part of the shape without a meaning: what is not enabled is not used.
  bool disabled(const Json& value) {
    return value.is_null() || value.is_array() || reader_.fail(value, "must be a list");
  }

  bool enabled_filters(const Json& value) {
    out_.filters.clear();
    return list(value, &FileReader::filter);
  }

  bool filter(const Json& item) {
    if (!item.is_string()) return reader_.fail(item, "must be the name of a filter");
    const std::string& name = item.as_string();
    if (!contains(kFilters, name)) {
      reader_.warn(item, fmt::format("no filter is called '{}'", name) + hint(name, kFilters));
    } else if (name == "lora-affinity") {
      // Holds for every policy: only replicas that list the requested name are candidates.
    } else if (std::find(out_.filters.begin(), out_.filters.end(), name) != out_.filters.end()) {
      reader_.warn(item, fmt::format("'{}' is named twice", name));
    } else {
      out_.filters.push_back(name);
    }
    return true;
  }

  bool enabled_scores(const Json& value) {
    out_.options.weights.clear();
    return list(value, &FileReader::score);
  }

  bool score(const Json& item) {
    ScoreEntry entry;
    if (!reader_.read_struct(codec::info_for<ScoreEntry>(), item, &entry)) return false;
    std::vector<pick::WeightedScore>& weights = out_.options.weights;
    const auto before = std::find_if(weights.begin(), weights.end(), [&](const auto& weight) {
      return weight.scorer == entry.name;
    });
    if (!contains(kScorers, entry.name)) {
      reader_.warn(
          item, fmt::format("no scorer is called '{}'", entry.name) + hint(entry.name, kScorers));
    } else if (before != weights.end()) {
      reader_.warn(item, fmt::format("'{}' is named twice, the last weight counts", entry.name));
      before->weight = entry.weight;
    } else {
      weights.push_back({entry.name, entry.weight});
      if (entry.name == "random") random_at_ = item.line();
    }
    return true;
  }

  // A sum with a random number in it would be neither.
  void drop_random_among_others() {
    std::vector<pick::WeightedScore>& weights = out_.options.weights;
    if (weights.size() < 2) return;
    const size_t dropped =
        std::erase_if(weights, [](const auto& weight) { return weight.scorer == "random"; });
    if (dropped == 0) return;
    warnings_.push_back(fmt::format(
        "line {}: scheduler.plugins.Score.enabled: 'random' is left out beside other scorers",
        random_at_));
  }

  bool plugin_configs(const Json& value) { return list(value, &FileReader::plugin_config); }

  bool plugin_config(const Json& item) {
    if (!item.is_object()) return reader_.fail(item, "must be a mapping of name and args");
    const Json* name = item.find("name");
    if (name == nullptr || !name->is_string()) {
      return reader_.fail(name == nullptr ? item : *name, "must have the name of a plugin");
    }
    plugin_ = name->as_string();
    static constexpr std::array kKeys{Key{"name", &FileReader::accept},
                                      Key{"args", &FileReader::args}};
    return mapping(item, kKeys);
  }

  bool accept(const Json&) { return true; }

  bool args(const Json& value) {
    if (plugin_ == "least-request") {
      LeastRequestArgs args;
      if (!read_args(value, Zero::kMeansDefault, args)) return false;
      out_.options.least_request.waiting_max = args.maxWaitingRequests;
    } else if (plugin_ == "least-latency") {
      LeastLatencyArgs args;
      if (!read_args(value, Zero::kIsAValue, args)) return false;
      out_.options.least_latency.ttft_share = args.TTFTTPOTWeightFactor;
    } else if (plugin_ == "prefix-cache") {
      PrefixCacheArgs args;
      if (!read_args(value, Zero::kMeansDefault, args)) return false;
      out_.options.hashing = {.block_bytes = args.blockSizeToHash,
                              .blocks_max = args.maxBlocksToMatch};
      out_.options.prefix_cache.holders_max = args.topKMatches;
      if (args.maxHashCacheSize) {
        reader_.warn(value,
                     "maxHashCacheSize has no effect: --index-bytes-max bounds the index "
                     "of all replicas together");
      }
    } else if (contains(kScorers, plugin_) || contains(kFilters, plugin_)) {
      static constexpr std::array<Key, 0> kNoKeys{};
      return mapping(value, kNoKeys);
    } else {
      reader_.warn(value,
                   fmt::format("no plugin is called '{}'", plugin_) + hint(plugin_, kScorers));
    }
    return true;
  }

  enum class Zero { kIsAValue, kMeansDefault };

  // Argument names match whatever their case.
  template <class Args>
  bool read_args(const Json& value, Zero zero, Args& args) {
    const codec::StructInfo& info = codec::info_for<Args>();
    std::vector<Json::Member> members;
    for (const auto& [key, member] : value.members()) {
      if (zero == Zero::kMeansDefault && member.is_integer() && member.as_int() == 0) continue;
      std::string name = key;
      for (const codec::FieldInfo& field : info.fields) {
        if (equals_ignoring_case(field.name, name)) name = field.name;
      }
      std::erase_if(members, [&](const Json::Member& before) { return before.first == name; });
      members.emplace_back(std::move(name), member);
    }
    if (!value.is_object()) return reader_.read_struct(info, value, &args);
    return reader_.read_struct(info, Json::object(std::move(members)), &args);
  }

  Scheduling out_;
  std::vector<std::string> warnings_;
  Reader reader_{&warnings_};
  std::string plugin_;      // whose arguments are being read
  uint32_t random_at_ = 0;  // line
};

}  // namespace

base::Result<Scheduling> parse_scheduling(std::string_view text) {
  const auto tree = codec::parse_yaml(text);
  if (!tree) return tree.error();
  // Most likely a file that is just being written.
  if (tree->is_null()) return base::invalid_argument("line 1: the file is empty");
  return FileReader().read(*tree);
}

}  // namespace fairlead::router
