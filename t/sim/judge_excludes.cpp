// Excludes in the world: what they said lately of a VF.
#include <algorithm>

#include "kube/objects/kinds.h"
#include "t/sim/world.h"

namespace sliced::sim {
namespace {

constexpr Millis kLookBound{150'000};  // with the first of their kind the claims are looked at

}  // namespace

void World::put(Exclude exclude) {
  if (!exclude_crd_is_there) return;
  const auto last = excludes.find(exclude.name), removed = removed_excludes_.find(exclude.name);
  const bool is_flawed = exclude.flaw != Exclude::Flaw::kNone;
  if (last != excludes.end())
    exclude.follow(last->second, is_flawed && last->second.is_seen);
  else if (removed != removed_excludes_.end())
    exclude.follow(removed->second, false);
  if (log.is_loud) log.debug("exclude", {{"object", kube::encode_json(object_of(exclude))}});
  cluster.put(kube::kDeviceExposurePolicies, object_of(exclude));
  excludes[exclude.name] = std::move(exclude);
  remember_inputs();
  exposed.inputs_changed();
  disturb(kLookBound);
}

void World::remove_exclude(const std::string& name) {
  const auto at = excludes.find(name);
  if (at == excludes.end()) return;
  removed_excludes_.insert_or_assign(name, std::move(at->second));
  excludes.erase(at);
  cluster.remove(kube::kDeviceExposurePolicies, name);
  remember_inputs();
  exposed.inputs_changed();
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
  using Flaw = Exclude::Flaw;
  static const std::vector<Flaw> kFlaws = {Flaw::kField, Flaw::kSelector, Flaw::kAction, Flaw::kActionsName};
  if (dice_.chance(0.1)) out.flaw = dice_.pick(kFlaws);
  return out;
}

// Of those that cannot be understood a daemon goes by what it saw of them before.
void World::excludes_are_seen() {
  for (auto& [name, exclude] : excludes)
    if (exclude.flaw == Exclude::Flaw::kNone) {
      exclude.is_seen = true;
      exclude.former.clear();
    }
  removed_excludes_.clear();
  excludes_past_.back().second = exclude_crd_is_there ? excludes : Excludes{};
}

void World::forget_seen_excludes(bool for_good) {
  bool is_any = false;
  for (auto& [name, exclude] : excludes) {
    exclude.is_seen = false;
    if (for_good) exclude.former.clear();
    is_any = is_any || exclude.flaw != Exclude::Flaw::kNone;
  }
  if (for_good) removed_excludes_.clear();
  const Excludes now = exclude_crd_is_there ? excludes : Excludes{};
  if (is_any)
    excludes_past_.emplace_back(scheduler.now(), now);
  else
    excludes_past_.back().second = now;
}

void World::miss(const kube::Resource& kind) {
  missing_.insert(kind.plural);
  if (told_life_ != lives_) note_absence(kind.plural);  // one that is still starting
}

void World::note_absence(const std::string& plural) {
  if (plural == "sriovresourcepolicies") policies_past_.emplace_back(scheduler.now(), Policies{});
  if (plural == "deviceexposurepolicies") {
    forget_seen_excludes(false);
    excludes_past_.emplace_back(scheduler.now(), Excludes{});
    exposed.note_absence();
  }
  remember_inputs();
}

std::set<Said> World::said_lately(const std::string& address, bool offered) const {
  const auto vfs = vf_past_.find(address);
  if (vfs == vf_past_.end()) return {Said::kNo};
  std::set<std::string> all_names;
  for (const auto& [time, vf] : vfs->second) all_names.insert(vf.names.begin(), vf.names.end());
  std::vector<AskedLately> states;
  // A driver is heard of by other events than an interface: what hides may be of two moments.
  for (const auto& [time, vf] : vfs->second)
    states.push_back({asked_of(vf, address), offered ? vf.names : all_names});
  return said_lately(states, offered);
}

std::set<Said> World::said_lately(const std::vector<AskedLately>& states, bool offered) const {
  std::set<Said> out;
  const bool is_any = std::any_of(excludes_past_.begin(), excludes_past_.end(),
                                  [](const auto& one) { return !one.second.empty(); });
  if (!is_any) return {Said::kNo};
  for (const auto& [device, names] : states) {
    std::set<std::string> pf_names;
    if (const auto pf = pf_past_.find(device.pf); pf != pf_past_.end())
      for (const auto& [since, facts] : pf->second) pf_names.insert(facts.names.begin(), facts.names.end());
    for (size_t e = excludes_past_.size(); e-- > 0 && !(offered && is_over(excludes_past_, e));)
      for (size_t n = labels_past_.size(); n-- > 0 && !(offered && is_over(labels_past_, n));)
        for (const std::string& pf_name : or_none(pf_names))
          for (const std::string& if_name : or_none(names))
            out.merge(
                may_be_said_by(excludes_past_[e].second, device, pf_name, if_name, labels_past_[n].second));
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
