// The simulated scheduler: gives away what it sees published, puts claims and pods into the cluster, and
// keeps its own record, against which everything is judged.
#include <algorithm>

#include "kube/objects/kinds.h"
#include "t/sim/exposure_world.h"
#include "t/sim/world.h"

namespace sliced::sim {
namespace {

using kube::Json;

constexpr Millis kPodLater{3'000};
constexpr const char* kPods = "default";

std::string name_of_claim(uint64_t claim) { return "claim-" + std::to_string(claim); }

}  // namespace

// ---- slices

const SlicedPools& ExposureWorld::pools() {
  if (seen_version_ == world_.cluster.resource_version()) return pools_;
  seen_version_ = world_.cluster.resource_version();
  std::map<std::string, std::pair<std::string, SlicePtr>> now;
  std::vector<SlicePtr> all;
  world_.cluster.for_each(kube::kResourceSlices, [&](const Json& object) {
    const Json* meta = object.find("metadata");
    const std::string name(meta->text("name")), version(meta->text("resourceVersion"));
    const auto before = slices_.find(name);
    const bool is_known = before != slices_.end() && before->second.first == version;
    SlicePtr slice =
        is_known ? before->second.second : std::make_shared<const SliceContent>(slice_content(object));
    const bool is_ours =
        slice->node == World::kNode && (slice->driver == World::kDriver || slice->driver == kExposureDriver);
    if (is_ours) all.push_back(slice);
    now[name] = {version, std::move(slice)};
  });
  std::erase_if(tampered_, [&](const std::string& name) { return !now.contains(name); });
  slices_ = std::move(now);
  pools_ = pools_in(all);
  std::map<std::string, TimePoint> since;
  for (const SlicePtr& slice : all)
    for (const SlicedEntry& entry : slice->entries) {
      const std::string id = slice->driver + "/" + slice->pool + "/" + entry.name;
      const auto before = stands_since_.find(id);
      since[id] = before == stands_since_.end() ? world_.scheduler.now() : before->second;
    }
  stands_since_ = std::move(since);
  for (const auto& [id, time] : stands_since_) stood_lately_.insert(id);
  return pools_;
}

bool ExposureWorld::is_tampered(const SlicedPool& pool) const {
  return std::any_of(pool.slices.begin(), pool.slices.end(),
                     [&](const SlicePtr& slice) { return tampered_.contains(slice->name); });
}

Offer ExposureWorld::offer_of(const DeviceFacts& device, const Exposure& policy) const {
  Offer out;
  out.driver = kExposureDriver;
  out.pool = pool_of(device, World::kNode);
  out.name = base_of(device) + policy.suffix;
  out.device = device.id;
  out.type = device.type;
  out.pf = device.pf;
  out.born = birth_of(device.id);
  out.is_exclusive = !policy.is_shared;
  out.group = policy.group;
  out.suffix = policy.suffix;
  return out;
}

// nullopt: of a device that is not there, or of a policy that never was.
std::optional<Offer> ExposureWorld::offer_of(const SlicedPool& pool, const SlicedEntry& entry) const {
  const std::string own = std::string(kExposureDriver) + "/";
  const auto text_at = [&](const std::string& key, const char* kind) {
    const auto at = entry.attributes.find(key);
    return at == entry.attributes.end() ? "" : at->second.substr(std::string_view(kind).size());
  };
  std::string id;
  if (pool.driver == World::kDriver) {
    id = text_at(pool.driver + "/pciAddress", "string ");
  } else {
    id = text_at(own + "pciAddress", "string ");
    if (id.empty()) id = text_at(own + "ifName", "string ");
  }
  const auto device = devices_.find(id);
  if (device == devices_.end() || birth_of(id) == 0) return std::nullopt;
  DeviceFacts facts = device->second.back().second;
  // A VF that has lost its link to its PF is that VF still.
  for (auto state = device->second.rbegin(); facts.type == "nic" && state != device->second.rend(); ++state)
    if (state->second.type == "vf") facts = state->second;
  Offer out;
  out.driver = pool.driver;
  out.pool = pool.name;
  out.name = entry.name;
  out.device = id;
  out.type = facts.type;
  out.pf = facts.pf;
  out.born = birth_of(id);
  if (pool.driver == World::kDriver) return out;
  const auto rev = revs_.find(std::atoll(text_at(own + "rev", "int ").c_str()));
  if (rev == revs_.end()) return std::nullopt;
  out.is_exclusive = !entry.is_shared;
  for (const auto& [name, each] : entry.each) out.takes = each;
  out.group = rev->second->group;
  out.suffix = rev->second->suffix;
  return out;
}

// An entry that was published before its device was created again may count as one of the former device:
// README.md, What is not judged.
bool ExposureWorld::is_known_to_be_of(const std::string& id, const Offer& offer) const {
  const auto since = stands_since_.find(id);
  const auto born = born_at_.find(offer.device);
  const TimePoint birth = born == born_at_.end() ? TimePoint{} : born->second;
  return rested_at_ > birth || (since != stands_since_.end() && since->second > birth + Machine::kReadBound);
}

// ---- giving away

void ExposureWorld::allocate() {
  struct Free {
    Offer offer;
    bool is_late;
    const SlicedPool* pool;
    const SlicedEntry* entry;
  };
  std::vector<Free> free;
  const SlicedPools& now = pools();
  compare_with_kubernetes(8, 4);
  const bool of_sriov = world_.dice().chance(0.2);
  for (const auto& [id, pool] : lagging_ ? lagging_->pools : now) {
    if ((pool.driver == World::kDriver) != of_sriov || is_tampered(pool)) continue;
    for (const auto& [name, entry] : pool.entries) {
      if (!why_not_given(pool, *entry, allocated_).empty()) continue;
      const auto offer = offer_of(pool, *entry);
      if (!offer) continue;
      const auto current = now.find(id);
      const bool is_late = current == now.end() || !current->second.entries.contains(name);
      const auto birth = lagging_ ? lagging_->births.find(offer->device) : births_.find(offer->device);
      const bool is_the_same = !lagging_ || (birth != lagging_->births.end() && birth->second == offer->born);
      if (is_late ? is_the_same : is_the_same && is_known_to_be_of(offer->id(), *offer))
        free.push_back({*offer, is_late, &pool, entry});
    }
  }
  // Entries that are no longer published are released late.
  const bool any_late = std::any_of(free.begin(), free.end(), [](const Free& one) { return one.is_late; });
  if (any_late && world_.dice().chance(0.8))
    std::erase_if(free, [](const Free& one) { return !one.is_late; });
  if (free.empty()) return;
  Free chosen = world_.dice().pick(free);
  // Two or three devices of a class: those of one driver that are shared, or are not.
  if (free.size() > 1 && world_.dice().chance(0.25)) {
    std::vector<Offer> several = {chosen.offer};
    Allocated then = allocated_;
    give_away(*chosen.pool, *chosen.entry, chosen.entry->each, then);
    const size_t count = 2 + world_.dice().below(2), first = world_.dice().below(free.size());
    for (size_t i = 0; i < free.size() && several.size() < count; ++i) {
      const Free& one = free[(first + i) % free.size()];
      const bool is_of_class = one.offer.driver == chosen.offer.driver &&
                               one.offer.is_exclusive == chosen.offer.is_exclusive &&
                               one.is_late == chosen.is_late && one.offer.id() != chosen.offer.id();
      if (!is_of_class || !why_not_given(*one.pool, *one.entry, then).empty()) continue;
      give_away(*one.pool, *one.entry, one.entry->each, then);
      several.push_back(one.offer);
    }
    if (several.size() == count) ++world_.seen["claim of several devices of a class"];
    return give(several.size() == count ? several : std::vector{chosen.offer}, chosen.is_late);
  }
  if (!chosen.entry->capacity.empty() && world_.dice().chance(0.4)) {
    const auto& [name, value] = *chosen.entry->capacity.begin();
    const Tokens asked{{name, 1 + static_cast<int64_t>(world_.dice().below(static_cast<size_t>(value)))}};
    if (why_not_given(*chosen.pool, *chosen.entry, allocated_, asked).empty()) {
      chosen.offer.takes = taken_by(*chosen.entry, asked).at(name);
      ++world_.seen["a claim asks for an amount of a capacity"];
    }
  }
  give({chosen.offer}, chosen.is_late);
}

void ExposureWorld::give(const std::vector<Offer>& offers, bool is_late) {
  const uint64_t claim = ++next_claim_;
  for (const Offer& offer : offers) {
    grants_.push_back(granted(offer, is_late));
    grants_.back().claim = claim;
    world_.trace("claim of " + offer.id());
    if (world_.log.is_loud)
      world_.log.debug(
          "allocated",
          {{"entry", offer.id()}, {"claim", claim}, {"shared", !offer.is_exclusive}, {"late", is_late}});
  }
  put_claim(claim, is_late);
  const Offer& first = offers.front();
  const bool has_interface = first.is_exclusive && first.type == "vf" && world_.dice().chance(0.35);
  if (has_interface)
    world_.later(world_.dice().millis(20, 1'500), [this, claim] { let_pod_have_interface(claim); });
}

Grant ExposureWorld::granted(const Offer& offer, bool is_late) {
  if (const std::string why = held_against_any(offer); !why.empty())
    world_.fail("E7",
                "the scheduler gives away " + offer.id() + (is_late ? ", which it still sees, " : " ") + why);
  Grant grant;
  grant.offer = offer;
  grant.groups = {offer.group};
  grant.is_of_former = !is_known_to_be_of(offer.id(), offer);
  const auto standing = pools().find(offer.driver + "/" + offer.pool);
  grant.is_wiped = standing == pools().end() || !standing->second.is_whole;
  auto& share = allocated_.entries[offer.id()];
  if (offer.is_exclusive)
    share.is_exclusive = true;
  else
    ++share.shares, share.taken += offer.takes;
  ++world_.seen["claim allocated"];
  if (offer.takes > 1) ++world_.seen["a claim takes two of a capacity"];
  if (share.shares > 1) ++world_.seen["another share is allocated"];
  if (is_late) ++world_.seen["a late claim of what was withdrawn"];
  if (offer.driver == World::kDriver) ++world_.seen["claim of a SriovResourcePolicy's VF"];
  return grant;
}

Json ExposureWorld::result_of(const Grant& grant) {
  Json result = Json::Object{{"request", "r"},
                             {"driver", grant.offer.driver},
                             {"pool", grant.offer.pool},
                             {"device", grant.offer.name}};
  if (!grant.offer.is_exclusive) {
    result.set("shareID", "share-" + std::to_string(grant.claim));
    result.set("consumedCapacity",
               Json::Object{{std::string(kExposureDriver) + "/shares", std::to_string(grant.offer.takes)}});
  }
  return result;
}

// A pod is seen later than its claim, or never.
void ExposureWorld::put_claim(uint64_t number, bool is_late) {
  const std::string name = name_of_claim(number);
  Json::Array results;
  for (const Grant& grant : grants_)
    if (grant.claim == number) results.push_back(result_of(grant));
  Json claim = Json::Object{{"metadata", Json::Object{{"name", name}, {"namespace", kPods}}}};
  claim.set(
      "status",
      Json::Object{{"allocation", Json::Object{{"devices", Json::Object{{"results", std::move(results)}}}}}});
  world_.cluster.put(kube::kResourceClaims, std::move(claim));
  if (is_late || world_.dice().chance(0.2)) return;
  world_.later(world_.dice().millis(0, kPodLater.count()), [this, number, name] {
    if (find(number) == nullptr) return;
    Json spec = Json::Object{{"nodeName", World::kNode}};
    spec.set("resourceClaims", Json::Array{Json::Object{{"name", "nic"}, {"resourceClaimName", name}}});
    world_.cluster.put(kube::kPods,
                       Json::Object{{"metadata", Json::Object{{"name", name}, {"namespace", kPods}}},
                                    {"spec", std::move(spec)}});
    prepare(number);
  });
}

// ---- handing over

template <class Told>
void ExposureWorld::tell(const Told& told) {
  if (world_.daemon != nullptr && !world_.border.is_dead())
    world_.border.enter([&] { world_.daemon->take(told); });
}

void ExposureWorld::begin(std::function<void()> ready) {
  for (const auto& [claim, all] : prepared_)
    for (const policy::Prepared& prepared : all) world_.daemon->take(prepared);
  ready();
}

void ExposureWorld::prepare(uint64_t claim) {
  const auto is_prevented = [&](const Grant& grant) {
    return grant.claim == claim && (!grant.is_alive || grant.is_ending);
  };
  if (find(claim) == nullptr || std::any_of(grants_.begin(), grants_.end(), is_prevented) ||
      world_.dice().chance(0.3))
    return;
  if (world_.companion == nullptr) world_.companion = this;
  if (world_.companion != this) return;
  const std::string name = name_of_claim(claim);
  const auto stored = world_.cluster.object(kube::kResourceClaims, name, kPods);
  auto& all = prepared_[claim];
  all.clear();
  for (const Grant& grant : grants_) {
    if (grant.claim != claim) continue;
    const Offer& offer = grant.offer;
    all.push_back({{offer.driver, offer.pool},
                   offer.name,
                   std::string(stored->find("metadata")->text("uid")),
                   !offer.is_exclusive,
                   kPods,
                   name});
    ++world_.seen["claim prepared"];
  }
  for (const policy::Prepared& prepared : std::vector(all)) tell(prepared);
}

void ExposureWorld::unprepare(uint64_t claim) {
  const auto all = prepared_.extract(claim);
  if (!all) return;
  for (const policy::Prepared& prepared : all.mapped()) {
    ++world_.seen["claim taken back"];
    tell(policy::Unprepared{prepared.pool, prepared.entry, prepared.claim});
  }
  may_hold_ = true;
  world_.disturb_inputs();
}

Grant* ExposureWorld::find(uint64_t claim) {
  const auto at =
      std::find_if(grants_.begin(), grants_.end(), [&](const Grant& grant) { return grant.claim == claim; });
  return at == grants_.end() ? nullptr : &*at;
}

void ExposureWorld::let_pod_have_interface(uint64_t claim) {
  Grant* grant = find(claim);
  if (grant == nullptr || !grant->is_alive || birth_of(grant->offer.device) != grant->offer.born) return;
  const auto* netdev = world_.machine.interface_of(grant->offer.device);
  if (netdev == nullptr || !netdev->is_here) return;
  grant->moved = netdev->ifindex;
  ++world_.seen["a pod has the interface of its claim"];
  world_.machine.move_away(grant->moved);
}

void ExposureWorld::release() {
  if (!grants_.empty()) release(world_.dice().below(grants_.size()));
}

void ExposureWorld::release_all() {
  while (!grants_.empty()) {
    unprepare(grants_.back().claim);
    let_go(grants_.size() - 1);
  }
}

// In order: the claim exists for a moment longer than its pod. By force: the pod continues to run.
void ExposureWorld::release(size_t index) {
  Grant& grant = grants_[index];
  const uint64_t claim = grant.claim;
  if (grant.is_ending) return;
  if (!prepared_.contains(claim)) return let_go(index);
  if (world_.dice().chance(0.3)) {
    ++world_.seen["claim gone before it is taken back"];
    world_.later(world_.dice().millis(0, 60'000), [this, claim] { unprepare(claim); });
    return let_go(index);
  }
  for (Grant& ends : grants_)
    if (ends.claim == claim) ends.is_ending = true;
  unprepare(claim);
  world_.later(world_.dice().millis(0, 8'000), [this, claim] {
    if (const Grant* ends = find(claim)) let_go(static_cast<size_t>(ends - grants_.data()));
  });
}

// The claim with all that it has.
void ExposureWorld::let_go(size_t index) {
  const uint64_t claim = grants_[index].claim;
  const auto rest = std::stable_partition(grants_.begin(), grants_.end(),
                                          [&](const Grant& grant) { return grant.claim != claim; });
  const std::vector<Grant> all(rest, grants_.end());
  grants_.erase(rest, grants_.end());
  for (const Grant& gone : all) {
    auto& share = allocated_.entries[gone.offer.id()];
    if (gone.offer.is_exclusive)
      share.is_exclusive = false;
    else
      --share.shares, share.taken -= gone.offer.takes;
    if (!share.is_any()) allocated_.entries.erase(gone.offer.id());
    world_.trace("release of " + gone.offer.id());
    if (world_.log.is_loud) world_.log.debug("released", {{"entry", gone.offer.id()}});
  }
  const std::string name = name_of_claim(claim);
  world_.cluster.remove(kube::kPods, name, kPods);
  world_.cluster.remove(kube::kResourceClaims, name, kPods);
  ++world_.seen["claim released"];
  may_hold_ = true;
  for (const Grant& gone : all)
    if (gone.moved != 0) world_.machine.come_back(gone.moved, "");
  world_.disturb_inputs();
}

void ExposureWorld::lag(Millis time) {
  pools();
  if (!tampered_.empty()) return;
  lagging_ = Later{pools_, births_};
  world_.later(time, [this, number = ++lags_] {
    if (number == lags_) lagging_.reset();
  });
}

// ---- what stands in the way

bool ExposureWorld::is_known_to_daemon(const Grant& grant) const {
  return grant.is_alive && !grant.awaits_boot && !grant.is_returning && !grant.is_lost;
}

// The allocation as its claim has it: the entry at the time of allocation, and its recent groups.
std::string ExposureWorld::held_against(const Offer& offer, const Grant& grant) const {
  if (!is_known_to_daemon(grant)) return "";
  std::string why;
  for (const std::string& group : grant.groups) {
    Offer held = grant.offer;
    held.group = group;
    why = why_not_both(offer, held);
    // Otherwise a group that both got by an edit, while much else happens, keeps nothing apart that is held already.
    if (why.empty() || (why.starts_with("one group") && !world_.knobs.judges_groups)) return "";
  }
  return "beside " + grant.offer.id() + ", which " + name_of_claim(grant.claim) + " has: " + why;
}

std::string ExposureWorld::held_against_any(const Offer& offer) const {
  // One more share of an entry that is allocated beside the other already: an edit made them exclude each
  // other.
  if (!offer.is_exclusive && allocated_.of(offer.id()).shares > 0) return "";
  for (const Grant& grant : grants_) {
    // docs/design/reserved.md: claims are not read for VFs of a PF that no DeviceExposurePolicy selects.
    if (grant.is_wiped && offer.driver == World::kDriver && grant.offer.driver == kExposureDriver) continue;
    if (std::string why = held_against(offer, grant); !why.empty()) return why;
  }
  return "";
}

// ---- edits that matter

void ExposureWorld::change_shape() {
  Dice& dice = world_.dice();
  std::vector<const Grant*> held;
  for (const Grant& grant : grants_)
    if (grant.is_alive && (grant.offer.type == "pf" || grant.offer.type == "vf")) held.push_back(&grant);
  if (held.empty()) return put(random_policy(dice.chance(0.5) ? "whole" : "vf"));
  const Offer offer = dice.pick(held)->offer;
  const std::string pf = offer.type == "pf" ? offer.device : offer.pf;
  const bool is_whole = offer.type == "pf";
  Exposure next;
  next.name = is_whole ? "vf" : "whole";
  next.selector =
      is_whole ? Condition{Condition::Of::kPfAddress, pf} : Condition{Condition::Of::kAddress, pf};
  switch (dice.below(4)) {
    case 0: {  // the same, shared for exclusive or the reverse
      for (const auto& [name, policy] : Exposures(policies_)) {
        if (policy->selector.of == Condition::Of::kType && dice.chance(0.5)) continue;
        Exposure changed = *policy;
        changed.is_shared = !changed.is_shared;
        return put(std::move(changed));
      }
      return put(std::move(next));
    }
    case 1: {  // the other driver
      if (offer.driver == World::kDriver) {
        for (const auto& [name, policy] : Policies(world_.policies)) world_.remove_policy(name);
        next.name = "vf";
        next.selector = {Condition::Of::kPfAddress, pf};
        return put(std::move(next));
      }
      for (const auto& [name, policy] : Exposures(policies_))
        if (dice.chance(0.7)) remove(name);
      Policy all;
      all.name = "p0";
      all.configs.emplace_back();
      return world_.put(all);
    }
    default:
      for (const auto& [name, policy] : Exposures(policies_))
        if (name.starts_with(is_whole ? "whole" : "vf") || name.starts_with("all")) remove(name);
      put(std::move(next));
  }
}

}  // namespace sliced::sim
