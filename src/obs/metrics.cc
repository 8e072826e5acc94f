#include "obs/metrics.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "obs/exposition.h"

namespace fairlead::obs {

std::string_view to_string(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return "counter";
    case MetricType::kGauge:
      return "gauge";
    case MetricType::kHistogram:
      return "histogram";
  }
  return "untyped";
}

namespace {

std::string series_key(std::span<const std::string_view> values) {
  std::string key;
  for (const std::string_view value : values) {
    key.append(std::to_string(value.size())).append(":").append(value);
  }
  return key;
}

// Label names in the order in which the style prints them.
std::vector<size_t> label_order(const LabelNames& names, Style style) {
  std::vector<size_t> order(names.size());
  std::iota(order.begin(), order.end(), 0);
  if (style == Style::kPython) {
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return names[a] < names[b]; });
  }
  return order;
}

std::string created_name(std::string_view name, MetricType type) {
  if (type == MetricType::kCounter && name.ends_with("_total")) name.remove_suffix(6);
  return std::string(name) + "_created";
}

}  // namespace

// A shard's cells, in blocks that never move. The ends of a block stay unused, so that no two
// shards write to one cache line.
class Arena {
 public:
  Cell* allocate(size_t count) {
    const std::lock_guard lock(mutex_);
    if (count > left_) {
      const size_t size = std::max<size_t>(count, 512 - 2 * kLine);
      blocks_.push_back(std::make_unique<Cell[]>(size + 2 * kLine));
      next_ = blocks_.back().get() + kLine;
      left_ = size;
    }
    Cell* cells = next_;
    next_ += count;
    left_ -= count;
    return cells;
  }

 private:
  static constexpr size_t kLine = 64 / sizeof(Cell);
  std::mutex mutex_;
  std::vector<std::unique_ptr<Cell[]>> blocks_;
  Cell* next_ = nullptr;
  size_t left_ = 0;
};

void Histogram::observe_many(double value, uint64_t count) const {
  const size_t bucket = static_cast<size_t>(
      std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin());
  const double n = static_cast<double>(count);
  cells_[bucket].add(n);
  cells_[bounds_.size() + 1].add(value * n);
}

Family::Family(MetricType type, std::string name, std::string help, LabelNames names,
               std::vector<double> bounds, const RegistryOptions& options,
               std::vector<Arena>& arenas)
    : type_(type),
      name_(std::move(name)),
      help_(std::move(help)),
      names_(std::move(names)),
      bounds_(std::move(bounds)),
      label_order_(label_order(names_, options.style)),
      options_(options),
      arenas_(arenas) {
  for (const double bound : bounds_) {
    std::string text;
    append_number(text, bound, options_.style);
    bound_texts_.push_back(std::move(text));
  }
}

std::shared_ptr<Family::Series> Family::make_series(std::span<const std::string_view> values) {
  auto series = std::make_shared<Series>();
  for (const size_t i : label_order_) {
    const bool after = options_.style == Style::kPython && names_[i] > "le";
    std::string& text = after ? series->labels_after_le : series->labels_before_le;
    append_label(text, names_[i], values[i]);
    text.push_back(',');
  }
  if (retired_.empty()) {
    for (Arena& arena : arenas_) series->shards.push_back(arena.allocate(cells_a_series()));
  } else {
    series->shards = std::move(retired_.back());
    retired_.pop_back();
    for (Cell* cells : series->shards) {
      for (size_t i = 0; i < cells_a_series(); ++i) cells[i].set(0);
    }
  }
  series_.push_back(series);
  return series;
}

Cell* Family::cells(MetricType type, size_t shard, LabelValues values) {
  CHECK(type == type_, "a handle of another type than the family's");
  CHECK(values.size() == names_.size(), "as many label values as the family has label names");
  CHECK(shard < arenas_.size(), "a shard that the registry has");
  const std::span<const std::string_view> list(values.begin(), values.size());
  std::string key = series_key(list);
  const std::lock_guard lock(mutex_);
  if (const auto known = by_values_.find(key); known != by_values_.end()) {
    return known->second->shards[shard];
  }
  if (by_values_.size() < options_.series_max) {
    return by_values_.emplace(std::move(key), make_series(list)).first->second->shards[shard];
  }
  overflowed_.fetch_add(1, std::memory_order_relaxed);
  if (!other_) other_ = make_series(std::vector<std::string_view>(names_.size(), "other"));
  return other_->shards[shard];
}

Counter Family::counter(size_t shard, LabelValues values) {
  return Counter(cells(MetricType::kCounter, shard, values));
}

Gauge Family::gauge(size_t shard, LabelValues values) {
  return Gauge(cells(MetricType::kGauge, shard, values));
}

Histogram Family::histogram(size_t shard, LabelValues values) {
  return Histogram(bounds_, cells(MetricType::kHistogram, shard, values));
}

void Family::retire(LabelValues values) {
  const std::string key = series_key(std::span(values.begin(), values.size()));
  const std::lock_guard lock(mutex_);
  const auto known = by_values_.find(key);
  if (known == by_values_.end()) return;
  retired_.push_back(known->second->shards);
  std::erase(series_, known->second);
  by_values_.erase(known);
}

void Family::expose(std::string& out) const {
  std::vector<std::shared_ptr<Series>> series;
  {
    const std::lock_guard lock(mutex_);
    series = series_;
  }
  append_family_head(out, name_, help_, to_string(type_));
  for (const auto& s : series) {
    if (type_ == MetricType::kHistogram) {
      expose_histogram(out, *s);
      continue;
    }
    double total = 0;
    for (const Cell* cell : s->shards) total += cell->get();
    append_sample(out, {name_, s->labels_before_le, s->labels_after_le}, total, options_.style);
  }
  if (!options_.created || type_ == MetricType::kGauge) return;
  const std::string name = created_name(name_, type_);
  append_family_head(out, name, help_, "gauge");
  const double created = base::to_seconds(options_.created->time_since_epoch());
  for (const auto& s : series) {
    append_sample(out, {name, s->labels_before_le, s->labels_after_le}, created, options_.style);
  }
}

