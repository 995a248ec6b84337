#pragma once
// Prepare and unprepare: from a claim's name to devices that containers may be given, and back.
//
//   GET claim ─▶ pod ─▶ check ─▶ plan ─▶ safety ─▶ networks ─▶ look at the host ─▶ safety ─▶ bind ─▶ CDI files, checkpoint ─▶ answer
//
// What is prepared is kept from others from the moment it is planned, on disk before anything is bound, and again
// before the answer.
//
// Steps: each arrow is a function of the task, a row in prepare_steps() or release_steps() (the files
//        of these names). A step ends in advance(task), give_up(task, why) or end(task, answer), once, in the
//        same turn or from the callback of what it has asked for; what it waits for meanwhile is the task's
//        (Task::call, Task::job, Task::turn). So an asynchronous step more is a row and a function:
//            void ClaimPreparer::read_networks(Task& task) {
//              task.call = ports_.cluster.get(..., {.on_done = [this, &task](auto text) { ...; advance(task); },
//                                                   .on_failure = [this, &task](auto& f) { give_up(task, ...); }});
//            }
//        The task may be gone when any of the three returns. Whatever a step changes outside of the process
//        comes behind record_begun, and is undone by a row of release_steps(): they are unprepare's, and what a
//        prepare that gives up behind record_begun goes through.
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "kube/objects/cluster.h"
#include "kube/objects/selector.h"
#include "kubelet/binder.h"
#include "kubelet/claim_files.h"
#include "kubelet/commits.h"
#include "kubelet/driverless.h"
#include "kubelet/host.h"
#include "kubelet/interface_port.h"
#include "kubelet/plan.h"
#include "kubelet/prepare_task.h"
#include "kubelet/prepared.h"
#include "kubelet/preparer_port.h"
#include "kubelet/reconcile.h"
#include "kubelet/records.h"
#include "kubelet/returns.h"
#include "policy/not_returned.h"
#include "policy/reserved/ledger.h"
#include "reactor/base/failure_log.h"
#include "reactor/base/log.h"
#include "reactor/executor.h"
#include "reactor/scheduler.h"

