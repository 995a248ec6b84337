#pragma once
// Prepare and unprepare: from a claim's name to devices for containers, and back.
//
//   GET claim ─▶ pod ─▶ check ─▶ plan ─▶ safety ─▶ networks ─▶ read the host ─▶ safety ─▶ bind ─▶ CDI files, checkpoint ─▶ answer
//
// The devices are reserved as soon as they are planned, on disk before anything is bound, and again before
// the answer.
//
// Steps: each arrow is a function of the task, a row in prepare_steps() or release_steps() (the files
//        of these names). A step ends in advance(task), give_up(task, why) or end(task, answer), once, in the
//        same turn or from the callback of its operation. The task owns that operation (Task::call,
//        Task::job, Task::turn). So a further asynchronous step is a row and a function:
//            void ClaimPreparer::read_networks(Task& task) {
//              task.call = ports_.cluster.get(..., {.on_done = [this, &task](auto text) { ...; advance(task); },
//                                                   .on_failure = [this, &task](auto& f) { give_up(task, ...); }});
//            }
//        That call is the last statement of the step. Every change outside the process follows
//        record_begun, and a row of release_steps() undoes it. These rows run for an unprepare, and for a
//        prepare that fails after record_begun.
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
#include "kubelet/checkpoint.h"
#include "kubelet/claim_files.h"
#include "kubelet/commits.h"
#include "kubelet/driver_retries.h"
#include "kubelet/host.h"
#include "kubelet/interface_port.h"
#include "kubelet/plan.h"
#include "kubelet/prepare_task.h"
#include "kubelet/prepared.h"
#include "kubelet/preparer_port.h"
#include "kubelet/reconcile.h"
#include "kubelet/records.h"
#include "kubelet/release_retries.h"
#include "policy/not_returned.h"
#include "policy/reserved/ledger.h"
#include "reactor/base/failure_log.h"
#include "reactor/base/log.h"
#include "reactor/executor.h"
#include "reactor/scheduler.h"

