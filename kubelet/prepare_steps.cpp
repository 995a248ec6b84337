#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "kube/objects/kinds.h"
#include "kubelet/checkpoint.h"
#include "kubelet/cni/plugin_fields.h"
#include "kubelet/hardware.h"
#include "kubelet/mac_requests.h"
#include "kubelet/native_network.h"
#include "kubelet/preparer.h"
#include "kubelet/recall.h"
#include "kubelet/safety.h"
#include "kubelet/vf_config.h"
#include "kubelet/vf_settings.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

// Copies facts from the earlier record that have no other source: the function's state before vfio-pci.
void keep_originals(const PreparedClaim& before, PreparedClaim& now) {
  for (PreparedDevice& device : now.devices)
    for (const PreparedDevice& was : before.devices)
      if (device.vfio && was.vfio && was.pci == device.pci)
        device.vfio->original_driver = was.vfio->original_driver,
        device.vfio->original_mac = was.vfio->original_mac;
  for (PreparedDevice& device : now.devices)
    for (const PreparedDevice& was : before.devices)
      device.has_original_settings |= was.has_original_settings && settings_key(was) == settings_key(device);
}

bool is_on_vfio(const PreparedClaim& claim, const PreparedDevice& device) {
  return std::any_of(claim.devices.begin(), claim.devices.end(), [&](const PreparedDevice& one) {
    return one.vfio.has_value() && one.pci == device.pci;
  });
}

bool was_on_vfio(const std::optional<PreparedClaim>& before, const PreparedDevice& device) {
  return before && is_on_vfio(*before, device);
}

bool has_function(const std::optional<PreparedClaim>& before, const PreparedDevice& device) {
  return before && std::any_of(before->devices.begin(), before->devices.end(),
                               [&](const PreparedDevice& one) { return one.pci == device.pci; });
}

// Estimates the size of claims in the checkpoint. A definition is stored once; quotes in it count twice.
class RecordSize {
 public:
  void add(const PreparedClaim& claim) {
    constexpr size_t kOfClaim = 1'024, kOfPod = 320, kOfDevice = 2'048, kOfAddress = 64, kOfRoute = 176,
                     kOfNeighbor = 112;
    ++claims_;
    bytes_ += kOfClaim + kOfPod * claim.pods.size() + kOfDevice * claim.devices.size();
    for (const PreparedDevice& device : claim.devices) {
      bytes_ += env_bytes(claim, device);
      if (networks_.insert(device.network).second) bytes_ += 2 * device.network.size();
      if (const auto& network = device.config.network)
        bytes_ += 2 * network->ipam.size() + kOfAddress * network->addresses.size() +
                  kOfRoute * (network->routes.size() + network->rules.size()) +
                  kOfNeighbor * (network->neighbors.size() + network->sysctls.size());
    }
  }
  size_t claims() const { return claims_; }
  size_t bytes() const { return bytes_; }

 private:
  // Returns the size of the variables of the device; for one that has none yet, a bound of those that
  // add_request_names() may add.
  static size_t env_bytes(const PreparedClaim& claim, const PreparedDevice& device) {
    constexpr size_t kOfLine = 4, kOfName = 16, kOfAddresses = 14;
    size_t out = 0;
    for (const std::string& line : device.edits.env) out += kOfLine + line.size();
    if (out != 0 || device.pci.empty()) return out;
    for (const std::string& name : {claim.name, claim.pod_claim_name})
      out +=
          2 * (kOfLine + kOfName + name.size() + device.request.size() + kOfAddresses * claim.devices.size());
    return out;
  }

  std::set<std::string_view> networks_;
  size_t bytes_ = 0, claims_ = 0;
};

