#pragma once
// The host as one event source: events mark what to read, workers read it, the inventory book derives
// devices, and the listener gets whole inventories with the differences.
//
// Order:   event sources are opened before the first scan, so that no change is missed in between.
// Rhythm:  events within kCoalesce are one reading; one reading at a time. A removed function leaves the inventory
//          immediately, without a reading, the first of a burst at its first event.
// Silence: after the first update, there is no update without a difference.
// Errors:  files that could not be read are read again, with growing intervals.
// Hangs:   a reading that passes its deadline is repeated entry by entry. An entry that hangs keeps its last facts
//          or is `broken`. Facts behind the kernel's locks are always read in this way.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "hotplug/affected.h"
#include "hotplug/careful_reads.h"
#include "hotplug/event_source.h"
#include "hotplug/host_view.h"
#include "hotplug/inventory.h"
#include "hotplug/scan.h"
#include "reactor/base/log.h"
#include "reactor/base/rate_limited_log.h"
#include "reactor/executor.h"
#include "reactor/scheduler.h"

namespace sliced::hotplug {

/// An update for the listener: the inventory, the differences, and the cause of the reading. The three lists
/// are those of InventoryBook::take(); all are empty if only the boot id differs.
struct InventoryUpdate {
  InventoryPtr now;
  std::vector<std::string> added, changed, removed;  // ids, sorted
  bool relisted = false;                             // the first, or after a loss of events
  std::string why;                                   // "start", "uevent add /devices/...", "sync timer"
};

/// Returns the settings that the PF with this netdev enforces, by VF index. Blocks; called on a worker, for
/// PFs with VFs. Empty function: not read. An error, or an answer without some VFs, keeps the known
/// settings: the reason is logged and added to `unreadable` of the PF and of these VFs, and GUIDs are read
/// from sysfs. kNotFound (the interface no longer exists) changes nothing.
using ReadVfConfigs = std::function<Result<std::map<int, VfConfig>>(int ifindex)>;

/// References outlive the source. host and read_vf_configs are used on workers, where a read that hangs may
/// outlive the source; they must be thread-safe.
struct HostSourcePorts {
  reactor::Scheduler& scheduler;
  reactor::Executor& executor;
  std::shared_ptr<const HostView> host;
  std::vector<std::unique_ptr<EventSource>> events;
  Log& log;
  ReadVfConfigs read_vf_configs = {};
};

/// Threads: on the loop's thread; files are read on the executor, with a copy of the data that it requires.
/// Ownership: the destructor stops the event sources and drops readings in progress.
/// Reentry: on_update runs from the scheduler's, executor's or event sources' callbacks.
class HostSource {
 public:
  /// Bounds and delays. They are not options: they are chosen so that a burst of udev events is one reading,
  /// and so that a driver that hangs is distinguished from a slow one.
  static constexpr size_t kTouchedMax = 65536;  // entries that are marked one by one; above it, everything is
                                                // read
  static constexpr Millis kCoalesce{15};
  static constexpr Millis kBurst{5};  // between two inventories after removals
  /// Consecutive full readings with the same missing interfaces and the same relations of functions
  /// (function_relations()) before HostReadings::are_missing_lasting. They are 1 s, 2 s, 4 s apart; a change
  /// restarts at 1 s.
  static constexpr size_t kMissingReadings = 4;
  /// For one complete reading, and for listing the directories.
  static constexpr Millis kScanDeadline{5000};
  /// For one entry in entry-by-entry mode, and for one interface's slow facts.
  static constexpr Millis kReadDeadline{1000};
  static constexpr Millis kPollIntervalMin{100};
  /// Time for which an update waits for facts behind the kernel's locks; later ones cause another update.
  static constexpr Millis kSlowGrace{250};

  /// Called on the loop. The first update follows the first complete reading, including its slow facts or
  /// their deadlines: without them a restart would publish incomplete facts.
  using OnUpdate = std::function<void(const InventoryUpdate&)>;
  /// Called with the number of devices that differed without an event. Devices that events marked before or
  /// during the reading do not count.
  using OnRescanned = std::function<void(size_t missed)>;

