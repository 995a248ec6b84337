#include "kubelet/preparer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "kubelet/checkpoint.h"
#include "kubelet/device_nodes.h"
#include "kubelet/recall.h"
#include "kubelet/safety.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

constexpr Millis kStartAgain{1'000};
// Delays until changes of deleted or unreturned claims are reported, and recorded, in one batch.
constexpr Millis kChangesMax{20};
constexpr size_t kStartsMax = 10;  // then an unreadable checkpoint is set aside
constexpr const char* kEnding = "sliced stops on this node; the kubelet retries with the next plugin";

// Both drivers may have results in one claim.
std::string holder(const PreparedKey& key) { return key.first + " " + key.second; }

}  // namespace

bool is_bound(const PreparedClaim& claim) {
  return std::any_of(claim.devices.begin(), claim.devices.end(),
                     [](const PreparedDevice& device) { return device.vfio.has_value(); });
}

std::vector<PreparedDevice> bound_devices(const PreparedClaim& claim) {
  std::vector<PreparedDevice> out;
  std::copy_if(claim.devices.begin(), claim.devices.end(), std::back_inserter(out),
               [](const PreparedDevice& device) { return device.vfio.has_value(); });
  return out;
}

std::string names_of(const PreparedClaim& claim) {
  std::vector<std::string> names;
  for (const PreparedDevice& device : claim.devices) names.push_back(device.device);
  return join(names, " ");
}

ClaimPreparer::ClaimPreparer(PreparerPorts ports, DaemonState knowledge, Handlers handlers, Settings settings)
    : ports_(std::move(ports)),
      knowledge_(std::move(knowledge)),
      handlers_(std::move(handlers)),
      settings_(std::move(settings)),
      commits_(ports_.executor, ports_.host, [this] { return encode(); }),
      reconcile_({ports_.cluster, ports_.scheduler, ports_.executor, ports_.log, ports_.host},
                 reconcile_handlers(),
                 {settings_.files.drivers,
                  settings_.files.writes_device_infos ? settings_.files.device_info_directory : ""}),
      release_retries_(ports_.cluster, ports_.scheduler, return_handlers()),
      driver_retries_(ports_.scheduler, ports_.log) {
  if (!ports_.binder) ports_.binder = std::make_shared<HostBinder>(ports_.executor, ports_.host);
  driver_retries_.use(ports_.binder);
}

ClaimPreparer::~ClaimPreparer() = default;

std::string ClaimPreparer::encode() const { return encode_checkpoint({knowledge_.boot_id(), prepared_}); }

// ---- calls, one after the other for each claim

void ClaimPreparer::prepare(const std::string& driver, PrepareRequest claim,
                            std::function<void(PrepareAnswer)> done) {
  enqueue(std::make_unique<Task>(Task{true, driver, std::move(claim), {std::move(done)}}));
}

void ClaimPreparer::unprepare(const std::string& driver, PrepareRequest claim,
                              std::function<void(std::string)> done) {
  enqueue(std::make_unique<Task>(
      Task{false, driver, std::move(claim), {[done = std::move(done)](PrepareAnswer answer) {
             done(std::move(answer.error));
           }}}));
}

void ClaimPreparer::enqueue(std::unique_ptr<Task> task) {
  auto& queue = tasks_[task->request.uid];
  if (!queue.empty()) {
    Task& last = *queue.back();
    if (last.is_prepare == task->is_prepare && last.driver == task->driver && last.request == task->request) {
      last.done.push_back(std::move(task->done.front()));
      return;
    }
  }
  queue.push_back(std::move(task));
  if ((has_started_ || !refusal_.empty()) && queue.size() == 1) begin(*queue.front());
}

