#include "kubectl/why/search.h"

#include <algorithm>
#include <optional>

#include "kubectl/why/free.h"
#include "reactor/base/text.h"

namespace sliced::why {
namespace {

SelectorResult answer(const Scene& scene, const std::string& expression, const Candidate& candidate) {
  const SelectorResult says = scene.selectors->ask(expression, candidate);
  return says == SelectorResult::kError && scene.guarded.contains(expression) ? SelectorResult::kNo : says;
}

bool has_untolerated_taint(const kube::Device& device, const Request& request) {
  return std::any_of(device.taints.begin(), device.taints.end(), [&](const kube::Taint& taint) {
    if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") return false;
    return std::none_of(request.tolerations.begin(), request.tolerations.end(),
                        [&](const Toleration& one) { return tolerates(one, taint); });
  });
}

// A constraint, and the values of its attribute of the picked devices.
struct Bound {
  const Constraint* constraint = nullptr;
  std::vector<const kube::AttributeValue*> values;

  bool add(const kube::AttributeValue* value) {
    if (value == nullptr) return false;
    if (kube::is_list(*value) && !values.empty()) return false;  // a list is equal to nothing
    if (constraint->is_distinct) {
      for (const auto* other : values)
        if (*other == *value) return false;
    } else if (!values.empty() && *values.front() != *value) {
      return false;
    }
    values.push_back(value);
    return true;
  }
};

// The remaining counters of a pool.
struct Ledger {
  std::vector<Amount> available, taken;
  std::map<std::pair<std::string_view, std::string_view>, size_t> index;  // set, counter
  GroupsInUse groups;
};

// A device that may be picked.
struct Place {
  const Candidate* candidate = nullptr;
  size_t pool = 0;
  Use use;
  std::vector<std::pair<size_t, Amount>> consumption;  // by index of its pool's ledger
  std::vector<char> picked_by;                         // by claim: exclusively
  size_t picked = 0;                                   // number of claims with an exclusive pick
  size_t shares = 0;                                   // that were picked
  Amounts share_amounts;
};

// A request or an alternative, analyzed once.
struct Wanted {
  const Request* request = nullptr;
  const RequestGroup* group = nullptr;
  size_t count = 0;
  std::vector<size_t> all;  // of allocationMode All: which places
};

// In units of 100 ns: trying a candidate, placing a device, and starting a search.
constexpr uint64_t kTrySteps = 2, kPlaceSteps = 5, kSearchSteps = 100;

class Search {
 public:
  Search(const Scene& scene, uint64_t tries_max)
      : scene_(scene), tries_max_(tries_max), tries_left_(tries_max) {}

  /// Work of run() without expressions, in steps of 100 ns.
  uint64_t steps() const {
    return (tries_max_ - tries_left_) * kTrySteps + places_.size() * kPlaceSteps + kSearchSteps;
  }

  Outcome run() {
    lay_out();
    Outcome out;
    if (!look_at_claims()) {
      out.found = SearchResult::kError;
      out.error = error_;
      return out;
    }
    switch (next_claim(0)) {
      case Step::kDone:
        out.found = SearchResult::kYes;
        break;
      case Step::kNo:
      case Step::kTooMany:
        out.found = SearchResult::kNo;
        break;
      case Step::kError:
        out.found = SearchResult::kError;
        break;
      case Step::kUnsure:
        out.found = SearchResult::kUnsure;
        break;
    }
    out.error = error_;
    if (out.found == SearchResult::kYes) out.picks = picks_;
    return out;
  }

 private:
  /// kTooMany: more devices than a claim may have, regardless of earlier picks.
  enum class Step : uint8_t { kDone, kNo, kTooMany, kError, kUnsure };
  struct At {
    size_t claim = 0, request = 0, alternative = 0, device = 0;
  };

