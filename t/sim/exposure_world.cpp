#include "t/sim/exposure_world.h"

#include <algorithm>

#include "kube/objects/kinds.h"
#include "t/sim/bounds.h"
#include "t/sim/world.h"

namespace sliced::sim {
namespace {

// How long after the last cause the claims may take to show what is free: the grace of ten seconds, the
// jitter, two lists a minute and more apart, and the writes after that; and where a list may have failed, its
// longest backoff.
constexpr Millis kShownBound{220'000}, kShownAfterFaultsBound{480'000};
constexpr Millis kLongFault{100'000};  // recoveries beyond it are those of faults
constexpr Millis kReadBound = Machine::kReadBound;

using Of = Condition::Of;

Condition is(Of of, std::string text) { return {of, std::move(text), 0, {}}; }
Condition both(Condition a, Condition b) { return {Of::kBoth, "", 0, {std::move(a), std::move(b)}}; }
Condition none_of(Condition a) { return {Of::kNot, "", 0, {std::move(a)}}; }

Condition some_pf(Dice& dice, const Machine& machine) {
  const auto pfs = machine.pfs();
  const Condition kind = is(Of::kType, "pf");
  if (pfs.empty() || dice.chance(0.4)) return kind;
  const std::string& pf = dice.pick(pfs);
  const auto* netdev = machine.interface_of(pf);
  if (netdev != nullptr && dice.chance(0.4)) return both(kind, is(Of::kName, netdev->name));
  return dice.chance(0.3) ? both(kind, is(Of::kVendor, dice.chance(0.5) ? "8086" : "15b3"))
                          : is(Of::kAddress, pf);
}

Condition some_vfs(Dice& dice, const Machine& machine) {
  const auto pfs = machine.pfs();
  const Condition kind = is(Of::kType, "vf");
  if (pfs.empty() || dice.chance(0.3)) return kind;
  const std::string& pf = dice.pick(pfs);
  const auto* netdev = machine.interface_of(pf);
  switch (dice.below(6)) {
    case 0:
      return both(is(Of::kPfAddress, pf), {Of::kIndexBelow, "", 1 + static_cast<int>(dice.below(3)), {}});
    case 1:
      return both(is(Of::kPfAddress, pf), none_of(is(Of::kDriver, "vfio-pci")));
    case 2:
      return both(kind, is(Of::kFree, ""));
    case 3:
      return is(Of::kAddress, Machine::vf_address(pf, static_cast<int>(dice.below(4))));
    case 4:
      if (netdev != nullptr) return both(kind, is(Of::kPfName, netdev->name));
      [[fallthrough]];
    default:
      return is(Of::kPfAddress, pf);
  }
}

}  // namespace

bool ExposureWorld::is_used() const { return world_.knobs.claims > 0; }

// ---- devices

uint64_t ExposureWorld::birth_of(const std::string& id) const {
  const auto at = births_.find(id);
  return at == births_.end() ? 0 : at->second;
}

DeviceFacts ExposureWorld::facts_of(const std::string& id) const {
  const Machine& machine = world_.machine;
  DeviceFacts out;
  out.id = id;
  const auto at = machine.functions().find(id);
  if (at == machine.functions().end()) return out;
  const Machine::Function& function = at->second;
  out.is_there = !function.is_linked || machine.functions().contains(function.pf);
  out.type = function.total_vfs > 0 ? "pf" : function.is_linked ? "vf" : "nic";
  if (function.is_linked) out.pf = function.pf;
  out.vendor = function.vendor;
  out.driver = function.driver;
  out.index = function.index;
  out.host_use = machine.vf_facts(id).host_use;
  out.names = function.names;
  if (const auto* netdev = machine.interface_of(id); netdev != nullptr) {
    out.name = netdev->name;
    out.is_away = !netdev->is_here;
    const auto master = machine.interfaces().find(netdev->master);
    if (master != machine.interfaces().end()) out.master = master->second.name;
  }
  return out;
}

DeviceFacts ExposureWorld::link_facts(int ifindex) const {
  const auto& netdev = world_.machine.interfaces().at(ifindex);
  DeviceFacts out;
  out.is_there = true;
  out.id = out.name = netdev.name;
  out.names = {netdev.name};
  out.type = netdev.kind;
  out.host_use = world_.machine.carries_routes(netdev);
  out.born = static_cast<uint64_t>(ifindex);
  return out;
}

void ExposureWorld::machine_changed(const std::string& function) {
  if (!is_used() || function.empty()) return;
  const bool is_here = world_.machine.functions().contains(function);
  if (is_here != births_.contains(function)) is_here ? appeared(function) : disappeared(function);
  remember_device(function, facts_of(function));
}

void ExposureWorld::links_changed() {
  if (!is_used()) return;
  std::set<std::string> here;
  for (const auto& [ifindex, netdev] : world_.machine.interfaces()) {
    if (!netdev.function.empty()) continue;
    here.insert(netdev.name);
    const auto known = births_.find(netdev.name);
    if (known != births_.end() && known->second == static_cast<uint64_t>(ifindex)) continue;
    if (known != births_.end()) disappeared(netdev.name);
    appeared(netdev.name);
    births_[netdev.name] = static_cast<uint64_t>(ifindex);
  }
  for (const auto& [ifindex, netdev] : world_.machine.interfaces())
    if (netdev.function.empty()) remember_device(netdev.name, link_facts(ifindex));
  for (const auto& [id, past] : devices_)
    if (births_.contains(id) && !here.contains(id) && !past.back().second.is_function()) {
      const std::string gone = id;
      disappeared(gone);
      DeviceFacts facts;
      facts.id = gone;
      remember_device(gone, facts);
      return links_changed();  // births have changed
    }
}

void ExposureWorld::appeared(const std::string& id) {
  births_[id] = (uint64_t{1} << 32) + ++next_birth_;
  born_at_[id] = world_.scheduler.now();
  for (Grant& grant : grants_)
    if (grant.awaits_boot && grant.offer.device == id) {
      grant.awaits_boot = false;
      grant.is_returning = true;
      grant.offer.born = births_[id];
    }
}

void ExposureWorld::disappeared(const std::string& id) {
  births_.erase(id);
  for (Grant& grant : grants_)
    if (grant.offer.device == id && grant.is_alive)
      (is_booting_ ? grant.awaits_boot : grant.is_alive) = is_booting_;
}

void ExposureWorld::remember_device(const std::string& id, DeviceFacts now) {
  Past<DeviceFacts>& past = devices_[id];
  if (past.empty()) {
    DeviceFacts nothing;
    nothing.id = id;
    past.emplace_back(TimePoint{}, nothing);
  }
  const DeviceFacts& before = past.back().second;
  if (now.is_there) now.born = birth_of(id);
  if (now.name != before.name || (before.is_away && !now.is_away)) named_at_[id] = world_.scheduler.now();
  now.is_name_open = is_name_open(before, now);
  remember(past, world_.scheduler.now(), std::move(now));
}

// One that comes back under another name keeps, for selectors, the one that it had, until it is renamed here; so does one
// that may have been away as the daemon started.
bool ExposureWorld::is_name_open(const DeviceFacts& before, const DeviceFacts& now) const {
  if (now.is_away && !before.is_away)
    return before.is_name_open || !world_.daemon || world_.machine.is_blind ||
           world_.scheduler.now() - std::max(named_at_.at(now.id), started_at_) < kReadBound;
  if (before.name.empty() && !now.name.empty() && world_.machine.was_without_interface(now.id)) return true;
  const bool is_same = now.name == before.name && !now.name.empty();
  return before.is_away != now.is_away ? before.is_name_open || !is_same : is_same && before.is_name_open;
}

std::set<std::string> ExposureWorld::pf_names(const DeviceFacts& device) const {
  return device.type == "vf" ? world_.machine.pf_facts(device.pf).names : std::set<std::string>{};
}

// ---- policies

void ExposureWorld::put(Exposure exposure) {
  if (!world_.exclude_crd_is_there) return;
  exposure.rev = ++next_rev_;
  const auto policy = std::make_shared<const Exposure>(std::move(exposure));
  revs_[policy->rev] = policy;
  policies_[policy->name] = policy;
  if (world_.log.is_loud)
    world_.log.debug("exposed by", {{"policy", policy->name},
                                    {"rev", policy->rev},
                                    {"selector", cel_of(policy->selector)},
                                    {"suffix", policy->suffix},
                                    {"group", policy->group},
                                    {"shared", policy->is_shared},
                                    {"priority", policy->priority}});
  world_.cluster.put(kube::kDeviceExposurePolicies, object_of(*policy));
  regroup();
}

void ExposureWorld::remove(const std::string& name) {
  if (policies_.erase(name) == 0) return;
  world_.cluster.remove(kube::kDeviceExposurePolicies, name);
  regroup();
}

void ExposureWorld::forget_policies() {
  if (!is_used()) return;
  policies_.clear();
  regroup();
}

void ExposureWorld::note_absence() {
  if (!is_used()) return;
  policies_past_.emplace_back(world_.scheduler.now(), Exposures{});
  regroup();
}

// The states of the policies, and of what is held the groups.
void ExposureWorld::regroup() {
  policies_past_.emplace_back(world_.scheduler.now(), policies_);
  may_hold_ = may_hold_ || !policies_.empty();
  world_.disturb_inputs();
  const auto all = expected();
  for (Grant& grant : grants_) {
    if (grant.offer.driver != kExposureDriver) continue;
    const auto now = all.find(key_of(grant.offer));
    const bool is_still = now != all.end() && now->second.offer.is_exclusive == grant.offer.is_exclusive;
    if (is_still)
      grant.groups.push_back(now->second.offer.group);
    else if (grant.is_alive && grant.offer.is_exclusive)
      ++world_.seen["the shape of an exclusive holding changes"];
  }
}

void ExposureWorld::inputs_changed() {
  if (is_used() && !policies_past_.empty()) regroup();
}

Exposure ExposureWorld::random_policy(const std::string& name) {
  Dice& dice = world_.dice();
  const Machine& machine = world_.machine;
  Exposure out;
  out.name = name;
  if (dice.chance(0.3)) out.priority = dice.chance(0.5) ? 50 : 200;
  out.allow_host_use = dice.chance(0.15);
  out.is_broken = dice.chance(0.03);
  if (world_.knobs.readiness > 0 && dice.chance(0.5)) {
    out.wants_mac_for = dice.chance(0.5) ? Millis{0} : kMacAskedForMax - Millis{dice.chance(0.5) ? 4'000 : 0};
    out.lost = static_cast<Exposure::Lost>(dice.below(3));
  }
  if (world_.knobs.has_steps && dice.chance(0.3)) out.each = 2;
  if (dice.chance(0.1)) out.nodes = {{"zone", dice.chance(0.7) ? "a" : "b"}};
  const auto share = [&](const char* suffix, const char* group, double often) {
    out.is_shared = true;
    out.suffix = suffix;
    out.capacity = static_cast<int64_t>(dice.below(4)) * out.each;
    if (dice.chance(often)) out.group = group;
  };
  if (name.starts_with("whole")) {
    out.selector = some_pf(dice, machine);
    if (dice.chance(0.6)) out.suffix = "-pt";
    if (dice.chance(0.15)) out.group = "rx";
  } else if (name.starts_with("macvlan")) {
    out.selector = some_pf(dice, machine);
    share("-macvlan", "rx", 0.6);
  } else if (name.starts_with("ipvlan")) {
    out.selector = some_pf(dice, machine);
    share("-ipvlan", "rx", 0.7);
  } else if (name.starts_with("share")) {
    out.selector = some_vfs(dice, machine);
    share("-share", "v", 0.4);
  } else if (name.starts_with("vdpa")) {
    out.selector = some_vfs(dice, machine);
    out.suffix = "-vdpa";
    if (dice.chance(0.3)) out.group = "v";
  } else if (name.starts_with("links")) {
    static const std::vector<std::string> kTypes = {"bridge", "vlan", "virtual", "bridge"};
    out.selector = is(Of::kType, dice.pick(kTypes));
    out.include_virtual = dice.chance(0.7);
    if (dice.chance(0.6)) share("-ports", "p", 0.2);
  } else if (name.starts_with("all")) {
    out.include_virtual = dice.chance(0.3);
    if (dice.chance(0.5)) share("-any", "", 0);
  } else {
    out.selector = some_vfs(dice, machine);
  }
  return out;
}

// ---- what happens around it

void ExposureWorld::disturb(Millis recovery) {
  const Millis shown = recovery >= kLongFault ? kShownAfterFaultsBound : kShownBound;
  calm_due_ = std::max(calm_due_, world_.scheduler.now() + recovery + shown);
}

bool ExposureWorld::is_calm() const { return world_.scheduler.now() >= calm_due_; }

// Of functions, what slices say that their interfaces are called.
std::map<std::string, std::set<std::string>> ExposureWorld::names_told() {
  std::map<std::string, std::set<std::string>> out;
  const auto note = [&](const Entry& entry, const std::string& address, const std::string& name) {
    const auto of = entry.find(address), is = entry.find(name);
    if (of != entry.end() && is != entry.end()) out[of->second.substr(7)].insert(is->second.substr(7));
  };
  for (const auto& [id, pool] : pools())
    for (const auto& [name, entry] : pool.entries) {
      note(entry->attributes, pool.driver + "/pciAddress", pool.driver + "/ifName");
      note(entry->attributes, pool.driver + "/pfPciAddress", pool.driver + "/pfName");
      note(entry->attributes, pool.driver + "/pfPciAddress", pool.driver + "/PFName");
    }
  return out;
}

// Who starts knows of what was given away by slices and their records alone.
void ExposureWorld::daemon_starts() {
  if (!is_used()) return;
  in_place_.clear();
  started_at_ = world_.scheduler.now();
  pools();
  stood_lately_.clear();
  for (const auto& [id, since] : stands_since_) stood_lately_.insert(id);
  may_hold_ = true;  // where slices are gone, VFs of PFs that no policy is for any more wait too
  const SlicedPools& now = pools();
  const auto told = names_told();
  for (auto& [id, past] : devices_) {
    DeviceFacts facts = past.back().second;
    const auto names = told.find(id);
    // Of one that is away it knows what slices tell, which may be a name from before the last one.
    const bool is_told_another = names != told.end() && names->second != std::set<std::string>{facts.name};
    facts.is_name_open = facts.is_away && (facts.is_name_open || is_told_another);
    remember(past, started_at_, facts);
  }
  for (Grant& grant : grants_) {
    const auto at = now.find(grant.offer.driver + "/" + grant.offer.pool);
    const bool is_there = at != now.end() && at->second.is_whole;
    bool is_told = at != now.end() && at->second.entries.contains(grant.offer.name);
    if (at != now.end())
      for (const SlicePtr& slice : at->second.slices)
        is_told = is_told || slice->record.find('"' + grant.offer.name + '"') != std::string::npos;
    if (!is_there) grant.is_wiped = true;
    if (is_there && !is_told && is_tampered(at->second)) grant.is_lost = true;
    ++world_.seen[is_there ? "restart while claims exist" : "restart with claims and without their slices"];
  }
}

void ExposureWorld::boots(bool begins) {
  if (begins && world_.dice().chance(0.4)) release_all();
  is_booting_ = begins;
}

// Slices that others made incomplete or edited: when they are seen whole again they may say anything.
void ExposureWorld::others_wrote() {
  in_place_.clear();  // what they took away is followed by a change in the same generation
  if (!is_used()) return;
  const SlicedPools& now = pools();
  // A daemon that has not decided yet may not have seen them either.
  if (world_.told_life_ != world_.lives_)
    for (Grant& grant : grants_) {
      const auto at = now.find(grant.offer.driver + "/" + grant.offer.pool);
      grant.is_wiped = grant.is_wiped || at == now.end() || !at->second.is_whole;
    }
  if (!grants_.empty() && pools_.empty()) ++world_.seen["slices are wiped while claims exist"];
}

template <class Visit>
bool ExposureWorld::any_recent(const std::string& id, const Visit& visit) const {
  const auto past = devices_.find(id);
  if (past == devices_.end()) return false;
  static const Past<PfFacts> kNoPf = {{TimePoint{}, PfFacts{}}};
  for (auto device = past->second.rbegin(); device != past->second.rend(); ++device) {
    const auto pf = world_.pf_past_.find(device->second.pf);
    const Past<PfFacts>& pfs = pf == world_.pf_past_.end() ? kNoPf : pf->second;
    for (auto names = pfs.rbegin(); names != pfs.rend(); ++names)
      for (auto policies = policies_past_.rbegin(); policies != policies_past_.rend(); ++policies)
        for (auto node = world_.labels_past_.rbegin(); node != world_.labels_past_.rend(); ++node)
          if (visit(device->second,
                    personas_of(device->second, names->second.names, policies->second, node->second)))
            return true;
  }
  return false;
}

bool ExposureWorld::could_be_added(const Offer& offer, const Exposure& policy) const {
  const auto past = devices_.find(offer.device);
  if (past == devices_.end()) return false;
  const bool is_for_host_use = policy.is_shared || policy.allow_host_use;
  const bool was_free = std::any_of(past->second.begin(), past->second.end(),
                                    [](const auto& state) { return !state.second.host_use; });
  if (!is_for_host_use && !was_free) return false;
  if (!is_let_through(offer)) return false;
  if (!could_be_ready(offer, policy)) return false;
  return any_recent(offer.device, [&](const DeviceFacts& device, const std::vector<Persona>& personas) {
    return device.is_there && pool_of(device, World::kNode) == offer.pool &&
           std::any_of(personas.begin(), personas.end(),
                       [&](const Persona& one) { return one.policy->rev == policy.rev; });
  });
}

// Was there a recent state in which no exclude hides it? What nobody can tell hides what does not stand yet.
bool ExposureWorld::is_let_through(const Offer& offer) const {
  std::vector<World::AskedLately> states;
  for (const auto& [time, device] : devices_.at(offer.device))
    if (device.is_there) states.push_back({asked_of(device), device.names});
  const auto said = world_.said_lately(states, true);
  return said.contains(Said::kNo) || (said.contains(Said::kUnknown) && stood_lately_.contains(offer.id()));
}

bool ExposureWorld::is_held_by_exposures(const std::string& vf) const {
  const auto at = devices_.find(vf);
  const std::string pf = at == devices_.end() ? "" : at->second.back().second.pf;
  return std::any_of(grants_.begin(), grants_.end(), [&](const Grant& grant) {
    return grant.offer.driver == kExposureDriver &&
           (grant.offer.device == vf || grant.offer.device == pf || grant.offer.pf == pf);
  });
}

bool ExposureWorld::may_hold_back(const std::string& vf) const {
  return may_hold_ || is_held_by_exposures(vf);
}

bool ExposureWorld::may_lack(const std::string& vf) const {
  return (may_hold_ && !is_calm()) || is_held_by_exposures(vf);
}

// What was seen of it.
void ExposureWorld::decided(const policy::Decision& decision) {
  in_place_.clear();
  if (!is_used()) return;
  if (world_.log.is_loud)
    for (const auto& [pool, holdings] : decision.inputs->holdings)
      for (const policy::Holding& one : holdings)
        world_.log.debug("holds", {{"pool", pool},
                                   {"entry", one.entry},
                                   {"device", one.device},
                                   {"group", one.group},
                                   {"shared", !one.is_exclusive},
                                   {"withdrawn", one.is_withdrawn}});
  using policy::Outcome;
  static const std::map<Outcome, const char*> kSeen = {
      {Outcome::kOffered, "offered by a DeviceExposurePolicy"},
      {Outcome::kConflict, "left to the other driver"},
      {Outcome::kHeldByOther, "held by the other driver"},
      {Outcome::kNoCounters, "left out for want of counters"},
      {Outcome::kNotReady, "a persona is not ready"},
      {Outcome::kExcludeUnreadable, "an exclude that cannot be understood holds a persona back"},
      {Outcome::kReserved, "withdrawn before it is offered in another way"}};
  for (const auto& [id, verdicts] : decision.personas)
    for (const policy::PersonaVerdict& verdict : verdicts)
      if (const auto at = kSeen.find(verdict.outcome); at != kSeen.end()) ++world_.seen[at->second];
  for (const auto& [id, verdict] : decision.verdicts) {
    if (verdict.outcome == Outcome::kHeldByOther) ++world_.seen["held by the other driver"];
    const bool is_held = std::any_of(grants_.begin(), grants_.end(),
                                     [&](const Grant& grant) { return grant.offer.device == id; });
    if (verdict.outcome == Outcome::kExcluded && is_held) ++world_.seen["excluded while it is held"];
  }
  if (!decision.unverified.empty()) ++world_.seen["unverified pool"];
}

void ExposureWorld::rested(TimePoint before) {
  if (!is_used()) return;
  rested_at_ = world_.scheduler.now();
  stood_lately_.clear();
  for (const auto& [id, since] : stands_since_) stood_lately_.insert(id);
  rested_with_ = stood_lately_;
  for (auto& [id, past] : devices_) prune(past, before);
  prune(policies_past_, before);
  if (is_calm()) may_hold_ = !policies_.empty();
  for (Grant& grant : grants_) {
    grant.groups.erase(grant.groups.begin(), grant.groups.end() - 1);
    grant.is_returning = false;
  }
}

}  // namespace sliced::sim