// Returns "" if there is room. A checkpoint above its limit cannot be read again, so a restarted daemon would
// not know the devices of pods.
std::string no_room(const PreparedClaim& claim, const PreparedClaims& prepared, size_t bytes_max) {
  RecordSize all, of_namespace;
  all.add(claim);
  of_namespace.add(claim);
  for (const auto& [key, other] : prepared) {
    if (key == key_of(claim)) continue;
    all.add(other);
    if (other.namespace_ == claim.namespace_) of_namespace.add(other);
  }
  const auto text = [](const RecordSize& size) {
    return " (" + std::to_string(size.claims()) + " claims, about " + std::to_string(size.bytes() >> 20) +
           " MiB): claims with fewer devices, or shorter NetworkAttachmentDefinitions, would have";
  };
  if (all.bytes() > bytes_max || all.claims() > kCheckpointClaimsMax)
    return "the record of prepared claims on this node is full" + text(all);
  const size_t of_namespace_max = bytes_max / kCheckpointNamespaceDivisor;
  if (of_namespace.bytes() > of_namespace_max)
    return "namespace " + escaped(claim.namespace_) +
           " has used its part of the record of prepared claims on this node, which is " +
           std::to_string(of_namespace_max >> 20) + " MiB" + text(of_namespace);
  return "";
}

// Without a driver, containers would miss their interface. A VM gets the function itself, so it is not
// affected.
std::string lacks_driver(const PreparedDevice& device, const DriverRetries& driverless) {
  const std::string driver = device.is_admin || device.vfio ? "" : driverless.driver_of(device.pci);
  if (driver.empty()) return "";
  return "device " + in_quotes(device.pool + "/" + device.device) + " is without its driver " +
         escaped(driver) +
         " since a pod gave it back: load the driver's module, and it can be had half a minute later";
}

// Without a VfConfig for vfio-pci, the driver at allocation decides. A later change of it, or a record from
// before this rule, must not undo the devices of running pods.
bool has_same_binding(const PreparedDevice& one, const PreparedDevice& other) {
  return one.vfio.has_value() == other.vfio.has_value() ||
         (!one.config.requires_vfio() && !other.config.requires_vfio());
}

bool are_same_devices(const PreparedClaim& a, const PreparedClaim& b) {
  return std::equal(a.devices.begin(), a.devices.end(), b.devices.begin(), b.devices.end(),
                    [](const PreparedDevice& one, const PreparedDevice& other) {
                      return one.pool == other.pool && one.device == other.device &&
                             one.share_id == other.share_id && has_same_binding(one, other);
                    });
}

bool have_one_of(const std::vector<ReservingPod>& some, const std::vector<ReservingPod>& others) {
  return std::ranges::any_of(some, [&](const ReservingPod& one) {
    return std::ranges::find(others, one.uid, &ReservingPod::uid) != others.end();
  });
}

// The claim is reserved for none of the Pods and PodGroups for which it was prepared, and was not unprepared.
// This happens after a forced deletion while the kubelet was down.
bool has_other_consumers(const Claim& now, const PreparedClaim& before) {
  if (before.pods.empty() && before.pod_groups.empty()) return false;
  return !have_one_of(now.pods, before.pods) && !have_one_of(now.pod_groups, before.pod_groups);
}

// Returns whether the record must be released before the claim is prepared: it has devices that the claim no
// longer has, or it was for other pods. In a record from CDI specs only the functions on vfio-pci are
// certain.
bool is_outdated(const PreparedClaim& before, const Claim& asked, const PreparedClaim& now) {
  if (now.devices.empty() && !before.devices.empty()) return true;
  const auto is_left = [&](const PreparedDevice& was) {
    return std::any_of(now.devices.begin(), now.devices.end(), [&](const PreparedDevice& one) {
      return one.pool == was.pool && one.device == was.device && one.share_id == was.share_id &&
             (one.vfio || !was.vfio);
    });
  };
  if (is_nameless(before))
    return std::any_of(before.devices.begin(), before.devices.end(),
                       [&](const PreparedDevice& was) { return was.vfio && !is_on_vfio(now, was); });
  if (has_other_consumers(asked, before)) return true;
  if (before.is_complete) return !are_same_devices(before, now);
  return !std::all_of(before.devices.begin(), before.devices.end(), is_left);
}

// The settings of a prepared claim stay allowed while its pods run, regardless of later changes of its
// policies.
FindEntry with_all_settings(const FindEntry& find) {
  return [find](const std::string& driver, const std::string& pool,
                const std::string& entry) -> std::optional<KnownEntry> {
    auto known = find(driver, pool, entry);
    if (!known) return known;
    const auto all = cni::vf_settings();
    known->has_policy = true;
    known->vf_settings.emplace(all.begin(), all.end());
    known->vlans = VlanIds::all();
    known->is_default_too = false;
    return known;
  };
}

