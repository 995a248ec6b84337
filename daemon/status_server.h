#pragma once
// The running daemon's status report, and the listeners that serve it.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "daemon/cluster_reporter.h"
#include "daemon/daemon.h"
#include "daemon/kubelet_plugin.h"
#include "daemon/live_page.h"
#include "daemon/node_locks.h"
#include "daemon/observer.h"
#include "daemon/process.h"
#include "daemon/status/fragments.h"
#include "daemon/status/history.h"
#include "daemon/status/listeners.h"
#include "daemon/status/metrics.h"
#include "daemon/status/pages.h"
#include "daemon/status/report.h"

namespace sliced::daemon {

/// Ownership: all arguments outlive this object. It adds each change of the offer to `history`. Each page is
/// built for its request, in that turn of the loop, and not stored. Long ones (/verdicts) are built on
/// workers, from a snapshot. Failure: a listener that cannot be opened stops nothing; status::StatusListeners logs it
/// and retries. Threads: the loop's.
class StatusServer final : public Observer, private PageSource {
 public:
  /// directory: the runtime directory, already private. With options.health_address the pages are served at
  /// that address too.
  StatusServer(Process& process, const config::Options& options, const std::string& directory, Daemon& daemon,
               const NodeLocks& locks, const KubeletPlugin* plugin, const ClusterReporter& reporter,
               status::History& history);
  void on_decided(const policy::Decision&) override { page_.on_decided(); }
  void on_offer_change(const policy::OfferChange& change) override;

 private:
  // Returns report_of() with facts of this process: its identity, its start, and the holder of the interlock.
  status::Report report() const override;
  std::optional<VerdictSnapshot> verdicts() const override;
  PreparedFor prepared() const override;
  std::vector<status::PastChangePtr> history() const override { return history_.all(); }
  uint64_t moment() const override;
  std::string exposition() const;
  status::Pages pages();
  http::Serve serve();

  Process& process_;
  const config::Options& options_;
  Daemon& daemon_;
  const NodeLocks& locks_;
  const KubeletPlugin* const plugin_;  // null: off
  const ClusterReporter& reporter_;
  status::History& history_;
  LivePage page_;
  // The start of `run`, which creates this object first.
  const TimePoint began_;
  const int64_t began_ms_ = status::wall_ms();
  status::StatusListeners door_;
  Subscription subscription_{daemon_.observers(), *this};
};

/// Returns the daemon's part of the report: sources, verdicts, drivers, whether it writes. A copy. Without a
/// decision it contains the missing condition instead of the summary.
status::Report report_of(const Daemon& daemon);

/// /verdicts: the output of `explain -o json` for all devices, or for ?device=NAME. 503 before there is a
/// decision, 404 for an unknown device. The content is of the time of the request, however long reading
/// takes.
std::variant<status::Answer, status::Fragments> verdicts_page(const Daemon& daemon, std::string_view query);

/// /history: {"items":[...]}, the oldest first; ?name=NAME selects changes about it (status::is_about).
status::Fragments history_page(const status::History& history, std::string_view query);

/// Returns the daemon's counters since the start, without those of the process (memory, processor time).
status::Metrics metrics_of(const Daemon& daemon);

}  // namespace sliced::daemon