void ClaimPreparer::begin(Task& task) {
  task.turn = ports_.scheduler.after(Millis{0}, [this, &task] {
    if (is_stopping_) return fail(task, kEnding);
    if (!has_started_ && refusal_.empty()) return;  // adopt_records() begins it
    if (!has_started_) return fail(task, refusal_);
    if (const auto record = prepared_.find(task.key()); record != prepared_.end())
      task.before = record->second;
    task.steps = task.is_prepare ? prepare_steps() : release_steps();
    advance(task);
  });
}

void ClaimPreparer::advance(Task& task) {
  const PrepareStep step = task.steps.front();
  task.steps = task.steps.subspan(1);
  (this->*step)(task);
}

// Changes are undone, or stay on record until they can be.
void ClaimPreparer::give_up(Task& task, const std::string& why) {
  if (task.hold != Task::Hold::kNothing) {
    task.claim.is_complete = false;
    prepared_[task.key()] = task.claim;
  }
  if (task.hold == Task::Hold::kOnDisk) {
    task.hold = Task::Hold::kNothing;
    task.given_up = why;
    task.steps = release_steps();
    return advance(task);
  }
  if (task.hold == Task::Hold::kReserved) {
    release(task.key());
    let_go(task.key());
    if (task.before) reserve(*task.before);
    restore_settings_later();  // it leaves out devices of claims: this one may have been such when its timer fired
  }
  fail(task, why);
}

// Destroys the task.
void ClaimPreparer::end(Task& task, PrepareAnswer answer) {
  const auto at = tasks_.find(task.request.uid);
  const std::unique_ptr<Task> ended = std::move(at->second.front());
  if (answer.error.empty()) note_success(*ended);
  at->second.pop_front();
  if (at->second.empty())
    tasks_.erase(at);
  else
    begin(*at->second.front());
  // The owners of its pod's files are known only now.
  if (ended->before && is_nameless(*ended->before)) reconcile();
  for (const auto& done : ended->done) done(answer);
}

std::string ClaimPreparer::key_of_log(const Task& task) {
  return (task.is_prepare ? "prepare " : "unprepare ") + task.driver + " " + task.request.uid;
}

void ClaimPreparer::note_success(const Task& task) {
  const size_t tries = failures_.end(key_of_log(task));
  // The claim is released, so its prepare problem is over too.
  if (!task.is_prepare) failures_.end("prepare " + task.driver + " " + task.request.uid);
  if (tries > 0)
    ports_.log.info(
        task.is_prepare ? "prepare succeeded after failures" : "unprepare succeeded after failures",
        {{"driver", task.driver}, {"claim", describe(task.request)}, {"failed", tries}});
}

void ClaimPreparer::fail(Task& task, const std::string& why) {
  const std::string who = describe(task.request);
  if (!prepared_.contains(task.key())) with_ignored_.erase(task.key());
  // The kubelet repeats a failed call every 2 s.
  if (failures_.is_new(key_of_log(task), why))
    ports_.log.warning(task.is_prepare ? "claim not prepared" : "claim not released",
                       {{"driver", task.driver}, {"claim", who}, {"problem", why}});
  end(task, {.error = why.starts_with(who) ? why : who + ": " + why});
}

void ClaimPreparer::set_network_data(const PreparedKey& claim, const std::string& device,
                                     const std::string& share_id, NetworkData network) {
  const auto at = prepared_.find(claim);
  if (at == prepared_.end()) return;
  auto& devices = at->second.devices;
  const auto found = std::find_if(devices.begin(), devices.end(), [&](const PreparedDevice& one) {
    return one.device == device && one.share_id == share_id && !one.is_admin;
  });
  if (found == devices.end() || found->network_data == network) return;
  found->network_data = std::move(network);
  if (!settings_.files.writes_metadata) return;
  commits_.add(
      [this, claim] {
        const auto now = prepared_.find(claim);
        return now == prepared_.end() ? FileChange{} : metadata_change(now->second, settings_.files);
      },
      [this, who = describe(request_of(at->second))](const Result<Unit>& written) {
        if (!written)
          ports_.log.warning("metadata file of a claim not updated",
                             {{"claim", who}, {"problem", written.error().what}});
      });
}

