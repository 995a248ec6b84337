#include <map>

#include "cli/commands.h"
#include "cli/node_locks.h"
#include "cli/process.h"
#include "kube/kinds.h"
#include "publishers/diff_pool.h"
#include "watchers/slice_watcher.h"

namespace sliced::cli {
namespace {

constexpr Millis kLockMax{1'000};
constexpr Millis kWithdrawMax{60'000};
constexpr Millis kRetry{500};

// Deletes what the watch shows, one at a time, until it shows nothing.
class Withdrawal {
 public:
  Withdrawal(Process& process, const config::Options& options, std::string driver)
      : process_(process),
        driver_(std::move(driver)),
        node_(options.node_name),
        watcher_(watchers::make_slice_watcher(
            {*process.cluster, process.loop.scheduler(), *process.log, reactor::system_random()}, driver_,
            options.node_name, [this](auto event) { on_event(event); },
            [this](const watchers::Standing& standing) { why_ = standing.why; })) {
    watcher_->start();
  }
  bool listed() const { return listed_; }
  bool done() const { return listed_ && slices_.empty(); }
  size_t deleted() const { return deleted_; }
  std::string problem() const { return why_; }

 private:
  using Item = watchers::SliceWatcher::Item;

  void put(const Item& item) {
    if (item.value && !publishers::is_ours(*item.value, driver_, node_))
      complain("left alone, somebody else made it: " + item.id.name);
    else
      slices_[item.id.name] = item.uid;
  }

  void on_event(const SourceEvent<Item>& event) {
    if (const auto* changed = std::get_if<Changed<Item>>(&event)) {
      put(changed->now);
    } else if (const auto* removed = std::get_if<Removed<Item>>(&event)) {
      slices_.erase(removed->id.name);
    } else {
      listed_ = true;
      slices_.clear();
      for (const Item& item : std::get<Relisted<Item>>(event).all) put(item);
    }
    delete_next();
  }

  void delete_next() {
    if (call_ || slices_.empty()) return;
    const auto [name, uid] = *slices_.begin();
    call_ = process_.cluster->write(
        {.verb = kube::Verb::kDelete, .resource = kube::kResourceSlices, .name = name, .uid = uid},
        {.on_done =
             [this, name = name](std::string_view) {
               print("deleted " + name + "\n");
               ++deleted_;
               forget(name);
             },
         .on_failure =
             [this, name = name](const kube::Failure& failure) {
               if (failure.code == Errc::kNotFound) return forget(name);
               why_ = failure.what;
               retry_ = process_.loop.scheduler().after(kRetry, [this] {
                 call_.reset();
                 delete_next();
               });
             }});
  }

  void forget(std::string name) {
    slices_.erase(name);
    retry_ = process_.loop.scheduler().after(Millis{0}, [this] {
      call_.reset();
      delete_next();
    });
  }

  Process& process_;
  const std::string driver_, node_;
  std::map<std::string, std::string> slices_;  // name -> uid
  bool listed_ = false;
  size_t deleted_ = 0;
  std::string why_;
  kube::CallPtr call_;
  reactor::Ticket retry_;
  std::unique_ptr<watchers::SliceWatcher> watcher_;
};

}  // namespace

int withdraw(const config::Options& options) {
  auto opened = Process::open(options);
  if (!opened) return complain(opened.error().what), kExitError;
  Process& process = **opened;
  bool held = false;
  NodeLocks locks(process, options, [&] { held = true; });
  if (!process.run_until([&] { return held; }, kLockMax)) {
    complain("a daemon for node " + options.node_name +
             " is running here and would publish again; stop it first");
    return process.leave(kExitError);
  }
  int status = kExitSame;
  {
    Withdrawal sriov(process, options, options.sriov_driver_name);
    Withdrawal exposure(process, options, options.exposure_driver_name);
    if (!process.run_until([&] { return sriov.done() && exposure.done(); }, kWithdrawMax)) {
      const Withdrawal& left = sriov.done() ? exposure : sriov;
      complain((left.listed() ? "slices are left: " : "own slices could not be listed: ") + left.problem());
      status = kExitError;
    } else {
      print(std::to_string(sriov.deleted() + exposure.deleted()) + " slices withdrawn\n");
    }
  }
  return process.leave(status);
}

}  // namespace sliced::cli
