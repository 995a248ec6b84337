#pragma once
// The status page of the running daemon, and its live updates.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "daemon/device_table.h"
#include "daemon/status/feed.h"
#include "daemon/status/fragments.h"
#include "daemon/status/history.h"
#include "daemon/status/page_text.h"
#include "daemon/status/pages.h"
#include "daemon/verdicts.h"
#include "reactor/executor.h"
#include "reactor/scheduler.h"

namespace sliced::daemon {

/// The state that the page shows, read on the loop.
class PageSource {
 public:
  /// Returns nullopt before the first decision.
  virtual std::optional<VerdictSnapshot> verdicts() const = 0;
  virtual PreparedFor prepared() const = 0;
  virtual status::Report report() const = 0;
  virtual std::vector<status::PastChangePtr> history() const = 0;
  /// Returns a number that grows with each change that may affect a row: decisions, writes, claims. Cheap,
  /// because it is called every second.
  virtual uint64_t moment() const = 0;

 protected:
  ~PageSource() = default;
};

/// Builds rows on workers, from a snapshot, and only while a client reads or listens. Sends changes to
/// listeners, at most five times a second.
/// Bounds: 16 listeners, two pages at a time; only the rows of one moment are kept.
/// Pace: polls `moment` once a second. Building rows may take 10 s, and is followed by a pause of four times
/// its duration.
/// Threads: the loop's, except building rows and pages.
/// Ownership: all arguments outlive this object.
class LivePage {
 public:
  LivePage(reactor::Executor& executor, reactor::Scheduler& scheduler, const PageSource& node);

  /// Adds "/", "/page.css", "/page.js", "/devices" and "/events". This object outlives the pages.
  void add_to(status::Pages& pages);
  /// Called after each decision. Checks soon for changed rows.
  void on_decided();
  /// Sends the change to all listeners immediately.
  void on_change(const status::PastChange& past);

 private:
  std::variant<status::Answer, status::Fragments> page(std::string_view query);
  std::variant<status::Answer, status::Fragments> devices();
  std::string welcome();
  void look_soon();
  void look();
  void make_rows();
  void take_rows(std::shared_ptr<const status::DeviceRows> rows, const status::RowsDelta& delta);
  void send_page_head();

  reactor::Executor& executor_;
  reactor::Scheduler& scheduler_;
  const PageSource& node_;
  status::Feed feed_;
  std::shared_ptr<const status::DeviceRows> rows_;  // as last sent to listeners; null: no listener
  std::string head_;                                // as last sent
  std::unique_ptr<reactor::Job> job_;
  reactor::Ticket soon_, tick_;
  TimePoint not_before_{};
  Millis rest_{0};  // pause before the next rows, so that the worker is available for others
};

}  // namespace sliced::daemon