  void lay_out() {
    ledgers_.resize(scene_.pools->size());
    for (size_t i = 0; i < scene_.pools->size(); ++i) {
      const Pool& pool = (*scene_.pools)[i];
      if (!pool.is_usable()) continue;
      open_ledger(pool, ledgers_[i]);
      for (const Candidate& candidate : pool.devices) {
        Place place;
        place.candidate = &candidate;
        place.pool = i;
        place.use = use_of(candidate.id(), *scene_.held, scene_.released);
        place.consumption = consumption_of(*candidate.device, ledgers_[i]);
        place.picked_by.resize(scene_.claims.size());
        if (place.use.is_any()) {
          draw(place.consumption, ledgers_[i]);
          ledgers_[i].groups.add(candidate.device->consumes_counters);
        }
        places_.push_back(std::move(place));
      }
      const DeviceId id{pool.id.first, pool.id.second, ""};
      for (const kube::Device* device : pool.elsewhere)
        if (use_of({id.driver, id.pool, device->name}, *scene_.held, scene_.released).is_any()) {
          draw(consumption_of(*device, ledgers_[i]), ledgers_[i]);
          ledgers_[i].groups.add(device->consumes_counters);
        }
    }
  }
  void open_ledger(const Pool& pool, Ledger& ledger) {
    for (const auto& [set, counters] : pool.counter_sets)
      for (const auto& [name, amount] : *counters) {
        ledger.index[{set, name}] = ledger.available.size();
        ledger.available.push_back(amount.nanos());
      }
    ledger.taken.resize(ledger.available.size());
  }
  static std::vector<std::pair<size_t, Amount>> consumption_of(const kube::Device& device,
                                                               const Ledger& ledger) {
    std::vector<std::pair<size_t, Amount>> out;
    for (const kube::CounterConsumption& one : device.consumes_counters)
      for (const auto& [name, amount] : one.counters)
        if (const auto found = ledger.index.find({one.counter_set, name}); found != ledger.index.end())
          out.emplace_back(found->second, amount.nanos());
    return out;
  }
  // Subtracts allocated devices.
  static void draw(const std::vector<std::pair<size_t, Amount>>& consumption, Ledger& ledger) {
    for (const auto& [index, amount] : consumption) ledger.available[index] -= amount;
  }

  bool fail(const Claim& claim, const std::string& request, std::string what) {
    error_ = "claim " + claim.id() + (request.empty() ? "" : ", request " + request) + ": " + std::move(what);
    return false;
  }

  // Checks that do not depend on picks.
  bool look_at_claims() {
    for (const Claim& claim : scene_.claims) {
      if (!claim.unknown.empty())
        return fail(claim, "", claim.unknown.front() + " is unknown to this version");
      auto& requests = wanted_.emplace_back();
      size_t least_of_claim = 0;
      for (const RequestGroup& group : claim.requests) {
        if (group.is_list && !scene_.features.prioritized_list)
          return fail(claim, group.name, "has firstAvailable, which this scheduler does not know");
        auto& alternatives = requests.emplace_back();
        size_t least = SIZE_MAX;
        for (const Request& request : group.alternatives) {
          if (!look_at(claim, group, request, alternatives.emplace_back())) return false;
          least = std::min(least, alternatives.back().count);
        }
        if (least > kResultsMax - least_of_claim)
          return fail(claim, group.name,
                      "more than the " + std::to_string(kResultsMax) + " devices that a claim may have");
        least_of_claim += least;
      }
      auto& bounds = bounds_.emplace_back();
      for (const Constraint& constraint : claim.constraints) bounds.push_back({&constraint, {}});
      counts_.push_back(0);
    }
    return true;
  }
  bool look_at(const Claim& claim, const RequestGroup& group, const Request& request, Wanted& out) {
    const std::string id = request_id(group, request);
    out.request = &request;
    out.group = &group;
    if (!request.capacity.empty() && !scene_.features.consumable_capacity)
      return fail(claim, id, "asks for capacity, which this scheduler does not know");
    if (request.admin_access && !scene_.features.admin_access)
      return fail(claim, id, "asks for admin access, which this scheduler does not know");
    if (!scene_.classes.contains(request.device_class))
      return fail(claim, id, "there is no DeviceClass " + request.device_class);
    out.count = request.count < 0 ? 0 : static_cast<size_t>(request.count);
    return !request.all || find_all(claim, id, out);
  }
  // Finds all matching devices. Their availability is checked later.
  bool find_all(const Claim& claim, const std::string& id, Wanted& out) {
    size_t place = 0;
    for (size_t i = 0; i < scene_.pools->size(); ++i) {
      const Pool& pool = (*scene_.pools)[i];
      if (!pool.is_usable())
        return fail(claim, id,
                    "asks for all devices, and pool " + pool.id.first + "/" + pool.id.second +
                        (pool.is_incomplete ? " is not complete" : " is not valid: " + pool.invalid));
      for (; place < places_.size() && places_[place].pool == i; ++place) {
        const SelectorResult says = is_selected(claim, *out.request, *places_[place].candidate);
        if (says == SelectorResult::kError) return false;
        if (says == SelectorResult::kNo) continue;
        if (scene_.features.consumable_capacity) {
          const auto taking = taking_of(out.request->capacity, *places_[place].candidate->device,
                                        scene_.features.fractional_range);
          if (!taking) return fail(claim, id, taking.error().what);
          if (!taking->misfit.empty()) continue;
        }
        out.all.push_back(place);
      }
    }
    out.count = out.all.size();
    return true;
  }