// The plan has the names of the last inventory. They may belong to another function now.
void use_names_of(const DeviceSnapshot& look, PreparedDevice& device) {
  if (look.interface.empty() || hardware_of(device).empty()) return;
  device.interface = look.interface;
  if (!device.network.empty())
    device.network = with_host_names(device.network, look.interface, look.rdma_device);
}

// Unknown settings stay unknown unless the host has changed them since the device was returned.
bool stays_unknown(const OriginalSettings& kept, const OriginalSettings& now) {
  return !kept.is_known && (!kept.left || !now.vf || *kept.left == *now.vf);
}

// Returns the interface names of the pods' other claims, and of the other driver's devices of this claim.
std::set<std::string> interface_names(const Claim& claim, const std::string& driver,
                                      const PreparedClaims& prepared) {
  std::set<std::string> names;
  for (const auto& [key, other] : prepared) {
    const bool is_of_pod = std::any_of(other.pods.begin(), other.pods.end(), [&](const ReservingPod& pod) {
      return std::find_if(claim.pods.begin(), claim.pods.end(),
                          [&](const ReservingPod& own) { return own.uid == pod.uid; }) != claim.pods.end();
    });
    if (!is_of_pod || key == PreparedKey{driver, claim.uid}) continue;
    for (const PreparedDevice& device : other.devices)
      if (!device.config.if_name.empty()) names.insert(device.config.if_name);
  }
  return names;
}

}  // namespace

std::span<const PrepareStep> ClaimPreparer::prepare_steps() {
  static constexpr PrepareStep kSteps[] = {
      &ClaimPreparer::get_claim,
      &ClaimPreparer::read_pod,
      &ClaimPreparer::plan_claim,
      &ClaimPreparer::compare_with_record,
      &ClaimPreparer::check_conflicting_claim,
      &ClaimPreparer::reserve_devices,
      &ClaimPreparer::read_networks,
      &ClaimPreparer::look,
      &ClaimPreparer::check_snapshots,
      &ClaimPreparer::record_begun,
      &ClaimPreparer::bind,
      &ClaimPreparer::commit_prepared,
      &ClaimPreparer::answer_prepared,
  };
  return kSteps;
}

void ClaimPreparer::get_claim(Task& task) {
  task.call = ports_.cluster.get(
      {.resource = kube::kResourceClaims, .namespace_ = task.request.namespace_, .name = task.request.name},
      {.on_done =
           [this, &task](std::string_view object) {
             auto claim = decode_claim(object);
             if (!claim) return give_up(task, claim.error().what);
             task.asked = std::move(*claim);
             advance(task);
           },
       .on_failure =
           [this, &task](const kube::Failure& failure) {
             if (failure.code == Errc::kNotFound) return give_up(task, "it no longer exists");
             give_up(task, "it cannot be read: " + failure.what +
                               (failure.code == Errc::kDenied
                                    ? "; grant get on resourceclaims (config/deploy/rbac.yaml)"
                                    : ""));
           }});
}

// An annotation of one pod does not apply to a claim that several pods share.
void ClaimPreparer::read_pod(Task& task) {
  const bool is_ours = std::any_of(task.asked.devices.begin(), task.asked.devices.end(),
                                   [&](const AllocatedDevice& one) { return one.driver == task.driver; });
  if (settings_.mac_annotation.empty() || !is_ours || task.asked.pods.size() != 1) return advance(task);
  const std::string who =
      "Pod " + escaped(task.asked.namespace_) + "/" + escaped(task.asked.pods.front().name);
  task.call = ports_.cluster.get(
      {.resource = kube::kPods, .namespace_ = task.asked.namespace_, .name = task.asked.pods.front().name},
      {.on_done =
           [this, &task](std::string_view object) {
             auto read = read_macs(object, task.asked.pods.front(), settings_.mac_annotation, task.asked);
             if (read)
               advance(task);
             else
               give_up(task, read.error().what);
           },
       .on_failure =
           [this, &task, who](const kube::Failure& failure) {
             if (failure.code == Errc::kNotFound)
               return give_up(task, who + ", for which it is reserved, no longer exists");
             give_up(task, who + " cannot be read: " + failure.what +
                               (failure.code == Errc::kDenied ? "; grant get on pods (docs/kubevirt.md), or "
                                                                "leave out --mac-annotation"
                                                              : ""));
           }});
}

