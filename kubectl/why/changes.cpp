#include "kubectl/why/changes.h"

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

#include "kubectl/why/users.h"
#include "reactor/base/text.h"

namespace sliced::why {
namespace {

constexpr size_t kChangesMax = 512;  // limit of tried changes; beyond it the result is unknown

std::string in_words(const kube::Taint& taint) {
  return taint.key + (taint.value.empty() ? "" : "=" + taint.value) + ":" + taint.effect;
}

// Each request or alternative of that name.
kube::Quantity quantity_of(Amount amount) { return kube::Quantity::decode(describe(amount)).value_or({}); }

template <class Visit>
void for_request(Scene& scene, const Change& change, Visit visit) {
  for (Claim& claim : scene.claims)
    if (claim.id() == change.claim)
      for (RequestGroup& group : claim.requests)
        for (Request& request : group.alternatives)
          if (request_id(group, request) == change.request) visit(request);
}

const Request* find_request(const Scene& scene, const Change& change) {
  for (const Claim& claim : scene.claims)
    if (claim.id() == change.claim)
      for (const RequestGroup& group : claim.requests)
        for (const Request& request : group.alternatives)
          if (request_id(group, request) == change.request) return &request;
  return nullptr;
}

// Collects all changes that might help.
class Candidates {
 public:
  Candidates(const Scene& scene, const std::vector<RequestView>& views) : scene_(scene), views_(views) {}

  std::vector<Change> run() {
    add_pools();
    add_holders();
    for (const Claim& claim : scene_.claims) {
      for (size_t i = 0; i < claim.constraints.size(); ++i)
        out_.push_back({.asks = ChangeKind::kNoConstraint, .claim = claim.id(), .index = i});
      for (const RequestGroup& group : claim.requests) {
        for (const Request& request : group.alternatives) add_request(claim, group, request);
        out_.push_back({.asks = ChangeKind::kNoRequest, .claim = claim.id(), .request = group.name});
      }
    }
    std::stable_sort(out_.begin(), out_.end(),
                     [](const Change& a, const Change& b) { return a.asks < b.asks; });
    return std::move(out_);
  }