void ClaimPreparer::add_pod(const PreparedKey& claim, const ReservingPod& pod) {
  const auto at = prepared_.find(claim);
  if (at == prepared_.end()) return;
  // No node has so many pods at a time, so the oldest entries are stale.
  std::vector<ReservingPod>& pods = at->second.pods;
  if (pods.size() >= kClaimPodsMax) pods.erase(pods.begin());
  pods.push_back(pod);
  commits_.add([] { return FileChange{}; }, [](const Result<Unit>&) {});
}

void ClaimPreparer::adopt_peer_networks(const PeerNetworks& networks) {
  for (auto& [key, claim] : prepared_)
    for (PreparedDevice& device : claim.devices) {
      device.is_of_peer = false;
      const auto at = networks.find({key, device.device});
      if (at == networks.end()) continue;
      device.network = at->second.config;
      device.network_refusal = at->second.refusal;
      share_networks(claim, prepared_);
    }
  commits_.add([] { return FileChange{}; }, [](const Result<Unit>&) {});
}

// ---- nodes that changed after the prepare

namespace {

void replace_nodes(PreparedClaim& claim, const std::vector<PreparedDevice>& devices) {
  for (PreparedDevice& device : claim.devices)
    for (const PreparedDevice& now : devices)
      if (device.pool == now.pool && device.device == now.device && device.share_id == now.share_id &&
          !device.is_admin) {
        device.edits = now.edits;
        device.vfio = now.vfio;
        device.vdpa_device = now.vdpa_device;
        device.vdpa_node = now.vdpa_node;
      }
}

}  // namespace

struct ClaimPreparer::NodeRefresh {
  struct Device {
    PreparedKey claim;
    PreparedDevice device;
    bool may_change = false;  // no container has its nodes
    Result<DeviceSnapshot> now = Error{Errc::kTimeout, std::string(kKernelTimeout)};
  };
  std::vector<Device> devices;  // with a worker, until it has finished
  std::function<void(Result<Unit>)> done;
  size_t to_write = 0;
  Result<Unit> outcome = Unit{};
};

void ClaimPreparer::refresh_nodes(const std::string& pod_uid, bool is_new_sandbox,
                                  std::function<void(Result<Unit>)> done) {
  auto refresh = std::make_shared<NodeRefresh>();
  for (const auto& [key, claim] : prepared_) {
    const bool is_of_pod = std::any_of(claim.pods.begin(), claim.pods.end(),
                                       [&](const ReservingPod& pod) { return pod.uid == pod_uid; });
    if (!is_of_pod || !claim.is_complete) continue;
    for (const PreparedDevice& device : claim.devices)
      if (has_changing_nodes(device))
        refresh->devices.push_back({key, device, is_new_sandbox && claim.pods.size() == 1});
  }
  if (refresh->devices.empty()) return done(Unit{});
  refresh->done = std::move(done);
  // Its interface may be in the pod, so it is not searched for.
  const auto work = [refresh, host = ports_.host] {
    for (NodeRefresh::Device& one : refresh->devices) {
      PreparedDevice device = one.device;
      device.interface.clear();
      device.mac.clear();
      one.now = host->read_device(device);
    }
  };
  node_jobs_[refresh.get()] = ports_.executor.run(work, kReadDevicesMax, [this, refresh](bool finished) {
    const auto over = std::move(node_jobs_.extract(refresh.get()).mapped());
    if (!finished) return refresh->done(Error{Errc::kTimeout, std::string(kKernelTimeout)});
    judge_nodes(refresh);
  });
}

