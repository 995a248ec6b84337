#pragma once
// Keeps the NodeDeviceReport of this node up to date, independently of all other work of the daemon:
//
//   mark() ─▶ a moment, jittered ─▶ slices are written? ─▶ make ─▶ equal to the server's? ─▶ create or update
//      ▲                                                              │ yes: nothing
//      └── deleted, edited by another client, kind installed later ◀── watch of that one object
//
// Pace:      at least 10 s between writes, plus up to 10 s at random, so that the nodes of a fleet spread
//            after one edit. A failed write is retried after 10 s to 5 minutes, doubling, or after
//            Retry-After.
// Failure:   affects nothing else: it is counted, and logged once while it lasts.
// Absent:    without the kind nothing is made; it is discovered later (watchers/list_watch.h).
// Threads:   the loop's.
// Permissions: get, list, watch, create and update on nodedevicereports.networking.dra.io.
// Bounds:    kReportBytesMax is sent (fit()); 256 KiB is read back, with the managedFields that the server
//            adds.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/reports/node_report.h"
#include "kube/client/ports.h"
#include "reactor/backoff.h"
#include "reactor/base/rate_limited_log.h"
#include "reactor/base/source_event.h"
#include "watchers/watched_source.h"

namespace sliced::reports {

class ReportWriter {
 public:
  using OnReport = std::function<void(std::optional<NodeReport>)>;

  /// The node's side, called on the loop.
  struct Node {
    /// Yields the current report, once; nullopt if there is none, then it is called again after kEvery. May
    /// call back immediately or on a later turn; not after the writer's destruction.
    std::function<void(OnReport)> make;
    /// Returns whether slices are being written: a report waits for them, kWaitForSlicesMax at most.
    std::function<bool()> is_busy;
  };
  struct Counters {
    uint64_t made = 0;                   // reports, each compared with the server's
    uint64_t succeeded = 0, failed = 0;  // writes
    size_t bytes = 0;                    // of the last one
  };
  static constexpr Millis kEvery{10'000}, kSpread{10'000}, kWaitForSlicesMax{30'000};

  /// Ownership: ports and the objects behind `node` outlive this object. Its destruction ends the watch; a
  /// write in progress may still happen.
  ReportWriter(kube::ClusterPorts ports, std::string name, Node node);

  /// Reads the object; nothing is written before permit(true). Called once.
  void start() { watcher_.start(); }
  /// Called by the owner of the interlock.
  void permit(bool writes);
  /// The content of the report may have changed. Cheap; nothing is made or written from within. A mark during
  /// a write counts for the next one.
  void mark();

  const Counters& counters() const { return counters_; }
  /// State of the watch of that one object: absent if the kind is not installed.
  const watchers::SyncState& sync_state() const { return watcher_.sync_state(); }
  /// Returns the last write's error; "" if it succeeded.
  const std::string& last_failure() const { return last_failure_.text(); }
  /// Returns whether the server has the last report, and nothing is marked.
  bool is_settled() const { return !is_marked_ && !is_working_; }

 private:
  // The server's object. report nullopt: it cannot be decoded, or is of another owner, and is overwritten.
  struct Held {
    std::optional<NodeReport> report;
    kube::ObjectMeta meta;  // only its resourceVersion, if it cannot be decoded
  };
  struct Stored {
    NodeReport report;
    kube::ObjectMeta meta;
    bool is_marked_silent = false;  // NodeReport::silent_since was set; the report does not contain it
    bool operator==(const Stored&) const = default;
  };
  using Watcher = watchers::WatchedSource<Stored>;

  static Result<Stored> decode(std::string_view object);
  void on_event(const SourceEvent<Watcher::Item>& event);
  bool is_ready() const;
  void arm();
  void look();
  void take(std::optional<NodeReport> made);
  void write(const NodeReport& report);
  void on_written(std::string_view object);
  void on_failure(const kube::Failure& failure);
  void end_work(Millis wait);

  kube::ClusterPorts ports_;
  const std::string name_;
  const Node node_;
  std::optional<Held> held_;
  bool is_permitted_ = false, is_marked_ = false, is_working_ = false;
  bool has_cleared_mark_ = false, clears_mark_ = false;
  bool is_observed_ = false;              // the watch has reported since the last write began
  std::optional<TimePoint> waits_since_;  // for slices
  TimePoint not_before_{};
  reactor::Backoff backoff_;
  LastMessage last_failure_;
  Counters counters_;
  reactor::Ticket timer_;
  kube::CallPtr call_;
  Watcher watcher_;
};

}  // namespace sliced::reports