 private:
  void add_pools() {
    Change change{.asks = ChangeKind::kCompletePools};
    for (const Pool& pool : *scene_.pools)
      if (pool.is_incomplete) change.pools.push_back(pool.id);
    if (!change.pools.empty()) out_.push_back(std::move(change));
  }
  void add_holders() {
    const size_t first = out_.size();
    std::set<const Claim*> seen;
    const auto add = [&](const DeviceId& id) {
      const auto found = scene_.held->find(id);
      if (found == scene_.held->end()) return;
      for (const Hold& hold : found->second)
        if (!scene_.released.contains(hold.claim) && seen.insert(hold.claim).second)
          out_.push_back({.asks = ChangeKind::kRelease, .claim = hold.claim->id(), .holder = hold.claim});
    };
    for (const Pool& pool : *scene_.pools) {
      for (const Candidate& one : pool.devices) add(one.id());
      for (const kube::Device* one : pool.elsewhere)
        if (!one->consumes_counters.empty()) add({pool.id.first, pool.id.second, one->name});
    }
    // The elements at the end are removed first below.
    std::stable_sort(out_.begin() + static_cast<std::ptrdiff_t>(first), out_.end(),
                     [](const Change& a, const Change& b) {
                       return release_impact(*a.holder) < release_impact(*b.holder);
                     });
  }
  void add_request(const Claim& claim, const RequestGroup& group, const Request& request) {
    const Change of{.claim = claim.id(), .request = request_id(group, request)};
    const auto add = [&](ChangeKind asks, auto fill) {
      Change change = of;
      change.asks = asks;
      fill(change);
      out_.push_back(std::move(change));
    };
    if (request.source.empty())
      add_taints(request, add);  // a pod cannot tolerate taints for an extended resource
    for (const auto& [key, amount] : request.capacity) {
      // Without the key a device gives its default amount, which may be all. So it is not used where a
      // smaller amount would be sufficient.
      add(has_capacity(key) ? ChangeKind::kLessCapacity : ChangeKind::kNoCapacity,
          [&name = key](Change& change) { change.key = name; });
    }
    for (const RequestView& view : views_)
      if (view.claim == of.claim && view.request == of.request && !request.all && view.free > 0 &&
          static_cast<int64_t>(view.free) < request.count)
        add(ChangeKind::kFewer, [&](Change& change) { change.count = static_cast<int64_t>(view.free); });
    for (size_t i = 0; i < request.selectors.size(); ++i) {
      const auto misread = scene_.misread.find(request.selectors[i]);
      // Results with the right name are unknown before it is corrected.
      const bool is_misread = misread != scene_.misread.end();
      add(is_misread ? ChangeKind::kCorrectSelector : ChangeKind::kNoSelector, [&](Change& change) {
        change.index = i;
        change.fails = !is_misread && fails(request.device_class, {false, i}, of);
        if (is_misread) change.expression = misread->second.corrected;
      });
      if (out_.back().fails) add(ChangeKind::kGuardSelector, [&](Change& change) { change.index = i; });
    }
    const auto of_class = scene_.classes.find(request.device_class);
    if (!classes_.insert(request.device_class).second) return;
    if (of_class == scene_.classes.end())
      out_.push_back({.asks = ChangeKind::kMakeClass, .device_class = request.device_class});
    else
      for (size_t i = 0; i < of_class->second.selectors.size(); ++i) {
        const auto misread = scene_.misread.find(of_class->second.selectors[i]);
        const bool is_misread = misread != scene_.misread.end();
        out_.push_back({.asks = is_misread ? ChangeKind::kCorrectSelector : ChangeKind::kNoClassSelector,
                        .device_class = request.device_class,
                        .index = i,
                        .fails = !is_misread && fails(request.device_class, {true, i}, {}),
                        .expression = is_misread ? misread->second.corrected : ""});
        if (out_.back().fails)
          out_.push_back(
              {.asks = ChangeKind::kGuardSelector, .device_class = request.device_class, .index = i});
      }
  }
  // Returns whether the selector, of the class or of one request, fails.
  bool fails(const std::string& device_class, const std::pair<bool, size_t>& selector,
             const Change& of) const {
    return std::any_of(views_.begin(), views_.end(), [&](const RequestView& view) {
      return view.device_class == device_class && view.failing.contains(selector) &&
             (selector.first || (view.claim == of.claim && view.request == of.request));
    });
  }
  bool has_capacity(const std::string& key) const {
    for (const Pool& pool : *scene_.pools)
      for (const Candidate& one : pool.devices)
        if (one.device->capacity.contains(key)) return true;
    return false;
  }
  template <class Add>
  void add_taints(const Request& request, Add add) {
    std::set<std::tuple<std::string, std::string, std::string>> seen;
    for (const Pool& pool : *scene_.pools)
      for (const Candidate& one : pool.devices)
        for (const kube::Taint& taint : one.device->taints) {
          if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") continue;
          const bool is_tolerated =
              std::any_of(request.tolerations.begin(), request.tolerations.end(),
                          [&](const Toleration& toleration) { return tolerates(toleration, taint); });
          if (is_tolerated || !seen.emplace(taint.key, taint.value, taint.effect).second) continue;
          add(ChangeKind::kTolerate, [&](Change& change) {
            change.taint = taint;
            change.taint_driver = one.slice->common.driver;
            if (scene_.taint_rules != nullptr)
              change.taint_rules = rules_of(*scene_.taint_rules, *one.slice, *one.device, taint);
          });
        }
  }