void ClaimPreparer::plan_claim(Task& task) {
  if (const std::string why = knowledge_.waits_for(); !why.empty())
    return give_up(task, "its devices are not known yet (" + why + "); the kubelet retries");
  if (auto checked = check_claim(task.asked, task.request, knowledge_.node()); !checked)
    return give_up(task, checked.error().what);
  const auto names = interface_names(task.asked, task.driver, prepared_);
  const bool is_repeated =
      task.before && task.before->is_complete && !has_other_consumers(task.asked, *task.before);
  auto planned =
      plan(task.asked, task.driver, is_repeated ? with_all_settings(knowledge_.find) : knowledge_.find, names,
           settings_.plan);
  if (is_repeated && planned && is_outdated(*task.before, task.asked, *planned))
    planned = plan(task.asked, task.driver, knowledge_.find, names, settings_.plan);
  if (!planned) return give_up(task, planned.error().what);
  task.claim = std::move(*planned);
  report_ignored(task);
  advance(task);
}

// The pod starts without its interface, so this warning is the only hint for the claim's author.
void ClaimPreparer::report_ignored(const Task& task) {
  std::vector<std::string> ignored = ignored_configs(task.asked, task.driver);
  const auto known = with_ignored_.find(task.key());
  if (ignored.empty()) {
    if (known != with_ignored_.end()) with_ignored_.erase(known);
    return;
  }
  if (known == with_ignored_.end() || known->second.ignored != ignored)
    for (const std::string& one : ignored)
      ports_.log.warning("ResourceClaim configuration ignored: it is for another driver",
                         {{"driver", task.driver}, {"claim", describe(task.request)}, {"why", one}});
  with_ignored_.insert_or_assign(task.key(), ClaimWithIgnored{task.asked.namespace_, task.asked.name,
                                                              task.asked.pods, std::move(ignored)});
}

// The kubelet repeats prepare after each of its starts. The answer is the same unless the claim has other
// devices or pods now, of which the kubelet does not notify. Everything that was set up for a pod (MAC
// address, interfaces, files) belongs to that pod.
void ClaimPreparer::compare_with_record(Task& task) {
  if (!task.before) return advance(task);
  set_state(task.key(), ClaimState::kExists);
  if (is_outdated(*task.before, task.asked, task.claim)) {
    task.next = std::exchange(task.claim, *task.before);
    task.next_steps = std::exchange(task.steps, release_steps());
    return advance(task);
  }
  if (!task.before->is_complete) return advance(task);
  prepared_.at(task.key()).not_returned.clear();  // the kubelet requests it again
  // Its pod may run with its interfaces. Otherwise the claim waits like a new one.
  if (const std::string why = ports_.interfaces ? ports_.interfaces->waits_for(*task.before) : "";
      !why.empty())
    return give_up(task, why);
  const auto has_nodes = [](const PreparedDevice& device) { return !device.edits.nodes.empty(); };
  if (std::ranges::none_of(task.before->devices, has_nodes)) return answer_from_record(task);
  const auto work = [found = task.found, host = ports_.host, devices = task.before->devices] {
    for (const PreparedDevice& device : devices) found->snapshots.push_back(host->read_device(device));
  };
  task.job = ports_.executor.run(work, kReadDevicesMax, [this, &task](bool finished) {
    if (!finished) return give_up(task, kKernelTimeout);
    for (size_t i = 0; i < task.before->devices.size(); ++i) {
      const Result<DeviceSnapshot>& look = task.found->snapshots[i];
      const std::string why = look ? stale_nodes(task.before->devices[i], *look) : "";
      if (!why.empty()) return give_up(task, why);
    }
    answer_from_record(task);
  });
}

void ClaimPreparer::answer_from_record(Task& task) {
  for (size_t i = 0; i < task.claim.devices.size(); ++i)
    task.before->devices[i].attributes = task.claim.devices[i].attributes;
  if (written_.contains(task.key()))
    return end(task, answer_of(*task.before, settings_.files.writes_metadata));
  // An earlier process prepared it. Checks once that its files exist.
  commits_.add([this, claim = *task.before] { return files_of(claim, prepared_, settings_.files); },
               [this, &task](const Result<Unit>& written) {
                 if (!written) return give_up(task, written.error().what);
                 written_.insert(task.key());
                 end(task, answer_of(*task.before, settings_.files.writes_metadata));
               });
}

