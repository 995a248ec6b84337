#include "kubectl/why/view.h"

#include <algorithm>
#include <optional>
#include <set>

#include "kubectl/why/free.h"
#include "kubectl/why/search.h"
#include "reactor/base/text.h"

namespace sliced::why {
namespace {

constexpr size_t kNearestMax = 64;  // devices for which the true parts of an expression are counted

std::string holder_of(const Hold& hold) {
  return hold.claim->id() + (hold.claim->users.empty() ? "" : " (pod " + join(hold.claim->users, ", ") + ")");
}

// An attribute in another case or with a slip is absent for the expression.
std::string with_near_name(std::string error, const std::string& expression, const Scene& scene) {
  const auto misread = scene.misread.find(expression);
  if (misread == scene.misread.end() || error.find(misread->second.wrong) == std::string::npos) return error;
  return error + "; did you mean " + misread->second.right + "?";
}

// Counters of one pool, with their remaining amounts.
class Counting {
 public:
  Counting(const Pool& pool, const Scene& scene) : pool_(pool), scene_(scene) {
    for (const auto& [set, counters] : pool.counter_sets)
      left_.supply(counter_amounts({std::string(set), *counters}));
    for (const Candidate& one : pool.devices) draw(*one.device);
    for (const kube::Device* one : pool.elsewhere) draw(*one);
  }
  // Returns "" if there is enough.
  std::string missing(const kube::Device& device) const {
    for (const kube::CounterConsumption& one : device.consumes_counters)
      for (const auto& [name, amount] : one.counters) {
        const Amount left = left_.left(one.counter_set + "/" + name);
        if (amount.nanos() <= left) continue;
        const Amount total = pool_.counter_sets.at(one.counter_set)->at(name).nanos();
        return "takes " + describe(amount.nanos()) + " of counter " + one.counter_set + "/" + name +
               ", and " + describe(left) + " of " + describe(total) + " is left" +
               users_of(one.counter_set, name);
      }
    if (const kube::CounterConsumption* one = groups_.conflict(device.consumes_counters))
      return "is of compatibility groups " +
             (one->compatibility_groups.empty() ? "none" : join(one->compatibility_groups, ", ")) +
             " of counter set " + one->counter_set + ", which the devices in use there are not" +
             users_of(one->counter_set, "");
    return "";
  }

 private:
  const std::vector<Hold>* holds_of(const kube::Device& device) const {
    const auto found = scene_.held->find({pool_.id.first, pool_.id.second, device.name});
    if (found == scene_.held->end()) return nullptr;
    const bool is_held = std::any_of(found->second.begin(), found->second.end(),
                                     [&](const Hold& hold) { return !scene_.released.contains(hold.claim); });
    return is_held ? &found->second : nullptr;
  }
  void draw(const kube::Device& device) {
    if (holds_of(device) == nullptr) return;
    left_.draw(counter_amounts(device.consumes_counters));
    groups_.add(device.consumes_counters);
  }
  // counter: "" any of the set.
  std::string users_of(const std::string& set, const std::string& counter) const {
    std::string out;
    size_t more = 0;
    const auto add = [&](const kube::Device& device) {
      const auto* holds = holds_of(device);
      if (holds == nullptr) return;
      for (const kube::CounterConsumption& one : device.consumes_counters)
        if (one.counter_set == set && (counter.empty() || one.counters.contains(counter))) {
          if (out.size() > 300) {
            ++more;
            return;
          }
          out += (out.empty() ? "; used by " : ", ") + device.name + " of claim " + holder_of(holds->front());
        }
    };
    for (const Candidate& one : pool_.devices) add(*one.device);
    for (const kube::Device* one : pool_.elsewhere) add(*one);
    return out + (more > 0 ? " and " + std::to_string(more) + " more" : "");
  }

  const Pool& pool_;
  const Scene& scene_;
  CountersLeft left_;
  GroupsInUse groups_;
};

class Viewing {
 public:
  Viewing(const Scene& scene, const Claim& claim, const RequestGroup& group, const Request& request)
      : scene_(scene), claim_(claim), group_(group), request_(request) {
    const auto found = scene.classes.find(request.device_class);
    if (found != scene.classes.end()) class_ = &found->second;
    out_.claim = claim.id();
    out_.request = request_id(group, request);
    out_.device_class = request.device_class;
    out_.all = request.all;
    out_.wanted = request.count;
  }

  RequestView run() {
    for (const Pool& pool : *scene_.pools) {
      if (!pool.is_usable()) continue;
      std::optional<Counting> counting;
      for (const Candidate& candidate : pool.devices) {
        if (candidate.is_here) ++out_.devices;
        look_at(pool, candidate, counting);
      }
    }
    for (auto& [key, group] : kinds_) out_.obstacles.push_back(std::move(group));
    std::reverse(out_.obstacles.begin(), out_.obstacles.end());
    return std::move(out_);
  }