void ClaimPreparer::judge_nodes(const std::shared_ptr<NodeRefresh>& refresh) {
  std::map<PreparedKey, std::vector<PreparedDevice>> changed;
  for (const NodeRefresh::Device& one : refresh->devices) {
    // A function that is gone is a problem of the device's health. A claim may have been released meanwhile.
    if (!one.now || !prepared_.contains(one.claim)) continue;
    if (!one.may_change) {
      if (const std::string why = stale_nodes(one.device, *one.now); !why.empty())
        return refresh->done(Error{Errc::kInvalid, why});
      continue;
    }
    auto present = with_present_nodes(one.device, *one.now);
    if (!present) return refresh->done(std::move(present.error()));
    if (*present != one.device) changed[one.claim].push_back(*std::move(present));
  }
  if (changed.empty()) return refresh->done(Unit{});
  PreparedClaims after = prepared_;
  for (const auto& [key, devices] : changed) replace_nodes(after.at(key), devices);
  for (const auto& [key, devices] : changed)
    for (const PreparedDevice& device : devices)
      if (const std::string why = node_refusal(after.at(key), device, after); !why.empty())
        return refresh->done(Error{Errc::kInvalid, why});
  refresh->to_write = changed.size();
  for (auto& [key, devices] : changed) write_nodes(refresh, key, std::move(devices));
}

void ClaimPreparer::write_nodes(const std::shared_ptr<NodeRefresh>& refresh, const PreparedKey& key,
                                std::vector<PreparedDevice> devices) {
  const size_t count = devices.size();
  const auto replace = [devices = std::move(devices)](PreparedClaim& claim) {
    replace_nodes(claim, devices);
  };
  ports_.log.info(
      "device nodes changed since the claim was prepared: CDI spec written again",
      {{"driver", key.first}, {"claim", describe(request_of(prepared_.at(key)))}, {"devices", count}});
  // The claim may have been released when its batch starts.
  commits_.add(
      [this, key, replace] {
        const auto at = prepared_.find(key);
        if (at == prepared_.end()) return FileChange{};
        PreparedClaim claim = at->second;
        replace(claim);
        return files_of(claim, prepared_, settings_.files);
      },
      [refresh](const Result<Unit>& written) {
        if (!written) refresh->outcome = written;
        if (--refresh->to_write == 0) refresh->done(refresh->outcome);
      },
      [this, key, replace](const Result<Unit>& filed) {
        const auto at = prepared_.find(key);
        if (!filed || at == prepared_.end()) return;
        replace(at->second);
        change_copies(key, replace);
      });
}

// ---- the start

void ClaimPreparer::start(std::function<void()> ready) {
  refusal_.clear();
  auto recalled = std::make_shared<Records>();
  const auto work = [recalled, host = ports_.host, files = settings_.files, boot_id = knowledge_.boot_id(),
                     may_wait = ++starts_ < kStartsMax, sets_macs = !settings_.mac_annotation.empty()] {
    const auto removed = host->remove_temporaries(files.drivers, files.device_info_directory);
    *recalled = read_records(*host, files.drivers, boot_id, may_wait, sets_macs);
    if (!removed) recalled->leftovers = removed.error().what;
  };
  start_job_ =
      ports_.executor.run(work, Millis{0}, [this, recalled, ready = std::move(ready)](bool finished) {
        if (finished && recalled->unread.empty()) {
          adopt_records(std::move(*recalled));
          return ready();
        }
        // Without the record, devices of running pods could be prepared for others.
        ports_.log.warning("prepared claims not readable: no claim is prepared until they are",
                           {{"problem", finished ? recalled->unread : std::string(kKernelTimeout)}});
        start_turn_ = ports_.scheduler.after(kStartAgain, [this, ready] { start(ready); });
      });
}