void ClaimPreparer::check_conflicting_claim(Task& task) {
  for (const PreparedDevice& device : task.claim.devices) {
    const PreparedClaim* holder =
        device.is_admin ? nullptr : conflicting_claim(task.claim, device, prepared_);
    if (holder == nullptr || holder->is_claim_gone || is_nameless(*holder)) continue;
    task.call = ask_claim(ports_.cluster, *holder, [this, &task, key = key_of(*holder)](ClaimState state) {
      set_state(key, state);
      if (state == ClaimState::kGone) reconcile();  // releases it if the kubelet does not
      advance(task);
    });
    return;
  }
  advance(task);
}

void ClaimPreparer::reserve_devices(Task& task) {
  if (task.claim.devices.empty()) return end(task, {});
  for (const PreparedDevice& device : task.claim.devices) {
    auto known = knowledge_.find(task.driver, device.pool, device.device);
    if (!known)
      return give_up(
          task, "device " + in_quotes(device.pool + "/" + device.device) + " does not exist on this node");
    task.known.push_back(std::move(*known));
    if (const std::string why = refusal(task.claim, device, task.known.back(), prepared_); !why.empty())
      return give_up(task, why);
    if (const std::string why = lacks_driver(device, driver_retries_); !why.empty())
      return give_up(task, why);
    if (const std::string why = mac_refusal(task.claim, device, prepared_, original_macs_); !why.empty())
      return give_up(task, why);
    if (restoring_.contains(settings_key(device)))
      return give_up(task, "device " + in_quotes(device.pool + "/" + device.device) +
                               ": original settings are being restored; the kubelet retries");
    if (const std::string why = waits_for_settings(device); !why.empty()) return give_up(task, why);
  }
  if (const std::string why = conflict_within(task.claim); !why.empty()) return give_up(task, why);
  if (const std::string why = ports_.interfaces ? ports_.interfaces->held_elsewhere(task.claim) : "";
      !why.empty())
    return give_up(task, why);
  if (task.before) keep_originals(*task.before, task.claim);
  // The commit of another claim writes this record too. It must not mark a function as bound that is not: the
  // daemon may be killed in between.
  PreparedClaim reserved = task.claim;
  for (PreparedDevice& device : reserved.devices)
    if (!was_on_vfio(task.before, device)) device.vfio.reset();
  reserve(std::move(reserved));
  task.hold = Task::Hold::kReserved;
  advance(task);
}

// Without sandbox events a pod would start without its interface.
void ClaimPreparer::read_networks(Task& task) {
  if (ports_.interfaces == nullptr) return advance(task);
  if (const std::string why = ports_.interfaces->waits_for(task.claim); !why.empty())
    return give_up(task, why);
  task.call =
      ports_.interfaces->read_networks(task.claim, task.known, [this, &task](Result<PreparedClaim> read) {
        if (!read) return give_up(task, read.error().what);
        task.claim = *std::move(read);
        share_networks(task.claim, prepared_);
        // A network may set an address. It is recorded in this turn, so that of two claims prepared at the
        // same time one is refused.
        PreparedClaim& reserved = prepared_.at(task.key());
        for (size_t i = 0; i < task.claim.devices.size(); ++i) {
          const PreparedDevice& device = task.claim.devices[i];
          if (const std::string why = mac_refusal(task.claim, device, prepared_, original_macs_);
              !why.empty())
            return give_up(task, why);
          reserved.devices[i].network = device.network;
        }
        advance(task);
      });
}