namespace sliced::kubelet {

/// A claim that is prepared without some of its configurations, which name another driver (ignored_configs()).
struct ClaimWithIgnored {
  std::string namespace_, name;
  std::vector<ReservingPod> pods;    // when it was prepared
  std::vector<std::string> ignored;  // sentences, for people
};

class ClaimPreparer final : public Preparer {
 public:
  static constexpr Millis kSharedMax{5'000};  // for the API server to say for whom a claim is reserved
  static constexpr Millis kLookMax{10'000};   // for the kernel to tell of one claim's devices
  static constexpr Millis kSettingsAgain{
      5'000};  // until devices are looked at again that could not be given back

  /// All but the host and the binder outlive the preparer; these two are shared with workers.
  struct Ports {
    kube::Cluster& cluster;
    reactor::Scheduler& scheduler;
    reactor::Executor& executor;
    Log& log;
    std::shared_ptr<const Host> host;
    InterfacePort* interfaces = nullptr;  // null: nobody moves interfaces into pods
    std::shared_ptr<Binder> binder = {};  // null: the host's own calls, on the executor
  };
  /// What the daemon knows, asked when it is needed.
  struct Knowledge {
    /// Why nothing can be looked up yet: the host has not been read, or nothing is decided. "" it can, and the others are not
    /// asked before.
    std::function<std::string()> waits_for;
    FindEntry find;
    std::function<kube::NodeView()> node;
    std::function<std::string()> boot_id;  // "" not known: as another boot
  };
  /// What the daemon is told: prepared means allocated, from the moment it is planned. Results with adminAccess
  /// are not told.
  struct Handlers {
    std::function<void(const policy::Prepared&)> on_prepared;
    std::function<void(const policy::Unprepared&)> on_unprepared;
    /// What is decided over of devices that are prepared, or begun with, by whom: their facts of before.
    std::function<void(const std::string& by, const hotplug::HostDevice& facts)> on_held;
    std::function<void(const std::string& by)> on_let_go;
    /// A claim has been answered for, or is nobody's any more. Optional.
    std::function<void(const PreparedClaim&)> on_answered = {}, on_taken_back = {};
    /// All devices of claims that are gone and still on record, and those of no claim without their original settings, each time that
    /// another set or another reason. Optional.
    std::function<void(policy::NotReturnedDevices)> on_not_returned = {};
  };
  struct Settings {
    FileSettings files;
    PlanSettings plan;
    std::string mac_annotation;  // of pods, kubelet/mac_requests.h; "" no pod is read
  };
  ClaimPreparer(Ports ports, Knowledge knowledge, Handlers handlers, Settings settings);
  ~ClaimPreparer() override;

  /// Reads what was prepared before; calls that come earlier wait for it. ready: it is read, and all of it is told. Once.
  void start(std::function<void()> ready = [] {});

  /// Before start(): calls are refused with that, and do not wait. "": they wait.
  void refuse_until_start(std::string why) { refusal_ = std::move(why); }

  /// A kubelet has come, or come back: what nobody owns any more is cleaned up. Before start() nothing is.
  void reconcile() {
    if (has_started_ && !takes_no_more_) reconcile_.begin();
  }

  /// The same call while one is under way is answered with it. At most one call of a claim is being done, of
  /// either driver.
  void prepare(const std::string& driver, PrepareRequest claim,
               std::function<void(PrepareAnswer)> done) override;
  void unprepare(const std::string& driver, PrepareRequest claim,
                 std::function<void(std::string)> done) override;

  /// The device's interface is in its pod: what containers read of it says so from now on. Of what is not prepared
  /// nothing is said.
  void set_network_data(const PreparedKey& claim, const std::string& device, const std::string& share_id,
                        NetworkData network);

  /// A claim that is prepared has that pod, too: what is looked for of its pods, and undone with them, is from now on.
  void add_pod(const PreparedKey& claim, const ReservingPod& pod);
  /// What dra-driver-sriov had made in sandboxes is known from now on; the networks of its devices are these.
  void adopt_peer_networks(const PeerNetworks& networks);

  /// Everything that is prepared or begun.
  /// The reference lasts; what it shows changes on turns of the loop.
  const PreparedClaims& prepared() const { return prepared_; }
  /// Of claims that were prepared, or are being prepared, by this process; those of another process are asked for again by the kubelet.
  const std::map<PreparedKey, ClaimWithIgnored>& with_ignored() const { return with_ignored_; }
  /// The addresses of before of all VFs that a pod's address is written over, and those that are unknown.
  const OriginalMacs& original_macs() const { return original_macs_; }
  /// Those of devices that pods have, or that could not be given back yet, and those that are unknown.
  const OriginalSettingsByDevice& original_settings() const { return original_settings_; }
  /// Why devices that are offered, or that claims have, do not have their original settings: a sentence for each, by
  /// OriginalSettings::device.
  std::map<std::string, std::string> settings_problems() const;
  /// Those of no claim that do not have their original settings back; a part of not_returned().
  policy::NotReturnedDevices unrestored() const;
  /// The last on_not_returned().
  const policy::NotReturnedDevices& not_returned() const { return not_returned_; }
  bool has_started() const { return has_started_; }
  /// This process ends: what was begun is completed, further calls are refused, and nothing is cleaned up any more.
  void take_no_more() { takes_no_more_ = true; }
  /// Nothing is being done.
  bool idle() const { return (tasks_.empty() || !has_started_) && commits_.idle(); }

 private:
  using Task = PrepareTask;
  using Tasks =
      std::map<std::string, std::deque<std::unique_ptr<Task>>>;  // by claim uid, the first is being done
  static std::span<const PrepareStep> prepare_steps();
  static std::span<const PrepareStep> release_steps();

  // Begins it where nothing of its claim is under way, and where start() is over.
  void enqueue(std::unique_ptr<Task> task);
  // In a turn of its own, so that no answer comes from within a call.
  void begin(Task& task);
  void advance(Task& task);
  // Undoes as far as Task::hold says, then answers with why.
  void give_up(Task& task, const std::string& why);
  void end(Task& task, PrepareAnswer answer);
  // Ends it with an error that names the claim, and a line in the log.
  void fail(Task& task, const std::string& why);
  static std::string key_of_log(const Task& task);
  void note_success(const Task& task);

  // Prepare, in the order of its steps.
  // A claim that is gone is refused, not taken for one without devices.
  void get_claim(Task& task);
  // Only with --mac-annotation, and for a claim of one pod.
  void read_pod(Task& task);
  void plan_claim(Task& task);
  // A claim that is prepared already is answered from its record; one whose devices, or pods, are others by now
  // goes through release_steps() first, and is then prepared as a new one.
  void compare_with_record(Task& task);
  // Reads the claim that conflicts with this one, so that the refusal says whether that claim still exists.
  void check_conflicting_claim(Task& task);
  // Reserves the devices: from here on they are in the ledger, and other claims are refused them.
  void keep_from_others(Task& task);
  void read_networks(Task& task);
  // Where the record has room for it; on a worker, kLookMax for all devices of the claim.
  void look(Task& task);
  // Another function at the address, or one that the host uses by now, is refused; what it was bound to is
  // noted.
  void judge_looks(Task& task);
  // On disk before anything is bound.
  void record_begun(Task& task);
  void bind(Task& task);
  // CDI files, then the checkpoint that says complete.
  void commit_prepared(Task& task);
  void answer_prepared(Task& task);

  // Unprepare, or a prepare's own undoing.
  // An unprepare while a sandbox that has a device of the claim runs fails and changes nothing: a kubelet may ask for it
  // below a second pod of the claim.
  void check_unused(Task& task);
  void judge_unused(Task& task, const PreparedClaim& claim);
  // The pods that share the claim since it was prepared: no kubelet says which. Where the claim cannot be read, those of the record count.
  void read_sharing_pods(Task& task);
  void detach(Task& task);
  void note_ending(Task& task);
  // What a plugin whose DEL does nothing has left is written back, before the function's driver is: an error keeps the claim on record.
  void restore_settings(Task& task);
  void restore(Task& task);
  void commit_released(Task& task);
  void answer_released(Task& task);
  void fail_release(Task& task, const std::string& problem);
  // Its record says why, also on disk, and it is tried again where nobody calls any more.
  void set_not_returned(const PreparedKey& key, const std::string& why);
  void set_state(const PreparedKey& key, ClaimState state);
  void mark_changed(bool is_of_record);
  void change_copies(const PreparedKey& key, const std::function<void(PreparedClaim&)>& change);
  void report_not_returned();

  // next("") once all are off vfio-pci, and with their drivers of before or none (driverless_).
  void restore_devices(Task& task, std::vector<PreparedDevice> devices,
                       std::function<void(const std::string& problem)> next);
  // kTimeout ends the task and undoes nothing: what hangs may be done yet.
  void note_bound(Task& task, std::vector<Result<std::string>> groups);
  // Files for the addresses that pods' are written over.
  FileChange keep_original_macs(const PreparedClaim& claim);
  // Those that are given back with the claim's devices: known ones. An unknown one stays, with what the PF enforces now.
  FileChange drop_original_macs(const PreparedClaim& claim) const;
  // Of an unprepare: reads what the PFs of VFs enforce whose own address is unknown, and reports them.
  void report_unknown_macs(Task& task);
  // Whether the claim may change anything of the device that outlives its pod.
  bool keeps_settings(const PreparedDevice& device) const;
  // The file of its original settings is this claim's.
  bool is_kept_for(const PreparedClaim& claim, const PreparedDevice& device) const;
  // Of those that were looked at: into original_settings_ and files.
  void keep_original_settings(Task& task, FileChange& change);
  // Why what `network` sets of the VF could not be restored; "" it can be. read: as PrepareTask::Found::settings has it.
  std::string lacks_original_setting(const PreparedDevice& device,
                                     const Result<OriginalSettings>& read) const;
  // Those that are given back, or unknown ones with what is left; read by task.found.
  void drop_original_settings(const Task& task, FileChange& change) const;
  // Of an interface that has everything but its name: logs it once, and keeps it for status.
  void report_name(const std::string& device, const std::string& problem);
  // The claim is off the record: files of what was given back go, what was not is looked after.
  void forget_settings(const Task& task, const std::vector<std::string>& given_back);
  // Why the device cannot be prepared yet: its PF, or a VF of it, that no claim has does not have its settings back, and these
  // are settings of VFs; or the device itself, and the claim would not restore it. "" it can.
  std::string waits_for_settings(const PreparedDevice& device);
  // Devices that no claim has, and that are not as they were: their interface was not back, or a daemon was killed. Tried again until they
  // are; they are handed to no claim before. Called wherever such a device, or a claim that had one, is released.
  void restore_settings_later();
  // Into prepared_, and told to the daemon; a record of before is replaced.
  void reserve(PreparedClaim claim);
  // Out of prepared_, and told; nothing for one that is not there.
  void release(const PreparedKey& key);
  void report_ignored(const Task& task);
  // The records of before this process began are reserved, then calls that waited begin.
  void take_over(Records recalled);
  Reconcile::Handlers reconcile_handlers();
  Returns::Handlers return_handlers();
  std::string encode() const;

  Ports ports_;
  const Knowledge knowledge_;
  const Handlers handlers_;
  const Settings settings_;
  PreparedClaims prepared_;
  std::map<PreparedKey, ClaimWithIgnored> with_ignored_;  // a part of prepared_, or of what is being done
  OriginalMacs original_macs_;  // of VFs that have, or may have, a pod's address: as their files are to be
  OriginalSettingsByDevice original_settings_;  // as their files are to be
  // By device: why it does not have its original settings; "" until a first try has failed, of one from before the start.
  std::map<std::string, std::string> unrestored_;
  std::set<std::string> returned_;   // devices that no claim has, and whose settings are kept still
  std::set<std::string> restoring_;  // those that restore_settings_later() is about
  std::unique_ptr<reactor::Job> settings_job_;
  reactor::Ticket settings_turn_;
  std::set<PreparedKey> written_;  // their CDI files, by this process
  FailureLog said_;                // calls that fail
  Tasks tasks_;
  bool has_started_ = false, takes_no_more_ = false;
  std::string refusal_;  // of calls before start(); "" they wait
  size_t starts_ = 0;
  std::unique_ptr<reactor::Job> start_job_;
  reactor::Ticket start_turn_;
  Commits commits_;
  Reconcile reconcile_;
  Returns returns_;
  policy::NotReturnedDevices not_returned_;  // as it was reported last
  reactor::Ticket change_turn_, record_turn_;
  Driverless driverless_;
};

}  // namespace sliced::kubelet