  // selects(), with a reported error.
  SelectorResult is_selected(const Claim& claim, const Request& request, const Candidate& candidate) {
    if (!scene_.features.binding_conditions && candidate.binds) return SelectorResult::kNo;
    const auto ask = [&](const std::vector<std::string>& selectors, const std::string& whose) {
      for (size_t i = 0; i < selectors.size(); ++i) {
        const SelectorResult says = answer(scene_, selectors[i], candidate);
        if (says == SelectorResult::kError)
          error_ = whose + ", selectors[" + std::to_string(i) + "] on device " + describe(candidate.id()) +
                   ": " + scene_.selectors->error_of(selectors[i], candidate);
        if (says != SelectorResult::kYes) return says;
      }
      return SelectorResult::kYes;
    };
    const DeviceClass& of = scene_.classes.at(request.device_class);
    if (const SelectorResult says = ask(of.selectors, "DeviceClass " + of.name); says != SelectorResult::kYes)
      return says;
    if (const SelectorResult says =
            ask(request.selectors, "claim " + claim.id() + ", request " + request.name);
        says != SelectorResult::kYes)
      return says;
    return candidate.is_here ? SelectorResult::kYes : SelectorResult::kNo;
  }

  Step next_claim(size_t claim) {
    if (claim >= scene_.claims.size()) return Step::kDone;
    return next_request({claim, 0, 0, 0});
  }
  Step next_request(At at) {
    if (at.request >= wanted_[at.claim].size()) {
      const Step step = next_claim(at.claim + 1);
      return step == Step::kTooMany ? Step::kNo : step;
    }
    const auto& alternatives = wanted_[at.claim][at.request];
    if (!alternatives.front().group->is_list) return next_device(at, 0);
    bool are_all_too_many = true;
    for (at.alternative = 0; at.alternative < alternatives.size(); ++at.alternative) {
      const Step step = next_device(at, 0);
      if (step == Step::kTooMany) continue;
      if (step != Step::kNo) return step;
      are_all_too_many = false;
    }
    return are_all_too_many ? Step::kTooMany : Step::kNo;
  }

  // from: the first place that was not tried; the order of one request's devices does not matter.
  Step next_device(At at, size_t from) {
    const Wanted& wanted = wanted_[at.claim][at.request][at.alternative];
    if (wanted.request->all && wanted.all.empty()) return Step::kNo;
    if (at.device >= wanted.count) return next_request({at.claim, at.request + 1, 0, 0});
    if (wanted.count - at.device > kResultsMax - counts_[at.claim]) return Step::kTooMany;
    if (wanted.request->all) return next_of_all(at, wanted);
    if (!may_suffice(at, wanted, from)) return Step::kNo;
    for (size_t i = from; i < places_.size(); ++i) {
      if (tries_left_ == 0) return Step::kUnsure;
      --tries_left_;
      Place& place = places_[i];
      if (is_taken(at, *wanted.request, place)) continue;
      const SelectorResult says = is_selected(scene_.claims[at.claim], *wanted.request, *place.candidate);
      if (says == SelectorResult::kError) return Step::kError;
      if (says == SelectorResult::kNo) continue;
      const Step step = with(at, wanted, place, i + 1, /*must=*/false);
      if (step != Step::kNo) return step;
    }
    return Step::kNo;
  }
  Step next_of_all(At at, const Wanted& wanted) {
    if (tries_left_ == 0) return Step::kUnsure;
    --tries_left_;
    return with(at, wanted, places_[wanted.all[at.device]], 0, /*must=*/true);
  }

