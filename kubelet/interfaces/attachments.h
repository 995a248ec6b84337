#pragma once
// Interfaces in sandboxes, made and undone, with the records that say what is to be undone: the record is on disk
// before ADD begins and goes after DEL has ended well.
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
#include "kubelet/interfaces/turns.h"
#include "reactor/backoff.h"
#include "reactor/base/log.h"
#include "reactor/executor.h"
#include "reactor/scheduler.h"
#include "reactor/semaphore.h"

namespace sliced::kubelet {

/// ADDs for one sandbox run at once, but for those on one device, or on one shared device below them. A DEL runs beside no other work for its
/// pod or its device: an old DEL must not undo what a new pod has. What cannot be undone is tried again, later each time, and keeps its device from other sandboxes.
/// A runtime may remove a namespace without a word to us (containerd does of sandboxes older than itself); the kernel then
/// would give the interface back under its name in the pod. So namespaces are kept open until the plugins have undone.
/// Log: what cannot be undone, once while it lasts.
/// Ownership: what ports name outlives it; records are held by workers too. Dropping it kills the plugins
/// that run, and tells nobody: the record of what they did stays.
/// Threads: the loop's; the disk is the executor's.
/// Reentry: callbacks come from turns of their own, never from within attach() or detach(), and may call
/// both.
class Attachments {
 public:
  static constexpr Millis kDetachMax{30'000};  // for one DEL, from its beginning
  /// Chains of plugins that run at once, each a process and its pipes; the others wait in order. ADD waits for no DEL, which
  /// may take long.
  static constexpr size_t kAddsMax = 32, kDelsMax = 48;
  /// Of these, for pods of one namespace: the others' never wait for plugins that one namespace's users chose alone.
  static constexpr size_t kDelsOfNamespaceMax = 24;

  /// cni::run_chain, with its loop and place.
  /// Asked for one attachment at a time, of those that share a pod or a device. Dropping what it gives
  /// kills the plugins.
  using RunChain = std::function<std::unique_ptr<cni::Run>(cni::Network, cni::Command, cni::Attachment,
                                                           std::optional<cni::Attached> previous,
                                                           Millis deadline, cni::OnRun)>;
  struct Ports {
    reactor::Scheduler& scheduler;
    reactor::Executor& executor;
    Log& log;
    std::shared_ptr<const cni::Records> records;
    RunChain run;
    reactor::Random random = reactor::system_random();
    /// Whether no interface of that function can be in a network namespace other than the host's (kubelet/node_host.h,
    /// is_back()). Called on a worker, may block. Null: it never is.
    std::function<bool(const std::string& pci)> is_back = {};
    int tries_max = 10;  // some 4 minutes
    /// Completes a record before ADD, and keeps the host as it is (kubelet/interfaces/host_interface.h): host_interface, host_sysctls, config.
    /// An error refuses the sandbox; no plugin has run then. Called on a worker. Null: nothing is known.
    std::function<Result<Unit>(cni::Record& record)> prepare_host = {};
    /// HostSysctls::restore(): behind an ADD, and behind the DEL of one that failed. Called on a worker. Null: nothing is restored.
    std::function<void(cni::Record& record)> restore_host_sysctls = {};
    /// Before and behind each ADD of a namespace user's definition: keep_host_addresses() and check_made_addresses(). Called on a worker.
    ReadHostAddresses host_addresses = {};
    /// record_moved_interface(): after each ADD. Called on a worker. Null: nothing is known.
    std::function<void(cni::Record& record, int network_namespace)> on_interface_moved = {};
    /// restore_names_in_sandbox(): before each DEL, as long as the namespace is there; no plugin is run where it fails. Called on a worker.
    /// Null: a pod's names are believed.
    std::function<Result<Unit>(const cni::Record& record, int network_namespace)> before_del = {};
    /// Moves an interface that the plugins left in the sandbox's namespace back to the host. Called on a worker after each DEL, whatever
    /// came of it, as long as the namespace is there. network_namespace: a descriptor. Null: the plugins are believed.
    std::function<Result<Unit>(const cni::Record& record, int network_namespace)> bring_back = {};
    /// Below it host-local has a directory for each network (base/NAMESPACE/NETWORK): removed with its last address, and at the start
    /// (kubelet/cni/host_local.h). "": none is.
    std::string addresses = {};
  };
  /// Reads and runs nothing yet.
  explicit Attachments(Ports ports);
  ~Attachments();

  /// Reads what was there before this process; nothing else is called before ready. Once.
  /// A disk that does not answer is asked again every second: whoever began without would give a pod's device
  /// to another. A record that cannot be understood is said, and left where it is; what it says is not
  /// undone.
  void start(std::function<void()> ready);

  /// Of one that is attached already: at once what it is. Errors: kInvalid and kTooLarge of a record whose attachment or
  /// network fails cni::check() or cni::decode_network(): nothing is kept, run or undone; those of cni::run_chain, kTimeout, kBusy (the
  /// device is in another pod's sandbox), kIo (no record can be written); after one the record may still be there,
  /// and is the caller's to detach. Where no plugin was run (one is not installed, or there is no time left) the record is dropped: no DEL
  /// is owed; so it is with an address of the host's in the definition. One that ADD yields leaves what ADD has made, for the caller's
  /// detach(). Where what an earlier ADD of the same pod has left is not undone, the text begins with why that ADD failed.
  /// The deadline ends with the record on disk; ADD has what is left of it but for the last 150 ms.
  using OnAttached = std::function<void(Result<cni::Attached>)>;
  /// What another sandbox of the same pod still has is undone first, for that sandbox has ended; so is what the
  /// device is in one that it is leaving.
  void attach(cni::Record record, TimePoint deadline, OnAttached done);
  /// One that another program has made, before this one took its place: from now on it is as those made here, its
  /// record with what was said of it (without a result: begun). One that is known already stays as it is.
  void adopt(cni::Record record);
  /// Of one that is not there: well, at once. done is told of the first try; the others follow by themselves.
  /// Errors: those of cni::run_chain, kIo, kBusy (the disk). It is tried again after 1 s to 60 s, doubling. Where the
  /// sandbox's namespace is gone, and its function is back (Ports::is_back) or it has none, the record is dropped, with an error
  /// in the log, once another sandbox wants the device, or after Ports::tries_max: a plugin whose DEL needs what is not there,
  /// as that of host-device the function's driver, would keep the device for ever, and records of shared devices would pile
  /// up. All others are tried again without end.
  using OnDetached = std::function<void(Result<Unit>)>;
  /// From this call on it counts as leaving, also while it waits for its turn; one that is being made is
  /// undone behind that.
  void detach(const cni::Attachment& attachment, OnDetached done);
  /// The same where nobody waits for it, and there may be hundreds, as after a reboot: kLaterMax are asked for at once, so
  /// that some of kDelsMax are left for who needs the device meanwhile, and has it undone before the others.
  void detach_later(const cni::Attachment& attachment);
  static constexpr size_t kLaterMax = 32;
  /// Fewer than kDelsMax run.
  bool has_room_for_del() const { return dels_.taken() < kDelsMax; }

  /// One that is made, begun, or not yet undone.
  struct Kept {
    cni::Record record;
    bool is_leaving = false;
    std::string add_problem = {};  // why ADD failed, of this process; "" it has not
    std::string problem = {};      // why it could not be undone; "" it could, or was not tried
    int failures = 0;              // DELs that have failed, of this process
    bool is_wanted = false;        // another sandbox wants the device
    /// Open, one for all of a sandbox: it and its interfaces outlive its file. Null: unknown.
    std::shared_ptr<const int> network_namespace = {};
    std::string addresses =
        {};  // host-local's directory of its network (cni::host_local_directory()); "" none
    bool is_attached() const { return record.result && !is_leaving; }
  };
  /// By cni::record_name().
  /// A reference into this: good until the loop's next turn.
  const std::map<std::string, Kept>& all() const { return kept_; }
  const Kept* find(const cni::Attachment& attachment) const;
  std::vector<cni::Attachment> of_sandbox(std::string_view container_id) const;
  bool idle() const { return turns_.idle() && later_.empty(); }

 private:
  // What runs holds itself by running_, so that a plugin's end finds it.
  struct Work;
  struct Retry {
    reactor::Backoff backoff;
    reactor::Ticket next = {};
  };

  // Begins in the loop's next turn at the earliest, when nobody before it has its pod or its device.
  void take_turn(std::shared_ptr<Work> work, void (Attachments::*begin)(const std::shared_ptr<Work>&));
  void begin_attach(const std::shared_ptr<Work>& work);
  void begin_adopt(const std::shared_ptr<Work>& work);
  void run_add(const std::shared_ptr<Work>& work);
  // No plugin was run: the record goes.
  void drop_unrun(const std::shared_ptr<Work>& work, Error why);
  // The record once more, with what ADD said: DEL is given that, also by another process. Not on disk where it is refused: a process that
  // reads it would take it for one that is well.
  void note_made(const std::shared_ptr<Work>& work);
  void begin_detach(const std::shared_ptr<Work>& work);
  // With the namespace that was kept open, as /proc/PID/fd/N, where its file is gone.
  void run_del(const std::shared_ptr<Work>& work);
  void wait_for_del(const std::shared_ptr<Work>& work);
  void end_del(const std::shared_ptr<Work>& work);
  void bring_back(const std::shared_ptr<Work>& work, const Result<Unit>& undone);
  // Without its file the namespace is let go after the first DEL that fails: the kernel then gives the
  // interface back.
  void end_detach(const std::shared_ptr<Work>& work, const Result<Unit>& outcome);
  // The record goes without its DEL.
  void give_up_detach(const std::shared_ptr<Work>& work, const std::string& problem);
  // Without a deadline: the next one of this attachment has to know what became of it.
  void on_disk(const std::shared_ptr<Work>& work, std::function<Result<Unit>(const cni::Records&)> act,
               std::function<void(Result<Unit>)> next);
  void end(const std::shared_ptr<Work>& ended, Result<cni::Attached> outcome);
  // As another interface of the same sandbox holds it; null: none does.
  std::shared_ptr<const int> namespace_of(const cni::Attachment& attachment) const;
  // Why another sandbox has the device, for people; "" nobody has.
  std::string conflict_text(const cni::Record& record) const;
  void try_again(const cni::Attachment& attachment);
  void begin_later();
  // Of an attachment that is undone: host-local's directory of its network, where no other attachment has the network. Who begins one
  // meanwhile waits.
  void clean_addresses(const std::string& directory);
  std::string addresses_of(const cni::Record& record) const;

  // What its turn has come for, once there is room for one more chain.
  void run(const std::shared_ptr<Work>& work, reactor::Semaphore& permits,
           void (Attachments::*begin)(const std::shared_ptr<Work>&));

  const Ports ports_;
  Turns turns_;
  reactor::Semaphore adds_, dels_;
  std::map<std::string, reactor::Semaphore> dels_of_namespace_;  // of those that have any
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