void ClaimPreparer::adopt_records(Records recalled) {
  start_job_.reset();
  if (!recalled.leftovers.empty())
    ports_.log.warning("temporary files of a killed daemon not removed",
                       {{"problem", recalled.leftovers}, {"remedy", "remove them: they are not used"}});
  if (!recalled.problem.empty())
    ports_.log.warning(
        "checkpoint missing or damaged: prepared claims restored from CDI specs",
        {{"problem", recalled.problem},
         {"remedy", "none: pods keep running, and the next calls of the kubelet complete the records"}});
  if (!recalled.claims.empty())
    ports_.log.info("prepared claims restored",
                    {{"claims", recalled.claims.size()}, {"from", recalled.from}});
  if (!recalled.unknown.empty())
    ports_.log.warning(
        "original drivers of devices on vfio-pci unknown: policies see vfio-pci",
        {{"devices", join(recalled.unknown, " ")},
         {"why", "no record of their original drivers"},
         {"remedy", "none: policies that match by driver withdraw them until their pods end"}});
  if (!recalled.unknown_macs.empty())
    ports_.log.warning(
        "original MAC addresses of VFs unknown",
        {{"devices", join(recalled.unknown_macs, " ")},
         {"why", "the checkpoint and the files beside it (sliced-original-macs) are lost or damaged"},
         {"remedy", "after their pods end: ip link set PF vf NUMBER mac ADDRESS"}});
  original_macs_ = std::move(recalled.original_macs);
  if (const FileChange& change = recalled.original_files_change;
      !change.original_macs.empty() || !change.removed_original_macs.empty() ||
      !change.original_settings.empty() || !change.removed_original_settings.empty())
    commits_.add([change] { return change; },
                 [this](const Result<Unit>& written) {
                   if (!written)
                     ports_.log.warning(
                         "original MAC addresses and settings of VFs not saved: a restart loses them",
                         {{"problem", written.error().what}});
                 });
  original_settings_ = std::move(recalled.original_settings);
  for (const auto& [device, text] : settings_problems())
    ports_.log.warning("original settings of a device unknown", {{"problem", text}});
  for (auto& [key, claim] : recalled.claims) reserve(std::move(claim));
  // A complete checkpoint contains every claim. A device of no claim was returned, or must be. Its file may
  // only be left over, so the device is withheld only if the former daemon could not restore it.
  if (recalled.is_checkpoint)
    for (const auto& [device, kept] : original_settings_) {
      returned_.insert(device);
      if (kept.is_unrestored && !is_prepared(prepared_, device)) unrestored_.try_emplace(device);
    }
  restore_settings_later();
  has_started_ = true;
  for (const auto& [key, claim] : prepared_)
    if (!claim.not_returned.empty()) release_retries_.add(key, /*is_first=*/true);
  report_not_returned();
  for (auto& [uid, queue] : tasks_) begin(*queue.front());
  reconcile_.begin();
}

Reconcile::Handlers ClaimPreparer::reconcile_handlers() {
  const auto drop = [](const Result<Unit>&) {};
  return {.prepared = [this]() -> const PreparedClaims& { return prepared_; },
          .write_files =
              [this, drop](const PreparedClaim& claim) {
                commits_.add(
                    [this, claim] {
                      return prepared_.contains(key_of(claim)) ? files_of(claim, prepared_, settings_.files)
                                                               : FileChange{};
                    },
                    drop);
              },
          .release_claim =
              [this](const PreparedClaim& claim) {
                unprepare(claim.driver, request_of(claim), [](const std::string&) {});
              },
          .on_state = [this](const PreparedKey& key, ClaimState state) { set_state(key, state); },
          .on_user =
              [this](const PreparedKey& key, const std::string& user) {
                if (std::exchange(prepared_.at(key).user, user) != user) mark_changed(true);
                change_copies(key, [&](PreparedClaim& copy) { copy.user = user; });
              },
          .change_files = [this,
                           drop](std::function<FileChange()> make) { commits_.add(std::move(make), drop); }};
}

ReleaseRetries::Handlers ClaimPreparer::return_handlers() {
  return {.prepared = [this]() -> const PreparedClaims& { return prepared_; },
          .on_state = [this](const PreparedKey& key, ClaimState state) { set_state(key, state); },
          .release_claim =
              [this](const PreparedClaim& claim) {
                if (!is_stopping_) unprepare(claim.driver, request_of(claim), [](const std::string&) {});
              }};
}

