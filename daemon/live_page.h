#pragma once
// The page of the running daemon, and what is said to whoever has it open.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "daemon/device_table.h"
#include "daemon/status/feed.h"
#include "daemon/status/history.h"
#include "daemon/status/page_text.h"
#include "daemon/status/pages.h"
#include "daemon/status/pieces.h"
#include "daemon/verdicts.h"
#include "reactor/executor.h"
#include "reactor/scheduler.h"

namespace sliced::cli {

/// What stands now, each asked on the loop.
struct NodeView {
  /// nullopt before the first decision.
  std::function<std::optional<VerdictSnapshot>()> verdicts;
  std::function<PreparedFor()> prepared;
  std::function<status::Report()> report;
  std::function<std::vector<status::PastChangePtr>()> history;
  /// A number that grows with everything that may change a row: decisions, writes, claims. Cheap: it is asked every second.
  std::function<uint64_t()> moment;
};

/// Rows are made on workers, of a snapshot, and only while somebody reads or listens; what has changed since the last ones goes
/// to whoever listens, at most five times a second.
/// Bounds:    16 listeners, two pages at a time; besides rows of one moment nothing is kept.
/// Pace:      where nothing tells of a change, the moment is asked once a second; making rows may take 10 s,
///            and is followed by a rest of four times as long as it took.
/// Threads:   the loop's, but for the making of rows and pages.
/// Ownership: ports outlive it.
class LivePage {
 public:
  LivePage(reactor::Executor& executor, reactor::Scheduler& scheduler, NodeView node);

  /// "/", "/page.css", "/page.js", "/devices" and "/events". This outlives the pages.
  void add_to(status::Pages& pages);
  /// After each decision.
  void on_decided();
  /// Told at once to whoever listens; nobody else hears of it here.
  void on_change(const status::PastChange& past);

 private:
  std::variant<status::Answer, status::Pieces> page(std::string_view query);
  std::variant<status::Answer, status::Pieces> devices();
  std::string welcome();
  void look_soon();
  void look();
  void make_rows();
  void take_rows(std::shared_ptr<const status::DeviceRows> rows, const status::RowsDelta& delta);
  void send_page_head();

  reactor::Executor& executor_;
  reactor::Scheduler& scheduler_;
  const NodeView node_;
  status::Feed feed_;
  std::shared_ptr<const status::DeviceRows> rows_;  // that listeners have been told; null: nobody listens
  std::string head_;                                // that they have been told
  std::unique_ptr<reactor::Job> job_;
  reactor::Ticket soon_, tick_;
  TimePoint not_before_{};
  Millis rest_{0};  // before rows are made again: a large node's worker does something else, too
};

}  // namespace sliced::cli
