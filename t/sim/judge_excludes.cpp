// Excludes in the world: what they said lately of a VF.
#include <algorithm>

#include "kube/kinds.h"
#include "t/sim/world.h"

namespace sliced::sim {
namespace {

constexpr Millis kLookBound{150'000};  // with the first of their kind the claims are looked at

// Where nothing is known, what is unknown.
const std::set<std::string>& or_none(const std::set<std::string>& names) {
  static const std::set<std::string> kNone{""};
  return names.empty() ? kNone : names;
}

}  // namespace

void World::put(const Exclude& exclude) {
  if (!exclude_crd_is_there) return;
  excludes[exclude.name] = exclude;
  cluster.put(kube::kDeviceExposurePolicies, object_of(exclude));
  remember_inputs();
  disturb(kLookBound);
}

void World::remove_exclude(const std::string& name) {
  if (excludes.erase(name) == 0) return;
  cluster.remove(kube::kDeviceExposurePolicies, name);
  remember_inputs();
}

Exclude World::random_exclude(const std::string& name) {
  Exclude out{.name = name};
  std::vector<std::string> pfs = machine.pfs(), vfs = {"0000:99:00.1"};
  pfs.push_back("0000:99:00.0");
  for (const auto& [address, function] : machine.functions())
    if (!function.pf.empty()) vfs.push_back(address);
  const auto name_of = [&](const std::string& function) {
    const auto* netdev = machine.interface_of(function);
    return netdev == nullptr ? "nobody0" : netdev->name;
  };
  const std::string pf = dice_.pick(pfs), vf = dice_.pick(vfs);
  switch (dice_.below(10)) {
    case 0:
      out.asks = Exclude::Asks::kVendor;
      out.value = dice_.chance(0.5) ? "8086" : "15b3";
      break;
    case 1:
      out.asks = Exclude::Asks::kDriver;
      out.value = dice_.chance(0.5) ? "vfio-pci" : "iavf";
      break;
    case 2:
      out.asks = Exclude::Asks::kVfIndex;
      out.value = std::to_string(dice_.below(4));
      break;
    case 3:
      out.asks = Exclude::Asks::kPfPciAddress;
      out.value = pf;
      break;
    case 4:
    case 5:
      out.asks = Exclude::Asks::kPfName;
      out.value = name_of(pf);
      break;
    case 6:
      out.asks = Exclude::Asks::kPciAddress;
      out.value = vf;
      break;
    default:
      out.asks = Exclude::Asks::kIfName;
      out.value = name_of(vf);
  }
  out.is_negated = dice_.chance(0.1);
  if (dice_.chance(0.2)) out.nodes = {{"zone", dice_.chance(0.7) ? "a" : "b"}};
  return out;
}

void World::miss(const kube::Resource& kind) { missing_.insert(kind.plural); }

void World::note_absence(const std::string& plural) {
  if (plural == "sriovresourcepolicies") policies_past_.emplace_back(scheduler.now(), Policies{});
  if (plural == "deviceexposurepolicies") excludes_past_.emplace_back(scheduler.now(), Excludes{});
  remember_inputs();
}

std::set<Said> World::said_lately(const std::string& address, bool offered) const {
  std::set<Said> out;
  const auto vfs = vf_past_.find(address);
  const bool is_any = std::any_of(excludes_past_.begin(), excludes_past_.end(),
                                  [](const auto& one) { return !one.second.empty(); });
  if (!is_any || vfs == vf_past_.end()) return {Said::kNo};
  std::set<std::string> all_names;
  for (const auto& [time, vf] : vfs->second) all_names.insert(vf.names.begin(), vf.names.end());
  for (const auto& [time, vf] : vfs->second) {
    // A driver is heard of by other events than an interface: what hides may be of two moments.
    const std::set<std::string>& names = or_none(offered ? vf.names : all_names);
    std::set<std::string> pf_names;
    if (const auto pf = pf_past_.find(vf.pf); pf != pf_past_.end())
      for (const auto& [since, facts] : pf->second) pf_names.insert(facts.names.begin(), facts.names.end());
    for (size_t e = excludes_past_.size(); e-- > 0 && !(offered && is_over(excludes_past_, e));)
      for (size_t n = labels_past_.size(); n-- > 0 && !(offered && is_over(labels_past_, n));)
        for (const std::string& pf_name : or_none(pf_names))
          for (const std::string& if_name : names)
            out.insert(
                said_by(excludes_past_[e].second, vf, address, pf_name, if_name, labels_past_[n].second));
  }
  return out;
}

// What stands in a slice of this boot keeps its verdict while the excludes are unchanged, also over a
// restart.
bool World::must_keep(const std::string& address) const {
  const auto vfs = vf_past_.find(address);
  if (is_touched_ || excludes_past_.size() != 1 || labels_past_.size() != 1 || vfs == vf_past_.end())
    return false;
  const auto& states = vfs->second;
  return rested_with_.contains(name_of_entry(address)) &&
         std::all_of(states.begin(), states.end(), [&](const auto& one) {
           return one.second.is_there && one.second.driver == states.front().second.driver;
         });
}

}  // namespace sliced::sim
