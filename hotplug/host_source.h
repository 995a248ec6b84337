#pragma once
// The host as one source: events say where to look, workers read it, the inventory book concludes, and
// whoever listens gets whole inventories with what differs.
//
// Order:   event sources are opened before the first scan, so that nothing falls between the two.
// Rhythm:  events within kCoalesce are one reading; one reading at a time. What vanished leaves the
//          inventory at once, without a reading, the first of a burst at its first event.
// Silence: no update when nothing differs, but for the first.
// Errors:  what could not be read is read again, soon and then ever more rarely, until it can be.
// Hangs:   a reading that passes its deadline is repeated entry by entry, and an entry that hangs keeps its
//          last facts or is `broken`; facts behind the kernel's locks are always read so.
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

/// What listeners get: the whole, what differs from the one before, and what set the reading off.
/// The three lists are InventoryBook::take()'s; all are empty where only the boot id differs.
struct InventoryUpdate {
  InventoryPtr now;
  std::vector<std::string> added, changed, removed;  // ids, sorted
  bool relisted = false;                             // the first, or after a loss of events
  std::string why;                                   // "start", "uevent add /devices/...", "sync timer"
};

/// Threads:   on the loop's thread; what reads files runs on the executor, with a copy of what it needs.
/// Ownership: dropping it stops its event sources and forgets readings under way.
/// Reentry:   on_update runs from the scheduler's, executor's or event sources' callbacks and must not
///            destroy it.
class HostSource {
 public:
  /// Bounds of what waits. None is an option: they are chosen so that a burst of udev's is one reading, and
  /// so that a driver that hangs is told from one that is merely slow.
  static constexpr size_t kTouchedMax = 65536;  // entries that are marked one by one; more is everything
  static constexpr Millis kCoalesce{15};
  static constexpr Millis kBurst{5};  // between two conclusions from what vanished
  /// Full readings in a row that must find the same interfaces missing, and the same relations of functions (function_relations()),
  /// before HostReadings::are_missing_lasting. They are 1 s, 2 s, 4 s apart, and a change begins again with 1 s.
  static constexpr size_t kMissingReadings = 4;
  /// Of one reading at once, and of listing the directories.
  static constexpr Millis kScanDeadline{5000};
  /// Of one entry, where they are read one by one, and of one interface's slow facts.
  static constexpr Millis kReadDeadline{1000};
  static constexpr Millis kAskAgainMin{100};
  /// How long an update waits for facts behind the kernel's locks; later ones are an update of their own.
  static constexpr Millis kSlowGrace{250};

  /// VF index -> what the PF with this netdev enforces. Blocks; runs on a worker. Empty: not asked.
  /// It is asked of PFs that have VFs, and of no other. Neither an error nor an answer that lacks VFs erases known settings: the reason is in
  /// the log and in `unreadable` of the PF and of these VFs, and GUIDs are read from sysfs. kNotFound (the interface is gone) changes nothing.
  using ReadVfConfigs = std::function<Result<std::map<int, VfConfig>>(int ifindex)>;

  /// References outlive the source. host and read_vf_configs are handed to workers, where a read that hangs
  /// may outlive it: they are usable from any thread.
  struct Ports {
    reactor::Scheduler& scheduler;
    reactor::Executor& executor;
    std::shared_ptr<const HostView> host;
    std::vector<std::unique_ptr<EventSource>> events;
    Log& log;
    ReadVfConfigs read_vf_configs = {};
  };
  /// On the loop. The first one comes when everything has been read once.
  /// The first waits for the slow facts of the first reading, or for their deadlines: without them a restart
  /// would publish guesses.
  using OnUpdate = std::function<void(const InventoryUpdate&)>;
  /// The number of devices that differed although no event had told of them.
  /// A device that events touched before or while it was read is none of them.
  using OnRescanned = std::function<void(size_t missed)>;

  HostSource(Ports ports, OnUpdate on_update);
  HostSource(const HostSource&) = delete;

