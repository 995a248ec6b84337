#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

#include "kube/objects/kinds.h"
#include "kubelet/preparer.h"
#include "kubelet/safety.h"

namespace sliced::kubelet {
namespace {

// Returns whether another claim has the device.
bool is_taken(const PreparedDevice& device, const PreparedKey& own, const PreparedClaims& prepared) {
  return std::any_of(prepared.begin(), prepared.end(), [&](const auto& one) {
    return one.first != own &&
           std::any_of(one.second.devices.begin(), one.second.devices.end(),
                       [&](const PreparedDevice& held) { return conflict(device, held); });
  });
}

// Another claim has the device by now, and the record of its original settings is that claim's, on disk or in
// the batch that writes it.
bool has_other_settings(const std::string& device, const PreparedKey& own, const PreparedClaims& prepared,
                        const OriginalSettingsByDevice& settings) {
  const auto kept = settings.find(device);
  return std::any_of(prepared.begin(), prepared.end(), [&](const auto& one) {
    const auto& devices = one.second.devices;
    const bool is_its_own = kept != settings.end() && kept->second.claim == one.second.uid;
    return one.first != own && std::any_of(devices.begin(), devices.end(), [&](const PreparedDevice& held) {
             return (held.has_original_settings || is_its_own) && settings_key(held) == device;
           });
  });
}

// Returns whether another claim has the VF and set a MAC address for it.
bool has_other_mac(const std::string& pci, const PreparedKey& own, const PreparedClaims& prepared) {
  return std::any_of(prepared.begin(), prepared.end(), [&](const auto& one) {
    const auto& devices = one.second.devices;
    return one.first != own && std::any_of(devices.begin(), devices.end(), [&](const PreparedDevice& held) {
             return held.vfio && !held.mac.empty() && held.pci == pci;
           });
  });
}

// Returns the settings to restore for a device that lacks only its interface's name.
OriginalSettings name_only(OriginalSettings one) {
  one.vf.reset();
  one.vfs.clear();
  one.is_unrestored = false;
  if (one.interface)
    one.interface = OriginalInterface{.name = one.interface->name,
                                      .is_name_only = true,
                                      .alternative_names = one.interface->alternative_names};
  return one;
}

OriginalSettings marked_unrestored(OriginalSettings one) {
  one.is_unrestored = true;
  return one;
}

}  // namespace

std::span<const PrepareStep> ClaimPreparer::release_steps() {
  static constexpr PrepareStep kSteps[] = {
      &ClaimPreparer::check_unused,     &ClaimPreparer::detach,          &ClaimPreparer::note_ending,
      &ClaimPreparer::restore_settings, &ClaimPreparer::restore,         &ClaimPreparer::report_unknown_macs,
      &ClaimPreparer::commit_released,  &ClaimPreparer::answer_released,
  };
  return kSteps;
}

// A prepare that is abandoned has not reached any sandbox. A prepare that releases its earlier record first
// (Task::next) is checked like an unprepare.
void ClaimPreparer::check_unused(Task& task) {
  const bool is_given_up = task.is_prepare && !task.next;
  if (ports_.interfaces == nullptr || is_given_up || !task.before) return advance(task);
  if (!task.is_prepare && ports_.interfaces->may_be_shared(*task.before)) return read_sharing_pods(task);
  judge_unused(task, *task.before);
}

// A kubelet (1.37) prepares a pod's claims before it creates the pod's sandbox, and does not unprepare a
// claim that two of its pods reference. So a sandbox of a pod for which the claim is reserved shows a kubelet
// bug (kubernetes/kubernetes#140212, #140527). A pod with a reservation but without a sandbox does not: the
// claim is prepared again for it. Kubelet 1.37 prepares nothing during an unprepare, so waiting for such a
// pod would be a deadlock.
void ClaimPreparer::read_sharing_pods(Task& task) {
  const auto judge = [this, &task](const std::vector<ReservingPod>& pods) {
    PreparedClaim claim = *task.before;
    claim.pods.insert(claim.pods.end(), pods.begin(), pods.end());
    judge_unused(task, claim);
  };
  task.turn = ports_.scheduler.after(kSharedMax, [&task, judge] {
    task.call.reset();
    judge({});
  });
  task.call = ports_.cluster.get(
      {.resource = kube::kResourceClaims, .namespace_ = task.before->namespace_, .name = task.before->name},
      {.on_done =
           [&task, judge](std::string_view object) {
             task.turn = {};
             const auto claim = decode_claim(object);
             judge(claim && claim->uid == task.request.uid ? claim->pods : std::vector<ReservingPod>{});
           },
       .on_failure =
           [&task, judge](const kube::Failure&) {
             task.turn = {};
             judge({});
           }});
}

void ClaimPreparer::judge_unused(Task& task, const PreparedClaim& claim) {
  const std::string why = ports_.interfaces->in_use(claim);
  if (why.empty()) return advance(task);
  if (!task.next) set_not_returned(task.key(), why);
  fail(task, task.next ? "it was prepared with other devices or for other pods before, and " + why : why);
}

// The claim's sandboxes have stopped; interfaces that their stop could not remove are removed here. A prepare
// that is given up has not reached any sandbox. An unprepare uses the claim's record, a prepare its current
// state.
void ClaimPreparer::detach(Task& task) {
  if (!task.is_prepare)
    task.claim = task.before ? *task.before : PreparedClaim{.driver = task.driver, .uid = task.request.uid};
  const bool is_kept = task.is_prepare && !task.next;
  if (ports_.interfaces == nullptr || is_kept || !task.before) return advance(task);
  ports_.interfaces->detach(*task.before, [this, &task] { advance(task); });
}

// A restarted daemon must not take a restored function for prepared.
void ClaimPreparer::note_ending(Task& task) {
  if (!is_bound(task.claim)) return advance(task);
  task.claim.is_complete = false;
  prepared_[task.key()] = task.claim;
  commits_.add([] { return FileChange{}; },
               [this, &task](const Result<Unit>& written) {
                 if (written)
                   advance(task);
                 else
                   fail_release(task, written.error().what);
               });
}

bool ClaimPreparer::is_kept_for(const PreparedClaim& claim, const PreparedDevice& device) const {
  const auto at = original_settings_.find(settings_key(device));
  return device.has_original_settings && at != original_settings_.end() &&
         (at->second.claim.empty() || at->second.claim == claim.uid);
}

void ClaimPreparer::restore_settings(Task& task) {
  std::vector<OriginalSettings> kept;
  std::vector<PreparedDevice> devices;
  for (const PreparedDevice& device : task.claim.devices) {
    const auto at = original_settings_.find(settings_key(device));
    if (!is_kept_for(task.claim, device)) continue;
    kept.push_back(at->second);
    devices.push_back(device);
  }
  task.found->restored.clear();
  if (kept.empty()) return advance(task);
  auto left = std::make_shared<std::vector<std::optional<hotplug::VfConfig>>>(kept.size());
  const auto work = [found = task.found, host = ports_.host, kept, devices, left] {
    for (size_t i = 0; i < kept.size(); ++i) {
      if (kept[i].is_known) {
        found->restored.push_back(host->restore_settings(kept[i]));
        continue;
      }
      found->restored.push_back(RestoredSettings{});
      if (const auto now = host->read_settings(devices[i])) (*left)[i] = now->vf;
    }
  };
  task.job = ports_.executor.run(work, kReadDevicesMax, [this, kept, left, &task](bool finished) {
    if (!finished) return fail_release(task, kKernelTimeout);
    std::string problem;
    for (size_t i = 0; i < kept.size(); ++i) {
      const std::string& device = kept[i].device;
      const Result<RestoredSettings>& restored = task.found->restored[i];
      unrestored_.erase(device);
      if (restored && !restored->name_problem.empty()) report_name(device, restored->name_problem);
      if (!restored) {
        unrestored_[device] = restored.error().what;
        if (problem.empty()) problem = restored.error().what;
      }
      if (kept[i].is_known) continue;
      original_settings_[device].left = (*left)[i];
      ports_.log.warning("original VF settings unknown: the VF keeps its current settings",
                         {{"problem", unknown_settings_text(original_settings_[device])},
                          {"claim", describe(task.request)}});
    }
    if (problem.empty())
      advance(task);
    else
      fail_release(task, problem);
  });
}

void ClaimPreparer::drop_original_settings(const Task& task, FileChange& change) const {
  size_t i = 0;
  for (const PreparedDevice& device : task.claim.devices) {
    const auto at = original_settings_.find(settings_key(device));
    if (!is_kept_for(task.claim, device) || i >= task.found->restored.size()) continue;
    const Result<RestoredSettings>& restored = task.found->restored[i++];
    if (!at->second.is_known)
      change.original_settings.push_back(at->second);
    else if (restored && restored->is_back && restored->name_problem.empty())
      change.removed_original_settings.push_back(at->first);
    else if (restored && restored->is_back)
      change.original_settings.push_back(name_only(at->second));
    else
      change.original_settings.push_back(marked_unrestored(at->second));
  }
}

// Runs after the checkpoint without the claim is written: settings of a recorded claim without files would
// count as unknown.
void ClaimPreparer::forget_settings(const Task& task, const std::vector<std::string>& given_back) {
  // The next claim of a device may have stored its settings while the files of this one were removed.
  const auto is_of_other = [&](const std::string& device) {
    return has_other_settings(device, task.key(), prepared_, original_settings_);
  };
  std::vector<std::string> removed;
  std::copy_if(given_back.begin(), given_back.end(), std::back_inserter(removed), std::not_fn(is_of_other));
  for (const std::string& device : removed) original_settings_.erase(device);
  for (const PreparedDevice& device : task.claim.devices)
    if (const std::string key = settings_key(device); is_kept_for(task.claim, device) && !is_of_other(key))
      returned_.insert(key), mark_changed(false);
  if (!removed.empty())
    commits_.add(
        [removed] {
          FileChange change;
          change.removed_original_settings = removed;
          return change;
        },
        [](const Result<Unit>&) {});
  restore_settings_later();
}

// If a PF returns late, its VFs keep the settings of its pod until then, and a claim for a VF would record
// these as the original. A claim that keeps settings restores its own device itself (look()).
std::string ClaimPreparer::waits_for_settings(const PreparedDevice& device) {
  const std::string own = settings_key(device);
  if (device.is_admin || own.empty()) return "";
  for (const auto& [other, kept] : original_settings_) {
    const bool is_name_only = kept.interface && kept.interface->is_name_only;
    const bool is_own = other == own && !is_name_only && !keeps_settings(device);
    const bool is_its_pf = other == device.identity.pf && !kept.vfs.empty();
    const bool is_its_vf =
        !kept.pf.empty() && kept.pf == device.pci && kept.vf && device.holding.is_exclusive;
    if (!kept.is_known || (!is_own && !is_its_pf && !is_its_vf) || is_prepared(prepared_, other)) continue;
    if (returned_.insert(other).second) mark_changed(false);
    restore_settings_later();
    std::string who = "it";
    if (!is_own) who = (is_its_pf ? "its PF " : "its VF ") + other;
    const auto problem = unrestored_.find(other);
    const bool is_why_known = problem != unrestored_.end() && !problem->second.empty();
    return "device " + in_quotes(device.pool + "/" + device.device) + ": " + who +
           " does not have its original settings yet, which are restored first" +
           (is_why_known ? " (" + problem->second + ")" : "") + "; the kubelet retries";
  }
  return "";
}

// The name does not matter to the next claim, so the device stays available.
void ClaimPreparer::report_name(const std::string& device, const std::string& problem) {
  if (std::exchange(unrestored_[device], problem) == problem) return;
  ports_.log.warning("interface not renamed to its original name: the device is usable, will retry",
                     {{"device", device}, {"problem", problem}});
}

// Covers devices whose interface returns late, and those that a killed daemon left.
void ClaimPreparer::restore_settings_later() {
  if (settings_turn_ || settings_job_) return;
  const auto left = [this] {
    std::vector<OriginalSettings> out;
    for (const std::string& device : returned_) {
      const auto kept = original_settings_.find(device);
      if (kept != original_settings_.end() && kept->second.is_known && !is_prepared(prepared_, device))
        out.push_back(kept->second);
    }
    return out;
  };
  if (left().empty()) return;
  settings_turn_ = ports_.scheduler.after(kSettingsAgain, [this, left] {
    const reactor::Ticket own = std::exchange(settings_turn_, nullptr);
    const std::vector<OriginalSettings> all = left();
    if (all.empty() || is_stopping_) return;
    for (const OriginalSettings& one : all) restoring_.insert(one.device);
    auto restored = std::make_shared<std::vector<Result<RestoredSettings>>>();
    const auto work = [restored, all, host = ports_.host] {
      for (const OriginalSettings& one : all) restored->push_back(host->restore_settings(one));
    };
    // No deadline: a write that hangs may still happen, and must not affect a later pod.
    settings_job_ = ports_.executor.run(work, Millis{0}, [this, restored, all](bool finished) {
      const auto over = std::move(settings_job_);
      restoring_.clear();
      FileChange change;
      for (size_t i = 0; finished && i < all.size(); ++i) {
        const std::string& device = all[i].device;
        const Result<RestoredSettings>& one = (*restored)[i];
        if (one && one->is_back && !one->name_problem.empty()) {
          report_name(device, one->name_problem);
          OriginalSettings left = name_only(all[i]);
          if (left == all[i]) continue;
          change.original_settings.push_back(left);
          original_settings_.insert_or_assign(device, std::move(left));
        } else if (one && one->is_back) {
          change.removed_original_settings.push_back(device);
          original_settings_.erase(device);
          returned_.erase(device);
          if (unrestored_.erase(device) > 0)
            ports_.log.info("original settings restored after failures: the device is free",
                            {{"device", device}});
        } else {
          const std::string problem = one ? std::string(kInterfaceIsAway) : one.error().what;
          if (OriginalSettings marked = marked_unrestored(all[i]); marked != all[i]) {
            change.original_settings.push_back(marked);
            original_settings_.insert_or_assign(device, std::move(marked));
          }
          if (std::exchange(unrestored_[device], problem) != problem)
            ports_.log.warning("original settings not restored: the device is not offered, will retry",
                               {{"device", device}, {"problem", problem}});
        }
      }
      mark_changed(false);
      if (!change.removed_original_settings.empty() || !change.original_settings.empty())
        commits_.add([change] { return change; }, [](const Result<Unit>&) {});
      restore_settings_later();
    });
  });
}

// Most interfaces return within moments, so nothing is withdrawn before a first attempt has failed.
policy::NotReturnedDevices ClaimPreparer::unrestored() const {
  policy::NotReturnedDevices all = unrestored_of(original_settings_, prepared_, unrestored_);
  std::erase_if(all, [&](const policy::NotReturned& one) {
    return !returned_.contains(one.holding.device) || !unrestored_.contains(one.holding.device);
  });
  return all;
}

std::map<std::string, std::string> ClaimPreparer::settings_problems() const {
  std::map<std::string, std::string> out = unrestored_;
  std::erase_if(out, [](const auto& one) { return one.second.empty(); });
  for (const auto& [device, one] : original_settings_)
    if (!one.is_known) out[device] = unknown_settings_text(one);
  // not_returned() has them.
  for (const policy::NotReturned& one : unrestored()) out.erase(one.holding.device);
  return out;
}

void ClaimPreparer::restore(Task& task) {
  restore_devices(task, bound_devices(task.claim), [this, &task](const std::string& problem) {
    if (problem.empty())
      advance(task);
    else
      fail_release(task, problem);
  });
}

// The VF may still have the pod's address. If the PF enforces another one from now on, the host has set it.
void ClaimPreparer::report_unknown_macs(Task& task) {
  std::vector<PreparedDevice> unknown;
  for (PreparedDevice& device : bound_devices(task.claim)) {
    const auto kept = original_macs_.find(device.pci);
    if (kept == original_macs_.end() || !kept->second.mac.empty()) continue;
    device.mac = kNoMac;  // makes read_device() read the enforced address
    unknown.push_back(std::move(device));
  }
  if (unknown.empty()) return advance(task);
  auto snapshots = std::make_shared<std::vector<Result<DeviceSnapshot>>>();
  const auto work = [snapshots, host = ports_.host, unknown] {
    for (const PreparedDevice& device : unknown) snapshots->push_back(host->read_device(device));
  };
  task.job = ports_.executor.run(work, kReadDevicesMax, [this, snapshots, unknown, &task](bool finished) {
    for (size_t i = 0; i < unknown.size(); ++i) {
      const std::string now = finished && (*snapshots)[i] ? (*snapshots)[i]->admin_mac : "";
      original_macs_[unknown[i].pci].left = now;
      ports_.log.warning(
          "original MAC address of a VF unknown: the VF keeps its current administrative MAC address",
          {{"device", unknown[i].pci},
           {"mac", now.empty() ? "unknown" : now},
           {"claim", describe(task.request)},
           {"remedy", "before the next pod gets it: ip link set PF vf NUMBER mac ADDRESS"}});
    }
    advance(task);
  });
}

FileChange ClaimPreparer::drop_original_macs(const PreparedClaim& claim) const {
  FileChange change;
  for (const PreparedDevice& device : bound_devices(claim)) {
    const auto kept = original_macs_.find(device.pci);
    if (kept == original_macs_.end()) continue;
    if (kept->second.mac.empty())
      change.original_macs.push_back(kept->second);
    else
      change.removed_original_macs.push_back(device.pci);
  }
  return change;
}

void ClaimPreparer::fail_release(Task& task, const std::string& problem) {
  set_not_returned(task.key(), problem);
  fail(task, task.given_up.empty() ? problem : task.given_up + "; and it cannot be released yet: " + problem);
}

void ClaimPreparer::restore_devices(Task& task, std::vector<PreparedDevice> devices,
                                    std::function<void(const std::string&)> next) {
  if (devices.empty()) return next("");
  task.job = ports_.binder->run(
      Binding::kRestore, devices,
      [this, devices, next = std::move(next)](const std::vector<Result<std::string>>& restored) {
        const Error* first = nullptr;
        for (size_t i = 0; i < devices.size(); ++i) {
          if (!restored[i] && first == nullptr) first = &restored[i].error();
          if (restored[i] && !restored[i]->empty()) driver_retries_.add(devices[i], *restored[i]);
        }
        next(first == nullptr ? "" : first->what);
      });
}

void ClaimPreparer::commit_released(Task& task) {
  release(task.key());
  // Its files may still exist, so its devices stay reserved until they are removed. A device that another
  // claim got meanwhile is skipped: releasing it again would take it from a pod.
  FileChange macs = drop_original_macs(task.claim);
  drop_original_settings(task, macs);
  const auto keep = [this, macs, &task](const Result<Unit>& result) {
    if (result) {
      for (const std::string& pci : macs.removed_original_macs)
        if (!has_other_mac(pci, task.key(), prepared_)) original_macs_.erase(pci);
      return;
    }
    std::erase_if(task.claim.devices,
                  [&](const PreparedDevice& device) { return is_taken(device, task.key(), prepared_); });
    let_go(task.key());
    if (task.claim.devices.empty()) return release(task.key());
    task.claim.is_complete = false;
    reserve(task.claim);
  };
  const auto change = [this, macs, claim = task.claim] {
    FileChange all = removal_of(claim, prepared_, settings_.files);
    all.original_macs = macs.original_macs;
    all.removed_original_macs = macs.removed_original_macs;
    all.original_settings = macs.original_settings;
    return all;
  };
  commits_.add(
      change,
      [this, keep, macs, &task](const Result<Unit>& written) {
        if (written) {
          for (const OriginalSettings& one : macs.original_settings)
            if (one.is_known && !has_other_settings(one.device, task.key(), prepared_, original_settings_))
              original_settings_.insert_or_assign(one.device, one);
          forget_settings(task, macs.removed_original_settings);
          // Released after the write, because a disk may take longer than PinnedHost::kReturnMax.
          let_go(task.key());
          return advance(task);
        }
        keep(written);
        set_not_returned(task.key(), written.error().what);
        fail(task, task.given_up.empty() ? written.error().what : task.given_up);
      },
      keep);
}

void ClaimPreparer::answer_released(Task& task) {
  if (!task.claim.devices.empty() && handlers_.on_record_removed) handlers_.on_record_removed(task.claim);
  if (!task.given_up.empty()) return fail(task, task.given_up);
  if (task.next) {
    ports_.log.info(
        "claim changed since it was prepared: former devices released",
        {{"driver", task.driver}, {"claim", describe(task.request)}, {"devices", names_of(task.claim)}});
    task.claim = *std::exchange(task.next, std::nullopt);
    task.steps = task.next_steps;
    task.before.reset();
    return advance(task);
  }
  if (!task.claim.devices.empty())
    ports_.log.info(
        "claim released",
        {{"driver", task.driver}, {"claim", describe(task.request)}, {"devices", names_of(task.claim)}});
  end(task, {});
}

}  // namespace sliced::kubelet