 private:
  void look_at(const Pool& pool, const Candidate& candidate, std::optional<Counting>& counting) {
    if (class_ == nullptr) return;
    if (scene_.features.binding_conditions || !candidate.binds) {
      if (!ask(class_->selectors, Obstacle::kClassSelector, "DeviceClass " + class_->name, candidate)) return;
      if (!ask(request_.selectors, Obstacle::kSelector, "the request", candidate)) return;
    }
    if (!candidate.is_here)
      return add(Obstacle::kElsewhere, 0, candidate, [] { return "is for other nodes"; });
    ++out_.matching;
    const auto holds = scene_.held->find(candidate.id());
    const Use use = use_of(candidate.id(), *scene_.held, scene_.released);
    if (use.is_exclusive && !request_.admin_access) {
      ++out_.allocated;
      return held(holds->second, candidate);
    }
    if (stands_by_capacity(candidate, use)) return;
    if (stands_by_counters(pool, candidate, use, counting)) return;
    if (stands_by_taint(candidate)) return;
    for (const Constraint& constraint : claim_.constraints)
      if (concerns(constraint, group_, request_) &&
          find_attribute(candidate, constraint.attribute) == nullptr)
        return add(Obstacle::kNoAttribute, 0, candidate, [&] {
          const std::string similar = attribute_hint(candidate, constraint.attribute);
          return "has no " + constraint.attribute + ", which a constraint requires" +
                 (similar.empty() ? "" : "; did you mean " + similar + "?");
        });
    ++out_.free;
    for (size_t i = 0; i < claim_.constraints.size(); ++i) {
      if (!concerns(claim_.constraints[i], group_, request_)) continue;
      auto& values = out_.values[i];
      const std::string value =
          kube::describe_attribute(*find_attribute(candidate, claim_.constraints[i].attribute));
      if (values.size() < kValuesMax || values.contains(value)) ++values[value];
    }
  }

  bool ask(const std::vector<std::string>& selectors, Obstacle obstacle, const std::string& whose,
           const Candidate& candidate) {
    for (size_t i = 0; i < selectors.size(); ++i) {
      const SelectorResult says = scene_.selectors->ask(selectors[i], candidate);
      if (says == SelectorResult::kYes) continue;
      if (says == SelectorResult::kError) {
        out_.failing.emplace(obstacle == Obstacle::kClassSelector, i);
        add(Obstacle::kError, 0, candidate, [&] {
          return whose + " fails, selectors[" + std::to_string(i) + "]: " +
                 with_near_name(scene_.selectors->error_of(selectors[i], candidate), selectors[i], scene_);
        });
        return false;
      }
      add(obstacle, i * 1000 + passed(selectors[i], candidate), candidate, [&] {
        return whose + " does not match, selectors[" + std::to_string(i) +
               "]: " + scene_.selectors->mismatch_of(selectors[i], candidate);
      });
      return false;
    }
    return true;
  }
  // Returns the number of true parts of the expression, for the first devices: the closest one is reported.
  size_t passed(const std::string& expression, const Candidate& candidate) {
    if (++asked_ > kNearestMax) return 0;
    size_t out = 0;
    for (const std::string& part : conjuncts(expression))
      out += scene_.selectors->ask(part, candidate) == SelectorResult::kYes;
    return out;
  }

  void held(const std::vector<Hold>& holds, const Candidate& candidate) {
    std::string who;
    for (const Hold& hold : holds) {
      if (scene_.released.contains(hold.claim)) continue;
      ++out_.holders[holder_of(hold)];
      who += (who.empty() ? "" : ", ") + holder_of(hold);
    }
    add(Obstacle::kHeld, 0, candidate, [&] { return "is allocated to claim " + who; });
  }

  // Returns the capacity of the device whose name is nearly that of `key` in the same domain; "" without one.
  static std::string capacity_hint(const Candidate& candidate, const std::string& key) {
    const std::string domain = key.substr(0, key.find('/') + 1);
    std::vector<std::string_view> names;
    for (const auto& [name, of] : candidate.device->capacity)
      if (name.starts_with(domain)) names.push_back(std::string_view(name).substr(domain.size()));
    const std::string found = nearest(key.substr(domain.size()), names);
    return found.empty() ? "" : domain + found;
  }

  // Returns the attribute of the device with nearly that name in the same domain, or with that name in another
  // one; "" without one.
  static std::string attribute_hint(const Candidate& candidate, const std::string& key) {
    const size_t slash = key.find('/');
    if (slash == std::string::npos) return "";
    const std::string domain = key.substr(0, slash + 1), id = key.substr(slash + 1);
    std::vector<std::string_view> names;
    std::string elsewhere;
    for (const auto& [text, value] : candidate.device->attributes) {
      const std::string_view name = text;
      const size_t at = name.find('/');
      const std::string of = at == std::string::npos ? candidate.slice->common.driver + "/"
                                                     : std::string(name.substr(0, at + 1));
      const std::string_view rest = at == std::string::npos ? name : name.substr(at + 1);
      if (of == domain)
        names.push_back(rest);
      else if (rest == id)
        elsewhere = of + id;
    }
    const std::string found = nearest(id, names);
    return found.empty() ? elsewhere : domain + found;
  }