void ClaimPreparer::look(Task& task) {
  if (const std::string why = no_room(task.claim, prepared_, settings_.record_bytes_max); !why.empty())
    return give_up(task, why);
  // By device: whether its settings are read, and the settings of the last pod that must be removed first.
  struct Settings {
    bool is_read = false;
    std::optional<OriginalSettings> left = {};
  };
  std::vector<Settings> settings;
  for (const PreparedDevice& device : task.claim.devices) {
    Settings& one = settings.emplace_back();
    const auto kept = original_settings_.find(settings_key(device));
    one.is_read = keeps_settings(device) && !is_kept_for(task.claim, device);
    if (one.is_read && kept != original_settings_.end() && kept->second.is_known) one.left = kept->second;
  }
  const auto work = [found = task.found, host = ports_.host, devices = task.claim.devices, settings] {
    for (size_t i = 0; i < devices.size(); ++i) {
      found->snapshots.push_back(host->read_device(devices[i]));
      PreparedDevice device = devices[i];
      if (const auto& look = found->snapshots.back(); look) use_names_of(*look, device);
      const auto read = [&]() -> Result<OriginalSettings> {
        if (!settings[i].is_read) return Error{Errc::kNotFound, "it is not stored"};
        if (const auto& left = settings[i].left) {
          auto restored = host->restore_settings(*left);
          if (!restored) return std::move(restored.error());
          if (!restored->is_back)
            return Error{Errc::kBusy, "device " + left->device + ": " + std::string(kInterfaceIsAway)};
        }
        auto now = host->read_settings(device);
        // The original name is the one from before the last pod.
        const bool has_other_name = settings[i].left && settings[i].left->interface && now && now->interface;
        if (has_other_name) now->interface->name = settings[i].left->interface->name;
        return now;
      };
      found->settings.push_back(read());
    }
  };
  task.job = ports_.executor.run(work, kReadDevicesMax, [this, &task](bool finished) {
    if (finished)
      advance(task);
    else
      give_up(task, kKernelTimeout);
  });
}

void ClaimPreparer::check_snapshots(Task& task) {
  for (size_t i = 0; i < task.claim.devices.size(); ++i) {
    PreparedDevice& device = task.claim.devices[i];
    const Result<DeviceSnapshot>& look = task.found->snapshots[i];
    if (!look) return give_up(task, look.error().what);
    use_names_of(*look, device);
    prepared_.at(task.key()).devices[i].interface = device.interface;
    prepared_.at(task.key()).devices[i].network = device.network;
    if (const auto& settings = task.found->settings[i]; !settings && settings.error().code != Errc::kNotFound)
      return give_up(task, settings.error().what);
    if (const std::string why = refusal(device, task.known[i], *look); !why.empty())
      return give_up(task, why);
    if (const std::string why = lacks_original_setting(device, task.found->settings[i]); !why.empty())
      return give_up(task, why);
    // The PFs below a link are read from the host. They are recorded in this turn, for the same reason as in
    // read_networks().
    device.lower_pfs = prepared_.at(task.key()).devices[i].lower_pfs = look->lower_pfs;
    if (const std::string why =
            look->lower_pfs.empty() ? "" : mac_refusal(task.claim, device, prepared_, original_macs_);
        !why.empty())
      return give_up(task, why);
    // Without a VfConfig for vfio-pci nothing is bound: the current driver decides.
    if (!device.config.requires_vfio() && can_have_vfio_nodes(device)) {
      if (look->has_vfio_driver() && !device.vfio) device.vfio = VfioBinding{};
      if (!look->has_vfio_driver()) device.vfio.reset();
    }
    // Devices of the claim's earlier prepare may be open, and their interfaces may be in a sandbox of its own
    // pod.
    const bool is_new = !has_function(task.before, device);
    if (is_new && !device.is_admin && !look->in_use.empty()) return give_up(task, look->in_use);
    const bool is_attached =
        ports_.interfaces != nullptr && ports_.interfaces->is_attached(task.claim, device);
    if (const std::string why = is_attached ? "" : refusal_of_interface(device, *look); !why.empty())
      return give_up(task, why);
    if (const std::string why = is_attached ? "" : immovable_refusal(device, *look); !why.empty())
      return give_up(task, why);
    if (const std::string why = is_attached ? "" : name_refusal(device, prepared_, *look); !why.empty())
      return give_up(task, why);
    // The vhost node gives access to the whole function, and binding to vfio-pci removes the vDPA device.
    const bool has_vdpa = !device.vfio && !device.is_admin && device.holding.is_exclusive &&
                          device.share_id.empty() && !look->vdpas.empty() &&
                          look->vdpas.front().driver == "vhost";
    device.vdpa_device = has_vdpa ? look->vdpas.front().name : "";
    device.vdpa_node = has_vdpa ? look->vdpas.front().node : "";
    device.incarnation = device.is_admin ? "" : look->incarnation;
    if (device.vfio && device.vfio->original_mac.empty()) {
      const auto kept = original_macs_.find(device.pci);
      device.vfio->original_mac =
          original_mac(kept == original_macs_.end() ? nullptr : &kept->second, look->admin_mac);
    }
    if (!device.vfio || !device.vfio->original_driver.empty()) continue;
    std::string driver = look->driver == kVfioDriver ? task.known[i].device.driver : look->driver;
    if (driver.empty()) driver = driver_retries_.driver_of(device.pci);
    // It was bound for this claim, and its original driver is unknown: the kernel chooses one later.
    if (driver == kVfioDriver && was_on_vfio(task.before, device)) continue;
    device.vfio->original_driver = driver.empty() ? std::string(kNoDriver) : driver;
  }
  advance(task);
}