  const Scene& scene_;
  const std::vector<RequestView>& views_;
  std::set<std::string> classes_;
  std::vector<Change> out_;
};

// The white space makes it another text than an equal selector of another request.
void guard(std::string& expression, Scene& scene) {
  expression += " ";
  scene.guarded.insert(expression);
}

void change_requests(Scene& scene, const Change& change) {
  for_request(scene, change, [&](Request& request) {
    switch (change.asks) {
      case ChangeKind::kTolerate:
        request.tolerations.push_back({change.taint.key, "Equal", change.taint.value, change.taint.effect});
        break;
      case ChangeKind::kLessCapacity:
        if (request.capacity.contains(change.key))
          request.capacity[change.key] = change.most ? quantity_of(*change.most) : kube::Quantity(0);
        break;
      case ChangeKind::kNoCapacity:
        request.capacity.erase(change.key);
        break;
      case ChangeKind::kFewer:
        request.count = change.count;
        break;
      // Indexes of other changes stay valid: `true` selects everything.
      case ChangeKind::kNoSelector:
        request.selectors[change.index] = "true";
        break;
      case ChangeKind::kCorrectSelector:
        request.selectors[change.index] = change.expression;
        break;
      case ChangeKind::kGuardSelector:
        guard(request.selectors[change.index], scene);
        break;
      default:
        break;
    }
  });
}

// The request of a constraint that was removed. No request has this name.
const std::string kNobody = " ";

}  // namespace

UsersState release_impact(const Claim& claim) {
  return claim.users.empty() ? UsersState::kEnding : claim.users_state;
}

Scene with_change(Scene scene, const Change& change, const std::vector<Pool>& whole_pools) {
  switch (change.asks) {
    case ChangeKind::kCompletePools:
      scene.pools = &whole_pools;
      break;
    case ChangeKind::kRelease:
      scene.released.insert(change.holder);
      break;
    case ChangeKind::kNoConstraint:
      for (Claim& claim : scene.claims)
        if (claim.id() == change.claim) claim.constraints[change.index].requests = {kNobody};
      break;
    case ChangeKind::kCorrectSelector:
      if (change.device_class.empty())
        change_requests(scene, change);
      else
        scene.classes.at(change.device_class).selectors[change.index] = change.expression;
      break;
    case ChangeKind::kGuardSelector:
      if (change.device_class.empty())
        change_requests(scene, change);
      else
        guard(scene.classes.at(change.device_class).selectors[change.index], scene);
      break;
    case ChangeKind::kNoClassSelector:
      scene.classes.at(change.device_class).selectors[change.index] = "true";
      break;
    case ChangeKind::kMakeClass:
      scene.classes[change.device_class].name = change.device_class;
      break;
    case ChangeKind::kNoRequest:
      for (Claim& claim : scene.claims)
        if (claim.id() == change.claim)
          std::erase_if(claim.requests,
                        [&](const RequestGroup& group) { return group.name == change.request; });
      break;
    default:
      change_requests(scene, change);
  }
  return scene;
}

namespace {

constexpr size_t kAmountsMax = 8;  // that are tried of a capacity

// Amounts of a capacity that are as much as a device gives, or has left, largest first.
std::vector<Amount> amounts_of(const Scene& scene, const std::string& key) {
  std::set<Amount, std::greater<>> found;
  for (const Pool& pool : *scene.pools)
    for (const Candidate& one : pool.devices) {
      const auto capacity = one.device->capacity.find(key);
      if (capacity == one.device->capacity.end()) continue;
      const Amount most = most_of(capacity->second, scene.features.fractional_range);
      const Use use = use_of(one.id(), *scene.held, scene.released);
      const auto used = use.amounts.find(key);
      const Amount left = used == use.amounts.end() ? most : capacity->second.value.nanos() - used->second;
      for (const Amount amount : {most, std::min(most, left)})
        if (amount > 0) found.insert(amount);
    }
  std::vector<Amount> out(found.begin(), found.end());
  if (out.size() > kAmountsMax) out.resize(kAmountsMax);
  return out;
}

// For changes that lower a requested capacity: the largest amount that is enough, while the other changes
// stay.
template <class FoundWith>
void find_amounts(const Scene& scene, std::vector<Change>& changes, const FoundWith& found_with) {
  for (Change& change : changes) {
    if (change.asks != ChangeKind::kLessCapacity) continue;
    for (const Amount amount : amounts_of(scene, change.key)) {
      change.most = amount;
      if (found_with(changes) == SearchResult::kYes) break;
      change.most.reset();
    }
  }
}

}  // namespace

Changes find_changes(const Scene& scene, const std::vector<Pool>& whole_pools,
                     const std::vector<RequestView>& views, uint64_t tries_max) {
  Changes out;
  out.all = Candidates(scene, views).run();
  if (out.all.size() > kChangesMax) return {.is_known = false};
  const auto found_with = [&](const std::vector<Change>& changes) {
    Scene changed = scene;
    for (const Change& change : changes) changed = with_change(std::move(changed), change, whole_pools);
    return search(changed, tries_max).found;
  };
  for (const Change& change : out.all)
    if (change.asks == ChangeKind::kGuardSelector)
      if (const SearchResult found = found_with({change});
          found == SearchResult::kYes || found == SearchResult::kNo)
        out.guards.push_back(change);
  if (found_with(out.all) != SearchResult::kYes) return {.is_known = false, .guards = std::move(out.guards)};
  for (const Change& change : out.all)
    if (change.asks != ChangeKind::kNoRequest && found_with({change}) == SearchResult::kYes)
      out.alone.push_back(change);
  // A selector that needs only a guard is not loosened.
  const std::vector<Change> alone = out.alone;
  std::erase_if(out.alone, [&](const Change& change) {
    return change.fails && std::ranges::any_of(alone, [&](const Change& one) {
             return one.asks == ChangeKind::kGuardSelector && one.claim == change.claim &&
                    one.request == change.request && one.device_class == change.device_class &&
                    one.index == change.index;
           });
  });
  // Changes with the most effort are removed first, so that the remaining ones need little. Repeated while it
  // has an effect: with "all devices", a removal may make an earlier change unnecessary.
  for (size_t before = 0; before != out.all.size();) {
    before = out.all.size();
    for (size_t i = out.all.size(); i-- > 0;) {
      std::vector<Change> fewer = out.all;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (found_with(fewer) == SearchResult::kYes) out.all = std::move(fewer);
    }
  }
  find_amounts(scene, out.all, found_with);
  for (Change& change : out.alone) {
    std::vector<Change> only = {change};
    find_amounts(scene, only, found_with);
    change = only.front();
  }
  return out;
}

std::string_view name_of(ChangeKind asks) {
  switch (asks) {
    case ChangeKind::kCompletePools:
      return "complete-pools";
    case ChangeKind::kCorrectSelector:
      return "correct-selector";
    case ChangeKind::kGuardSelector:
      return "guard-selector";
    case ChangeKind::kRelease:
      return "release";
    case ChangeKind::kTolerate:
      return "tolerate";
    case ChangeKind::kLessCapacity:
      return "less-capacity";
    case ChangeKind::kNoCapacity:
      return "no-capacity";
    case ChangeKind::kNoConstraint:
      return "no-constraint";
    case ChangeKind::kFewer:
      return "fewer";
    case ChangeKind::kNoSelector:
      return "no-selector";
    case ChangeKind::kNoClassSelector:
      return "no-class-selector";
    case ChangeKind::kMakeClass:
      return "make-class";
    case ChangeKind::kNoRequest:
      return "no-request";
  }
  return "";
}

std::string release_text(const Claim& claim) {
  std::string out;
  size_t more = 0, pods = 0;
  for (const std::string& user : claim.users) {
    if (out.size() > 200) {
      ++more;
      continue;
    }
    const bool is_pod = user.find('/') == std::string::npos;
    pods += is_pod;
    out += (out.empty() ? "" : ", ") + (is_pod ? claim.namespace_ + "/" : "") + user;
  }
  if (claim.users.empty()) return "delete claim " + claim.id() + ", which no pod uses";
  const std::string note = claim.users_note.empty() ? "" : " and " + claim.users_note;
  if (claim.users_note == kPodIsGone && claim.users.size() == 1)
    return "wait for the release of claim " + claim.id() + ", whose pod " + out + " does not exist any more";
  if (claim.users_note == kBeingDeleted && claim.users.size() == 1)
    return "wait for the end of pod " + out + ", which has claim " + claim.id() + note;
  const bool is_all_pods = pods == claim.users.size() - more;
  return "delete " +
         std::string(!is_all_pods              ? ""
                     : claim.users.size() == 1 ? "pod "
                                               : "pods ") +
         out + (more > 0 ? " and " + std::to_string(more) + " more" : "") + ", which " +
         (claim.users.size() == 1 ? "has" : "have") + " claim " + claim.id() +
         (claim.users.size() == 1 ? note : "");
}

namespace {
std::string guard_text(const Change& change, const std::string& whose) {
  return "guard selectors[" + std::to_string(change.index) + "] of " + whose +
         " against attributes that a device lacks, by has() or .? and orValue()";
}
// Returns the component that can offer devices of the class, as text: a policy, if the class selects one of
// sliced's drivers.
std::string offerer(const Scene& scene, const std::string& device_class) {
  for (const std::string& selector : scene.classes.at(device_class).selectors)
    if (const std::string driver = compared_driver(selector);
        !driver.empty() && !scene.drivers.empty() && !scene.drivers.contains(driver))
      return "have driver " + driver;
  return "have a policy";
}

}  // namespace

std::string describe(const Change& change, const Scene& scene) {
  const Request* request = find_request(scene, change);
  const bool is_extended = request != nullptr && !request->source.empty();
  const std::string whose =
      is_extended ? request->source : "request " + change.request + " of claim " + change.claim;
  switch (change.asks) {
    case ChangeKind::kCompletePools: {
      std::vector<std::string> names;
      for (const PoolId& pool : change.pools) names.push_back(pool.first + "/" + pool.second);
      return "complete the pools with missing slices: " + join(names, ", ") +
             " (if their driver does not soon, restart it)";
    }
    case ChangeKind::kCorrectSelector: {
      const std::string& expression = change.device_class.empty()
                                          ? request->selectors[change.index]
                                          : scene.classes.at(change.device_class).selectors[change.index];
      const Misread& misread = scene.misread.at(expression);
      return "correct selectors[" + std::to_string(change.index) + "] of " +
             (change.device_class.empty() ? whose : "DeviceClass " + change.device_class) + ": " +
             misread.right + ", not " + misread.wrong;
    }
    case ChangeKind::kRelease:
      return release_text(*change.holder);
    case ChangeKind::kTolerate:
      return (change.taint_rules.empty() ? "have driver " + change.taint_driver +
                                               " take away the device taint " + in_words(change.taint)
                                         : "delete DeviceTaintRule " + change.taint_rules +
                                               " with its device taint " + in_words(change.taint)) +
             ", or let " + whose + " tolerate it";
    case ChangeKind::kLessCapacity:
      return "let " + whose + " ask for " +
             (change.most ? "at most " + describe(*change.most) + ", and not for "
                          : std::string("less than ")) +
             request->capacity.at(change.key).text() + " of " + change.key;
    case ChangeKind::kNoCapacity:
      return "let " + whose + " not ask for capacity " + change.key;
    case ChangeKind::kNoConstraint:
      for (const Claim& claim : scene.claims)
        if (claim.id() == change.claim) {
          const Constraint& constraint = claim.constraints[change.index];
          return "loosen constraints[" + std::to_string(change.index) + "] of claim " + change.claim + " (" +
                 (constraint.is_distinct ? "distinctAttribute " : "matchAttribute ") + constraint.attribute +
                 ")";
        }
      return "";
    case ChangeKind::kFewer:
      if (is_extended) return whose + ": ask for " + std::to_string(request->count - change.count) + " fewer";
      return "let " + whose + " ask for " + std::to_string(change.count) + " and not for " +
             std::to_string(request->count);
    case ChangeKind::kGuardSelector:
      return guard_text(change, change.device_class.empty() ? whose : "DeviceClass " + change.device_class);
    case ChangeKind::kNoSelector:
      return "loosen selectors[" + std::to_string(change.index) + "] of " + whose +
             (change.fails
                  ? " (it fails on devices without an attribute; with a guard, has() or .? and orValue(), "
                    "no device matches)"
                  : "") +
             ": " + request->selectors[change.index];
    case ChangeKind::kNoClassSelector:
      return offerer(scene, change.device_class) + " offer devices that DeviceClass " + change.device_class +
             " selects, or ask for another DeviceClass: selectors[" + std::to_string(change.index) + "] is " +
             scene.classes.at(change.device_class).selectors[change.index];
    case ChangeKind::kMakeClass:
      return "create DeviceClass " + change.device_class;
    case ChangeKind::kNoRequest:
      for (const Claim& claim : scene.claims)
        for (const RequestGroup& group : claim.requests)
          if (claim.id() == change.claim && group.name == change.request && !group.alternatives.empty() &&
              !group.alternatives.front().source.empty())
            return "have more devices offered here for \"" + group.alternatives.front().source +
                   "\": no other change makes room for it";
      return "have more devices offered here for " + whose + ": no other change makes room for it";
  }
  return "";
}

}  // namespace sliced::why
