#pragma once
// Keeps the NodeDeviceReport of this node as its daemon would write it, beside everything else that the daemon does:
//
//   mark() ─▶ a moment, jittered ─▶ slices are written? ─▶ make ─▶ as the server holds it? ─▶ create or update
//      ▲                                                              │ yes: nothing
//      └── deleted, edited by somebody, kind installed later ◀── watch of that one object
//
// Pace:      10 s between writes at least, and spread over 10 s more, so that a fleet that heard of one edit does not write
//            at once. What failed waits 10 s to 5 minutes, doubling, and a Retry-After.
// Failure:   nothing else hears of it: it is counted, and a line of the log says it once while it lasts.
// Absent:    without the kind nothing is made; it is looked for from time to time (watchers/list_watch.h).
// Threads:   the loop's.
// Permissions: get, list, watch, create and update on nodedevicereports.networking.dra.io.
// Bounds:    kReportBytesMax is sent (fit()); 256 KiB is read back, with the managedFields that the server adds.
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
  using OnMade = std::function<void(std::optional<NodeReport>)>;

  /// The node's side, asked on the loop.
  struct Node {
    /// The report as it is now, once; nullopt: there is none, and it is asked for again after kEvery. May answer at once, or
    /// on a later turn; not after the writer is gone.
    std::function<void(OnMade)> make;
    /// Slices are being written: a report waits for them, kWaitForSlicesMax at most.
    std::function<bool()> is_busy;
  };
  struct Counters {
    uint64_t made = 0;               // reports, each held against what the server has
    uint64_t taken = 0, failed = 0;  // writes
    size_t bytes = 0;                // of the last one
  };
  static constexpr Millis kEvery{10'000}, kSpread{10'000}, kWaitForSlicesMax{30'000};

  /// Ownership: ports and what `node` refers to outlive this. Dropping it ends the watch; a write that is under way may
  /// still happen.
  ReportWriter(kube::Ports ports, std::string name, Node node);

  /// Once. The object is asked for; nothing is written before permit(true).
  void start() { watcher_.start(); }
  /// By who has the interlock.
  void permit(bool writes);
  /// What the report says may be another thing now. Cheap; from wherever: nothing is made or written from
  /// within it. A mark while one is being written counts for the next.
  void mark();

  const Counters& counters() const { return counters_; }
  /// Of the watch of that one object: absent where the kind is not installed.
  const watchers::SyncState& sync_state() const { return watcher_.sync_state(); }
  /// "" the last write went well.
  const std::string& last_failure() const { return last_failure_.text(); }
  /// The server holds what was made last, and nothing is marked.
  bool is_settled() const { return !is_marked_ && !is_at_work_; }

 private:
  // As the server has it; report nullopt: it cannot be read, or is another's, and is written over.
  struct Held {
    std::optional<NodeReport> report;
    kube::ObjectMeta meta;  // of what cannot be read its resourceVersion alone
  };
  struct Stored {
    NodeReport report;
    kube::ObjectMeta meta;
    bool is_marked_silent = false;  // NodeReport::silent_since was set, and is left out of the report
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

  kube::Ports ports_;
  const std::string name_;
  const Node node_;
  std::optional<Held> held_;
  bool is_permitted_ = false, is_marked_ = false, is_at_work_ = false;
  bool has_cleared_mark_ = false, clears_mark_ = false;
  bool is_told_ = false;                  // by the watch, since the last write began
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