// A restarted daemon must know the original drivers, so they are written first.
void ClaimPreparer::record_begun(Task& task) {
  if (!is_bound(task.claim)) return advance(task);
  FileChange change = keep_original_macs(task.claim);
  prepared_[task.key()] = task.claim;
  keep_original_settings(task, change);
  task.hold = Task::Hold::kOnDisk;
  commits_.add([change] { return change; },
               [this, &task](const Result<Unit>& written) {
                 if (written)
                   advance(task);
                 else
                   give_up(task, written.error().what);
               },
               [this, &task](const Result<Unit>& filed) {
                 if (!filed) forget_unwritten_settings(task);
                 prepared_[task.key()] = task.claim;
               });
}

FileChange ClaimPreparer::keep_original_macs(const PreparedClaim& claim) {
  FileChange change;
  for (const PreparedDevice& device : claim.devices) {
    if (!device.vfio || device.mac.empty()) continue;
    const OriginalMac one{device.pci, device.identity.pf, knowledge_.boot_id(), device.vfio->original_mac};
    // Written again even if it is known: the commit that should have written it may have failed.
    original_macs_.insert_or_assign(device.pci, one);
    change.original_macs.push_back(one);
  }
  return change;
}

bool ClaimPreparer::keeps_settings(const PreparedDevice& device) const {
  const bool is_alone = device.holding.is_exclusive && device.share_id.empty() && !device.is_admin;
  const bool is_multus = settings_.files.writes_device_infos;
  return is_alone && !settings_key(device).empty() && (!device.network.empty() || device.vfio || is_multus);
}

std::string ClaimPreparer::lacks_original_setting(const PreparedDevice& device,
                                                  const Result<OriginalSettings>& read) const {
  if (device.is_admin || !device.config.network) return "";
  const hotplug::VfConfig& wanted = device.config.network->vf;
  if (wanted == hotplug::VfConfig{} || device.config.network->creates_link()) return "";
  const auto kept = original_settings_.find(settings_key(device));
  const bool is_kept = kept != original_settings_.end();
  const OriginalSettings* original = read ? &*read : is_kept ? &kept->second : nullptr;
  const std::string start = "device " + in_quotes(device.pool + "/" + device.device) + ": ";
  if (is_kept && (read ? stays_unknown(kept->second, *read) : !kept->second.is_known))
    return start + "network sets the VF through its PF, and could not be undone: " +
           unknown_settings_text(kept->second);
  const auto unreported =
      unreported_settings(wanted, original && original->vf ? *original->vf : hotplug::VfConfig{});
  if (unreported.empty()) return "";
  return start + "network sets " + join(unreported, ", ") +
         " of the VF, which its PF does not report, so that the value of before could not be restored: leave it "
         "out, or select a device of another PF";
}

// The task's claim then expects the files, and the prepared claim does so only when they are written: until
// then the batch of another claim may write the checkpoint, and a daemon that is killed after that would
// count files that never existed as lost.
void ClaimPreparer::keep_original_settings(Task& task, FileChange& change) {
  for (size_t i = 0; i < task.claim.devices.size(); ++i) {
    PreparedDevice& device = task.claim.devices[i];
    const std::string key = settings_key(device);
    Result<OriginalSettings>& read = task.found->settings[i];
    if (read) {
      OriginalSettings one = *read;
      one.boot_id = knowledge_.boot_id();
      one.claim = task.claim.uid;
      if (device.vfio || makes_interfaces(device.network)) one.interface.reset();
      // The PF stays on the host, where the pod cannot change its VFs.
      if (!device.vfio && makes_interfaces(device.network)) one.vfs.clear();
      const auto kept = original_settings_.find(key);
      if (kept != original_settings_.end() && stays_unknown(kept->second, one))
        original_settings_.at(key).claim = task.claim.uid;
      else
        original_settings_.insert_or_assign(key, std::move(one));
      unrestored_.erase(key);
      returned_.erase(key);
      read = Error{Errc::kNotFound, "it is kept"};
      device.has_original_settings = true;
    }
    // Written again even if it is known: the commit that should have written it may have failed.
    const auto kept = original_settings_.find(key);
    if (!device.has_original_settings || kept == original_settings_.end()) continue;
    kept->second.is_unrestored = false;
    change.original_settings.push_back(kept->second);
  }
}

