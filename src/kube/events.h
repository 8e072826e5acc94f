// EventRecorder: reports of controllers as Event objects, which `kubectl describe` shows. Reporting
// never waits and never fails: what does not fit into the queue or cannot be written is counted.
// What waits when the process stops is still written, for `flush_time` at most. One loop.
//
//   EventRecorder events(client, {.component = "fairlead-controller"});
//   group.spawn(events.run());
//   events.report({subject, EventType::kWarning, "CreateFailed", "pod web-0: ..."});
#pragma once

#include <deque>
#include <string>

#include "kube/client.h"
#include "kube/event_correlator.h"

namespace fairlead::kube {

struct RecorderOptions {
  std::string component;
  std::string instance{};  // of the component: the pod's name
  size_t queue_max = 1000;
  base::Nanos flush_time = std::chrono::seconds(5);
  CorrelatorOptions correlator{};
  const EventMetrics* metrics = nullptr;  // outlives the recorder
};

struct RecorderStats {
  uint64_t written = 0;
  uint64_t dropped = 0;  // the queue was full, or the subject reports too much
  uint64_t failed = 0;   // among them what was left at the end
};

class EventRecorder {
 public:
  EventRecorder(Client& client, RecorderOptions options)
      : client_(client), options_(std::move(options)), correlator_(options_.correlator) {}

  void report(Report report);
  // Writes until its scope is cancelled, and then what is left: the client has no guard.
  rt::Task<void> run();
  const RecorderStats& stats() const { return stats_; }

 private:
  rt::Task<void> write_all();
  rt::Task<base::Result<>> write(const Report& report);
  void show();  // in the metrics
  std::string event_json(const Report& report, const EventDecision& decision) const;

  Client& client_;
  RecorderOptions options_;
  EventCorrelator correlator_;
  std::deque<Report> queue_;
  rt::WaitList arrived_;
  bool stopping_ = false;
  RecorderStats stats_;
  RecorderStats shown_;
};

}  // namespace fairlead::kube
