#include "kubelet/records.h"

#include <set>

#include "kubelet/checkpoint.h"
#include "kubelet/hardware.h"
#include "kubelet/peer_checkpoint.h"
#include "kubelet/plan.h"
#include "kubelet/recall.h"

namespace sliced::kubelet {
namespace {

// Reads the facts by which a PF and its VFs exclude each other.
void learn_identities(const Host& host, PreparedClaim& claim) {
  for (PreparedDevice& device : claim.devices) {
    if (device.pci.empty()) continue;
    const auto look = host.read_device(device);
    if (!look) continue;
    device.identity = look->identity;
    device.pf = look->identity.pf.empty() ? device.pci : look->identity.pf;
  }
}

// Without a checkpoint, the CDI specs are the record: their devices must not be allocated again.
void recall_specs(const Host& host, const std::vector<std::string>& drivers, PreparedClaims& out) {
  for (const std::string& driver : drivers) {
    const auto ids = host.spec_ids(cdi_kind(driver));
    if (!ids) continue;
    for (const std::string& id : *ids) {
      const auto spec = host.read_spec(cdi_kind(driver), id);
      if (!spec) continue;
      auto claim = recall(driver, id, *spec);
      if (!claim) continue;
      learn_identities(host, *claim);
      out.emplace(key_of(*claim), std::move(*claim));
    }
  }
}

// Counts as another boot unless the boot id is equal.
void adopt(Checkpoint found, const std::string& boot_id, PreparedClaims& out) {
  out = std::move(found.claims);
  if (!boot_id.empty() && found.boot_id == boot_id) return;
  const bool is_sure = !boot_id.empty() && !found.boot_id.empty();
  for (auto& [key, claim] : out) undo_by_reboot(claim, is_sure);
}

// dra-driver-sriov records the original driver. The function's identity and PF are read from the kernel. An
// interface that is in a pod is not in any record.
void learn_facts(const Host& host, PreparedClaim& claim, std::vector<std::string>& unknown) {
  for (PreparedDevice& device : claim.devices) {
    const auto look = host.read_device(device);
    if (look) {
      device.identity = look->identity;
      device.pf = look->identity.pf;
    }
    if (!device.vfio) continue;
    if (!look || device.vfio->original_driver.empty()) {
      unknown.push_back(device.device);
      continue;
    }
    hotplug::HostDevice& held = device.held.emplace();
    held.id.text = device.pci;
    held.type = hotplug::DeviceType::kVf;
    held.pci = hotplug::PciAddress::decode(device.pci);
    held.vendor = look->identity.vendor;
    held.product = look->identity.product;
    held.pf = hotplug::PciAddress::decode(look->identity.pf);
    held.driver = device.vfio->original_driver == kNoDriver ? "" : device.vfio->original_driver;
  }
}

// Requires: the records are of this boot. Hardware that was created again is not in the pod of a claim that
// was prepared before.
void note_recreated(const Host& host, PreparedClaims& claims) {
  for (auto& [key, claim] : claims)
    for (PreparedDevice& device : claim.devices) {
      if (!claim.is_complete || device.incarnation.empty()) continue;
      const std::string now = host.incarnation_of(device);
      device.was_recreated = !now.empty() && now != device.incarnation;
    }
}

// The record of dra-driver-sriov has no boot id. But its specs do not survive a reboot, so their existence
// proves this boot.
bool adopt_peer(const Host& host, PreparedClaims& out, std::string& problem,
                std::vector<std::string>& unknown) {
  const auto text = host.read_peer_checkpoint();
  if (!text) return false;
  auto claims = decode_peer_checkpoint(*text);
  if (!claims) {
    problem = claims.error().what;
    return false;
  }
  out = std::move(*claims);
  for (auto& [key, claim] : out)
    if (host.read_spec(cdi_kind(claim.driver), claim.uid))
      learn_facts(host, claim, unknown);
    else
      undo_by_reboot(claim);
  return true;
}

Records read_claims(const Host& host, const std::vector<std::string>& drivers, const std::string& boot_id,
                    bool may_wait) {
  Records out;
  const auto text = host.read_checkpoint();
  if (may_wait && !text && (text.error().code == Errc::kIo || text.error().code == Errc::kDenied)) {
    out.unread = text.error().what;
    return out;
  }
  auto found = text ? decode_checkpoint(*text) : Result<Checkpoint>(text.error());
  if (found) {
    adopt(std::move(*found), boot_id, out.claims);
    note_recreated(host, out.claims);
    out.from = "the checkpoint";
    out.is_checkpoint = true;
    return out;
  }
  const bool is_first = found.error().code == Errc::kNotFound;
  if (!is_first) {
    const auto aside = host.set_checkpoint_aside();
    out.problem = found.error().what + (aside ? "; it is kept as " + *aside : "; " + aside.error().what);
  }
  if (is_first && adopt_peer(host, out.claims, out.problem, out.unknown)) {
    out.from = "the checkpoint of dra-driver-sriov";
    return out;
  }
  recall_specs(host, drivers, out.claims);
  if (!out.claims.empty()) out.from = "CDI specs";
  return out;
}

bool is_of_other_boot(const OriginalMac& one, const std::string& boot_id) {
  return !boot_id.empty() && !one.boot_id.empty() && one.boot_id != boot_id;
}

// Returns whether the PF enforces an address for the VF, or may.
bool may_have_mac(const Host& host, PreparedDevice device) {
  device.mac = kNoMac;  // makes read_device() read the address
  const auto look = host.read_device(device);
  return !look || look->admin_mac != kNoMac;
}

// Merges the files and the claims: a claim whose record was lost gets its VFs' addresses from the files, and
// an address that only the checkpoint of an earlier version has gets a file.
void join_original_macs(const Host& host, const std::vector<OriginalMac>& found, const std::string& boot_id,
                        bool sets_macs, Records& out) {
  for (OriginalMac one : found) {
    if (is_of_other_boot(one, boot_id)) {
      out.original_files_change.removed_original_macs.push_back(one.pci);
      continue;
    }
    if (one.mac.empty() && one.boot_id.empty() && !boot_id.empty()) {  // damaged: unknown until the next boot
      one.boot_id = boot_id;
      out.original_files_change.original_macs.push_back(one);
    }
    out.original_macs.emplace(one.pci, std::move(one));
  }
  std::set<std::string> bound;
  for (auto& [key, claim] : out.claims)
    for (PreparedDevice& device : claim.devices) {
      if (!device.vfio) continue;
      bound.insert(device.pci);
      const auto at = out.original_macs.find(device.pci);
      const bool is_kept = at != out.original_macs.end();
      std::string& original = device.vfio->original_mac;
      if (is_kept && at->second.pf.empty()) at->second.pf = device.identity.pf;
      if (original.empty() && is_kept) original = at->second.mac;
      const bool is_lost =
          original.empty() && (is_kept || (sets_macs && is_nameless(claim) && may_have_mac(host, device)));
      if (is_lost) out.unknown_macs.push_back(device.pci);
      if ((original.empty() && !is_lost) || (is_kept && at->second.mac == original)) continue;
      const OriginalMac one{device.pci, device.identity.pf, boot_id, original};
      out.original_macs.insert_or_assign(device.pci, one);
      out.original_files_change.original_macs.push_back(one);
    }
  // A complete checkpoint contains every VF that is not returned. Any other file belongs to a claim that was
  // returned since.
  if (!out.is_checkpoint) return;
  std::erase_if(out.original_macs, [&](const auto& one) {
    if (one.second.mac.empty() || bound.contains(one.first)) return false;
    out.original_files_change.removed_original_macs.push_back(one.first);
    return true;
  });
}

// Files of releases up to 0.1 have the name of a scalable function's interface.
void rename_scalable_functions(Records& out) {
  for (const auto& [key, claim] : out.claims)
    for (const PreparedDevice& device : claim.devices) {
      const std::string id = settings_key(device);
      if (hardware_of_sf_id(id).empty() || device.interface.empty()) continue;
      const auto old = out.original_settings.find(device.interface);
      if (old == out.original_settings.end() || out.original_settings.contains(id) ||
          (!old->second.claim.empty() && old->second.claim != claim.uid))
        continue;
      OriginalSettings one = std::move(old->second);
      one.device = id;
      out.original_settings.erase(old);
      out.original_files_change.original_settings.push_back(one);
      out.original_files_change.removed_original_settings.push_back(device.interface);
      out.original_settings.emplace(id, std::move(one));
    }
}

// Settings are unknown for a device without a file if its record expects one, or if it is only known from CDI
// specs.
void join_original_settings(const Host& host, const std::vector<OriginalSettings>& found,
                            const std::string& boot_id, Records& out) {
  for (OriginalSettings one : found) {
    const bool is_of_other_boot = !boot_id.empty() && !one.boot_id.empty() && one.boot_id != boot_id;
    if (is_of_other_boot) {
      out.original_files_change.removed_original_settings.push_back(one.device);
      continue;
    }
    if (one.boot_id.empty() && !boot_id.empty()) {  // damaged: unknown until the next boot
      one.boot_id = boot_id;
      out.original_files_change.original_settings.push_back(one);
    }
    out.original_settings.emplace(one.device, std::move(one));
  }
  rename_scalable_functions(out);
  for (auto& [key, claim] : out.claims)
    for (PreparedDevice& device : claim.devices) {
      const std::string id = settings_key(device);
      const auto found_at = out.original_settings.find(id);
      // A file of another claim that was returned, whose removal a kill interrupted.
      const bool is_kept = found_at != out.original_settings.end() &&
                           (found_at->second.claim.empty() || found_at->second.claim == claim.uid);
      const bool is_own = is_kept && found_at->second.claim == claim.uid;
      const bool is_alone = device.holding.is_exclusive && !device.is_admin && device.share_id.empty();
      // The file of a claim is written before the checkpoint expects it.
      const bool may_be_lost = device.has_original_settings || is_own || (!out.is_checkpoint && is_alone);
      if (!may_be_lost || id.empty()) continue;
      if (is_kept) {
        device.has_original_settings = true;
        continue;
      }
      const auto now = host.read_settings(device);
      if (!now || !now->vf) continue;
      device.has_original_settings = true;
      OriginalSettings one{.device = id, .boot_id = boot_id, .is_known = false, .vf = {}, .interface = {}};
      one.claim = claim.uid;
      out.original_files_change.original_settings.push_back(one);
      out.original_settings.insert_or_assign(id, std::move(one));
    }
}

}  // namespace

Records read_records(const Host& host, const std::vector<std::string>& drivers, const std::string& boot_id,
                     bool may_wait, bool sets_macs) {
  Records out = read_claims(host, drivers, boot_id, may_wait);
  if (!out.unread.empty()) return out;
  const auto macs = host.read_original_macs();
  if (!macs && may_wait) {
    out.unread = macs.error().what;
    return out;
  }
  if (!macs) out.problem += (out.problem.empty() ? "" : "; ") + macs.error().what;
  join_original_macs(host, macs.value_or({}), boot_id, sets_macs, out);
  const auto settings = host.read_original_settings();
  if (!settings && may_wait) {
    out.unread = settings.error().what;
    return out;
  }
  if (!settings) out.problem += (out.problem.empty() ? "" : "; ") + settings.error().what;
  join_original_settings(host, settings.value_or({}), boot_id, out);
  return out;
}

}  // namespace sliced::kubelet