  // Returns false if too few devices remain, and none of them could cause an error.
  bool may_suffice(const At& at, const Wanted& wanted, size_t from) {
    const size_t missing = wanted.count - at.device;
    if (missing == 1) return true;
    size_t left = 0;
    for (size_t i = from; i < places_.size() && left < missing; ++i) {
      const Place& place = places_[i];
      if (is_taken(at, *wanted.request, place)) continue;
      const SelectorResult says = selects(scene_, *wanted.request, *place.candidate);
      if (says == SelectorResult::kError) return true;  // the search shows whether the error occurs
      left += says == SelectorResult::kYes;
    }
    return left >= missing;
  }

  bool is_taken(const At& at, const Request& request, const Place& place) const {
    if (request.admin_access) return place.picked_by[at.claim] != 0;
    return place.use.is_exclusive || place.picked > 0;
  }

  // Picks the place, and continues. must: there is no solution without it.
  Step with(At at, const Wanted& wanted, Place& place, size_t next, bool must) {
    const Request& request = *wanted.request;
    const kube::Device& device = *place.candidate->device;
    const Claim& claim = scene_.claims[at.claim];
    const bool is_shareable = scene_.features.consumable_capacity && device.allow_multiple_allocations;
    Taking taking;
    if (scene_.features.consumable_capacity) {
      auto found = taking_of(request.capacity, device, scene_.features.fractional_range);
      if (!found) {
        fail(claim, request_id(*wanted.group, request), found.error().what);
        return Step::kError;
      }
      taking = *std::move(found);
      if (!must && !fits(place, taking)) return Step::kNo;
    }
    if (!is_shareable && request.admin_access && place.picked_by[at.claim] != 0) return Step::kNo;
    if (!request.admin_access && (place.use.is_exclusive || place.picked > 0)) return Step::kNo;
    if (!scene_.features.partitionable_devices && !device.consumes_counters.empty()) return Step::kNo;
    bool is_charged =
        !(is_shareable && (place.use.is_shared || place.shares > 0)) && !device.consumes_counters.empty();
    if (is_charged && !take(place)) return Step::kNo;
    if (is_charged && scene_.ignores_counters_of_picks) {
      give_back(place);
      is_charged = false;
    }
    Step step = Step::kNo;
    if (!scene_.features.device_taints || !has_untolerated_taint(device, request))
      step = bound(at, wanted, place, taking, is_shareable, next, must);
    if (is_charged) give_back(place);
    return step;
  }

  Step bound(At at, const Wanted& wanted, Place& place, const Taking& taking, bool is_shareable, size_t next,
             bool must) {
    auto& bounds = bounds_[at.claim];
    size_t added = 0;
    bool is_bound = true;
    for (; added < bounds.size() && is_bound; ++added)
      if (concerns(*bounds[added].constraint, *wanted.group, *wanted.request))
        is_bound = bounds[added].add(find_attribute(*place.candidate, bounds[added].constraint->attribute));
    Step step = Step::kNo;
    if (!is_bound) {
      --added;  // the last one was not added
      if (must) {
        fail(scene_.claims[at.claim], request_id(*wanted.group, *wanted.request),
             "asks for all devices, and with " + describe(place.candidate->id()) +
                 " a constraint of the claim cannot be kept");
        step = Step::kError;
      }
    } else if (!scene_.features.consumable_capacity || fits(place, taking)) {
      step = pick(at, wanted, place, taking, is_shareable, next);
    }
    while (added-- > 0)
      if (concerns(*bounds[added].constraint, *wanted.group, *wanted.request))
        bounds[added].values.pop_back();
    return step;
  }