  /// Once. A source that cannot be opened is logged and done without: the sync timer still finds what
  /// changes.
  void start();
  /// Reads everything and compares. A second call before the first is done joins it.
  void rescan(std::string why, OnRescanned on_rescanned = {});
  /// What these PFs enforce is waited for, and the kernel may not tell: they are read again after kAskAgainMin, then
  /// ever more rarely up to the longest wait, until they are others or none. Asked for once more, the waits go on.
  void ask_again(std::set<PciAddress> pfs);
  void set_ask_again_max(Millis longest) { ask_again_max_ = longest; }
  /// That PF is read once more, as after an event: what it enforces has been changed here, and its driver may not tell.
  void read_again(const PciAddress& pf, std::string why);
  /// These PFs are asked once more at once. on_told: of each that has answered, when inventory() knows it, also where
  /// nothing differs; one that is asked already is not asked twice. Replaces what was said here before.
  void ask_now(std::set<PciAddress> pfs, std::function<void()> on_told);
  /// When the last question to a PF began whose answer inventory() has.
  const std::map<PciAddress, TimePoint>& query_times() const { return query_times_; }
  /// Last known netdevs of functions, from what was published before a restart in this boot.
  void recover_sticky(std::vector<RecoveredNetdev> recovered);

  /// Version 0 until the first update.
  const InventoryPtr& inventory() const { return book_.now(); }

  /// Since the start; they decide nothing. events: whatever the sources told, of use or not. hung_reads:
  /// reads past their deadline, those of one entry each time anew. concluded: calls of InventoryBook::take.
  struct Counters {
    uint64_t events = 0, overflows = 0, full_scans = 0, partial_scans = 0, missed = 0, hung_reads = 0;
    uint64_t concluded = 0;
  };
  const Counters& counters() const { return counters_; }

 private:
  // What readings do to themselves when an event leaves no doubt. A VF that vanished need not be read to be
  // withdrawn.
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
  /// True when it was there. With an ifindex that is not the named one's, another interface has the name by
  /// now, and stays.
  static bool apply(const Edit& edit, HostReadings& readings);

  // What events have said since the last reading began.
  struct Marks {
    Touched touched;
    bool full = false, relisted = false, is_sync = false;
    std::string why;
    NetdevChanges changes;
    std::vector<OnRescanned> on_rescanned;
    /// Names that left or came make no reading by themselves: whatever tells of them touches something too.
    bool is_empty() const { return touched.is_empty() && !full; }
    void merge(Marks other);
  };
  // A reading on its way: marks taken when it began, edits that came meanwhile.
  struct Reading {
    uint64_t number = 0;
    Marks marks;
    std::shared_ptr<HostReadings> result;
    std::vector<Edit> edits;
    uint64_t shortages = 0;  // HostView::shortages() at its begin
    std::unique_ptr<reactor::Job> job;
    bool is_read = false;  // the fast part is in result
  };

  // Events: host_source_events.cpp.
  void on_event(HostEvent event);
  void on(const Uevent& event);
  void on_pci(const Uevent& event);
  void mark_what_hangs_on(const PciAddress& function);
  void on_net(const Uevent& event);
  void on(const LinkChange& event);
  void on(const RouteChange& event);
  void on(const Overflow& event);
  /// why: of the first mark of a reading; it is what the log says of it.
  void mark(std::string why);
  /// The book is told at once: the interface may be gone under its new name before it has been read.
  void rename(const RenameNetdev& change);
  void edit(Edit change);
  /// An edit, and the inventory is concluded without a reading: immediately, or when the burst ends.
  void vanish(Edit change, const std::string& why);
  /// As it was read, or else heard of last; "" neither.
  std::string name_of_ifindex(int ifindex) const;
  void record_name_change(const LinkChange& event);

