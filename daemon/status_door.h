#pragma once
// The running daemon as a report, and the door at which it is read.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>

#include "daemon/daemon.h"
#include "daemon/kubelet_plugin.h"
#include "daemon/live_page.h"
#include "daemon/node_locks.h"
#include "daemon/node_reporter.h"
#include "daemon/observer.h"
#include "daemon/process.h"
#include "daemon/status/door.h"
#include "daemon/status/history.h"
#include "daemon/status/metrics.h"
#include "daemon/status/pages.h"
#include "daemon/status/pieces.h"
#include "daemon/status/report.h"

namespace sliced::cli {

/// Everything that it is made from outlives it.
/// It adds each change of the offer to `history`.
/// Each page is made when it is asked for, within that turn of the loop, and it is not stored: what it
/// says is of one moment. What takes longer (/verdicts) is made on workers, of a snapshot.
/// Failure: a place that cannot be opened stops nothing; status::Door says it and tries again.
/// Threads: the loop's.
class StatusDoor final : public daemon::Observer {
 public:
  /// directory: the runtime directory, private already. With options.health_address the pages are at that
  /// address too.
  StatusDoor(Process& process, const config::Options& options, const std::string& directory,
             daemon::Daemon& daemon, const NodeLocks& locks, const KubeletPlugin* plugin,
             const NodeReporter& reporter, status::History& history);
  void on_decided(const policy::Decision&) override { page_.on_decided(); }
  void on_offer_change(const policy::OfferChange& change) override;

 private:
  // report_of() and what only this process knows: who it is, since when, and for whom it stands by.
  status::Report report() const;
  std::string exposition() const;
  status::Pages pages();
  http::Serve serve();
  NodeView node_view();
  // Of all that may change what a device's row says.
  uint64_t moment() const;

  Process& process_;
  const config::Options& options_;
  daemon::Daemon& daemon_;
  const NodeLocks& locks_;
  const KubeletPlugin* const plugin_;  // null: off
  const NodeReporter& reporter_;
  status::History& history_;
  LivePage page_;
  // Of this object, which `run` makes right at the start.
  const TimePoint began_;
  const int64_t began_ms_ = status::wall_ms();
  status::Door door_;
  daemon::Subscription subscription_{daemon_.observers(), *this};
};

/// What the daemon itself knows of the report: sources, verdicts, drivers, whether it writes.
/// Copies; the daemon may change the moment after. Without a decision: what is waited for in the place of the
/// summary.
status::Report report_of(const daemon::Daemon& daemon);

/// /verdicts: what `explain -o json` prints, of all devices, or of ?device=NAME.
/// 503 before there is a decision, 404 of what this host has not. What it says is of the moment that it was asked at,
/// however long it takes to read.
std::variant<status::Answer, status::Pieces> verdicts_page(const daemon::Daemon& daemon,
                                                           std::string_view query);

/// /history: {"items":[...]}, the oldest first; ?name=NAME of what is about it (status::is_about).
status::Pieces history_page(const status::History& history, std::string_view query);

/// What it has counted.
/// Since the start; of the process itself (memory, processor time) it knows nothing.
status::Metrics metrics_of(const daemon::Daemon& daemon);

}  // namespace sliced::cli