  bool stands_by_capacity(const Candidate& candidate, const Use& use) {
    if (!scene_.features.consumable_capacity) return false;
    const auto taking = taking_of(request_.capacity, *candidate.device, scene_.features.fractional_range);
    if (!taking) {
      add(Obstacle::kError, 0, candidate, [&] { return taking.error().what; });
      return true;
    }
    if (!taking->misfit.empty()) {
      const auto capacity = candidate.device->capacity.find(taking->misfit_key);
      if (capacity != candidate.device->capacity.end()) {
        auto& over = out_.over_most[taking->misfit_key];
        ++over.devices;
        over.most = std::max(over.most, most_of(capacity->second, scene_.features.fractional_range));
      }
      add(Obstacle::kCapacity, 0, candidate, [&] {
        const auto amount = request_.capacity.find(taking->misfit_key);
        const std::string similar =
            capacity == candidate.device->capacity.end() ? capacity_hint(candidate, taking->misfit_key) : "";
        return taking->misfit +
               (amount == request_.capacity.end() ? std::string()
                                                  : "; the request asks for " + amount->second.text()) +
               (similar.empty() ? "" : "; did you mean " + similar + "?");
      });
      return true;
    }
    const std::string* key = short_of(*taking, *candidate.device, use.amounts);
    if (key == nullptr) return false;
    const auto holds = scene_.held->find(candidate.id());
    out_.used_up[*key].push_back(candidate.id());
    add(Obstacle::kCapacity, 0, candidate, [&] {
      const Amount total = candidate.device->capacity.at(*key).value.nanos();
      std::string who;
      for (const Hold& hold : holds->second)
        if (!scene_.released.contains(hold.claim) && who.size() < 300)
          who += (who.empty() ? "" : ", ") + holder_of(hold);
      return "would give " + describe(taking->amounts.at(*key)) + " of capacity " + *key + ", and " +
             describe(total - use.amounts.at(*key)) + " of " + describe(total) + " is left; used by claim " +
             who;
    });
    for (const Hold& hold : holds->second)
      if (!scene_.released.contains(hold.claim)) ++out_.holders[holder_of(hold)];
    return true;
  }

  bool stands_by_counters(const Pool& pool, const Candidate& candidate, const Use& use,
                          std::optional<Counting>& counting) {
    const kube::Device& device = *candidate.device;
    const bool is_shareable = scene_.features.consumable_capacity && device.allow_multiple_allocations;
    if (device.consumes_counters.empty() || (is_shareable && use.is_shared)) return false;
    if (!scene_.features.partitionable_devices) {
      add(Obstacle::kCounters, 0, candidate,
          [] { return "consumes counters, which this scheduler does not know"; });
      return true;
    }
    if (!counting) counting.emplace(pool, scene_);
    std::string missing = counting->missing(device);
    if (missing.empty()) return false;
    add(Obstacle::kCounters, 0, candidate, [&] { return missing; });
    return true;
  }

  bool stands_by_taint(const Candidate& candidate) {
    if (!scene_.features.device_taints) return false;
    for (const kube::Taint& taint : candidate.device->taints) {
      if (!keeps_pods_away(taint)) continue;
      if (std::any_of(request_.tolerations.begin(), request_.tolerations.end(),
                      [&](const Toleration& one) { return tolerates(one, taint); }))
        continue;
      add(Obstacle::kTaint, 0, candidate, [&] {
        const std::string rules =
            scene_.taint_rules == nullptr
                ? ""
                : rules_of(*scene_.taint_rules, *candidate.slice, *candidate.device, taint);
        return "has the taint " + taint.key + (taint.value.empty() ? "" : "=" + taint.value) + ":" +
               taint.effect + (rules.empty() ? "" : " of DeviceTaintRule " + rules) +
               ", which the request does not tolerate";
      });
      return true;
    }
    return false;
  }

  template <class Words>
  void add(Obstacle obstacle, size_t nearness, const Candidate& candidate, Words words) {
    ObstacleGroup& group = kinds_[obstacle];
    if (group.devices++ == 0 || nearness > nearest_[obstacle]) {
      nearest_[obstacle] = nearness;
      group.obstacle = obstacle;
      group.what = words();
      group.device = describe(candidate.id());
    }
  }

  const Scene& scene_;
  const Claim& claim_;
  const RequestGroup& group_;
  const Request& request_;
  const DeviceClass* class_ = nullptr;
  RequestView out_;
  std::map<Obstacle, ObstacleGroup> kinds_;
  std::map<Obstacle, size_t> nearest_;
  size_t asked_ = 0;
};

}  // namespace

std::vector<RequestView> view_requests(const Scene& scene) {
  std::vector<RequestView> out;
  for (const Claim& claim : scene.claims)
    for (const RequestGroup& group : claim.requests)
      for (const Request& request : group.alternatives)
        out.push_back(Viewing(scene, claim, group, request).run());
  return out;
}

}  // namespace sliced::why
