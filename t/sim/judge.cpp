// What World judges: every write on its way in, what consumers then see, and everything at rest.
#include <algorithm>

#include "kube/objects/kinds.h"
#include "policy/explain.h"
#include "t/sim/bounds.h"
#include "t/sim/world.h"

namespace sliced::sim {
namespace {

using kube::Json;

constexpr Millis kMargin{
    3'000};  // what was true this long before a rest may still be on its way to the daemon
constexpr size_t kOpenCallsMax =
    16;  // six watches, two writes or their look-ups, schemas, version, probe, claims
constexpr size_t kAlmostFull = 4096;
constexpr size_t kTasksMax = 32;  // timers of the daemon at rest

std::string shown(const Entry& entry) {
  std::string text;
  for (const auto& [key, value] : entry) text += (text.empty() ? "" : ", ") + key + "=" + value;
  return "{" + text + "}";
}

size_t annotation_bytes(const Json& object) {
  size_t bytes = 0;
  if (const Json* notes = object.find({"metadata", "annotations"}); notes != nullptr && notes->object())
    for (const auto& [key, value] : *notes->object())
      bytes += key.size() + (value.string() == nullptr ? 0 : value.string()->size());
  return bytes;
}

std::string difference(const Entry& found, const Entry& wanted) {
  for (const auto& [key, value] : wanted) {
    const auto at = found.find(key);
    if (at == found.end()) return "lacks " + key + "=" + value;
    if (at->second != value) return key + " is " + at->second + ", wants " + value;
  }
  for (const auto& [key, value] : found)
    if (!wanted.contains(key)) return "has " + key + "=" + value + " in excess";
  return "";
}

}  // namespace

std::vector<StoredSlice> World::stored() const {
  std::vector<StoredSlice> out;
  cluster.for_each(kube::kResourceSlices, [&](const Json& object) {
    StoredSlice slice = stored_slice(object);
    if (slice.driver == kDriver && slice.node == kNode && !slice.is_given_up())
      out.push_back(std::move(slice));
  });
  return out;
}

std::set<std::string> World::names_stored() const {
  std::set<std::string> names;
  for (const StoredSlice& slice : stored())
    for (const auto& [name, entry] : slice.devices) names.insert(name);
  return names;
}

std::map<std::string, PoolView> World::pools() const { return pools_of(stored()); }

// Returns whether a recent state of host, policies, node and excludes, each on its own, offers (or does not
// offer) this VF. Unknown facts neither offer a VF nor withdraw one.
bool World::could_be(const std::string& address, bool offered) const {
  if (!offered && exposed.may_hold_back(address)) return true;
  if (could_be_taken(address, offered) != offered) return !offered;
  const std::set<Said> said = said_lately(address, offered);
  if (!offered) return said.contains(Said::kYes) || (said.contains(Said::kUnknown) && !must_keep(address));
  return said.contains(Said::kNo) ||
         (said.contains(Said::kUnknown) && stored_lately_.contains(name_of_entry(address)));
}

bool World::could_be_taken(const std::string& address, bool offered) const {
  static const PfFacts kNoPf;
  const auto vf_past = vf_past_.find(address);
  if (vf_past == vf_past_.end()) return !offered;
  // The VF did not exist in its first known state.
  if (!offered && !vf_past->second.front().second.is_there) return true;
  std::deque<VfFacts> states;
  for (auto vf = vf_past->second.rbegin(); vf != vf_past->second.rend(); ++vf) states.push_back(vf->second);
  const bool was_free =
      std::any_of(states.begin(), states.end(), [](const VfFacts& facts) { return !facts.host_use; });
  const bool was_used =
      std::any_of(states.begin(), states.end(), [](const VfFacts& facts) { return facts.host_use; });
  for (size_t i = 0, count = states.size(); i < count && was_free && was_used; ++i) {
    states.push_back(states[i]);
    states.back().host_use = !states.back().host_use;
  }
  for (auto vf = states.begin(); vf != states.end(); ++vf) {
    const auto pf_past = pf_past_.find(vf->pf);
    if (pf_past == pf_past_.end()) {
      if (!offered) return true;
      continue;
    }
    for (auto pf = pf_past->second.rbegin(); pf != pf_past->second.rend(); ++pf) {
      if (!offered && pf->second.names.empty()) return true;
      for (const std::string& name : pf->second.names)
        for (size_t p = policies_past_.size(); p-- > 0 && !(offered && is_over(policies_past_, p));)
          for (size_t n = labels_past_.size(); n-- > 0 && !(offered && is_over(labels_past_, n));) {
            const Taken taken =
                taken_by(*vf, pf->second, address, name, policies_past_[p].second, labels_past_[n].second);
            const auto stable_for =
                taken.policy == nullptr ? std::optional<Millis>() : taken.policy->wants_mac_for;
            if (offered && could_be_taken_so(address, taken)) return true;
            if (!offered &&
                (taken.config == nullptr || taken.is_unknown || may_be_unready(address, stable_for)))
              return true;
          }
    }
  }
  return false;
}

// Unknown facts add nothing, and a published entry stays with each policy that may offer it.
bool World::could_be_taken_so(const std::string& address, const Taken& taken) const {
  if (!taken.is_unknown) return taken.config != nullptr && could_be_ready(address, *taken.policy);
  return stored_lately_.contains(name_of_entry(address)) &&
         std::any_of(taken.may_be.begin(), taken.may_be.end(),
                     [&](const auto& one) { return could_be_ready(address, *one.first); });
}

bool World::could_be_ready(const std::string& address, const Policy& policy) const {
  return !policy.wants_mac_for || was_ready(address, *policy.wants_mac_for) || is_put_back(address, policy);
}

// A state that lasted too short a time may not have been read; a late event counts late.
bool World::was_ready(const std::string& address, Millis stable_for) const {
  const auto past = ready_past_.find(address);
  if (past == ready_past_.end()) return false;
  const auto& states = past->second;
  const TimePoint floor = rested_at_ - kMargin;
  // An entry that is published when a daemon starts counts as ready since then, and is restored if another
  // writer removes it.
  if (started_at_ > rested_at_ && is_touched_ && stored_lately_.contains(name_of_entry(address)))
    stable_for = Millis{0};
  std::optional<TimePoint> since;
  for (size_t i = 0; i < states.size(); ++i) {
    const bool is_last = i + 1 == states.size();
    const TimePoint end = is_last ? scheduler.now() : states[i + 1].first;
    const Ready is = states[i].second;
    if (is == Ready::kOpen || is == Ready::kOpenAndSet) {
      const bool was_seen_without = i > 0 && states[i - 1].second != Ready::kYes &&
                                    states[i].first - states[i - 1].first > Machine::kReadBound &&
                                    started_at_ < states[i - 1].first && !machine.is_blind &&
                                    !is_loss_lately_;
      since.reset();
      if (was_seen_without && is == Ready::kOpen) continue;
      since = was_seen_without ? states[i].first : TimePoint{} - std::chrono::hours(24);
    } else if (is == Ready::kYes) {
      if (!since) since = states[i].first;
    } else {
      const bool is_unseen =
          !is_last && end - states[i].first <= Machine::kReadBound && (is == Ready::kNo || is_loss_lately_);
      if (!is_unseen) since.reset();
      continue;
    }
    if (end >= floor && end - *since >= std::max(Millis{0}, stable_for - kMargin)) return true;
  }
  return false;
}

// Somebody else took away what stood, and had lost its MAC before.
bool World::is_put_back(const std::string& address, const Policy& policy) const {
  return policy.keeps && is_touched_ && stored_lately_.contains(name_of_entry(address));
}

// It stood at the last rest, and since then only its MAC was taken away.
bool World::must_stay(const std::string& address) const {
  return rested_with_.contains(name_of_entry(address)) && has_lost_its_mac_alone(address);
}

bool World::has_lost_its_mac_alone(const std::string& address) const {
  const auto vfs = vf_past_.find(address);
  if (is_touched_ || policies_past_.size() != 1 || excludes_past_.size() != 1 || labels_past_.size() != 1 ||
      vfs == vf_past_.end())
    return false;
  const auto pfs = pf_past_.find(vfs->second.front().second.pf);
  if (pfs == pf_past_.end() || pfs->second.size() != 1) return false;
  VfFacts before = vfs->second.front().second;
  return std::all_of(vfs->second.begin(), vfs->second.end(), [&](const auto& one) {
    before.is_configured = one.second.is_configured;
    return one.second == before;
  });
}

bool World::may_be_unready(const std::string& address, std::optional<Millis> stable_for) const {
  if (!stable_for)
    return machine.is_unfinished(address) || (finished_at_ && *finished_at_ > rested_at_ - kMargin);
  const TimePoint steady = rested_at_ - kMargin - *stable_for - kMargin;
  if (started_at_ > steady) return true;
  const auto past = ready_past_.find(address);
  if (past == ready_past_.end() || past->second.back().second != Ready::kYes) return true;
  const auto facts = vf_past_.find(address);
  return past->second.back().first > steady ||
         (facts != vf_past_.end() && facts->second.back().first > steady);
}

// Before it is stored.
void World::judge_sent(const fake::Request& request, const Json& object) {
  writes_arrived_ = sim_cluster.writes_begun();
  const bool is_old = std::exchange(has_old_write_, false);
  const StoredSlice slice = stored_slice(object);
  if (annotation_bytes(object) + kAlmostFull > cluster.annotations_max)
    ++seen["a write where others leave no room"];
  if (slice.driver == kExposureDriver && exposed.is_used()) {
    ours_.insert(slice.name);
    return exposed.judge_sent(request, object, is_old);
  }
  if (slice.driver == kExposureDriver && slice.node == kNode && slice.pool == std::string(kNode) + "/net" &&
      slice.devices.empty())
    return;  // announced where there is any policy of its kind
  const bool is_own_pool = slice.pool == kNode || slice.is_given_up();
  if (slice.driver != kDriver || slice.node != kNode || !is_own_pool)
    return fail("I1", "writes a slice of " + slice.driver + ", node " + slice.node + ", pool " + slice.pool);
  ours_.insert(slice.name);
  const auto known = names_stored();
  stored_lately_.insert(known.begin(), known.end());
  for (const auto& [name, entry] : slice.devices) {
    const auto at = address_of_.find(name);
    if (at == address_of_.end()) return fail("I1", "offers " + name + ", which never was");
    const auto function = entry.find("resource.kubernetes.io/pciBusID");
    if (function != entry.end() && function->second != "string " + at->second)
      return fail("I6", "the entry " + name + " is of " + function->second);
    if (!known.contains(name) && !could_be(at->second, true))
      return fail("I1", "offers " + name + ", which nothing allowed lately: " + shown(entry));
  }
  if (slice.slice_count > 1) ++seen["several slices"];
  if (request.verb != "update") return;
  const auto before = cluster.object(kube::kResourceSlices, slice.name);
  if (!before) return;
  const auto same = [&](std::initializer_list<std::string_view> path) {
    const Json *a = before->find(path), *b = object.find(path);
    return (a == nullptr) == (b == nullptr) && (a == nullptr || *a == *b);
  };
  if (same({"spec"}) && same({"metadata", "annotations"}) && same({"metadata", "ownerReferences"}))
    fail("I3", "updates " + slice.name + " with what it holds");
  const bool is_restored = tampered_with_.contains(slice.name);
  if (stored_slice(*before).generation != slice.generation) {
    ++seen["new generation"];
  } else if (!same({"spec"}) && last_view_ && !is_old && !is_restored) {
    auto& changed = in_place_[slice.generation];
    changed.insert(slice.name);
    if (changed.size() > 1) fail("I4", "changes several slices of one generation: now " + slice.name);
  }
}

// After it is stored: what a consumer sees now.
void World::judge_stored(const fake::Request& request) {
  if (request.plural != "resourceslices") return;
  trace(request.verb + " stored " + request.name);
  tampered_with_.erase(request.name);
  if (request.verb == "delete")  // as a twin, whose other one is changed then
    for (auto& [generation, changed] : in_place_) changed.erase(request.name);
  exposed.judge_stored(request.name);
  const auto slices = stored();
  const auto views = pools_of(slices);
  const auto at = views.find(std::string(kDriver) + "/" + kNode);
  if (at == views.end() || !at->second.is_complete) {
    ++seen["pool incomplete for a moment"];
    last_view_.reset();
    return;
  }
  // Somebody else's slice of a higher generation hides ours until it is seen and deleted.
  if (std::any_of(slices.begin(), slices.end(), [&](const StoredSlice& slice) {
        return slice.generation == at->second.generation && !ours_.contains(slice.name);
      }))
    return last_view_.reset();
  const PoolView& now = at->second;
  for (const auto& [name, entry] : now.devices) tampered_out_.erase(name);
  // An entry that the slices of before did not have is a new one, which settles while its PF changes: where they were gone, and the
  // first decision withheld it for another reason.
  const auto may_settle = [&](const std::string& name) {
    const auto is_recent = [&](const auto& past) {
      return past.second.back().first >= scheduler.now() - kHostBound;
    };
    const bool is_new = !last_view_ || !last_view_->devices.contains(name);
    return is_new && (std::any_of(vf_past_.begin(), vf_past_.end(), is_recent) ||
                      std::any_of(pf_past_.begin(), pf_past_.end(), is_recent));
  };
  if (!may_hide_devices)
    for (const auto& [name, address] : address_of_)
      if (!now.devices.contains(name) && !tampered_out_.contains(name) && !could_be(address, false) &&
          !may_settle(name)) {
        fail("I10", "a whole pool without " + name + ", which everything offered all the time");
        break;
      }
  last_view_ = now;
}

void World::judge() {
  if (violation_ || !daemon) return;
  if (sim_cluster.open_calls() > kOpenCallsMax)
    return fail("I8", std::to_string(sim_cluster.open_calls()) + " calls are open at once");
  if (is_verified_ || !is_quiet() || scheduler.now() < due_) return;
  // What the claims show free is written whenever they do.
  if (exposed.is_used() && !exposed.is_calm() && !daemon->converged()) return;
  judge_rest();
  if (violation_) return;
  ++seen["rest"];
  is_verified_ = true;
  may_hide_devices = machine.is_blind = false;
  tampered_out_.clear();
  stored_lately_ = rested_with_ = names_stored();
  is_touched_ = false;
  const TimePoint before = scheduler.now() - kMargin;
  for (auto& [address, past] : vf_past_) prune(past, before);
  for (auto& [address, past] : pf_past_) prune(past, before);
  for (auto& [address, past] : ready_past_) prune(past, before - kMacAskedForMax - kMargin);
  rested_at_ = scheduler.now();
  is_loss_lately_ = false;
  cluster.stale_floor = cluster.resource_version();  // a list of any state shows nothing older
  prune(policies_past_, before);
  prune(labels_past_, before);
  exposed.rested(before);
  excludes_are_seen();
  prune(excludes_past_, before);
}

void World::judge_rest() {
  const auto slices = stored();
  const auto views = pools_of(slices);
  const auto at = views.find(std::string(kDriver) + "/" + kNode);
  if (at == views.end()) return fail("I2", "there is no pool");
  const PoolView& pool = at->second;
  if (views.size() != 1) return fail("I4", "there are " + std::to_string(views.size()) + " pools");
  if (!pool.is_complete || pool.slices != slices.size()) {
    std::string all;
    for (const StoredSlice& slice : slices)
      all += " " + slice.name + " of pool " + slice.pool + ", generation " +
             std::to_string(slice.generation) + " of " + std::to_string(slice.slice_count) + ";";
    return fail("I4", "the pool is not whole, or slices of other generations are left:" + all);
  }
  if (!pool.flaws.empty()) return fail("I4", pool.flaws.front());
  if (const auto flaws = exclusion_flaws(views); !flaws.empty()) return fail("I5", flaws.front());
  for (const StoredSlice& slice : slices) {
    if (slice.owner_uid != node_uid_) return fail("I2", slice.name + " belongs to " + slice.owner_uid);
    if (slice.boot_id != machine.boot_id) return fail("I2", slice.name + " is of " + slice.boot_id);
    if (slice.devices.size() > 128) return fail("I4", slice.name + " holds more than a slice may");
  }
  judge_entries(pool);
  exposed.judge_rest();
  if (violation_) return;
  if (!daemon->converged())
    return fail("I2",
                "the daemon has not converged" +
                    (daemon->waiting_for().empty() ? "" : ": waits for " + daemon->waiting_for().front()));
  judge_explanations();
  judge_memory();
}

// Where a PF's name is left open, one of the names must explain all of its VFs.
void World::judge_entries(const PoolView& pool) {
  std::set<std::string> explained;
  for (const std::string& pf : machine.pfs()) judge_pf(pf, pool, explained);
  for (const auto& [name, entry] : pool.devices)
    if (!explained.contains(name)) fail("I2", "offers " + name + ", which is not there");
}

void World::judge_pf(const std::string& pf, const PoolView& pool, std::set<std::string>& explained) {
  std::string problems;
  const auto vfs = machine.vfs_of(pf);
  for (const std::string& vf : vfs) explained.insert(name_of_entry(vf));
  for (const std::string& name : machine.pf_facts(pf).names) {
    const auto problem = mismatch_with(pf, name, pool);
    if (!problem) return;
    problems += (problems.empty() ? "with its name " : "; with its name ") +
                (name.empty() ? "unknown" : name) + " " + *problem;
  }
  if (vfs.empty()) return;
  for (const std::string& vf : vfs)  // what the daemon makes of it, for whoever reads this
    if (daemon->decision() != nullptr && problems.find(name_of_entry(vf)) != std::string::npos)
      problems += "; the daemon says: " + policy::explain(*daemon->decision(), vf).summary;
  fail("I2", problems);
}

std::optional<std::string> World::mismatch_with(const std::string& pf, const std::string& pf_name,
                                                const PoolView& pool) const {
  const PfFacts pf_facts = machine.pf_facts(pf);
  for (const std::string& vf : machine.vfs_of(pf)) {
    const VfFacts facts = machine.vf_facts(vf);
    if (!pool.devices.contains(name_of_entry(vf)) && exposed.may_lack(vf)) continue;
    std::string problem;
    for (const std::string& if_name : facts.names.empty() ? std::set<std::string>{""} : facts.names) {
      problem = problem_of(facts, pf_facts, vf, pf_name, if_name, pool);
      if (problem.empty()) break;
    }
    if (!problem.empty()) return problem;
  }
  return std::nullopt;
}

std::string World::problem_of(const VfFacts& facts, const PfFacts& pf_facts, const std::string& vf,
                              const std::string& pf_name, const std::string& if_name,
                              const PoolView& pool) const {
  const std::string name = name_of_entry(vf);
  const Said said = said_by(excludes, asked_of(facts, vf), pf_name, if_name, labels);
  const Taken taken = taken_by(facts, pf_facts, vf, pf_name, policies, labels);
  const auto at = pool.devices.find(name);
  const bool is_offered = at != pool.devices.end();
  if (!is_offered && said == Said::kUnknown) return "";  // held back; what stood in a slice may stay
  if (is_offered && said == Said::kYes) return "offers " + name + ", which is excluded";
  if (taken.is_unknown) {
    if (!is_offered) return "";
    // Whether it stood before is judged when it is decided.
    std::string problem;
    for (const auto& [policy, config] : taken.may_be)
      for (const bool rdma : facts.rdma) {
        problem = difference(at->second, entry_of(facts, pf_facts, vf, pf_name, rdma, *config, attributes));
        if (problem.empty()) return "";
      }
    return name + " " + problem + ", as none of those has it that may";
  }
  const bool wants_mac = taken.policy != nullptr && taken.policy->wants_mac_for;
  if (!is_offered && (wants_mac ? facts.is_open : machine.is_unfinished(vf))) return "";
  if (wants_mac && !facts.is_open && !facts.is_configured) {
    if (!is_offered)
      return taken.policy->keeps && must_stay(vf) ? "has taken away " + name + ", which is to stay" : "";
    // Whether it ever had one was judged when it was added.
    if (!taken.policy->keeps) return "offers " + name + ", which has no admin MAC";
  }
  const bool is_wanted = taken.config != nullptr && said != Said::kYes;
  if (is_wanted && !is_offered)
    return "does not offer " + name + ", which policy " + taken.policy->name + " allows";
  if (!is_wanted) return is_offered ? "offers " + name + ": " + taken.why_not : "";
  std::string problem;
  for (const bool rdma : facts.rdma) {
    problem = difference(at->second, entry_of(facts, pf_facts, vf, pf_name, rdma, *taken.config, attributes));
    if (problem.empty()) return "";
  }
  return name + " " + problem;
}

void World::judge_explanations() {
  const policy::Decision& decision = *daemon->decision();
  for (const auto& [address, function] : machine.functions()) {
    if (function.pf.empty()) continue;
    const policy::Explanation said = policy::explain(decision, address);
    if (said.summary.empty() || said.outcome == "unknown") return fail("I9", "nothing explains " + address);
    const PfFacts pf = machine.pf_facts(function.pf);
    if (pf.names.size() != 1 || exposed.may_hold_back(address)) continue;
    const VfFacts vf = machine.vf_facts(address);
    if (vf.names.size() != 1) continue;
    const Said excluded =
        said_by(excludes, asked_of(vf, address), *pf.names.begin(), *vf.names.begin(), labels);
    if (excluded == Said::kUnknown) continue;  // or it stood in a slice before
    const Taken taken = taken_by(vf, pf, address, *pf.names.begin(), policies, labels);
    if (taken.is_unknown) continue;  // likewise
    const bool wants_mac = taken.policy != nullptr && taken.policy->wants_mac_for;
    const bool may_stay = wants_mac && taken.policy->keeps && !vf.is_configured;
    if (may_stay && said.outcome == "offered") ++seen["kept without what it was ready by"];
    if (may_stay || (wants_mac ? vf.is_open : machine.is_unfinished(address))) continue;
    const std::string wanted = excluded == Said::kYes           ? "excluded"
                               : wants_mac && !vf.is_configured ? "not-ready"
                               : taken.config != nullptr        ? "offered"
                                                                : taken.why_not;
    if (said.outcome != wanted)
      return fail("I9", address + " is explained as " + said.outcome + ", and is " + wanted);
    if (wanted == "no-match" && said.rules.empty()) return fail("I9", "no rule is named for " + address);
  }
}

void World::judge_memory() {
  if (daemon->inventory()->devices.size() > machine.functions().size() + machine.interfaces().size())
    return fail("I8", "the inventory holds more than there is");
  size_t there = 0;
  cluster.for_each(kube::kResourceSlices, [&](const Json& object) {
    const StoredSlice slice = stored_slice(object);
    there += slice.driver == kDriver && slice.node == kNode ? 1 : 0;
  });
  if (const size_t known = daemon->offer_of(kDriver).publisher().observed().size(); known != there)
    return fail("I8", "the publisher remembers " + std::to_string(known) + " slices, there are " +
                          std::to_string(there));
  if (sim_scheduler.pending() > kTasksMax)
    return fail("I8", std::to_string(sim_scheduler.pending()) + " tasks are pending at rest");
}

}  // namespace sliced::sim
