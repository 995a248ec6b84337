#pragma once
// What nobody owns any more is cleaned up, and what another boot has taken is there again: a pass at the start and after
// each registration by a kubelet.
//
//   CDI specs, metadata, device infos without a record ─▶ removed
//   a record of another boot whose claim stands ────────▶ its files are written again
//   a record whose claim is gone ───────────────────────▶ reported at once (on_state)
//   and whose devices no pod uses, for kAbsentMin ──────▶ taken back, unless that was tried already (kubelet/returns.h)
//
// An absent claim alone releases nothing: after a forced deletion its containers may run on. What cannot be asked, or
// does not answer, changes nothing.
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

/// Threads: the loop's; what blocks runs on the executor. One pass at a time.
/// Reentry: handlers may call begin().
class Reconcile {
 public:
  /// Far more than a kubelet takes to unprepare what it finds without a pod (60 s).
  static constexpr Millis kAbsentMin{300'000};
  /// For one look at the node; between two passes while a claim is absent.
  static constexpr Millis kLookMax{10'000}, kAgain{60'000};

  struct Ports {
    kube::Cluster& cluster;
    reactor::Scheduler& scheduler;
    reactor::Executor& executor;
    Log& log;
    std::shared_ptr<const Host> host;
  };
  /// prepared: valid during the call only. The others change nothing from within.
  struct Handlers {
    std::function<const PreparedClaims&()> prepared;
    std::function<void(const PreparedClaim&)> write_files;
    std::function<void(const PreparedClaim&)> take_back;
    std::function<void(const PreparedKey&, ClaimState)> on_state;
    /// Of a claim that is gone for long: a clause that says what still uses its devices; "" nothing does.
    std::function<void(const PreparedKey&, const std::string& user)> on_user;
    /// make is called when nobody else changes files.
    std::function<void(std::function<FileChange()> make)> change_files;
  };
  struct Settings {
    std::vector<std::string> drivers;
    std::string device_info_directory;
  };
  Reconcile(Ports ports, Handlers handlers, Settings settings);

  /// While one goes on, another one follows it.
  void begin();

 private:
  // What a worker has found; it may outlive the pass.
  struct Found;
  // One claim after the other, by GET: a node has a few hundred at most.
  void ask_next();
  // What cannot be read, or understood, stands.
  void take(const PreparedKey& key, ClaimState state);
  void note(const PreparedKey& key, ClaimState state);
  void list_nameless();
  // Those that have been gone for kAbsentMin: whether a process, a pod or an open device is left, where that
  // can be seen.
  void look_at_absent();
  // What is removed is looked at again in the turn in which nobody else changes files.
  void list_files();
  // Again in a minute as long as a claim is gone and not taken back.
  void end();

  const Ports ports_;
  const Handlers handlers_;
  const Settings settings_;
  bool is_running_ = false, is_wanted_again_ = false;
  std::deque<PreparedKey> to_ask_;
  std::map<PreparedKey, TimePoint> absent_;  // since when
  kube::CallPtr call_;
  std::unique_ptr<reactor::Job> job_;
  reactor::Ticket turn_;
};

/// Files of ours that are there.
struct FilesThere {
  struct OfDriver {
    std::string driver;
    std::map<std::string, cdi::Spec> specs;  // by id
    std::vector<MetadataFile> metadata;
  };
  std::vector<OfDriver> drivers;
  std::vector<std::string> infos;  // names in info_directory, others' as well
  std::string info_directory;
};
/// Those that no record owns. Pods' specs stay while a record does not know its pods. Pure.
FileChange unowned_files(const FilesThere& there, const PreparedClaims& prepared);

}  // namespace sliced::kubelet