void Family::expose_histogram(std::string& out, const Series& series) const {
  double cumulative = 0, sum = 0;
  for (size_t bucket = 0; bucket <= bounds_.size(); ++bucket) {
    for (const Cell* cells : series.shards) cumulative += cells[bucket].get();
    out.append(name_).append("_bucket{").append(series.labels_before_le).append("le=\"");
    out.append(bucket < bounds_.size() ? std::string_view(bound_texts_[bucket]) : "+Inf");
    out.push_back('"');
    if (!series.labels_after_le.empty()) {
      out.push_back(',');
      out.append(series.labels_after_le, 0, series.labels_after_le.size() - 1);
    }
    out.append("} ");
    append_number(out, cumulative, options_.style);
    out.push_back('\n');
  }
  for (const Cell* cells : series.shards) sum += cells[bounds_.size() + 1].get();
  const auto sample = [&](std::string_view suffix, double value) {
    const std::string name = name_ + std::string(suffix);
    append_sample(out, {name, series.labels_before_le, series.labels_after_le}, value,
                  options_.style);
  };
  // Python's client sorts the two, the others end with the count.
  const bool python = options_.style == Style::kPython;
  if (!python) sample("_sum", sum);
  sample("_count", cumulative);
  if (python) sample("_sum", sum);
}

void Samples::add(LabelValues values, double value) {
  CHECK(values.size() == names_.size(), "as many label values as the family has label names");
  std::string labels;
  for (const size_t i : label_order(names_, style_)) {
    append_label(labels, names_[i], values.begin()[i]);
    labels.push_back(',');
  }
  append_sample(out_, {name_, labels, {}}, value, style_);
}

// Either a family or a callback.
struct Registry::Entry {
  std::string name;
  std::unique_ptr<Family> family;
  MetricType type{};
  std::string help;
  LabelNames names;
  std::function<void(Samples&)> read;
};

Registry::Registry(RegistryOptions options) : options_(options), arenas_(options.shards) {
  CHECK(options.shards > 0, "a registry has at least one shard");
}

Registry::~Registry() = default;

void Registry::check_new(std::string_view name, const LabelNames& names) const {
  CHECK(is_metric_name(name), "a metric's name has only letters, digits, '_' and ':'");
  for (const std::string& label : names) {
    CHECK(is_label_name(label) && label != "le", "a label's name has only letters, digits and '_'");
  }
  for (const auto& entry : entries_) CHECK(entry->name != name, "a metric is registered once");
}

Family& Registry::add(MetricType type, std::string name, std::string help, LabelNames names,
                      std::vector<double> buckets) {
  CHECK(std::is_sorted(buckets.begin(), buckets.end()), "buckets ascend");
  const std::lock_guard lock(mutex_);
  check_new(name, names);
  auto entry = std::make_unique<Entry>();
  entry->name = name;
  entry->family.reset(new Family(type, std::move(name), std::move(help), std::move(names),
                                 std::move(buckets), options_, arenas_));
  entries_.push_back(std::move(entry));
  return *entries_.back()->family;
}

Family& Registry::counter(std::string name, std::string help, LabelNames names) {
  CHECK(std::string_view(name).ends_with("_total"), "a counter's name ends in _total");
  return add(MetricType::kCounter, std::move(name), std::move(help), std::move(names), {});
}

Family& Registry::gauge(std::string name, std::string help, LabelNames names) {
  return add(MetricType::kGauge, std::move(name), std::move(help), std::move(names), {});
}

Family& Registry::histogram(std::string name, std::string help, std::span<const double> buckets,
                            LabelNames names) {
  return add(MetricType::kHistogram, std::move(name), std::move(help), std::move(names),
             {buckets.begin(), buckets.end()});
}

void Registry::callback(MetricType type, std::string name, std::string help, LabelNames names,
                        std::function<void(Samples&)> read) {
  CHECK(type != MetricType::kHistogram, "a callback gives counters or gauges");
  const std::lock_guard lock(mutex_);
  check_new(name, names);
  entries_.push_back(std::make_unique<Entry>(
      Entry{std::move(name), nullptr, type, std::move(help), std::move(names), std::move(read)}));
}

void Registry::expose(std::string& out) const {
  const std::lock_guard lock(mutex_);
  for (const auto& entry : entries_) {
    if (entry->family) {
      entry->family->expose(out);
      continue;
    }
    append_family_head(out, entry->name, entry->help, to_string(entry->type));
    Samples samples(out, entry->name, entry->names, options_.style);
    entry->read(samples);
  }
}

std::vector<FamilyInfo> Registry::describe() const {
  const std::lock_guard lock(mutex_);
  std::vector<FamilyInfo> infos;
  for (const auto& entry : entries_) {
    if (const Family* family = entry->family.get()) {
      infos.push_back(
          {family->name_, family->type_, family->help_, family->names_, family->bounds_});
    } else {
      infos.push_back({entry->name, entry->type, entry->help, entry->names, {}});
    }
  }
  return infos;
}

std::string_view Registry::content_type(Style style) {
  return style == Style::kPython ? "text/plain; version=1.0.0; charset=utf-8"
                                 : "text/plain; version=0.0.4; charset=utf-8";
}

}  // namespace fairlead::obs