// ---- devices that could not be returned

void ClaimPreparer::set_not_returned(const PreparedKey& key, const std::string& why) {
  const auto at = prepared_.find(key);
  if (at == prepared_.end()) return;
  const std::string before = std::exchange(at->second.not_returned, why);
  if (before != why) mark_changed(true);
  change_copies(key, [&](PreparedClaim& copy) { copy.not_returned = why; });
  release_retries_.add(key, /*is_first=*/before.empty());
}

void ClaimPreparer::set_state(const PreparedKey& key, ClaimState state) {
  const auto at = prepared_.find(key);
  if (at == prepared_.end() || state == ClaimState::kUnknown) return;
  const bool is_gone = state == ClaimState::kGone;
  if (std::exchange(at->second.is_claim_gone, is_gone) != is_gone) mark_changed(true);
  change_copies(key, [&](PreparedClaim& copy) { copy.is_claim_gone = is_gone; });
}

// A task writes its copies of the record back, and must not overwrite newer facts about the claim.
void ClaimPreparer::change_copies(const PreparedKey& key, const std::function<void(PreparedClaim&)>& change) {
  const auto queue = tasks_.find(key.second);
  if (queue == tasks_.end()) return;
  for (const auto& task : queue->second) {
    if (task->key() != key) continue;
    if (task->before) change(*task->before);
    change(task->claim);
  }
}

// One pass over all claims can find many that are gone. Changes of the record are reported when all of them are on disk:
// otherwise a daemon that is killed in between would offer a device again at its next start, until it has read the
// claims. While the disk hangs, no claim is prepared either.
void ClaimPreparer::mark_changed(bool is_of_record) {
  is_record_changed_ |= is_of_record;
  if (change_turn_) return;
  change_turn_ = ports_.scheduler.after(kChangesMax, [this] {
    const reactor::Ticket own = std::exchange(change_turn_, nullptr);
    if (std::exchange(is_record_changed_, false)) {
      ++records_pending_;
      commits_.add([] { return FileChange{}; },
                   [this](const Result<Unit>&) {
                     if (--records_pending_ == 0 && !is_record_changed_) report_not_returned();
                   });
    } else if (records_pending_ == 0) {
      report_not_returned();
    }
  });
}

void ClaimPreparer::report_not_returned() {
  policy::NotReturnedDevices now = not_returned_of(prepared_);
  std::ranges::move(unrestored(), std::back_inserter(now));
  if (now == not_returned_) return;
  not_returned_ = std::move(now);
  if (handlers_.on_not_returned) handlers_.on_not_returned(not_returned_);
}

// ---- reservations

void ClaimPreparer::reserve(PreparedClaim claim) {
  const PreparedKey key = key_of(claim);
  const PreparedClaim& kept = prepared_[key] = std::move(claim);
  if (!not_returned_.empty()) mark_changed(false);
  for (const PreparedDevice& device : kept.devices) {
    if (device.held) handlers_.on_pinned(holder(key), *device.held);
    if (!device.is_admin)
      handlers_.on_prepared({{kept.driver, device.pool},
                             device.device,
                             kept.uid,
                             !device.share_id.empty() || !device.holding.is_exclusive,
                             kept.namespace_,
                             kept.name});
  }
}

void ClaimPreparer::release(const PreparedKey& key) {
  const auto at = prepared_.find(key);
  if (at == prepared_.end()) return;
  with_ignored_.erase(key);
  const PreparedClaim gone = std::move(at->second);
  prepared_.erase(at);
  written_.erase(key);
  for (const PreparedDevice& device : gone.devices)
    if (!device.is_admin) handlers_.on_unprepared({{gone.driver, device.pool}, device.device, gone.uid});
  if (!not_returned_.empty()) mark_changed(false);
}

void ClaimPreparer::let_go(const PreparedKey& key) { handlers_.on_unpinned(holder(key)); }

}  // namespace sliced::kubelet
