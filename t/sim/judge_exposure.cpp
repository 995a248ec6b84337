// The checks of ExposureWorld: running writes, the results of the scheduler, and the state at rest.
#include <algorithm>

#include "kube/objects/kinds.h"
#include "t/sim/exposure_world.h"
#include "t/sim/world.h"

namespace sliced::sim {
namespace {

using kube::Json;

constexpr size_t kEntriesMax = 128;  // of a slice

bool is_same(const Json& a, const Json& b, std::string_view key) {
  const Json *x = a.find(key), *y = b.find(key);
  return (x == nullptr) == (y == nullptr) && (x == nullptr || *x == *y);
}

}  // namespace

// ---- on the way in

void ExposureWorld::judge_sent(const fake::Request& request, const Json& object, bool is_old) {
  const SliceContent slice = slice_content(object);
  const bool is_restored = tampered_.contains(slice.name);
  if (slice.node != World::kNode || !slice.pool.starts_with(std::string(World::kNode) + "/"))
    return world_.fail("E1", "writes a slice of node " + slice.node + ", pool " + slice.pool);
  if (slice.entries.size() > kEntriesMax) world_.fail("E4", slice.name + " holds more than a slice may");
  judge_added(slice);
  if (request.verb == "update") judge_in_place(slice, object, is_restored, is_old);
}

void ExposureWorld::judge_added(const SliceContent& slice) {
  pools();
  SlicedPool as;
  as.driver = slice.driver;
  as.name = slice.pool;
  for (const SlicedEntry& entry : slice.entries) {
    if (stands_since_.contains(slice.driver + "/" + slice.pool + "/" + entry.name)) continue;
    const auto offer = offer_of(as, entry);
    const auto rev =
        offer ? entry.attributes.find(std::string(kExposureDriver) + "/rev") : entry.attributes.end();
    // Of a device that is gone meanwhile nothing is said.
    if (rev == entry.attributes.end()) continue;
    const ExposurePtr policy = revs_.at(std::atoll(rev->second.c_str() + 4));
    if (policy->is_shared == offer->is_exclusive)
      world_.fail("E1", "offers " + offer->id() + " as the opposite of what its policy says");
    if (!could_be_added(*offer, *policy) || !is_left_by_sriov(*offer))
      world_.fail("E1",
                  "offers " + offer->id() + " of policy " + policy->name + ", which nothing allowed lately");
  }
}

// Was there a recent state in which no SriovResourcePolicy takes it? What the server refuses is not taken.
bool ExposureWorld::is_left_by_sriov(const Offer& offer) const {
  if (world_.may_hide_devices) return true;
  if (offer.type == "vf") return is_left_by_sriov(offer.device);
  if (offer.type != "pf" || !offer.is_exclusive) return true;
  const auto vfs = world_.machine.vfs_of(offer.device);
  return std::all_of(vfs.begin(), vfs.end(), [&](const std::string& vf) { return is_left_by_sriov(vf); });
}

bool ExposureWorld::is_left_by_sriov(const std::string& vf) const {
  return world_.could_be_taken(vf, false) || world_.said_lately(vf, false) != std::set<Said>{Said::kNo};
}

void ExposureWorld::judge_in_place(const SliceContent& slice, const Json& object, bool is_restored,
                                   bool is_old) {
  const auto before = world_.cluster.object(kube::kResourceSlices, slice.name);
  if (!before) return;
  if (is_same(*before, object, "spec") &&
      is_same(*before->find("metadata"), *object.find("metadata"), "annotations") &&
      is_same(*before->find("metadata"), *object.find("metadata"), "ownerReferences"))
    world_.fail("I3", "updates " + slice.name + " with what it holds");
  const bool is_in_place = slice_content(*before).generation == slice.generation;
  if (!is_in_place || is_restored || is_old || is_same(*before, object, "spec")) return;
  auto& changed = in_place_[{slice.pool, slice.generation}];
  changed.insert(slice.name);
  if (changed.size() > 1) world_.fail("E4", "changes several slices of one generation: now " + slice.name);
}

// ---- what the scheduler makes of it

void ExposureWorld::judge_stored(const std::string& slice) {
  tampered_.erase(slice);
  if (!is_used()) return;
  judge_exclusion();
  judge_counters(false);
  if (!grants_.empty()) compare_with_kubernetes(8, 2);
}

void ExposureWorld::judge_exclusion() {
  if (grants_.empty()) return;
  for (const auto& [id, pool] : pools()) {
    if (!pool.may_count_as_whole || is_tampered(pool)) continue;
    for (const auto& [name, entry] : pool.entries) {
      const auto offer = offer_of(pool, *entry);
      if (!offer) continue;
      const std::string why = held_against_any(*offer);
      if (!why.empty() && why_not_given(pool, *entry, allocated_).empty())
        return world_.fail("E5", "offers " + offer->id() + " " + why);
    }
  }
}

// Nothing that excludes the other may still be given away when the one has been.
void ExposureWorld::judge_pairs() {
  struct Free {
    const SlicedPool* pool;
    const SlicedEntry* entry;
    Offer offer;
  };
  std::vector<Free> free;
  for (const auto& [id, pool] : pools())
    for (const auto& [name, entry] : pool.entries)
      if (!is_overdrawn(pool))
        if (const auto offer = offer_of(pool, *entry);
            offer && why_not_given(pool, *entry, allocated_).empty())
          free.push_back({&pool, entry, *offer});
  for (const Free& one : free) {
    Allocated then = allocated_;
    auto& share = then.entries[one.offer.id()];
    one.offer.is_exclusive ? share.is_exclusive = true : ++share.shares;
    share.taken += one.offer.takes;
    for (const Free& other : free) {
      if (one.entry == other.entry) continue;
      const std::string why = why_not_both(one.offer, other.offer);
      const bool is_given = why_not_given(*other.pool, *other.entry, then).empty();
      if (is_given && !why.empty())
        return world_.fail("E5", "offers " + one.offer.id() + " and " + other.offer.id() + ": " + why);
      if (!is_given && why.empty() && is_calm() && grants_.empty())
        return world_.fail("E6", one.offer.id() + " keeps " + other.offer.id() + " from being given away");
    }
  }
}

namespace {

struct Published {
  const SlicedPool* pool;
  const SlicedEntry* entry;
  std::string id;
};

// It uses the slice that it receives first.
bool is_whole_for_kubernetes(const SlicedPool& pool) {
  return pool.slices.front()->slice_count == static_cast<int64_t>(pool.slices.size());
}

std::string why_not_given(const Published& one, const Allocated& allocated, const Tokens& asked = {}) {
  return is_whole_for_kubernetes(*one.pool) ? why_not_given(*one.pool, *one.entry, allocated, asked)
                                            : "its pool is not whole";
}

// Whether so many more of these, each once, may be given away together. Giving one away never makes room for another.
bool may_give(const std::vector<Published>& free, size_t from, int64_t count, const Allocated& allocated,
              const Tokens& asked) {
  if (count == 0) return true;
  for (size_t i = from; i < free.size(); ++i) {
    if (!why_not_given(free[i], allocated, asked).empty()) continue;
    Allocated then = allocated;
    give_away(*free[i].pool, *free[i].entry, taken_by(*free[i].entry, asked), then);
    if (may_give(free, i + 1, count - 1, then, asked)) return true;
  }
  return false;
}

constexpr size_t kResultsMax = 32;  // AllocationResultsMaxSize of resource.k8s.io

// "" when a claim of a class would be allocated.
std::string why_not_given(const AskedClaim& claim, const SlicedPools& pools,
                          const std::vector<Published>& all, const Allocated& allocated) {
  std::vector<Published> of_class, free;
  for (const Published& one : all)
    if (one.pool->driver == claim.driver && one.entry->is_shared == claim.is_shared) of_class.push_back(one);
  if (claim.count > 0) {
    for (const Published& one : of_class)
      if (why_not_given(one, allocated, claim.capacities).empty()) free.push_back(one);
    return may_give(free, 0, claim.count, allocated, claim.capacities) ? "" : "there are not so many";
  }
  // "All" looks at every pool, those of other drivers and those without devices too.
  for (const auto& [id, pool] : pools)
    if (!is_whole_for_kubernetes(pool)) return id + " is not whole";
  for (const Published& one : all)
    if (const std::string why = why_not_given(one, {}); why.starts_with("its pool is"))
      return one.id + ": " + why;
  if (of_class.empty()) return "there is none";
  if (of_class.size() > kResultsMax) return "there are more than a claim may have";
  Allocated then = allocated;
  for (const Published& one : of_class) {
    if (const std::string why = why_not_given(one, then); !why.empty()) return one.id + ": " + why;
    give_away(*one.pool, *one.entry, taken_by(*one.entry, {}), then);
  }
  return "";
}

}  // namespace

// Compares the simulated scheduler, on which all checks depend, with Kubernetes' own allocator: for each
// entry, for an amount of its capacity, for claims of two entries, and for some or all entries of a class. If
// there are too many, the version of the state selects some.
void ExposureWorld::compare_with_kubernetes(size_t entries_max, size_t pairs_max) {
  if (world_.kubernetes == nullptr || world_.violation()) return;
  std::vector<Published> all;
  KubeAllocator::Question question;
  for (const auto& [id, pool] : pools()) {
    if (is_tampered(pool)) return;
    for (const auto& [name, entry] : pool.entries) all.push_back({&pool, entry, id + "/" + name});
  }
  if (all.empty()) return;
  for (const Json& object : world_.cluster.objects(kube::kResourceSlices)) {
    const StoredSlice slice = stored_slice(object);
    if (slice.node == World::kNode && (slice.driver == World::kDriver || slice.driver == kExposureDriver))
      question.slices.push_back(object);
  }
  for (const Grant& grant : grants_) question.results.push_back(result_of(grant));
  question.has_counters = world_.knobs.counters;
  question.has_shared = world_.knobs.shared;
  std::vector<std::string> said, kinds;  // "" it would be given; what kind of claim it is
  const auto add = [&](std::string kind, AskedClaim claim, std::string why) {
    question.claims.push_back(std::move(claim));
    said.push_back(std::move(why));
    kinds.push_back(std::move(kind));
  };
  const size_t first = static_cast<size_t>(seen_version_) % all.size();
  for (size_t i = 0; i < std::min(entries_max, all.size()); ++i) {
    const Published& one = all[(first + i) % all.size()];
    add("a claim of one", {.entries = {one.id}}, why_not_given(one, allocated_));
    for (const auto& [name, value] : one.entry->capacity) {
      const int64_t amount =
          1 + static_cast<int64_t>((static_cast<size_t>(seen_version_) + i) % static_cast<size_t>(value + 1));
      const Tokens asked{{name, amount}};
      add("a claim of an amount", {.entries = {one.id}, .capacities = asked},
          why_not_given(one, allocated_, asked));
    }
  }
  for (size_t i = 0; i < pairs_max && all.size() > 1; ++i) {
    const Published& one = all[(first + i * 7) % all.size()];
    const Published& other = all[(first + i * 7 + 1 + i % (all.size() - 1)) % all.size()];
    std::string why = why_not_given(one, allocated_);
    Allocated then = allocated_;
    give_away(*one.pool, *one.entry, one.entry->each, then);
    if (why.empty()) why = why_not_given(other, then);
    add("a claim of two", {.entries = {one.id, other.id}}, std::move(why));
  }
  for (const char* driver : {World::kDriver, kExposureDriver})
    for (const bool is_shared : {false, true}) {
      AskedClaim claim{
          .driver = driver, .is_shared = is_shared, .count = 2 + static_cast<int64_t>(seen_version_ % 2)};
      add("a claim of several of a class", claim, why_not_given(claim, pools(), all, allocated_));
      claim.count = 0;
      if (!is_shared) add("a claim of a whole class", claim, why_not_given(claim, pools(), all, allocated_));
    }
  const std::vector<AskedClaim> claims = question.claims;
  const std::vector<bool> given = world_.kubernetes->ask(std::move(question));
  for (size_t i = 0; i < given.size(); ++i) {
    ++world_.seen[std::string("Kubernetes' allocator ") + (given[i] ? "gives " : "refuses ") + kinds[i]];
    if (!given[i] && kinds[i] == "a claim of one") {
      if (said[i].ends_with(" tokens")) ++world_.seen["Kubernetes' allocator finds too few tokens"];
      if (said[i].starts_with("all of its")) ++world_.seen["Kubernetes' allocator finds too little capacity"];
      if (said[i] == "it is allocated") ++world_.seen["Kubernetes' allocator finds it allocated"];
    }
    if (given[i] == said[i].empty()) continue;
    return world_.fail("allocator",
                       "Kubernetes' allocator " +
                           (given[i] ? "gives away " + claims[i].text() + ", and should not: " + said[i]
                                     : "refuses " + claims[i].text() + ", which is free"));
  }
}

// ---- at rest

void ExposureWorld::judge_rest() {
  if (!is_used()) return;
  compare_with_kubernetes(60, 40);
  judge_slices();
  const Everything all = expected();
  judge_published(all);
  judge_exclusion();
  judge_pairs();
  overdrawn_.clear();
  judge_counters(is_calm());
  if (is_calm()) judge_missing(all);
  if (is_calm()) ++world_.seen["rest of all that claims can show"];
}

void ExposureWorld::judge_slices() {
  size_t of_newest = 0, all = 0;
  for (const auto& [id, pool] : pools()) {
    if (pool.driver != kExposureDriver) continue;
    if (!pool.is_whole) return world_.fail("E4", "the pool " + pool.name + " is not whole");
    if (!pool.counters.empty() && !world_.counts())
      return world_.fail(
          "E8", "the pool " + pool.name + " has counters, and the server or its scheduler does not count");
    of_newest += pool.slices.size();
  }
  world_.cluster.for_each(kube::kResourceSlices, [&](const Json& object) {
    const StoredSlice slice = stored_slice(object);
    if (slice.driver != kExposureDriver || slice.node != World::kNode) return;
    ++all;
    if (slice.owner_uid != world_.node_uid_) world_.fail("E2", slice.name + " belongs to " + slice.owner_uid);
    if (slice.boot_id != world_.machine.boot_id) world_.fail("E2", slice.name + " is of " + slice.boot_id);
  });
  if (all != of_newest) world_.fail("E4", "slices of other generations are left");
  if (world_.daemon->offer_of(kExposureDriver).publisher().observed().size() != all)
    world_.fail("I8", "the publisher remembers other slices than there are");
}

Answer ExposureWorld::taken_by_sriov(const DeviceFacts& vf) const {
  bool is_any = false, are_all = true;
  const PfFacts pf = world_.machine.pf_facts(vf.pf);
  const std::set<Said> said = said_now(vf);
  if (said == std::set<Said>{Said::kYes}) return Answer::kNo;
  are_all = said == std::set<Said>{Said::kNo};
  for (const std::string& name : pf.names) {
    const Taken taken =
        taken_by(world_.machine.vf_facts(vf.id), pf, vf.id, name, world_.policies, world_.labels);
    is_any = is_any || taken.config != nullptr || taken.is_unknown;
    are_all = are_all && taken.config != nullptr && !taken.is_unknown;
  }
  return is_any && are_all ? Answer::kYes : is_any ? Answer::kOpen : Answer::kNo;
}

std::set<Said> ExposureWorld::said_now(const DeviceFacts& device) const {
  std::set<Said> out;
  const std::set<std::string> above = pf_names(device);
  for (const std::string& pf_name : or_none(above))
    for (const std::string& if_name : or_none(device.names))
      out.insert(said_by(world_.excludes, asked_of(device), pf_name, if_name, world_.labels));
  return out;
}

ExposureWorld::Everything ExposureWorld::expected() const {
  Everything out;
  for (const auto& [id, past] : devices_)
    if (births_.contains(id)) note_expected(past.back().second, out);
  return out;
}

void ExposureWorld::note_expected(const DeviceFacts& device, Everything& out) const {
  const auto personas = personas_of(device, pf_names(device), policies_, world_.labels);
  const std::set<Said> said = said_now(device);
  if (personas.empty() || said == std::set<Said>{Said::kYes}) return;
  Answer taken = Answer::kNo;  // what is offered exclusively, by the other driver
  if (device.type == "vf") taken = taken_by_sriov(device);
  Answer vf_taken = Answer::kNo;
  if (device.type == "pf")
    for (const std::string& vf : world_.machine.vfs_of(device.id))
      if (const Answer one = taken_by_sriov(devices_.at(vf).back().second); vf_taken != Answer::kYes)
        vf_taken = one == Answer::kNo ? vf_taken : one;
  for (const Persona& persona : personas) {
    const Exposure& policy = *persona.policy;
    const bool is_exclusive = !policy.is_shared;
    if (is_exclusive && device.host_use && !policy.allow_host_use) continue;
    const Answer conflict = is_exclusive && device.type == "pf" ? vf_taken : taken;
    if (conflict == Answer::kYes) continue;
    const Answer ready = is_ready(device, policy);
    if (ready == Answer::kNo && policy.lost == Exposure::Lost::kGoes) continue;
    const bool is_sure = persona.is_sure && ready != Answer::kOpen && conflict == Answer::kNo &&
                         said == std::set<Said>{Said::kNo};
    Expected one{offer_of(device, policy), persona.policy, is_sure, ready};
    // Whether what stays ever had what it lacks was judged when it was added.
    one.may_lack = ready == Answer::kNo && !must_stay(one.offer);
    const auto [at, fresh] = out.emplace(key_of(one.offer), one);
    if (!fresh) at->second.is_sure = false;
  }
}

void ExposureWorld::judge_published(const Everything& all) {
  for (const auto& [id, pool] : pools()) {
    if (pool.driver != kExposureDriver) continue;
    for (const auto& [name, entry] : pool.entries) {
      const auto offer = offer_of(pool, *entry);
      const auto at = offer ? all.find(key_of(*offer)) : all.end();
      if (at == all.end()) return world_.fail("E2", "offers " + id + "/" + name + ", which no policy offers");
      const Expected& wanted = at->second;
      if (!wanted.is_sure) continue;
      const std::string rev = "int " + std::to_string(wanted.policy->rev);
      if (entry->attributes.at(std::string(kExposureDriver) + "/rev") != rev)
        return world_.fail("E2",
                           "offers " + id + "/" + name + " not as policy " + wanted.policy->name + " says");
      if (offer->pool != wanted.offer.pool || offer->is_exclusive != wanted.offer.is_exclusive)
        return world_.fail("E2", "offers " + id + "/" + name + " in another way than its policy says");
      if (const std::string problem = attribute_problem(*offer, *entry); !problem.empty())
        return world_.fail("E2", id + "/" + name + " " + problem);
      if (const std::string problem = taint_problem(wanted, *entry); !problem.empty())
        return world_.fail("E2", id + "/" + name + " " + problem);
      if (const std::string problem = capacity_problem(wanted, *entry); !problem.empty())
        return world_.fail("E2", id + "/" + name + " " + problem);
    }
  }
}

std::string ExposureWorld::attribute_problem(const Offer& offer, const SlicedEntry& entry) const {
  const DeviceFacts& device = devices_.at(offer.device).back().second;
  std::map<std::string, std::string> wanted = {{"type", "string " + device.type}};
  const auto text = [&](const char* key, const std::string& value) {
    if (!value.empty()) wanted[key] = "string " + value;
  };
  if (device.is_function()) {
    text("pciAddress", device.id);
    text("vendor", device.vendor);
    text("driver", device.driver);
    text("pfPciAddress", device.pf);
    if (device.type == "vf") wanted["vfIndex"] = "int " + std::to_string(device.index);
    if (device.type == "pf")
      wanted["numVFs"] = "int " + std::to_string(world_.machine.functions().at(device.id).num_vfs);
  }
  if (!device.is_away && !device.is_name_open) text("ifName", device.name);
  for (const auto& [key, value] : wanted) {
    const auto at = entry.attributes.find(std::string(kExposureDriver) + "/" + key);
    if (at == entry.attributes.end()) return "lacks " + key + "=" + value;
    if (at->second != value) return key + " is " + at->second + ", wants " + value;
  }
  return "";
}

std::string ExposureWorld::capacity_problem(const Expected& wanted, const SlicedEntry& entry) const {
  const Exposure& policy = *wanted.policy;
  const std::string key = std::string(kExposureDriver) + "/shares";
  Tokens capacity, each;
  if (policy.is_shared) capacity[key] = policy.capacity > 0 ? policy.capacity : 1'000;
  if (policy.is_shared) each[key] = policy.capacity > 0 ? policy.each : 1;
  return entry.capacity == capacity && entry.each == each ? "" : "has another capacity than its policy says";
}

// Whether anything is or was allocated that may keep it from being offered or given away.
bool ExposureWorld::is_obstructed(const Offer& offer) const {
  return std::any_of(grants_.begin(), grants_.end(), [&](const Grant& grant) {
    const Offer& held = grant.offer;
    // What was shared of a PF that is gone may be the name of a whole one today.
    const bool may_be_whole = held.is_exclusive || !grant.is_alive;
    const bool is_whole = (held.type == "pf" && may_be_whole && held.device == offer.pf) ||
                          (offer.type == "pf" && offer.is_exclusive && held.pf == offer.device);
    return is_whole || held.device == offer.device || held.id() == offer.id();
  });
}

bool ExposureWorld::has_vf_of_host(const Offer& offer) const {
  if (offer.type != "pf" || !offer.is_exclusive) return false;
  const auto vfs = world_.machine.vfs_of(offer.device);
  return std::any_of(vfs.begin(), vfs.end(),
                     [&](const std::string& vf) { return world_.machine.vf_facts(vf).host_use; });
}

// Without counters, one of two entries that exclude each other is offered.
bool ExposureWorld::may_lack_for_want_of_counters(const Expected& wanted, const Everything& all) const {
  if (!world_.knobs.shared) return true;
  return !world_.counts() &&
         (has_vf_of_host(wanted.offer) || std::any_of(all.begin(), all.end(), [&](const auto& one) {
            return one.first != key_of(wanted.offer) && !why_not_both(one.second.offer, wanted.offer).empty();
          }));
}

void ExposureWorld::judge_missing(const Everything& all) {
  for (const auto& [key, wanted] : all) {
    if (!wanted.is_sure || wanted.may_lack) continue;
    if (is_obstructed(wanted.offer)) {
      if (!held_against_any(wanted.offer).empty()) was_blocked_.insert(key);
      continue;
    }
    const auto pool = pools().find(wanted.offer.driver + "/" + wanted.offer.pool);
    const SlicedEntry* found = nullptr;
    if (pool != pools().end())
      for (const auto& [name, entry] : pool->second.entries)
        if (const auto offer = offer_of(pool->second, *entry); offer && key_of(*offer) == key) found = entry;
    if (found == nullptr && may_lack_for_want_of_counters(wanted, all)) continue;
    if (found == nullptr)
      return world_.fail(
          "E2", "does not offer " + wanted.offer.id() + ", which policy " + wanted.policy->name + " allows");
    judge_free(pool->second, *found, wanted);
  }
}

// Claims of a removed device count for the present device of its address. The scheduler allocates nothing of
// a pool with an overdrawn counter.
bool ExposureWorld::is_overdrawn(const SlicedPool& pool) const {
  const auto is_by_shared = [&](const std::string& set, const std::string& counter) {
    return std::count_if(pool.entries.begin(), pool.entries.end(), [&](const auto& one) {
             const SlicedEntry& entry = *one.second;
             const auto takes = entry.consumes.find(set);
             return entry.is_shared && takes != entry.consumes.end() && takes->second.contains(counter) &&
                    allocated_.of(pool.driver + "/" + pool.name + "/" + entry.name).is_any();
           }) > 1;
  };
  for (const auto& [set, counters] : tokens_left(pool, allocated_))
    for (const auto& [counter, left] : counters)
      if (left < 0 && is_by_shared(set, counter)) return true;
  return false;
}

void ExposureWorld::judge_free(const SlicedPool& pool, const SlicedEntry& entry, const Expected& wanted) {
  const std::string why = why_not_given(pool, entry, allocated_);
  if (has_vf_of_host(wanted.offer)) {
    if (why.empty()) world_.fail("E5", "offers " + wanted.offer.id() + ", and the host uses a VF of it");
    return;
  }
  const bool is_held = std::any_of(grants_.begin(), grants_.end(),
                                   [&](const Grant& grant) { return grant.offer.pool == pool.name; });
  if (!why.empty() && is_held) return;  // what is held there may take more than it did
  if (!why.empty())
    return world_.fail("E6", wanted.offer.id() + " is free, and the scheduler does not give it away: " + why);
  if (was_blocked_.erase(key_of(wanted.offer)) > 0) ++world_.seen["offered again after the release"];
}

}  // namespace sliced::sim