namespace sliced::kubelet {

/// A prepared claim with configurations that sliced ignored because they name another driver
/// (ignored_configs()).
struct ClaimWithIgnored {
  std::string namespace_, name;
  std::vector<ReservingPod> pods;    // at prepare
  std::vector<std::string> ignored;  // sentences for people
};

/// All references outlive the preparer. Workers share the host and the binder.
struct PreparerPorts {
  kube::Cluster& cluster;
  reactor::Scheduler& scheduler;
  reactor::Executor& executor;
  Log& log;
  std::shared_ptr<const Host> host;
  InterfacePort* interfaces = nullptr;  // null: no component moves interfaces into pods
  std::shared_ptr<Binder> binder = {};  // null: calls the host on the executor
};

class ClaimPreparer final : public Preparer {
 public:
  static constexpr Millis kSharedMax{5'000};  // for the API server to return the pods for which a claim is
                                              // reserved
  static constexpr Millis kReadDevicesMax{10'000};  // for the kernel to report one claim's devices
  static constexpr Millis kSettingsAgain{5'000};    // between two attempts to restore devices

  /// Functions that return the daemon's current state.
  struct DaemonState {
    /// Returns why no entry can be looked up yet: the host was not read, or no decision was made. While it is
    /// not "", the other functions are not called.
    std::function<std::string()> waits_for;
    FindEntry find;
    std::function<kube::NodeView()> node;
    std::function<std::string()> boot_id;  // "" if unknown, which counts as another boot
  };
  /// Notifications to the daemon. A claim counts as allocated from the moment it is planned. Results with
  /// adminAccess are not reported.
  struct Handlers {
    std::function<void(const policy::Prepared&)> on_prepared;
    std::function<void(const policy::Unprepared&)> on_unprepared;
    /// The facts of a device from before it was bound or moved, which decisions use while `by` holds it. by:
    /// driver and uid of the claim.
    std::function<void(const std::string& by, const hotplug::HostDevice& facts)> on_pinned;
    /// The claim has left the record, also on disk. Its devices return to the host from now on.
    std::function<void(const std::string& by)> on_unpinned;
    /// A claim was answered, or its record was removed. Optional.
    std::function<void(const PreparedClaim&)> on_answered = {}, on_record_removed = {};
    /// All devices of deleted claims that are still on record, and those of no claim whose original settings
    /// are not restored. Called when the set or a reason changes. Optional.
    std::function<void(policy::NotReturnedDevices)> on_not_returned = {};
  };
  struct Settings {
    FileSettings files;
    PlanSettings plan;
    std::string mac_annotation;  // annotation of pods (kubelet/mac_requests.h); "": pods are not read
    /// A claim for which the checkpoint would have no room is refused; a namespace has a quarter of it. At
    /// most kCheckpointBytesMax.
    size_t record_bytes_max = kCheckpointBytesMax;
  };
  ClaimPreparer(PreparerPorts ports, DaemonState knowledge, Handlers handlers, Settings settings);
  ~ClaimPreparer() override;

  /// Reads the records of earlier processes. Earlier calls wait for it. ready: called once, after all records
  /// were read and reported.
  void start(std::function<void()> ready = [] {});

  /// Refuses calls before start() with that text. "": they wait.
  void refuse_until_start(std::string why) { refusal_ = std::move(why); }

  /// Cleans up unowned records and files; called when a kubelet registers the plugin. Does nothing before
  /// start().
  void reconcile() {
    if (has_started_ && !is_stopping_) reconcile_.begin();
  }

  /// A call that is equal to one in progress shares its answer. Calls of one claim, of either driver, run one
  /// after the other.
  void prepare(const std::string& driver, PrepareRequest claim,
               std::function<void(PrepareAnswer)> done) override;
  void unprepare(const std::string& driver, PrepareRequest claim,
                 std::function<void(std::string)> done) override;

  /// Stores the data of an interface that is in its pod, for the metadata files. Ignored for a device that is
  /// not prepared.
  void set_network_data(const PreparedKey& claim, const std::string& device, const std::string& share_id,
                        NetworkData network);

  /// Adds a pod to a prepared claim, so that interfaces are looked up and removed for that pod too.
  void add_pod(const PreparedKey& claim, const ReservingPod& pod);
  /// Compares the device nodes of the pod's claims with the host, after CNI plugins have run. is_new_sandbox:
  /// the pod has no containers, so where nodes have changed, the CDI spec and the record of a claim that is
  /// this pod's alone are written again. In other cases containers may have the nodes of before, which the
  /// record must name so that no other claim gets them. done: called within this call if no device has nodes.
  /// Errors: as with_present_nodes(), stale_nodes() and node_refusal(); others if files cannot be written.
  void refresh_nodes(const std::string& pod_uid, bool is_new_sandbox, std::function<void(Result<Unit>)> done);
  /// Replaces the networks of devices that dra-driver-sriov had prepared, after its sandboxes are known.
  void adopt_peer_networks(const PeerNetworks& networks);

  /// All claims that are prepared or in preparation. The reference stays valid; its content changes on turns
  /// of the loop.
  const PreparedClaims& prepared() const { return prepared_; }
  /// Claims that this process prepared. The kubelet prepares those of an earlier process again.
  const std::map<PreparedKey, ClaimWithIgnored>& with_ignored() const { return with_ignored_; }
  /// Original addresses of all VFs with a pod's address, including unknown ones.
  const OriginalMacs& original_macs() const { return original_macs_; }
  /// Original settings of devices that pods have, or that are not restored yet, including unknown ones.
  const OriginalSettingsByDevice& original_settings() const { return original_settings_; }
  /// Returns why devices that are offered or allocated lack their original settings: a sentence for each, by
  /// OriginalSettings::device.
  std::map<std::string, std::string> settings_problems() const;
  /// Returns the devices of no claim whose settings are not restored; a part of not_returned().
  policy::NotReturnedDevices unrestored() const;
  /// The value of the last on_not_returned().
  const policy::NotReturnedDevices& not_returned() const { return not_returned_; }
  bool has_started() const { return has_started_; }
  /// Prepares for the end of this process: tasks in progress are completed, new calls are refused, and the
  /// clean-up stops.
  void stop_accepting() { is_stopping_ = true; }
  /// Returns whether no task is in progress.
  bool idle() const { return (tasks_.empty() || !has_started_) && commits_.idle(); }

 private:
  using Task = PrepareTask;
  using Tasks =
      std::map<std::string, std::deque<std::unique_ptr<Task>>>;  // by claim uid; the first one is in progress
  static std::span<const PrepareStep> prepare_steps();
  static std::span<const PrepareStep> release_steps();

  // Starts the task if no other one of its claim is in progress and start() has finished.
  void enqueue(std::unique_ptr<Task> task);
  // Starts it in a turn of its own, so that no answer is given from within a call.
  void begin(Task& task);
  void advance(Task& task);
  // Undoes the changes as described in Task::hold, then answers with `why`.
  void give_up(Task& task, const std::string& why);
  void end(Task& task, PrepareAnswer answer);
  // Ends the task with an error that names the claim, and logs it.
  void fail(Task& task, const std::string& why);
  static std::string key_of_log(const Task& task);
  void note_success(const Task& task);

  // The steps of a prepare, in order. A deleted claim is an error, not a claim without devices.
  void get_claim(Task& task);
  // Only with --mac-annotation, and for a claim of one pod.
  void read_pod(Task& task);
  void plan_claim(Task& task);
  // Answers a prepared claim from its record. If its devices or pods have changed, runs release_steps() first
  // and prepares it as a new one. Refuses it if its device nodes belong to other functions now.
  void compare_with_record(Task& task);
  void answer_from_record(Task& task);
  // Reads the claim that conflicts with this one, so that the refusal can report whether that claim still
  // exists.
  void check_conflicting_claim(Task& task);
  // Reserves the devices in the ledger; other claims for them are refused from now on.
  void reserve_devices(Task& task);
  void read_networks(Task& task);
  // If the checkpoint has room for the claim. Reads all devices of the claim on a worker, within kReadDevicesMax.
  void look(Task& task);
  // Refuses another function at the address, and a function that the host uses now. Records the current
  // driver.
  void check_snapshots(Task& task);
  // Writes the record before anything is bound.
  void record_begun(Task& task);
  void bind(Task& task);
  // Writes the CDI files, then the checkpoint that marks the claim as complete.
  void commit_prepared(Task& task);
  void answer_prepared(Task& task);

  // The steps of an unprepare, or of undoing a prepare. An unprepare fails without changes while a running
  // sandbox has a device of the claim: the kubelet may call it although a second pod uses the claim.
  void check_unused(Task& task);
  void judge_unused(Task& task, const PreparedClaim& claim);
  // Reads the pods that share the claim since it was prepared, which the kubelet does not report. If the
  // claim cannot be read, the pods of the record count.
  void read_sharing_pods(Task& task);
  void detach(Task& task);
  void note_ending(Task& task);
  // Restores settings that a CNI plugin's DEL left changed, before the function's driver is restored. On an
  // error the claim stays on record.
  void restore_settings(Task& task);
  void restore(Task& task);
  void commit_released(Task& task);
  void answer_released(Task& task);
  void fail_release(Task& task, const std::string& problem);
  // Records the reason, also on disk, and schedules a retry in case the kubelet does not call again.
  void set_not_returned(const PreparedKey& key, const std::string& why);
  // Records whether the claim still exists, also on disk. kUnknown changes nothing.
  void set_state(const PreparedKey& key, ClaimState state);
  // Schedules report_not_returned(). is_of_record: after a write of the checkpoint.
  void mark_changed(bool is_of_record);
  // Applies the change of a record to the copies that tasks of the claim have of it.
  void change_copies(const PreparedKey& key, const std::function<void(PreparedClaim&)>& change);
  void report_not_returned();

  // Calls next("") when all devices have left vfio-pci and have their original drivers, or none
  // (driver_retries_).
  void restore_devices(Task& task, std::vector<PreparedDevice> devices,
                       std::function<void(const std::string& problem)> next);
  // kTimeout ends the task without undoing anything: the call that hangs may still complete.
  void note_bound(Task& task, std::vector<Result<std::string>> groups);
  // Returns files for the addresses that pods' addresses replace.
  FileChange keep_original_macs(const PreparedClaim& claim);
  // Returns the removal of the addresses that are restored with the claim's devices. An unknown address
  // stays, with the one that the PF enforces now.
  FileChange drop_original_macs(const PreparedClaim& claim) const;
  // For an unprepare: reads the enforced addresses of VFs whose original one is unknown, and reports them.
  void report_unknown_macs(Task& task);
  // Returns whether the claim may change settings of the device that outlive its pod.
  bool keeps_settings(const PreparedDevice& device) const;
  // Returns whether the file of its original settings is this claim's.
  bool is_kept_for(const PreparedClaim& claim, const PreparedDevice& device) const;
  struct NodeRefresh;
  void judge_nodes(const std::shared_ptr<NodeRefresh>& refresh);
  void write_nodes(const std::shared_ptr<NodeRefresh>& refresh, const PreparedKey& key,
                   std::vector<PreparedDevice> devices);
  // Stores the settings that were read, in original_settings_ and files.
  void keep_original_settings(Task& task, FileChange& change);
  // The commit of keep_original_settings() has failed. Requires: prepared_ still has the claim from before
  // it.
  void forget_unwritten_settings(Task& task);
  // Returns why settings of the VF that `network` sets could not be restored later; "" if they can. read:
  // PrepareTask::Found::settings.
  std::string lacks_original_setting(const PreparedDevice& device,
                                     const Result<OriginalSettings>& read) const;
  // Removes the settings that are restored, and updates the remainder of unknown ones. Reads task.found.
  void drop_original_settings(const Task& task, FileChange& change) const;
  // An interface has everything but its name: logs it once, and keeps the problem for the status.
  void report_name(const std::string& device, const std::string& problem);
  // The claim left the record: removes the files of restored devices, and schedules retries for the others.
  void forget_settings(const Task& task, const std::vector<std::string>& given_back);
  // Returns why the device cannot be prepared yet; "" if it can. A PF or a VF of it that no claim has is not
  // restored, and the settings are those of VFs; or the device itself is not restored, and the claim would
  // not restore it.
  std::string waits_for_settings(const PreparedDevice& device);
  // Retries devices of no claim that are not restored, because their interface was not back or a daemon was
  // killed. No claim gets them before. Called after each release of such a device, or of a claim that had
  // one.
  void restore_settings_later();
  // Adds it to prepared_, replacing an older record, and notifies the daemon.
  void reserve(PreparedClaim claim);
  // Removes it from prepared_, and calls on_unprepared. Does nothing if it is not there. let_go() follows.
  void release(const PreparedKey& key);
  // Calls on_unpinned. Requires: the released record is not on disk, or is on record again after this call.
  void let_go(const PreparedKey& key);
  void report_ignored(const Task& task);
  // Reserves the records of earlier processes, then starts the calls that waited.
  void adopt_records(Records recalled);
  Reconcile::Handlers reconcile_handlers();
  ReleaseRetries::Handlers return_handlers();
  std::string encode() const;

  PreparerPorts ports_;
  const DaemonState knowledge_;
  const Handlers handlers_;
  const Settings settings_;
  PreparedClaims prepared_;
  std::map<PreparedKey, ClaimWithIgnored> with_ignored_;  // keys are in prepared_, or of a task in progress
  OriginalMacs original_macs_;  // VFs that have, or may have, a pod's address; equal to the files after the
                                // next write
  OriginalSettingsByDevice original_settings_;  // equal to the files after the next write
  // Why a device does not have its original settings, by device; "" before the first attempt, for a device
  // from before the start.
  std::map<std::string, std::string> unrestored_;
  std::set<std::string> returned_;   // devices of no claim whose settings are still kept
  std::set<std::string> restoring_;  // devices that restore_settings_later() is restoring
  std::map<const NodeRefresh*, std::unique_ptr<reactor::Job>> node_jobs_;
  std::unique_ptr<reactor::Job> settings_job_;
  reactor::Ticket settings_turn_;
  std::set<PreparedKey> written_;  // claims whose CDI files this process wrote
  FailureLog failures_;            // calls that fail
  Tasks tasks_;
  bool has_started_ = false, is_stopping_ = false;
  std::string refusal_;  // for calls before start(); "": they wait
  size_t starts_ = 0;
  std::unique_ptr<reactor::Job> start_job_;
  reactor::Ticket start_turn_;
  Commits commits_;
  Reconcile reconcile_;
  ReleaseRetries release_retries_;
  policy::NotReturnedDevices not_returned_;  // as last reported
  bool is_record_changed_ = false;           // since change_turn_ was set
  size_t records_pending_ = 0;               // writes of such changes
  reactor::Ticket change_turn_;
  DriverRetries driver_retries_;
};

}  // namespace sliced::kubelet
