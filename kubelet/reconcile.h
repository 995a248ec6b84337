#pragma once
// Cleans up records and files without an owner, and restores files that a reboot removed. Runs at the start
// and after each registration by a kubelet.
//
//   CDI specs, metadata, device infos without a record ─▶ removed
//   a record of another boot whose claim exists ────────▶ its files are written again
//   a record whose claim is gone ───────────────────────▶ reported immediately (on_state)
//   and whose devices no pod uses, for kAbsentMin ──────▶ released, unless that was tried already (kubelet/release_retries.h)
//
// An absent claim alone does not release devices: after a forced deletion its containers may still run. A
// query without an answer changes nothing.
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kube/objects/cluster.h"
#include "kubelet/claim_state.h"
#include "kubelet/host.h"
#include "kubelet/prepared.h"
#include "reactor/base/log.h"
#include "reactor/executor.h"
#include "reactor/scheduler.h"

namespace sliced::kubelet {

struct ReconcilePorts {
  kube::Cluster& cluster;
  reactor::Scheduler& scheduler;
  reactor::Executor& executor;
  Log& log;
  std::shared_ptr<const Host> host;
};

/// Threads: the loop's; blocking work runs on the executor. One pass at a time. Reentry: handlers may call
/// begin().
class Reconcile {
 public:
  /// Much longer than the kubelet's own clean-up of claims without a pod (60 s).
  static constexpr Millis kAbsentMin{300'000};
  /// For one read of the node; between two passes while a claim is absent.
  static constexpr Millis kLookMax{10'000}, kAgain{60'000};

  /// prepared: valid during the call only. The other handlers do not change the records from within the call.
  struct Handlers {
    std::function<const PreparedClaims&()> prepared;
    std::function<void(const PreparedClaim&)> write_files;
    std::function<void(const PreparedClaim&)> release_claim;
    std::function<void(const PreparedKey&, ClaimState)> on_state;
    /// For a claim that is gone for long: a clause about the remaining user of its devices; "" if there is
    /// none.
    std::function<void(const PreparedKey&, const std::string& user)> on_user;
    /// Calls `make` when no other file change is in progress.
    std::function<void(std::function<FileChange()> make)> change_files;
  };
  struct Settings {
    std::vector<std::string> drivers;
    std::string device_info_directory;
  };
  Reconcile(ReconcilePorts ports, Handlers handlers, Settings settings);

  /// Starts a pass. During a pass, schedules another one.
  void begin();

 private:
  // Results of a worker; may outlive the pass.
  struct Found;
  // Queries one claim after the other by GET: a node has a few hundred at most.
  void ask_next();
  // Applies the answer about one claim, and continues with the next. A claim that cannot be read or decoded
  // counts as existing.
  void take(const PreparedKey& key, ClaimState state);
  // Updates absent_, and calls on_state.
  void note(const PreparedKey& key, ClaimState state);
  // Queries the claims of which only the uid is known, by one list of all claims.
  void list_nameless();
  // Checks the claims that are gone for kAbsentMin for a remaining process, pod or open device, as far as
  // these can be seen.
  void check_absent();
  // Lists the files. Each is checked again in the turn of the removal, when no other file change is in
  // progress.
  void list_files();
  // Ends the pass. Schedules another one in a minute while a claim is gone but not released.
  void end();

  const ReconcilePorts ports_;
  const Handlers handlers_;
  const Settings settings_;
  bool is_running_ = false, is_wanted_again_ = false;
  std::deque<PreparedKey> to_ask_;
  std::map<PreparedKey, TimePoint> absent_;  // since when
  kube::CallPtr call_;
  std::unique_ptr<reactor::Job> job_;
  reactor::Ticket turn_;
};

/// The files that exist.
struct ExistingFiles {
  struct OfDriver {
    std::string driver;
    std::map<std::string, cdi::Spec> specs;  // by id
    std::vector<MetadataFile> metadata;
  };
  std::vector<OfDriver> drivers;
  std::vector<std::string> infos;  // names in info_directory, including those of other programs
  std::string info_directory;
};
/// Returns the removal of files without a record. Specs of pods stay while any record does not know its pods.
/// Pure.
FileChange unowned_files(const ExistingFiles& there, const PreparedClaims& prepared);

}  // namespace sliced::kubelet
