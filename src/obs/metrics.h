// Metrics whose hot path is a plain addition in the shard's own memory.
//
// A Registry holds families, a family holds series (one a set of label values), and a series has a
// slot in every shard's memory. Handles (Counter, Gauge, Histogram) point into one shard's slots:
// only that shard's thread writes through them, with relaxed loads and stores and no lock; a scrape
// adds the slots up from any thread. Resolving a handle locks and may allocate: do it beforehand.
//
//   Registry registry({.shards = 4});
//   Family& requests = registry.counter("fairlead_requests_total", "Requests.", {"model", "code"});
//   Counter ok = requests.counter(shard, {"llama", "200"});
//   ok.add();                                   // on that shard's thread
//   std::string text;
//   registry.expose(text);                      // on any thread
//
// Label values come from outside, so a family holds at most `series_max` series; everything past it
// is counted in one series whose labels all read "other".
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"

namespace fairlead::obs {

// One number in a shard's memory: one writer, any readers.
class Cell {
 public:
  void add(double by) { set(value_.load(std::memory_order_relaxed) + by); }
  void set(double to) { value_.store(to, std::memory_order_relaxed); }
  double get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

class Counter {
 public:
  Counter() = default;
  explicit Counter(Cell* cell) : cell_(cell) {}
  // `by` is not negative.
  void add(double by = 1) const { cell_->add(by); }

 private:
  Cell* cell_ = nullptr;
};

class Gauge {
 public:
  Gauge() = default;
  explicit Gauge(Cell* cell) : cell_(cell) {}
  void set(double to) const { cell_->set(to); }
  void add(double by) const { cell_->add(by); }
  // Any thread.
  double get() const { return cell_->get(); }

 private:
  Cell* cell_ = nullptr;
};

class Histogram {
 public:
  Histogram() = default;
  Histogram(std::span<const double> bounds, Cell* cells) : bounds_(bounds), cells_(cells) {}
  void observe(double value) const { observe_many(value, 1); }
  // `count` samples of the same value.
  void observe_many(double value, uint64_t count) const;

 private:
  std::span<const double> bounds_;
  Cell* cells_ = nullptr;  // one a bound, one past the last bound, the sum
};

enum class MetricType { kCounter, kGauge, kHistogram };
std::string_view to_string(MetricType type);

// How text is printed: as Go's and C++'s clients do ("3"), or as Python's does ("3.0", label names
// sorted, `_created` series where Options::created is given): the form engines written in Python
// have.
enum class Style { kPrometheus, kPython };

struct RegistryOptions {
  size_t shards = 1;
  size_t series_max = 1000;  // in each family
  Style style = Style::kPrometheus;
  std::optional<base::WallTime> created{};
};

using LabelNames = std::vector<std::string>;
using LabelValues = std::initializer_list<std::string_view>;

class Arena;

class Family {
 public:
  // The handle of `shard` for these label values (as many as the family has names), made if new.
  // The family's type decides which of the three may be asked for.
  Counter counter(size_t shard, LabelValues values = {});
  Gauge gauge(size_t shard, LabelValues values = {});
  Histogram histogram(size_t shard, LabelValues values = {});

  // Ends a series, such as that of a replica that is gone. The caller holds no handle to it any
  // more.
  void retire(LabelValues values);
  // Handles that were given the series "other" because the family was full.
  uint64_t overflowed() const { return overflowed_.load(std::memory_order_relaxed); }

 private:
  friend class Registry;
  struct Series {
    std::string labels_before_le, labels_after_le;  // `engine="0",` and `,model="m"`
    std::vector<Cell*> shards;
  };

  Family(MetricType type, std::string name, std::string help, LabelNames names,
         std::vector<double> bounds, const RegistryOptions& options, std::vector<Arena>& arenas);
  Cell* cells(MetricType type, size_t shard, LabelValues values);
  std::shared_ptr<Series> make_series(std::span<const std::string_view> values);
  size_t cells_a_series() const { return type_ == MetricType::kHistogram ? bounds_.size() + 2 : 1; }
  void expose(std::string& out) const;
  void expose_histogram(std::string& out, const Series& series) const;

  const MetricType type_;
  const std::string name_, help_;
  const LabelNames names_;
  const std::vector<double> bounds_;
  std::vector<std::string> bound_texts_;
  std::vector<size_t> label_order_;
  const RegistryOptions& options_;
  std::vector<Arena>& arenas_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<Series>> by_values_;
  std::vector<std::shared_ptr<Series>> series_;  // in order of creation
  std::vector<std::vector<Cell*>> retired_;      // slots to use again
  std::shared_ptr<Series> other_;
  std::atomic<uint64_t> overflowed_{0};
};

// What a callback adds its samples to.
class Samples {
 public:
  void add(LabelValues values, double value);

 private:
  friend class Registry;
  Samples(std::string& out, const std::string& name, const LabelNames& names, Style style)
      : out_(out), name_(name), names_(names), style_(style) {}
  std::string& out_;
  const std::string& name_;
  const LabelNames& names_;
  Style style_;
};

// A family as it was registered, for documents.
struct FamilyInfo {
  std::string name;
  MetricType type{};
  std::string help;
  LabelNames labels;
  std::vector<double> buckets;
};

class Registry {
 public:
  explicit Registry(RegistryOptions options = {});
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // Families live as long as the registry; a name is registered once. Buckets are ascending upper
  // bounds without +Inf. In Style::kPython too a counter's name ends in "_total".
  Family& counter(std::string name, std::string help, LabelNames names = {});
  Family& gauge(std::string name, std::string help, LabelNames names = {});
  Family& histogram(std::string name, std::string help, std::span<const double> buckets,
                    LabelNames names = {});
  // Counters and gauges that are read when they are asked for, on the thread that asks.
  void callback(MetricType type, std::string name, std::string help, LabelNames names,
                std::function<void(Samples&)> read);

  // Appends the whole exposition, families in order of registration.
  void expose(std::string& out) const;
  // All families, in order of registration.
  std::vector<FamilyInfo> describe() const;
  static std::string_view content_type(Style style);

 private:
  struct Entry;
  void check_new(std::string_view name, const LabelNames& names) const;
  Family& add(MetricType type, std::string name, std::string help, LabelNames names,
              std::vector<double> buckets);

  const RegistryOptions options_;
  std::vector<Arena> arenas_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace fairlead::obs
