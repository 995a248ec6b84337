#pragma once
// Prepare and unprepare: from a claim's name to devices that containers may be given, and back.
//
//   GET claim ─▶ check ─▶ plan ─▶ safety ─▶ look at the host ─▶ safety ─▶ bind ─▶ CDI files, checkpoint ─▶ answer
//
// What is prepared is kept from others from the moment it is planned, on disk before anything is bound, and again
// before the answer.
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kube/cluster.h"
#include "kube/selector.h"
#include "kubelet/commits.h"
#include "kubelet/host.h"
#include "kubelet/plan.h"
#include "kubelet/prepared.h"
#include "kubelet/preparer_port.h"
#include "kubelet/records.h"
#include "policy/charged/ledger.h"
#include "reactor/base/log.h"
#include "reactor/executor.h"
#include "reactor/scheduler.h"

namespace sliced::kubelet {

class ClaimPreparer final : public Preparer {
 public:
  static constexpr Millis kLookMax{10'000};  // for the kernel to tell of one claim's devices
  static constexpr Millis kBindMax{30'000};  // to bind or restore them; the kubelet waits 45 s

  struct Ports {
    kube::Cluster& cluster;
    reactor::Scheduler& scheduler;
    reactor::Executor& executor;
    Log& log;
    std::shared_ptr<const Host> host;
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
  };
  struct Settings {
    std::vector<std::string> drivers;
    PlanSettings plan;
    std::string device_info_directory;  // MULTUS; "" none are written
  };
  ClaimPreparer(Ports ports, Knowledge knowledge, Handlers handlers, Settings settings);
  ~ClaimPreparer() override;

  /// Reads what was prepared before; calls that come earlier wait for it. Once.
  void start();

  void prepare(const std::string& driver, PrepareRequest claim,
               std::function<void(PrepareAnswer)> done) override;
  void unprepare(const std::string& driver, PrepareRequest claim,
                 std::function<void(std::string)> done) override;

  /// Everything that is prepared or begun.
  const PreparedClaims& prepared() const { return prepared_; }
  bool has_started() const { return has_started_; }
  /// Nothing is being done.
  bool idle() const { return tasks_.empty(); }

 private:
  struct Task;
  using Tasks =
      std::map<std::string, std::deque<std::unique_ptr<Task>>>;  // by claim uid, the first is being done

  void enqueue(std::unique_ptr<Task> task);
  void begin(Task& task);
  void end(Task& task, PrepareAnswer answer);
  void fail(Task& task, const std::string& why);

  void begin_prepare(Task& task);
  void get_claim(Task& task);
  void plan_claim(Task& task, std::string_view object);
  void compare(Task& task, PreparedClaim planned);
  void pursue(Task& task, PreparedClaim planned);
  void look(Task& task);
  void judge_looks(Task& task);
  void bind(Task& task);
  void note_bound(Task& task);
  void commit_prepared(Task& task);
  void take_back(Task& task, const std::string& why);

  void begin_unprepare(Task& task);
  void restore(Task& task, std::function<void(const std::string& problem)> next);
  void commit_unprepared(Task& task, std::function<void(const Result<Unit>&)> next);

  FileChange files_of(const PreparedClaim& claim) const;
  FileChange removal_of(const PreparedClaim& claim) const;
  void put_pod_specs(const std::string& pod_id, FileChange& change) const;
  std::set<std::string> interface_names(const Claim& claim) const;
  void reserve(PreparedClaim claim);
  void release(const PreparedKey& key);
  void take_over(Records recalled);
  std::string encode() const;

  Ports ports_;
  const Knowledge knowledge_;
  const Handlers handlers_;
  const Settings settings_;
  PreparedClaims prepared_;
  std::set<PreparedKey> written_;  // their CDI files, by this process
  Tasks tasks_;
  bool has_started_ = false;
  std::unique_ptr<reactor::Job> start_job_;
  reactor::Ticket start_turn_;
  Commits commits_;
};

}  // namespace sliced::kubelet