  Step pick(At at, const Wanted& wanted, Place& place, const Taking& taking, bool is_shareable, size_t next) {
    const char was_picked = place.picked_by[at.claim];
    if (is_shareable) {
      ++place.shares;
      for (const auto& [key, amount] : taking.amounts) place.share_amounts[key] += amount;
    } else if (!was_picked) {
      place.picked_by[at.claim] = 1;
      ++place.picked;
    }
    ++counts_[at.claim];
    picks_.push_back(
        {scene_.claims[at.claim].id(), request_id(*wanted.group, *wanted.request), place.candidate->id()});
    const Step step = next_device({at.claim, at.request, at.alternative, at.device + 1}, next);
    if (step == Step::kDone) return step;
    picks_.pop_back();
    --counts_[at.claim];
    if (is_shareable) {
      --place.shares;
      for (const auto& [key, amount] : taking.amounts) place.share_amounts[key] -= amount;
    } else if (!was_picked) {
      place.picked_by[at.claim] = 0;
      --place.picked;
    }
    return step;
  }

  bool fits(const Place& place, const Taking& taking) const {
    if (!taking.misfit.empty()) return false;
    Amounts taken = place.use.amounts;
    for (const auto& [key, amount] : place.share_amounts) taken[key] += amount;
    return short_of(taking, *place.candidate->device, taken) == nullptr;
  }

  // Any overdrawn counter is an obstacle, even if this device does not consume it.
  bool take(Place& place) {
    Ledger& ledger = ledgers_[place.pool];
    if (ledger.groups.conflict(place.candidate->device->consumes_counters) != nullptr) return false;
    ledger.groups.add(place.candidate->device->consumes_counters);
    for (const auto& [index, amount] : place.consumption) ledger.taken[index] += amount;
    for (size_t i = 0; i < ledger.available.size(); ++i)
      if (ledger.available[i] < ledger.taken[i]) {
        give_back(place);
        return false;
      }
    return true;
  }
  void give_back(Place& place) {
    Ledger& ledger = ledgers_[place.pool];
    ledger.groups.remove(place.candidate->device->consumes_counters);
    for (const auto& [index, amount] : place.consumption) ledger.taken[index] -= amount;
  }

  const Scene& scene_;
  const uint64_t tries_max_;
  uint64_t tries_left_;
  std::vector<Place> places_;
  std::vector<Ledger> ledgers_;                           // by pool
  std::vector<std::vector<std::vector<Wanted>>> wanted_;  // by claim, request, alternative
  std::vector<std::vector<Bound>> bounds_;                // by claim
  std::vector<size_t> counts_;                            // devices picked, by claim
  std::vector<Pick> picks_;
  std::string error_;
};

}  // namespace

Outcome search(const Scene& scene, uint64_t tries_max) {
  if (scene.selectors->is_spent()) return {.found = SearchResult::kUnsure};
  Search search(scene, tries_max);
  Outcome out = search.run();
  scene.selectors->take(search.steps());
  if (scene.selectors->is_spent()) return {.found = SearchResult::kUnsure};
  return out;
}

SelectorResult selects(const Scene& scene, const Request& request, const Candidate& candidate) {
  if (!scene.features.binding_conditions && candidate.binds) return SelectorResult::kNo;
  const auto of = scene.classes.find(request.device_class);
  if (of == scene.classes.end()) return SelectorResult::kNo;
  for (const auto* selectors : {&of->second.selectors, &request.selectors})
    for (const std::string& expression : *selectors)
      if (const SelectorResult says = answer(scene, expression, candidate); says != SelectorResult::kYes)
        return says;
  return candidate.is_here ? SelectorResult::kYes : SelectorResult::kNo;
}

const kube::AttributeValue* find_attribute(const Candidate& candidate, const std::string& name) {
  const kube::Attributes& all = candidate.device->attributes;
  if (const auto found = all.find(name); found != all.end()) return &found->second;
  const size_t slash = name.find('/');
  if (slash == std::string::npos || name.substr(0, slash) != candidate.slice->common.driver) return nullptr;
  const auto found = all.find(name.substr(slash + 1));
  return found == all.end() ? nullptr : &found->second;
}

bool concerns(const Constraint& constraint, const RequestGroup& group, const Request& request) {
  if (constraint.requests.empty()) return true;
  return std::any_of(constraint.requests.begin(), constraint.requests.end(), [&](const std::string& name) {
    return name == group.name || (group.is_list && name == request_id(group, request));
  });
}

}  // namespace sliced::why
