#include "kube/events.h"

#include <utility>

#include "api/core.h"
#include "codec/json.h"
#include "kube/kind.h"
#include "kube/wire_time.h"
#include "rt/task_group.h"

namespace fairlead::kube {
namespace {

using base::ErrorCode;

// The server refuses longer ones.
constexpr size_t kMessageMax = 1024;

std::string_view text_of(EventType type) {
  return type == EventType::kWarning ? "Warning" : "Normal";
}

// Cut where a character begins.
std::string_view shortened(std::string_view message) {
  if (message.size() <= kMessageMax) return message;
  size_t end = kMessageMax;
  while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xc0) == 0x80) --end;
  return message.substr(0, end);
}

// Events of cluster-wide objects live in "default".
std::string space_of(const EventSubject& subject) {
  return subject.space.empty() ? "default" : subject.space;
}

}  // namespace

void EventRecorder::report(Report report) {
  if (queue_.size() >= options_.queue_max) {
    ++stats_.dropped;
  } else {
    queue_.push_back(std::move(report));
    arrived_.notify_one();
  }
  show();
}

rt::Task<void> EventRecorder::run() {
  rt::Scope& scope = co_await rt::current_scope();
  stopping_ = false;
  // A scope of its own: what is being written when the process stops goes on.
  rt::TaskGroup writer(client_.loop());
  writer.spawn(write_all());
  while (!scope.cancelled()) co_await rt::sleep_until(base::kNever);
  stopping_ = true;
  arrived_.notify_all();
  writer.scope().set_deadline(base::after(client_.loop().now(), options_.flush_time));
  static_cast<void>(co_await writer.join());
  stats_.failed += queue_.size();
  queue_.clear();
  show();
}

rt::Task<void> EventRecorder::write_all() {
  rt::Scope& scope = co_await rt::current_scope();
  while (!scope.cancelled()) {
    if (queue_.empty()) {
      if (stopping_) co_return;
      co_await arrived_.wait();
      continue;
    }
    const Report next = std::move(queue_.front());
    queue_.pop_front();
    const base::Result<> written = co_await write(next);
    if (!written) ++stats_.failed;
    show();
  }
}

void EventRecorder::show() {
  const EventMetrics* metrics = options_.metrics;
  if (metrics == nullptr) return;
  metrics->written.add(static_cast<double>(stats_.written - shown_.written));
  metrics->dropped.add(static_cast<double>(stats_.dropped - shown_.dropped));
  metrics->failed.add(static_cast<double>(stats_.failed - shown_.failed));
  metrics->waiting.set(static_cast<double>(queue_.size()));
  shown_ = stats_;
}

std::string EventRecorder::event_json(const Report& report, const EventDecision& decision) const {
  const EventSubject& subject = report.subject;
  std::string out;
  codec::JsonWriter json(out);
  json.begin_object().key("apiVersion").string("v1").key("kind").string("Event");
  json.key("metadata").begin_object().key("name").string(decision.name);
  json.key("namespace").string(space_of(subject)).end_object();
  json.key("involvedObject").begin_object();
  json.key("apiVersion").string(subject.api_version).key("kind").string(subject.kind);
  json.key("name").string(subject.name);
  if (!subject.space.empty()) json.key("namespace").string(subject.space);
  if (!subject.uid.empty()) json.key("uid").string(subject.uid);
  json.end_object();
  json.key("type").string(text_of(report.type)).key("reason").string(report.reason);
  json.key("message").string(shortened(decision.message));
  json.key("source").begin_object().key("component").string(options_.component).end_object();
  json.key("reportingComponent").string(options_.component);
  json.key("reportingInstance").string(options_.instance);
  json.key("firstTimestamp").string(time_text(decision.first));
  json.key("lastTimestamp").string(time_text(client_.loop().clock().wall()));
  json.key("count").integer(decision.count).end_object();
  return out;
}

rt::Task<base::Result<>> EventRecorder::write(const Report& report) {
  EventDecision decision =
      correlator_.decide(report, client_.loop().now(), client_.loop().clock().wall());
  if (decision.act == EventDecision::Act::kDrop) {
    ++stats_.dropped;
    co_return base::Result<>();
  }
  const std::string space = space_of(report.subject);
  if (decision.act == EventDecision::Act::kCount) {
    std::string patch;
    codec::JsonWriter json(patch);
    json.begin_object().key("count").integer(decision.count);
    json.key("message").string(shortened(decision.message));
    json.key("lastTimestamp").string(time_text(client_.loop().clock().wall())).end_object();
    const base::Result<ObjectPtr> counted = co_await client_.patch(
        {resource_of<api::Event>(), space, decision.name}, PatchKind::kMerge, std::move(patch), {});
    if (counted) {
      ++stats_.written;
      co_return base::Result<>();
    }
    if (counted.error().code() != ErrorCode::kNotFound) co_return counted.error();
    // Events are kept for an hour: this one is gone.
    correlator_.forget(decision.name);
    decision = correlator_.decide(report, client_.loop().now(), client_.loop().clock().wall());
    if (decision.act != EventDecision::Act::kCreate) co_return base::Result<>();
  }
  const base::Result<ObjectPtr> created =
      co_await client_.create({resource_of<api::Event>(), space}, event_json(report, decision), {});
  if (!created) {
    correlator_.forget(decision.name);
    co_return created.error();
  }
  ++stats_.written;
  co_return base::Result<>();
}

}  // namespace fairlead::kube
