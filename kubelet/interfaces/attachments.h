#pragma once
// Attaches interfaces to sandboxes and detaches them, with persistent records: the record is written before
// ADD begins and removed after DEL has succeeded.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kubelet/cni/invoke.h"
#include "kubelet/cni/record.h"
#include "kubelet/interfaces/host_addresses.h"
#include "kubelet/interfaces/keyed_queue.h"
#include "reactor/backoff.h"
#include "reactor/base/log.h"
#include "reactor/executor.h"
#include "reactor/scheduler.h"
#include "reactor/semaphore.h"

namespace sliced::kubelet {

/// cni::run_chain, with its loop and place. Called for one attachment at a time among those that share a
/// pod or a device. Dropping the result kills the plugins.
using RunChain = std::function<std::unique_ptr<cni::Run>(cni::Network, cni::Command, cni::Attachment,
                                                         std::optional<cni::Attached> previous,
                                                         Millis deadline, cni::OnRun)>;

/// Work on the host's side around the CNI plugins. Each function is called on a worker and may block.
struct HostSteps {
  /// Returns whether no interface of that function can be in a network namespace other than the host's
  /// (kubelet/node_host.h, is_back()). Null: never.
  std::function<bool(const std::string& pci)> is_back = {};
  /// is_network_namespace() (kubelet/network_namespace.h): another file counts as a namespace that is
  /// gone. Null: every existing file is one.
  std::function<bool(const std::string& path)> is_namespace = {};
  /// Completes a record before ADD, and protects the host's settings (kubelet/interfaces/host_interface.h):
  /// host_interface, host_sysctls, config. An error refuses the sandbox before any plugin runs. Null: does
  /// nothing.
  std::function<Result<Unit>(cni::Record& record)> prepare_host = {};
  /// HostSysctls::restore(): called after an ADD, and after the DEL of a failed one. Null: does nothing.
  std::function<void(cni::Record& record)> restore_host_sysctls = {};
  /// Used before and after each ADD of a namespace user's definition: exclude_host_addresses() and
  /// check_result_addresses().
  ReadHostAddresses host_addresses = {};
  /// record_moved_interface(): called after each ADD. Null: does nothing.
  std::function<void(cni::Record& record, int network_namespace)> on_interface_moved = {};
  /// restore_names_in_sandbox(): called before each DEL while the namespace exists; if it fails no plugin is
  /// run. Null: the pod's names are trusted.
  std::function<Result<Unit>(const cni::Record& record, int network_namespace)> before_del = {};
  /// Moves an interface that the plugins left in the sandbox's namespace back to the host. Called after each
  /// DEL, successful or not, while the namespace exists. network_namespace: a descriptor. Null: the plugins
  /// are trusted.
  std::function<Result<Unit>(const cni::Record& record, int network_namespace)> bring_back = {};
};

/// Plugin chains that run concurrently, each with a process and pipes; the others wait in order. ADD does not
/// wait for DEL, which may take long.
struct AttachmentBounds {
  size_t adds_max = 32, dels_max = 48;
  /// DELs of one namespace's pods. So plugins that the users of one namespace chose do not delay those of
  /// others.
  size_t dels_of_namespace_max = 24;
  /// Attachments of detach_later() in progress: fewer than dels_max, so that a device that is requested
  /// meanwhile has its DEL.
  size_t later_max = 32;
};

struct AttachmentPorts {
  reactor::Scheduler& scheduler;
  reactor::Executor& executor;
  Log& log;
  std::shared_ptr<const cni::Records> records;
  RunChain run;
  reactor::Random random = reactor::system_random();
  HostSteps host = {};
  int tries_max = 10;  // about 4 minutes
  /// host-local's base directory, with a directory for each network (base/NAMESPACE/NETWORK). A network's
  /// directory is removed with its last address, and at the start (kubelet/cni/host_local.h). "": none is
  /// removed.
  std::string addresses = {};
  AttachmentBounds bounds = {};
};

/// ADDs for one sandbox run concurrently, except those on one device, or on one shared lower device. A DEL
/// does not run together with any other work for its pod or its device, because an old DEL must not undo a
/// new pod's attachment. A failed DEL is retried with backoff, and keeps its device from other sandboxes.
/// A runtime may remove a namespace without an event (containerd does for sandboxes that are older than
/// itself). The kernel would then return the interface under its name in the pod. So namespaces are kept open
/// until DEL has run.
/// Log: failed detachments, once while they last.
/// Ownership: the objects in AttachmentPorts outlive this object; workers share the records. The destructor
/// kills running plugins without callbacks; their records stay.
/// Threads: the loop's; disk access is on the executor.
/// Reentry: callbacks come from turns of their own, never from within attach() or detach(), and may call
/// both.
class Attachments {
 public:
  static constexpr Millis kDetachMax{30'000};  // for one DEL, from its start

  /// Reads and runs nothing yet.
  explicit Attachments(AttachmentPorts ports);
  ~Attachments();

  /// Reads the records of earlier processes. No other function is called before `ready`. Called once. A disk
  /// that does not answer is read again every second: without the records, a pod's device could be attached
  /// to another pod. An invalid record is logged and kept, and is not undone.
  void start(std::function<void()> ready);

  /// Errors of attach():
  ///  - kInvalid and kTooLarge of cni::check() or cni::decode_network(): nothing is kept, run or undone;
  ///  - those of cni::run_chain, kTimeout, kBusy (the device is in another pod's sandbox), kIo (the record
  ///    cannot be written).
  /// After an error the record may remain, and the caller detaches it. It is dropped if no plugin was run
  /// (one is not installed, or no time is left), or if the definition contains an address of the host, so
  /// that no DEL is required. If an earlier ADD of the pod was not undone, the text begins with the problem
  /// of that ADD. The deadline covers the written record; ADD gets the remaining time except the last 150 ms.
  using OnAttached = std::function<void(Result<cni::Attached>)>;
  /// Attaches the interface. An existing attachment is returned immediately. Attachments of the same pod in
  /// another sandbox, which has ended, are undone first. A detachment of the device that is in progress is
  /// completed first.
  void attach(cni::Record record, TimePoint deadline, OnAttached done);
  /// Takes over an attachment that another program made. It is then treated like one of this program, with
  /// the result in its record (without a result: started). A known attachment stays unchanged.
  void adopt(cni::Record record);
  /// `done` gets the result of the first attempt; ok immediately if there is no such attachment. Errors:
  /// those of cni::run_chain, kIo, kBusy (the disk). Further attempts follow after 1 s to 60 s, doubling.
  /// The attempts end if the sandbox's namespace is gone and its function is on the host (HostSteps::is_back)
  /// or it has none. Then the record is dropped with an error in the log, as soon as another sandbox requests
  /// the device, or after AttachmentPorts::tries_max. Otherwise a plugin whose DEL requires missing facts, as
  /// host-device requires the function's driver, would keep the device forever. Records of shared devices
  /// would accumulate. All other attachments are retried without end.
  using OnDetached = std::function<void(Result<Unit>)>;
  /// From this call on the attachment counts as leaving, even while the work waits. An ADD in progress is
  /// undone afterwards.
  void detach(const cni::Attachment& attachment, OnDetached done);
  /// As detach(), for many attachments without a caller that waits, such as after a reboot. At most
  /// AttachmentBounds::later_max are in progress.
  void detach_later(const cni::Attachment& attachment);
  /// Returns whether fewer than AttachmentBounds::dels_max run.
  bool has_room_for_del() const { return dels_.in_use() < ports_.bounds.dels_max; }

  /// An attachment that exists, is being made, or is not undone yet.
  struct Kept {
    cni::Record record;
    bool is_leaving = false;
    std::string add_problem = {};  // why ADD failed in this process; "" if it did not
    std::string problem = {};      // why it could not be undone; "" if it was not tried or did not fail
    int failures = 0;              // failed DELs of this process
    bool is_wanted = false;        // another sandbox requests the device
    /// Open descriptor, shared by all interfaces of a sandbox: the namespace and its interfaces outlive the
    /// file. Null: unknown.
    std::shared_ptr<const int> network_namespace = {};
    std::string addresses =
        {};  // host-local's directory of its network (cni::host_local_directory()); "" if none
    bool is_attached() const { return record.result && !is_leaving; }
  };
  /// By cni::record_name(). A reference into this is valid until the loop's next turn.
  const std::map<std::string, Kept>& all() const { return kept_; }
  const Kept* find(const cni::Attachment& attachment) const;
  std::vector<cni::Attachment> of_sandbox(std::string_view container_id) const;
  bool idle() const { return queue_.idle() && later_.empty(); }

 private:
  // Running work holds itself through running_, so that the end of a plugin finds it.
  struct Work;
  struct Retry {
    reactor::Backoff backoff;
    reactor::Ticket next = {};
  };

  // Starts `begin` in a later turn of the loop, when no earlier work has its pod or its device.
  void enqueue(std::shared_ptr<Work> work, void (Attachments::*begin)(const std::shared_ptr<Work>&));
  void begin_attach(const std::shared_ptr<Work>& work);
  void begin_adopt(const std::shared_ptr<Work>& work);
  void run_add(const std::shared_ptr<Work>& work);
  // No plugin was run, so the record is removed.
  void drop_unrun(const std::shared_ptr<Work>& work, Error why);
  // Writes the record with the result of ADD, which DEL receives, also in a later process. A refused result
  // is not written: a later process would take it for a good one.
  void record_added(const std::shared_ptr<Work>& work);
  void begin_detach(const std::shared_ptr<Work>& work);
  // If the namespace's file is gone, passes the open descriptor as /proc/PID/fd/N.
  void run_del(const std::shared_ptr<Work>& work);
  void wait_for_del(const std::shared_ptr<Work>& work);
  void end_del(const std::shared_ptr<Work>& work);
  void bring_back(const std::shared_ptr<Work>& work, const Result<Unit>& undone);
  // Without its file the namespace is closed after the first failed DEL; the kernel then returns the
  // interface.
  void end_detach(const std::shared_ptr<Work>& work, const Result<Unit>& outcome);
  // Removes the record without its DEL.
  void give_up_detach(const std::shared_ptr<Work>& work, const std::string& problem);
  // Without a deadline: the next work of this attachment depends on the outcome.
  void on_disk(const std::shared_ptr<Work>& work, std::function<Result<Unit>(const cni::Records&)> act,
               std::function<void(Result<Unit>)> next);
  void end(const std::shared_ptr<Work>& ended, Result<cni::Attached> outcome);
  // Returns the descriptor that another interface of the sandbox holds; null if none does.
  std::shared_ptr<const int> namespace_of(const cni::Attachment& attachment) const;
  // Returns why the device is in use by another sandbox, for people; "" if it is not.
  std::string conflict_text(const cni::Record& record) const;
  void try_again(const cni::Attachment& attachment);
  void begin_later();
  // Removes host-local's directory of a detached network, if no other attachment has the network. An ADD for
  // it waits meanwhile.
  void clean_addresses(const std::string& directory);
  std::string addresses_of(const cni::Record& record) const;

  // Calls `begin` once a permit for one more chain is available.
  void run(const std::shared_ptr<Work>& work, reactor::Semaphore& permits,
           void (Attachments::*begin)(const std::shared_ptr<Work>&));

  const AttachmentPorts ports_;
  KeyedQueue queue_;
  reactor::Semaphore adds_, dels_;
  std::map<std::string, reactor::Semaphore> dels_of_namespace_;  // namespaces with a running or waiting DEL
  std::map<std::string, Kept> kept_;
  std::map<std::string, Retry> retries_;          // by record name
  std::map<std::string, cni::Attachment> later_;  // by record name
  size_t later_running_ = 0;
  std::set<std::shared_ptr<Work>> running_;
  struct Cleaning {
    std::unique_ptr<reactor::Job> job;
    std::vector<std::shared_ptr<Work>> waiting;  // to run ADD
  };
  std::map<std::string, Cleaning> cleaning_;  // by host-local's directory
  std::unique_ptr<reactor::Job> start_job_;
  reactor::Ticket start_turn_;
};

}  // namespace sliced::kubelet
