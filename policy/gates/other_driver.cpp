// Gate other-driver: withholds a function that the other kind of policy offers, or whose former entry there
// may still be allocated. Each kind of policy publishes under its own driver, and the scheduler does not see
// conflicts between drivers. So one driver offers a function.
// Evidence: DecisionContext::offered_by_sriov (kConflict); Inputs::holdings, sriov_holdings and unverified
// pools (kHeldByOther).
// Until: the other policy no longer offers the function, and the ResourceClaims show its entry free.
// Example: a SriovResourcePolicy offers VF 3 of ens1f0; a DeviceExposurePolicy that exposes ens1f0
// exclusively gets kConflict.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "policy/gates/gate.h"

namespace sliced::policy::gates {
namespace {

using hotplug::DeviceType;
using hotplug::HostDevice;

class OtherDriver final : public Gate {
 public:
  static constexpr Outcome kOutcomes[] = {Outcome::kConflict, Outcome::kHeldByOther};

  explicit OtherDriver(DecisionContext& context) : now_(context), in_(context.in) {
    for (const auto& [pool, holdings] : in_.holdings)
      for (const Holding& holding : holdings)
        if (holding.entry == kUnknownEntry)
          unknown_pools_.insert(pool);
        else if (!in_.policies->sriov.empty())
          exposed_[holding.device] |= holding.is_exclusive;
    if (in_.policies->exposures.empty()) return;
    auto last = vfs_.end();  // VFs of one PF are adjacent
    for (const auto& [id, device] : in_.inventory->devices) {
      if (device.type != DeviceType::kVf || !device.pf) {
        is_orphan_sriovs_ |= may_belong_to_sriov(device);
        continue;
      }
      if (last == vfs_.end() || last->first != *device.pf) last = vfs_.try_emplace(*device.pf).first;
      last->second.push_back(&device);
    }
  }

  std::optional<Rejection> ask(const EntryCandidate& offer) override {
    return offer.kind == PolicyType::kSriov ? check_sriov(offer) : check_exposure(offer);
  }

  static std::string say(const GateExplanation& explained) {
    if (explained.outcome == Outcome::kConflict)
      return "Conflict: " + explained.why + ", and one function is offered by one driver";
    if (explained.kind == PolicyType::kExposure)
      return "it was offered through the other driver and may still be allocated there; it waits until the "
             "ResourceClaims show it free";
    return explained.by + " offers it, but a former entry of " +
           explained.decision.inputs->settings.exposure_driver +
           " may still be allocated; it waits until the ResourceClaims show that free";
  }

 private:
  std::optional<Rejection> check_sriov(const EntryCandidate& offer) {
    if (may_be_exposed(offer)) {
      now_.wanted.insert(now_.pools.of(offer.device));
      return Rejection{Outcome::kHeldByOther};
    }
    // Published entries were compatible with all allocations of this driver, in any boot.
    if (!in_.awaits_pod_claims || in_.sriov_holdings.contains(offer.entry) ||
        !in_.unverified.is_of(now_.pools.of(offer.device)))
      return std::nullopt;
    now_.awaits_pod_claims = true;
    return Rejection{Outcome::kHeldByOther};
  }

  // Returns true if the other driver may have allocated the VF or its PF as a whole. Holdings of any pool
  // count, because a function that briefly lacks its physfn link looks like one of another pool. If a record
  // is lost, VFs wait only if a DeviceExposurePolicy offers their PF or a VF of it; other PFs belong to this
  // driver.
  bool may_be_exposed(const EntryCandidate& offer) const {
    const HostDevice& vf = offer.device;
    if (exposed_.contains(vf.id.text)) return true;
    // Published entries were compatible with unrecorded allocations.
    if (is_unverified(vf) && !in_.published.sriov.contains(offer.entry)) return true;
    if (exposed_.empty() || !vf.pf) return false;
    const auto pf = exposed_.find(vf.pf->text());
    return pf != exposed_.end() && pf->second;
  }