// The record must not expect a file that was not written: a daemon that is killed before the claim is
// released would count it as lost. The claim has not changed its devices yet, so they are treated as
// returned, and a file that was written is removed.
void ClaimPreparer::forget_unwritten_settings(Task& task) {
  const PreparedClaim& recorded = prepared_.at(task.key());
  for (size_t i = 0; i < task.claim.devices.size(); ++i) {
    PreparedDevice& device = task.claim.devices[i];
    if (!device.has_original_settings || recorded.devices[i].has_original_settings) continue;
    device.has_original_settings = false;
    returned_.insert(settings_key(device));
  }
}

void ClaimPreparer::bind(Task& task) {
  if (!is_bound(task.claim)) return advance(task);
  task.job = ports_.binder->run(
      Binding::kBind, bound_devices(task.claim),
      [this, &task](std::vector<Result<std::string>> groups) { note_bound(task, std::move(groups)); });
}

void ClaimPreparer::note_bound(Task& task, std::vector<Result<std::string>> groups) {
  // A bind that hangs may still complete. The claim stays on record, and is not undone meanwhile.
  for (const auto& group : groups)
    if (!group && group.error().code == Errc::kTimeout) return fail(task, group.error().what);
  auto group = groups.begin();
  for (size_t i = 0; i < task.claim.devices.size(); ++i) {
    PreparedDevice& device = task.claim.devices[i];
    if (!device.vfio) continue;
    if (!*group) return give_up(task, group->error().what);
    const VfioNodes nodes = VfioNodes::decode(**group);
    device.vfio->group = task.found->snapshots[i]->vfio_group = nodes.group;
    device.vfio->cdev = task.found->snapshots[i]->vfio_cdev = nodes.cdev;
    ++group;
  }
  advance(task);
}

void ClaimPreparer::commit_prepared(Task& task) {
  for (size_t i = 0; i < task.claim.devices.size(); ++i)
    task.claim.devices[i].edits = edits_of(task.claim.devices[i], *task.found->snapshots[i]);
  for (const PreparedDevice& device : task.claim.devices)
    if (const std::string why = node_refusal(task.claim, device, prepared_); !why.empty())
      return give_up(task, why);
  if (settings_.plan.names_resources) add_resource_names(task.claim);
  if (settings_.plan.names_requests) add_request_names(task.claim);
  FileChange settings;
  prepared_[task.key()] = task.claim;
  keep_original_settings(task, settings);
  task.hold = Task::Hold::kOnDisk;
  const auto change = [this, before = task.before, claim = task.claim, settings] {
    FileChange all = before ? files_of(claim, *before, prepared_, settings_.files)
                            : files_of(claim, prepared_, settings_.files);
    all.original_settings = settings.original_settings;
    return all;
  };
  commits_.add(
      change,
      [this, &task](const Result<Unit>& written) {
        if (written)
          advance(task);
        else
          give_up(task, written.error().what);
      },
      [this, &task](const Result<Unit>& filed) {
        if (!filed) forget_unwritten_settings(task);
        task.claim.is_complete = filed.ok();
        prepared_[task.key()] = task.claim;
      });
}

void ClaimPreparer::answer_prepared(Task& task) {
  written_.insert(task.key());
  ports_.log.info(
      "claim prepared",
      {{"driver", task.driver}, {"claim", describe(task.request)}, {"devices", names_of(task.claim)}});
  if (handlers_.on_answered) handlers_.on_answered(task.claim);
  end(task, answer_of(task.claim, settings_.files.writes_metadata));
}

}  // namespace sliced::kubelet