  HostSource(HostSourcePorts ports, OnUpdate on_update);
  HostSource(const HostSource&) = delete;

  /// Called once. A source that cannot be opened is logged; changes are then found at the sync timer.
  void start();
  /// Reads everything and compares. A second call before the end of the first joins it.
  void rescan(std::string why, OnRescanned on_rescanned = {});
  /// Polls these PFs because the kernel may not report a change of their settings: first after kPollIntervalMin,
  /// then with growing intervals up to the longest one, until the set changes. A call with the same set
  /// continues the intervals.
  void poll_pfs(std::set<PciAddress> pfs);
  void set_poll_interval_max(Millis longest) { poll_interval_max_ = longest; }
  /// Reads that PF again, as after an event: sliced changed its settings, and its driver may not report that.
  void read_again(const PciAddress& pf, std::string why);
  /// Queries these PFs immediately. on_answered: called for each PF that has answered, when inventory() contains
  /// the answer, even without a difference. A query in progress is not repeated. Replaces an earlier call.
  void query_pfs(std::set<PciAddress> pfs, std::function<void()> on_answered);
  /// Returns the start times of the last queries whose answers inventory() contains.
  const std::map<PciAddress, TimePoint>& query_times() const { return query_times_; }
  /// Adds the last known netdevs of functions, from slices that were published before a restart in this boot.
  void recover_sticky(std::vector<RecoveredNetdev> recovered);

  /// Version 0 until the first update.
  const InventoryPtr& inventory() const { return book_.now(); }

  /// Since the start; for metrics only. events: all events of the sources. hung_reads: reads past their
  /// deadline; an entry counts each time. concluded: calls of InventoryBook::take.
  struct Counters {
    uint64_t events = 0, overflows = 0, full_scans = 0, partial_scans = 0, missed = 0, hung_reads = 0;
    uint64_t concluded = 0;
  };
  const Counters& counters() const { return counters_; }

 private:
  // Changes that an event makes to the readings directly, because it is unambiguous. A removed VF is
  // withdrawn without a read.
  struct EraseFunction {
    PciAddress function;
  };
  struct EraseNetdev {
    std::string name;
    int ifindex = 0;  // 0: whichever has the name
  };
  struct RenameNetdev {
    std::string from, to;
    int ifindex = 0;  // 0: whichever has the name
  };
  using Edit = std::variant<EraseFunction, EraseNetdev, RenameNetdev>;
  /// Returns true if the entry existed. If the named interface has another ifindex, the name belongs to
  /// another interface, which stays.
  static bool apply(const Edit& edit, HostReadings& readings);

  // Marks from events since the start of the last reading.
  struct Marks {
    Touched touched;
    bool full = false, relisted = false, is_sync = false;
    std::string why;
    NetdevChanges changes;
    std::vector<OnRescanned> on_rescanned;
    /// Names that left or appeared do not require a reading, because other marks of the same event do.
    bool is_empty() const { return touched.is_empty() && !full; }
    void merge(Marks other);
  };
  // A reading in progress: the marks at its start, and the edits since then.
  struct Reading {
    uint64_t number = 0;
    Marks marks;
    std::shared_ptr<HostReadings> result;
    std::vector<Edit> edits;
    uint64_t shortages = 0;  // HostView::shortages() at its start
    std::unique_ptr<reactor::Job> job;
    bool is_read = false;  // `result` contains the fast part
  };

  // Events: host_source_events.cpp.
  void on_event(HostEvent event);
  void on(const Uevent& event);
  void on_pci(const Uevent& event);
  void mark_dependents(const PciAddress& function);
  void on_net(const Uevent& event);
  void on(const LinkChange& event);
  void on(const RouteChange& event);
  void on(const Overflow& event);
  /// why: the first one of a reading is logged.
  void mark(std::string why);
  /// Notifies the book immediately, because the interface may disappear under its new name before it is read.
  void rename(const RenameNetdev& change);
  void edit(Edit change);
  /// Applies an edit and derives the inventory without a reading: immediately, or at the end of a burst.
  void vanish(Edit change, const std::string& why);
  /// Returns the name from the last reading or event; "" if unknown.
  std::string name_of_ifindex(int ifindex) const;
  void record_name_change(const LinkChange& event);

