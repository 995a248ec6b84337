#include <algorithm>
#include <optional>
#include <set>

#include "cli/commands.h"
#include "daemon/node_locks.h"
#include "daemon/process.h"
#include "daemon/reports/node_lease.h"
#include "kube/objects/kinds.h"
#include "publishers/publisher.h"
#include "reactor/base/text.h"
#include "watchers/slice_watcher.h"

namespace sliced::cli {
namespace {

constexpr Millis kLockMax{1'000};
constexpr Millis kWithdrawMax{60'000}, kLeaseMax{5'000};
constexpr int kRoundsMax = 3;

// A publisher without desired pools, which does not see slices that others created under sliced's driver.
class Withdrawal {
 public:
  /// left_alone: names that were reported; outlives this object.
  Withdrawal(daemon::Process& process, const config::Options& options, std::string driver,
             std::set<std::string>& left_alone)
      : driver_(std::move(driver)),
        node_(options.node_name),
        left_alone_(left_alone),
        publisher_({*process.cluster, process.loop.scheduler(), *process.log, reactor::system_random()},
                   driver_, handlers()),
        watcher_(watchers::make_slice_watcher(
            {*process.cluster, process.loop.scheduler(), *process.log, reactor::system_random()}, driver_,
            node_, [this](auto event) { on_event(event); },
            [this](const watchers::SyncState& sync) { why_ = sync.why; })) {
    publisher_.set_desired({}, {.name = node_, .uid = "", .boot_id = ""});
    watcher_->start();
  }
  bool listed() const { return listed_; }
  bool done() const { return listed_ && publisher_.converged(); }
  /// Returns whether the server does not serve slices, or denies listing them.
  bool is_hopeless() const {
    const watchers::SyncState& sync = watcher_->sync_state();
    return !listed_ && (sync.is_unserved || sync.state == watchers::SyncState::State::kDenied);
  }
  size_t deleted() const { return deleted_; }
  std::string problem() const { return publisher_.last_failure().empty() ? why_ : publisher_.last_failure(); }
  /// Returns slices that are deleted and empty, and that a finalizer keeps.
  std::vector<std::string> terminating() const {
    std::vector<std::string> out;
    for (const auto& [name, slice] : publisher_.observed())
      if (slice.meta.being_deleted && publishers::is_ours(slice, driver_, node_))
        out.push_back(name + " (" + join(slice.meta.finalizers, ", ") + ")");
    return out;
  }

 private:
  using Item = watchers::SliceWatcher::Item;

  publishers::Publisher::Handlers handlers() {
    return {.on_refused = [](auto) {},
            .on_lost = [](auto) {},
            .on_deleted =
                [this](const std::string& name) {
                  daemon::print("deleted " + name + "\n");
                  ++deleted_;
                }};
  }

  /// Excludes slices of others.
  std::optional<kube::ResourceSlice> own(const Item& item) {
    if (!item.value) return publishers::unread_slice(item.id.name, item.uid, item.resource_version);
    if (publishers::is_ours(*item.value, driver_, node_)) return *item.value;
    if (left_alone_.insert(item.id.name).second)
      daemon::print_error("not deleted, created by another program: " + item.id.name);
    return std::nullopt;
  }

  void on_event(const SourceEvent<Item>& event) {
    if (const auto* changed = std::get_if<Changed<Item>>(&event)) {
      if (auto slice = own(changed->now))
        publisher_.on_slices(Changed<kube::ResourceSlice>{*std::move(slice)});
    } else if (const auto* removed = std::get_if<Removed<Item>>(&event)) {
      publisher_.on_slices(Removed<kube::ResourceSlice>{{removed->id.name}});
    } else {
      Relisted<kube::ResourceSlice> whole{{}, std::get<Relisted<Item>>(event).why};
      for (const Item& item : std::get<Relisted<Item>>(event).all)
        if (auto slice = own(item)) whole.all.push_back(*std::move(slice));
      listed_ = true;
      publisher_.on_slices(whole);
    }
  }

  const std::string driver_, node_;
  std::set<std::string>& left_alone_;
  bool listed_ = false;
  size_t deleted_ = 0;
  std::string why_;
  publishers::Publisher publisher_;
  std::unique_ptr<watchers::SliceWatcher> watcher_;
};

// Returns the number of deleted slices; nullopt, after reporting the problem, if some remain.
std::optional<size_t> delete_all(daemon::Process& process, const config::Options& options, Millis time,
                                 std::set<std::string>& left_alone) {
  Withdrawal sriov(process, options, options.sriov_driver_name, left_alone);
  Withdrawal exposure(process, options, options.exposure_driver_name, left_alone);
  const auto is_over = [&] {
    return (sriov.done() && exposure.done()) || sriov.is_hopeless() || exposure.is_hopeless();
  };
  if (!process.run_until(is_over, time) || sriov.is_hopeless() || exposure.is_hopeless()) {
    const Withdrawal& left = sriov.done() ? exposure : sriov;
    daemon::print_error((left.listed() ? "slices are left: " : "own slices could not be listed: ") +
                        left.problem());
    return std::nullopt;
  }
  const size_t deleted = sriov.deleted() + exposure.deleted();
  if (deleted > 0) return deleted;
  for (const Withdrawal* withdrawal : {&sriov, &exposure})
    for (const std::string& slice : withdrawal->terminating())
      daemon::print_error("empty, and kept by a finalizer: " + slice);
  return 0;
}

// Deletes the node's Lease; otherwise a node whose slices are withdrawn would be reported as silent.
void delete_lease(daemon::Process& process, const config::Options& options) {
  const std::string name = reports::node_lease_name(options.node_name);
  if (name.empty() || !config::has_api_server(options.cluster)) return;
  bool is_answered = false;
  std::string problem = "no answer";
  const auto call = process.cluster->write({.verb = kube::Verb::kDelete,
                                            .resource = kube::kLeases,
                                            .namespace_ = options.namespace_,
                                            .name = name},
                                           {[&](std::string_view) { is_answered = true, problem.clear(); },
                                            [&](const kube::Failure& failure) {
                                              is_answered = true;
                                              problem = kube::says_gone(failure) ? "" : failure.what;
                                            }});
  process.run_until([&] { return is_answered; }, kLeaseMax);
  if (!problem.empty())
    daemon::print_error("Lease " + options.namespace_ + "/" + name +
                        " is left, and the node will be reported as silent: " + problem);
}

// Repeats until a list shows none, because a proxy may answer a delete in the server's place.
bool withdraw_all(daemon::Process& process, const config::Options& options) {
  size_t withdrawn = 0;
  std::set<std::string> left_alone;
  const reactor::Scheduler& clock = process.loop.scheduler();
  const TimePoint end = clock.now() + kWithdrawMax;
  for (int round = 0; round < kRoundsMax; ++round) {
    const auto deleted = delete_all(process, options, std::max(Millis{1}, end - clock.now()), left_alone);
    if (!deleted) return false;
    if (*deleted == 0)
      return daemon::print(std::to_string(withdrawn) + (withdrawn == 1 ? " slice" : " slices") +
                           " withdrawn\n"),
             true;
    withdrawn = std::max(withdrawn, *deleted);
  }
  daemon::print_error("slices are left: the server reports them as deleted and still lists them");
  return false;
}

}  // namespace

int withdraw(const config::Options& options) {
  const auto lock_directory = daemon::NodeLocks::prepare(options);
  if (!lock_directory) {
    daemon::print_error(lock_directory.error().what);
    return daemon::kExitError;
  }
  auto opened = daemon::Process::open(options);
  if (!opened) {
    daemon::print_error(opened.error().what);
    return daemon::kExitError;
  }
  daemon::Process& process = **opened;
  bool held = false;
  daemon::NodeLocks locks(process, options, *lock_directory);
  locks.acquire([&] { held = true; });
  if (!process.run_until([&] { return held; }, kLockMax)) {
    daemon::print_error("a daemon for node " + options.node_name +
                        " is running here and would publish again; stop it first");
    return process.leave(daemon::kExitError);
  }
  if (!withdraw_all(process, options)) return process.leave(daemon::kExitError);
  delete_lease(process, options);
  return process.leave(daemon::kExitSame);
}

}  // namespace sliced::cli