  // Readings. One at a time; what is marked meanwhile is read next.
  void schedule();
  void begin_reading();
  /// Everything that is marked in one job. When that passes kScanDeadline, entries are read one by one from then
  /// on, until none of them hangs.
  void read_at_once();
  void read_carefully();
  void read_entries(HostListing listing);
  /// Behind the entries, since asking for routes may hang, too.
  void read_routes();
  /// The fast part is there: what came meanwhile is applied to it, then facts behind locks are asked for.
  void on_read();
  // What is read one by one. An entry that hangs keeps its last facts; a function without any is `broken`.
  CarefulReads::Ask function_ask(const PciAddress& address, const std::string& target);
  CarefulReads::Ask netdev_ask(const std::string& name, const std::string& target);
  CarefulReads::Ask slow_ask(const std::string& name, int ifindex);
  /// What a PF enforces of its VFs.
  CarefulReads::Ask pkeys_ask(const PciAddress& function, const std::string& rdma_device);
  CarefulReads::Ask vf_configs_ask(const PciAddress& pf, const NetdevReading& own);
  /// Counted each time, said once for each entry.
  void report_hung(const std::string& what);
  std::vector<CarefulReads::Ask> slow_asks();
  /// What was read slowly belongs to an interface as long as that is the same one (its ifindex).
  void keep_late_facts(HostReadings& result) const;
  template <class Change>
  void change_readings(Change change);  // in readings_ and, once it is read, in the reading on its way
  /// The reading becomes what is known, and the book concludes from it.
  void commit();
  void judge_missing_links(HostReadings& now, bool is_full);
  /// Slow facts that came behind their update: one update for all of a moment.
  void report_late_facts();
  NetdevChanges changes_heard() const;
  InventoryDiff assemble(const std::string& why, const NetdevChanges& changes, bool relisted);
  /// Events of interfaces or routes have come that no reading has seen whole: until one has, what the host used counts as used.
  bool has_unread_links() const;
  void report_missed(const Marks& marks, const InventoryDiff& diff);
  /// The host cannot be listed: what is known stands, and the marks stay. Waits double.
  void retry_later();
  /// No event tells that a file has become readable: what is unreadable or broken is read again after 1 s,
  /// then ever later, up to a minute, until all is well.
  void look_again_later();
  void arm_ask_again();
  void note_answer(const PciAddress& pf, TimePoint asked_at);
  void notify_answers();
  void log_unread_settings();  // on a change

  Ports ports_;
  OnUpdate on_update_;
  InventoryBook book_;
  HostReadings readings_;
  Marks marks_;
  /// By ifindex, of interfaces that were heard of and have not been read yet: kTouchedMax at most.
  std::map<int, std::string> unread_names_;
  std::unique_ptr<Reading> reading_;
  CarefulReads entries_;
  CarefulReads slow_;
  reactor::Ticket coalesce_, burst_, grace_, late_, retry_, look_again_, ask_again_;
  bool has_started_ = false, has_reported_ = false, is_assembly_due_ = false, is_careful_ = false;
  bool is_burst_concluded_ = false;  // something of the burst was concluded before its end
  Millis retry_delay_{1000};
  Millis look_again_delay_{1000};
  std::set<PciAddress> asked_again_;
  Millis ask_again_delay_ = kAskAgainMin, ask_again_max_{2000};
  // Answers that readings_ has, and those of them that the inventory has; whose is waited for.
  std::map<PciAddress, TimePoint> answered_, query_times_;
  std::map<PciAddress, TimePoint> awaited_;  // since when
  std::function<void()> on_told_;
  std::set<std::string> logged_hung_;
  std::map<PciAddress, std::string> logged_unread_;  // PF -> readings_.settings_unread, as the log has it
  RateLimitedLog problem_log_;
  // Of the last readings with missing links, and how many full ones in a row had the same.
  FunctionRelations missing_before_;
  size_t missing_readings_ = 0;
  uint64_t readings_begun_ = 0;
  Counters counters_;
};

}  // namespace sliced::hotplug