  // Readings. One at a time; later marks are read next.
  void schedule();
  void start_reading();
  /// Reads everything that is marked in one job. After kScanDeadline, entries are read one by one until none
  /// of them hangs.
  void read_at_once();
  void read_carefully();
  void read_entries(HostListing listing);
  /// Runs after the entries, because reading routes may hang, too.
  void read_routes();
  /// The fast part is complete: applies the edits since its start, then reads the facts behind locks.
  void on_read();
  // Reads of single entries. An entry that hangs keeps its last facts; a function without any is `broken`.
  CarefulReads::Request function_request(const PciAddress& address, const std::string& target);
  CarefulReads::Request netdev_request(const std::string& name, const std::string& target);
  CarefulReads::Request slow_facts_request(const std::string& name, int ifindex);
  /// Reads of PF settings and partition keys.
  CarefulReads::Request pkeys_request(const PciAddress& function, const std::string& rdma_device);
  CarefulReads::Request vf_configs_request(const PciAddress& pf, const NetdevReading& own);
  /// Counts each hung read, and logs it once for each entry.
  void report_hung(const std::string& what);
  std::vector<CarefulReads::Request> slow_facts_requests();
  /// Keeps slow facts of interfaces that are the same as before (ifindex).
  void keep_facts_of_late_reads(HostReadings& result) const;
  template <class Change>
  void change_readings(Change change);  // in readings_ and, after its fast part, in the reading in progress
  /// Replaces readings_ by the reading, and updates the inventory.
  void commit();
  void check_missing_links(HostReadings& now, bool is_full);
  /// Slow facts that arrived after their update: combines those of a short time into one update.
  void report_late_facts();
  NetdevChanges netdev_changes() const;
  InventoryDiff assemble(const std::string& why, const NetdevChanges& changes, bool relisted);
  /// Returns whether an event of interfaces or routes has arrived that no complete reading has covered. Until
  /// then, devices that the host used count as used.
  bool has_unread_links() const;
  void report_missed(const Marks& marks, const InventoryDiff& diff);
  /// The host cannot be listed: keeps readings and marks, and retries with doubled delay.
  void retry_later();
  /// No event reports that a file has become readable. So unreadable or broken entries are read again after 1
  /// s, then with growing intervals up to a minute.
  void schedule_recheck();
  void arm_poll();
  void note_answer(const PciAddress& pf, TimePoint asked_at);
  void notify_answers();
  void log_unread_settings();  // on a change

  HostSourcePorts ports_;
  OnUpdate on_update_;
  InventoryBook book_;
  HostReadings readings_;
  Marks marks_;
  /// By ifindex, of interfaces from events that have not been read yet: at most kTouchedMax.
  std::map<int, std::string> unread_names_;
  std::unique_ptr<Reading> reading_;
  CarefulReads entries_;
  CarefulReads slow_;
  reactor::Ticket coalesce_, burst_, grace_, late_, retry_, recheck_, poll_;
  bool has_started_ = false, has_reported_ = false, is_assembly_due_ = false, is_careful_ = false;
  bool is_burst_concluded_ = false;  // the burst already caused an update before its end
  Millis retry_delay_{1000};
  Millis recheck_delay_{1000};
  std::set<PciAddress> polled_pfs_;
  Millis poll_delay_ = kPollIntervalMin, poll_interval_max_{2000};
  // Query times of answers in readings_, of those in the inventory, and of awaited ones.
  std::map<PciAddress, TimePoint> answered_, query_times_;
  std::map<PciAddress, TimePoint> queried_at_;  // since when
  std::function<void()> on_answered_;
  std::set<std::string> logged_hung_;
  std::map<PciAddress, std::string> logged_unread_;  // PF -> readings_.settings_unread, as last logged
  RateLimitedLog problem_log_;
  // Relations of the last readings with missing links, and the number of consecutive full readings that had
  // the same.
  FunctionRelations missing_before_;
  size_t missing_readings_ = 0;
  uint64_t readings_started_ = 0;
  Counters counters_;
};

}  // namespace sliced::hotplug