  // Returns true if the record of the VF's pool is missing or invalid: an earlier decision may have reserved
  // the whole device.
  bool is_unverified(const HostDevice& vf) const {
    if (now_.unverified_pools.empty() && unknown_pools_.empty()) return false;
    const std::string& pool = now_.pools.of(vf);
    return now_.unverified_pools.contains(pool) || unknown_pools_.contains(pool);
  }

  std::optional<Rejection> check_exposure(const EntryCandidate& offer) {
    const HostDevice& device = offer.device;
    if (now_.offered_by_sriov.contains(device.id.text))
      return Rejection{Outcome::kConflict, "a SriovResourcePolicy " + offers_or_may(device.id.text) + " it"};
    if (may_belong_to_sriov(device)) return Rejection{Outcome::kHeldByOther};
    if (offer.is_exclusive && device.type == DeviceType::kPf) {
      if (const std::string vf = vf_offered_by_sriov(device, in_.published.exposure.contains(offer.entry));
          !vf.empty())
        return Rejection{Outcome::kConflict, "a SriovResourcePolicy " + offers_or_may(vf) + " its VF " + vf};
      if (has_vf_of_sriov(device)) return Rejection{Outcome::kHeldByOther};
    }
    if ((offer.is_exclusive || device.type == DeviceType::kVf) && is_sriov_unverified(offer))
      return Rejection{Outcome::kHeldByOther};
    return std::nullopt;
  }

  bool may_belong_to_sriov(const HostDevice& device) const {
    return device.pci && !in_.sriov_holdings.empty() &&
           in_.sriov_holdings.contains(function_name(*device.pci));
  }

  // Returns true if it is unknown whether the other driver has allocated the device or one of its VFs. If the
  // whole pool is reserved because it is unverified, the device cannot be allocated anyway.
  bool is_sriov_unverified(const EntryCandidate& offer) {
    const HostDevice& device = offer.device;
    if (!in_.is_sriov_unverified || in_.published.exposure.contains(offer.entry)) return false;
    if (device.type != DeviceType::kVf && vfs_of(device).empty()) return false;
    now_.wanted.insert(in_.node.name);  // the other driver's pool
    return !in_.unverified.is_of(offer.pool) && !unknown_pools_.contains(offer.pool);
  }

  bool has_vf_of_sriov(const HostDevice& pf) const {
    const auto& vfs = vfs_of(pf);
    return is_orphan_sriovs_ || std::any_of(vfs.begin(), vfs.end(),
                                            [&](const HostDevice* vf) { return may_belong_to_sriov(*vf); });
  }

  std::string offers_or_may(const std::string& vf) const {
    return now_.perhaps_offered_by_sriov.contains(vf) ? "may offer" : "offers";
  }

  // Returns the first VF that blocks an exclusive offer of the PF; "" if none. A published whole device is
  // compatible with VFs that the other driver may select and does not offer.
  std::string vf_offered_by_sriov(const HostDevice& pf, bool is_published) const {
    for (const HostDevice* vf : vfs_of(pf))
      if (now_.offered_by_sriov.contains(vf->id.text) &&
          !(is_published && now_.perhaps_offered_by_sriov.contains(vf->id.text)))
        return vf->id.text;
    return "";
  }

  const std::vector<const HostDevice*>& vfs_of(const HostDevice& pf) const {
    static const std::vector<const HostDevice*> kNone;
    const auto at = pf.pci ? vfs_.find(*pf.pci) : vfs_.end();
    return at == vfs_.end() ? kNone : at->second;
  }

  DecisionContext& now_;
  const Inputs& in_;
  std::unordered_map<std::string_view, bool>
      exposed_;  // host devices that may be allocated; true: as a whole device. Read for the other kind only
  std::set<std::string_view> unknown_pools_;  // pools that are reserved as a whole
  bool is_orphan_sriovs_ = false;  // the other driver has an entry of a VF whose PF is unreadable: it may
                                   // belong to any PF
  std::map<hotplug::PciAddress, std::vector<const HostDevice*>> vfs_;  // by PF
};

}  // namespace

GateKind other_driver() { return gate_kind<OtherDriver>("other-driver"); }

}  // namespace sliced::policy::gates
