#include "kubectl/why/why.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kubectl/why/extended.h"
#include "kubectl/why/misread.h"
#include "reactor/base/first_few.h"
#include "reactor/base/text.h"

namespace sliced::why {
namespace {

constexpr size_t kAdviceMax = 3, kHintsMax = 5;
// Limit of nodes for which sufficient changes are computed; nodes that keep the pod away are included in
// small clusters only.
constexpr size_t kDetailedMax = 500;
constexpr size_t kUsersMax = 256;  // ResourceClaimReservedForMaxSize

bool is_waiting(const Claim& claim) { return !claim.allocation; }

// Collects the pod's claims, including those that will be created.
class Gathering {
 public:
  Gathering(const Cluster& cluster, Answer& out) : cluster_(cluster), out_(out) {}

  void add(const Pod& pod, const PodClaim& one) {
    if (!one.claim.empty()) {
      if (const Claim* claim = find(cluster_.claims, pod.namespace_, one.claim))
        return out_.claims.push_back(*claim);
      if (cluster_.denied.contains("resourceclaims")) return;
      std::vector<std::string_view> names;
      for (const Claim& claim : cluster_.claims)
        if (claim.namespace_ == pod.namespace_) names.push_back(claim.name);
      const std::string near = one.template_.empty() ? nearest(one.claim, names) : "";
      return out_.everywhere.push_back("there is no ResourceClaim " + pod.namespace_ + "/" + one.claim +
                                       ", which the pod names" +
                                       (near.empty() ? "" : "; did you mean " + near + "?"));
    }
    const Claim* found = find(cluster_.templates, pod.namespace_, one.template_);
    if (found == nullptr && cluster_.denied.contains("resourceclaimtemplates")) return;
    if (found == nullptr) {
      const std::string near =
          nearest(one.template_, {cluster_.template_names.begin(), cluster_.template_names.end()});
      return out_.everywhere.push_back("there is no ResourceClaimTemplate " + pod.namespace_ + "/" +
                                       one.template_ + ", which the pod names" +
                                       (near.empty() ? "" : "; did you mean " + near + "?"));
    }
    out_.everywhere.push_back("no ResourceClaim has been created from ResourceClaimTemplate " +
                              pod.namespace_ + "/" + one.template_ +
                              " yet: see the log of kube-controller-manager, which creates it");
    out_.claims.push_back(*found);
    out_.claims.back().name = pod.name + "-" + one.name;
  }
  // Adds the pod's extended resources that a node may leave to DeviceClasses.
  void add_extended(const Pod& pod) {
    const auto is_it = [&](const Claim& one) {
      return one.name == pod.extended_claim && one.namespace_ == pod.namespace_;
    };
    if (!pod.node_name.empty()) {
      const auto made = std::find_if(cluster_.claims.begin(), cluster_.claims.end(), is_it);
      if (made != cluster_.claims.end()) out_.claims.push_back(*made);
      return;
    }
    if (!cluster_.features.extended_resources) return;
    std::set<std::string> resources;
    for (const auto& [resource, count] : extended_requests(pod)) resources.insert(resource);
    Claim claim = extended_claim(pod, resources, ResourceClasses(cluster_.classes));
    if (!claim.requests.empty()) out_.claims.push_back(std::move(claim));
  }
  void add_classes() {
    for (const Claim& claim : out_.claims)
      for (const RequestGroup& group : claim.requests)
        for (const Request& request : group.alternatives) add_class(claim, group, request);
  }

 private:
  static const Claim* find(const std::vector<Claim>& claims, const std::string& namespace_,
                           const std::string& name) {
    const auto at = std::find_if(claims.begin(), claims.end(), [&](const Claim& claim) {
      return claim.name == name && claim.namespace_ == namespace_;
    });
    return at == claims.end() ? nullptr : &*at;
  }
  void add_class(const Claim& claim, const RequestGroup& group, const Request& request) {
    const auto is_it = [&](const DeviceClass& one) { return one.name == request.device_class; };
    if (std::any_of(out_.classes.begin(), out_.classes.end(), is_it)) return;
    const auto found = std::find_if(cluster_.classes.begin(), cluster_.classes.end(), is_it);
    if (found != cluster_.classes.end()) {
      for (const std::string& what : found->unknown)
        out_.unsure.push_back("DeviceClass " + found->name + ": " + what +
                              ", which this version does not know");
      return out_.classes.push_back(*found);
    }
    if (!is_waiting(claim) || cluster_.denied.contains("deviceclasses")) return;
    std::vector<std::string_view> names;
    for (const DeviceClass& one : cluster_.classes) names.push_back(one.name);
    const std::string near = nearest(request.device_class, names);
    std::string line = "there is no DeviceClass " + request.device_class + ", which request " +
                       request_id(group, request) + " of claim " + claim.id() + " names" +
                       (near.empty() ? "" : "; did you mean " + near + "?");
    const bool is_said =
        std::find(out_.everywhere.begin(), out_.everywhere.end(), line) != out_.everywhere.end();
    if (!is_said) out_.everywhere.push_back(std::move(line));
  }

  const Cluster& cluster_;
  Answer& out_;
};

// "2 x "ens1f0", 4 x "ens1f1"".
std::string values_text(const std::map<std::string, size_t>& values) {
  constexpr size_t kShownMax = 6;
  std::vector<std::string> parts;
  for (const auto& [value, devices] : values)
    if (parts.size() < kShownMax) parts.push_back(std::to_string(devices) + " x " + value);
  return join(parts, ", ") +
         (values.size() > kShownMax ? " " + and_more(values.size() - kShownMax, "value") : "");
}

// Returns why the free devices of a constraint's requests cannot meet it; "" if they may. Requests with
// alternatives are skipped: the used alternative is unknown.
std::string clash_of(const Claim& claim, size_t index, const std::vector<RequestView>& views) {
  struct Part {
    const RequestView* view;
    const std::map<std::string, size_t>* values;
    int64_t wanted;
  };
  std::vector<Part> parts;
  for (const RequestView& view : views) {
    if (view.claim != claim.id()) continue;
    const auto values = view.values.find(index);
    if (values == view.values.end()) continue;
    if (view.request.find('/') != std::string::npos || values->second.size() >= kValuesMax) return "";
    const int64_t wanted = view.all ? static_cast<int64_t>(view.matching) : view.wanted;
    if (static_cast<int64_t>(view.free) < wanted) return "";  // it has too little by itself
    parts.push_back({&view, &values->second, wanted});
  }
  if (parts.empty()) return "";
  const Constraint& constraint = claim.constraints[index];
  bool is_met = false;
  std::set<std::string> all;
  int64_t wanted = 0;
  for (const Part& part : parts) {
    wanted += part.wanted;
    for (const auto& [value, devices] : *part.values) all.insert(value);
  }
  if (constraint.is_distinct)
    is_met = static_cast<int64_t>(all.size()) >= wanted;
  else
    is_met = std::any_of(all.begin(), all.end(), [&](const std::string& value) {
      return std::all_of(parts.begin(), parts.end(), [&](const Part& part) {
        const auto found = part.values->find(value);
        return found != part.values->end() && static_cast<int64_t>(found->second) >= part.wanted;
      });
    });
  if (is_met) return "";
  std::vector<std::string> texts;
  for (const Part& part : parts)
    texts.push_back("request " + part.view->request + " asks for " + std::to_string(part.wanted) +
                    " and has " + values_text(*part.values));
  return "constraints[" + std::to_string(index) + "] of claim " + claim.id() + ", " +
         (constraint.is_distinct ? "distinctAttribute " : "matchAttribute ") + constraint.attribute + ": " +
         join(texts, "; ") +
         (constraint.is_distinct ? "; that is " + std::to_string(all.size()) + " values for " +
                                       std::to_string(wanted) + " devices"
                                 : "; no value has enough devices for all of them");
}

// One node after the other.
class Asking {
 public:
  Asking(const Cluster& cluster, Answer& out)
      : cluster_(cluster),
        out_(out),
        is_small_(cluster.nodes.size() <= kDetailedMax),
        index_(out.slices),
        held_(held_by(cluster.claims, cluster.features)),
        resource_classes_(cluster.classes),
        selectors_(cluster.effort_max) {
    scene_.held = &held_;
    scene_.selectors = &selectors_;
    if (cluster.features.taint_rules) scene_.taint_rules = &cluster.taint_rules;
    scene_.features = cluster.features;
    for (const DeviceClass& one : out.classes) scene_.classes[one.name] = one;
    scene_.drivers = cluster.drivers;
    for (const Claim& claim : out.claims)
      if (is_waiting(claim) && !claim.is_extended) scene_.claims.push_back(claim);
    if (out.pod) extended_ = extended_requests(*out.pod);
    find_misread();
  }

  NodeAnswer ask(const Node& node) {
    NodeAnswer out;
    out.name = node.view.name;
    if (out_.pod && node.is_known) out.kept_away = scheduling_obstacle(*out_.pod, node);
    for (const Claim& claim : out_.claims)
      if (node.is_known && claim.allocation && claim.allocation->nodes &&
          !kube::match_node(*claim.allocation->nodes, node.view).matched) {
        out.elsewhere.push_back({claim.id(), others_text(claim)});
        if (out.kept_away.empty())
          out.kept_away = "claim " + claim.id() + " is allocated, for other nodes" + others_text(claim);
      }
    Scene scene = scene_;
    const std::string by_plugin = ask_extended(node, scene, out);
    if (selectors_.is_spent()) return not_looked_at(std::move(out));
    const std::vector<Pool> pools = gather_pools(index_, node.view, scene_.features);
    scene.pools = &pools;
    Outcome outcome = search(scene);
    out.found = outcome.found;
    out.error = std::move(outcome.error);
    out.picks = std::move(outcome.picks);
    tell_of_pools(pools, out);
    if (selectors_.is_spent()) return not_looked_at(std::move(out));
    out.requests = view_requests(scene);
    if (out.found == SearchResult::kNo) find_clashes(scene, out);
    if (out.found == SearchResult::kNo) find_exclusion(scene, out);
    if (out.found == SearchResult::kNo || out.found == SearchResult::kError) count_classes(scene, out);
    if (out.found == SearchResult::kNo || out.found == SearchResult::kError) {
      const bool is_looked_into = out.kept_away.empty() || is_small_;
      if (detailed_ < kDetailedMax && is_looked_into && !selectors_.is_half_spent())
        ++detailed_, find_what_helps(node, scene, out);
      else
        out.changes.is_known = false;
    }
    if (selectors_.is_spent()) return not_looked_at(std::move(out));
    selectors_.forget();
    if (out.found == SearchResult::kYes && !by_plugin.empty()) {
      out.found = SearchResult::kUnsure;
      out.unsure = by_plugin;
    }
    return out;
  }
  /// Nodes that were skipped for lack of budget.
  size_t not_looked_at() const { return not_looked_at_; }

  /// For requests without a match on the nodes to which the pod may go.
  std::vector<Answer::Slip> slips() const {
    std::vector<Answer::Slip> out;
    for (const Claim& claim : out_.claims) {
      if (!is_waiting(claim)) continue;
      for (const RequestGroup& group : claim.requests)
        for (const Request& request : group.alternatives) {
          const std::string id = request_id(group, request);
          if (is_matched(claim.id(), id)) continue;
          const auto of = scene_.classes.find(request.device_class);
          if (of != scene_.classes.end())
            add_slips(claim.id() + ", " + id, "DeviceClass " + request.device_class, of->second.selectors,
                      out);
          add_slips(claim.id() + ", " + id, "request " + id, request.selectors, out);
        }
    }
    return out;
  }

 private:
  void find_misread() {
    const DeviceNames names(out_.slices, cluster_.publishable, cluster_.drivers);
    const auto add = [&](const std::vector<std::string>& selectors) {
      for (const std::string& one : selectors)
        if (auto misread = names.find(one, selectors_)) scene_.misread.emplace(one, *std::move(misread));
    };
    for (const auto& [name, of] : scene_.classes) add(of.selectors);
    for (const Claim& claim : scene_.claims)
      for (const RequestGroup& group : claim.requests)
        for (const Request& request : group.alternatives) add(request.selectors);
  }
  bool is_matched(const std::string& claim, const std::string& request) const {
    return std::any_of(out_.nodes.begin(), out_.nodes.end(), [&](const NodeAnswer& node) {
      return node.kept_away.empty() &&
             std::any_of(node.requests.begin(), node.requests.end(), [&](const RequestView& view) {
               return view.claim == claim && view.request == request && view.matching > 0;
             });
    });
  }
  void add_slips(const std::string& request, const std::string& whose,
                 const std::vector<std::string>& selectors, std::vector<Answer::Slip>& out) const {
    for (size_t i = 0; i < selectors.size(); ++i)
      if (const auto found = scene_.misread.find(selectors[i]); found != scene_.misread.end())
        out.push_back({request, found->second.wrong,
                       "selectors[" + std::to_string(i) + "] of " + whose + " " + found->second.text()});
  }
  // The scheduler itself deallocates a claim that no other pod uses.
  std::string others_text(Claim claim) const {
    if (!out_.pod) return "";
    std::erase(claim.users, out_.pod->name);
    return claim.users.empty() ? "" : "; to have it allocated again, " + release_text(claim);
  }
  // A partial answer is dropped: without budget all expressions return no.
  NodeAnswer not_looked_at(NodeAnswer half) {
    ++not_looked_at_;
    NodeAnswer out;
    out.name = std::move(half.name);
    out.kept_away = std::move(half.kept_away);
    out.found = SearchResult::kUnsure;
    out.changes.is_known = false;
    return out;
  }
  // Extended resources on this node: those without a device plugin are a claim's, by a DeviceClass. Returns
  // why it is unknown whether device plugins have enough; "" if it does not matter.
  std::string ask_extended(const Node& node, Scene& scene, NodeAnswer& out) const {
    std::set<std::string> by_class;
    std::string by_plugin;
    for (const auto& [resource, count] : extended_) {
      const DeviceClass* of = resource_classes_.find(resource);
      const auto found = node.extended.find(resource);
      const int64_t there = found == node.extended.end() ? 0 : found->second;
      if (of != nullptr && scene.features.extended_resources && there == 0) {
        by_class.insert(resource);
        continue;
      }
      if (there >= count) {
        by_plugin = "a device plugin of the node provides " + std::to_string(there) + " of " + resource +
                    "; how many of them pods use is not read";
        continue;
      }
      if (!out.kept_away.empty()) continue;
      if (!node.is_known || cluster_.denied.contains("deviceclasses")) {
        by_plugin = "who provides " + resource + " is not known";
        continue;
      }
      if (found != node.extended.end())
        out.kept_away = "the pod asks for " + std::to_string(count) + " of " + resource +
                        ", and the node's device plugin provides " + std::to_string(there);
      else if (of != nullptr)
        out.kept_away = "no device plugin of the node provides " + resource + "; DeviceClass " + of->name +
                        " provides it from Kubernetes 1.36 on";
      else
        out.kept_away = "neither a DeviceClass nor a device plugin of the node provides " + resource +
                        similar_resource(node, resource);
    }
    if (!by_class.empty()) scene.claims.push_back(extended_claim(*out_.pod, by_class, resource_classes_));
    return by_plugin;
  }
  // Returns "; did you mean example.com/vf?"; "" without a similar name.
  std::string similar_resource(const Node& node, const std::string& resource) const {
    std::vector<std::string_view> names;
    for (const DeviceClass& one : cluster_.classes)
      if (!one.extended_resource.empty()) names.push_back(one.extended_resource);
    for (const auto& [name, count] : node.extended)
      if (count > 0) names.push_back(name);
    const std::string found = nearest(resource, names);
    return found.empty() ? "" : "; did you mean " + found + "?";
  }
  static void tell_of_pools(const std::vector<Pool>& pools, NodeAnswer& out) {
    for (const Pool& pool : pools) {
      const std::string name = "pool " + pool.id.first + "/" + pool.id.second;
      if (pool.is_incomplete)
        out.pools.push_back(name + " is not complete: " + std::to_string(pool.slices_here) + " of its " +
                            std::to_string(pool.slices_wanted) + " slices of generation " +
                            std::to_string(pool.generation) + " are there");
      else if (!pool.invalid.empty())
        out.pools.push_back(name + " is not valid: " + pool.invalid);
    }
  }
  void find_what_helps(const Node& node, const Scene& scene, NodeAnswer& out) {
    std::vector<Pool> whole = *scene.pools;
    if (std::any_of(whole.begin(), whole.end(), [](const Pool& pool) { return pool.is_incomplete; }))
      whole = gather_pools(index_, node.view, scene_.features, /*as_if_complete=*/true);
    out.changes = find_changes(scene, whole, out.requests);
    for (const Change& change : out.changes.all) out.changes_text.push_back(describe(change, scene));
    for (const Change& change : out.changes.alone) out.alone_text.push_back(describe(change, scene));
    for (const Change& change : out.changes.guards) out.guards_text.push_back(describe(change, scene));
  }

  // Finds constraints across requests that fail although each request alone has enough devices.
  static void find_clashes(const Scene& scene, NodeAnswer& out) {
    for (const Claim& claim : scene.claims)
      for (size_t i = 0; i < claim.constraints.size(); ++i)
        if (std::string clash = clash_of(claim, i, out.requests); !clash.empty())
          out.clashes.push_back(std::move(clash));
  }

  // Finds the shared counter without which the claims could be allocated here.
  void find_exclusion(const Scene& scene, NodeAnswer& out) {
    if (!out.clashes.empty() || selectors_.is_half_spent() || !lacking_requests(out).empty()) return;
    Scene without = scene;
    without.ignores_counters_of_picks = true;
    const Outcome outcome = search(without);
    if (outcome.found != SearchResult::kYes) return;
    for (const Pool& pool : *scene.pools) {
      std::set<std::string_view> picked;
      for (const Pick& pick : outcome.picks)
        if (pick.device.driver == pool.id.first && pick.device.pool == pool.id.second)
          picked.insert(pick.device.device);
      if (out.exclusion = exclusion_of(scene, pool, picked); !out.exclusion.empty()) return;
    }
  }
  // Returns the first counter of the pool of which the devices consume more than allocated devices leave, as a
  // text; "" if none. Each of the devices alone has enough of it.
  static std::string exclusion_of(const Scene& scene, const Pool& pool,
                                  const std::set<std::string_view>& devices) {
    struct Consumption {
      Amount used = 0, sum = 0;  // by allocated devices, by the others of `devices`
      std::vector<std::string> devices;
    };
    std::map<std::pair<std::string_view, std::string_view>, Consumption> consumed;  // by set and counter
    const auto add = [&](const kube::Device& device, bool is_picked) {
      // A shared device consumes once, for its first share.
      const bool is_used =
          use_of({pool.id.first, pool.id.second, device.name}, *scene.held, scene.released).is_any();
      if (!is_used && !is_picked) return;
      for (const kube::CounterConsumption& set : device.consumes_counters)
        for (const auto& [name, amount] : set.counters) {
          Consumption& of = consumed[{set.counter_set, name}];
          (is_used ? of.used : of.sum) += amount.nanos();
          if (!is_used) of.devices.push_back(device.name);
        }
    };
    for (const Candidate& one : pool.devices) add(*one.device, devices.contains(one.device->name));
    for (const kube::Device* one : pool.elsewhere) add(*one, false);
    for (const auto& [counter, of] : consumed) {
      const auto set = pool.counter_sets.find(counter.first);
      if (of.devices.size() < 2 || set == pool.counter_sets.end()) continue;
      const auto amount = set->second->find(std::string(counter.second));
      if (amount == set->second->end()) continue;
      const Amount total = amount->second.nanos();
      if (of.used + of.sum <= total) continue;
      return "devices " + names_of(of.devices) + " of pool " + pool.id.first + "/" + pool.id.second +
             " exclude each other: they consume " + describe(of.sum) + " of counter " +
             std::string(counter.first) + "/" + std::string(counter.second) + ", which has " +
             describe(total) + (of.used > 0 ? ", and " + describe(total - of.used) + " of it is left" : "");
    }
    return "";
  }
  // "a, b and c"; "a, b, c and 5 more".
  static std::string names_of(std::vector<std::string> names) {
    constexpr size_t kNamesMax = 4;
    const size_t count = names.size();
    std::string last = " and " + names.back();
    names.pop_back();
    if (count > kNamesMax) {
      names.resize(kNamesMax - 1);
      last = " and " + std::to_string(count - names.size()) + " more";
    }
    return join(names, ", ") + last;
  }

  // Counts the classes that match, for requests without a match on this node.
  void count_classes(const Scene& scene, const NodeAnswer& node) {
    for (const Claim& claim : scene.claims)
      for (const RequestGroup& group : claim.requests)
        for (const Request& request : group.alternatives) {
          const std::string id = request_id(group, request);
          const auto view = std::find_if(node.requests.begin(), node.requests.end(), [&](const auto& one) {
            return one.claim == claim.id() && one.request == id;
          });
          if (view == node.requests.end() || view->matching > 0) continue;
          for (const DeviceClass& one : cluster_.classes)
            if (one.name != request.device_class)
              count_class(scene, claim.id() + ", request " + id, request, one);
        }
  }
  void count_class(const Scene& scene, const std::string& whose, const Request& request,
                   const DeviceClass& of) {
    const auto takes = [&](const std::vector<std::string>& selectors, const Candidate& candidate) {
      return std::all_of(selectors.begin(), selectors.end(), [&](const std::string& one) {
        return selectors_.ask(one, candidate) == SelectorResult::kYes;
      });
    };
    for (const Pool& pool : *scene.pools) {
      if (!pool.is_usable()) continue;
      for (const Candidate& one : pool.devices) {
        if (selectors_.is_half_spent()) return;
        if (one.is_here && takes(of.selectors, one) && takes(request.selectors, one))
          fitting_[whose][of.name].insert(one.device);
      }
    }
  }

 public:
  /// Returns lines with the classes that match devices, for requests without a match on any node.
  std::vector<std::string> hints() const {
    std::vector<std::string> out;
    for (const auto& [whose, classes] : fitting_) {
      const bool is_matched = std::any_of(out_.nodes.begin(), out_.nodes.end(), [&](const NodeAnswer& node) {
        return std::any_of(node.requests.begin(), node.requests.end(), [&](const RequestView& view) {
          return view.claim + ", request " + view.request == whose && view.matching > 0;
        });
      });
      if (is_matched) continue;
      std::vector<std::pair<size_t, std::string>> sorted;
      for (const auto& [name, devices] : classes) sorted.emplace_back(devices.size(), name);
      std::stable_sort(sorted.begin(), sorted.end(),
                       [](const auto& a, const auto& b) { return a.first > b.first; });
      std::vector<std::string> parts;
      for (const auto& [devices, name] : sorted)
        if (parts.size() < kHintsMax)
          parts.push_back(name + " (" + std::to_string(devices) + (devices == 1 ? " device)" : " devices)"));
      out.push_back("claim " + whose + ": DeviceClasses that match devices: " + join(parts, ", ") +
                    (sorted.size() > kHintsMax ? " " + and_more(sorted.size() - kHintsMax, "class") : ""));
    }
    return out;
  }

 private:
  const Cluster& cluster_;
  std::map<std::string, std::map<std::string, std::set<const kube::Device*>>> fitting_;
  const Answer& out_;
  const bool is_small_;
  size_t detailed_ = 0, not_looked_at_ = 0;
  const SliceIndex index_;
  const Held held_;
  const ResourceClasses resource_classes_;
  std::map<std::string, int64_t> extended_;
  Selectors selectors_;
  Scene scene_;
};

// The kinds that may not be read, and the consequences.
void judge_denied(const Cluster& cluster, Answer& out) {
  if (cluster.denied.empty()) return;
  std::vector<std::string> missing;
  for (const auto& [kind, permission] : cluster.denied) missing.push_back(permission);
  out.unsure.insert(out.unsure.begin(), "permissions are missing: " + join(missing, ", ") +
                                            "; the ClusterRole sliced-viewer grants them");
  if (out.verdict == Verdict::kCan) out.verdict = Verdict::kUnsure;
  if (out.verdict != Verdict::kPending || !out.everywhere.empty()) return;
  // Without other claims, allocated devices count as free, so too few free devices is still certain. Without
  // Nodes, slices with node selectors match no node.
  const bool is_placed = std::none_of(out.slices.begin(), out.slices.end(), [](const SlicePtr& slice) {
    return slice->is_per_device || slice->where.selector.has_value();
  });
  const bool is_certain =
      !cluster.denied.contains("deviceclasses") && !cluster.denied.contains("resourceslices") &&
      !cluster.denied.contains("resourceclaimtemplates") &&
      (is_placed || !cluster.denied.contains("nodes")) &&
      std::none_of(out.nodes.begin(), out.nodes.end(),
                   [](const NodeAnswer& node) { return node.found == SearchResult::kError; });
  if (!is_certain) out.verdict = Verdict::kUnsure;
}

void judge(Answer& out) {
  bool is_unsure = false;
  for (const NodeAnswer& node : out.nodes) {
    if (node.can_run()) out.verdict = Verdict::kCan;
    is_unsure |= node.kept_away.empty() && node.found == SearchResult::kUnsure;
    if (node.kept_away.empty() && node.found == SearchResult::kError && out.aborted_by.empty())
      out.aborted_by = node.name;
  }
  if (!out.everywhere.empty() || !out.aborted_by.empty()) out.verdict = Verdict::kPending;
  if (out.verdict == Verdict::kPending && is_unsure && out.everywhere.empty() && out.aborted_by.empty())
    out.verdict = Verdict::kUnsure;
}

// Returns whether a device of some node matches the request, so that its selectors are intended.
bool is_matched_anywhere(const Answer& out, const Change& change) {
  return std::any_of(out.nodes.begin(), out.nodes.end(), [&](const NodeAnswer& node) {
    return std::any_of(node.requests.begin(), node.requests.end(), [&](const RequestView& view) {
      return view.claim == change.claim && view.request == change.request && view.matching > 0;
    });
  });
}

// Returns "" if there is nothing to advise: a DeviceClass is shared, and a selector that matches devices is
// right.
std::string advice_of(const Answer& out, const NodeAnswer& node, size_t i) {
  const Change& change = node.changes.alone[i];
  if (change.asks == ChangeKind::kNoClassSelector) return "";
  if (change.asks == ChangeKind::kNoSelector && is_matched_anywhere(out, change)) return "";
  return node.alone_text[i];
}

struct Advice {
  ChangeKind asks;
  UsersState harm;  // of kRelease
  std::string text;
  std::vector<std::string> nodes;  // on which it is enough
};

// Where another node has the devices, a guard that ends the error on each node is enough.
void advise_guards(Answer& out) {
  std::vector<std::string> able;
  std::map<std::string, size_t> nodes_of;  // by text
  size_t errors = 0;
  for (const NodeAnswer& node : out.nodes) {
    if (node.can_run()) able.push_back(node.name);
    if (!node.kept_away.empty() || node.found != SearchResult::kError) continue;
    ++errors;
    for (const std::string& text : node.guards_text) ++nodes_of[text];
  }
  if (able.empty()) return;
  for (const auto& [text, nodes] : nodes_of)
    if (nodes == errors && out.advice.size() < kAdviceMax) out.advice.push_back(advice_text(text, able));
}

// Uses changes that are sufficient alone, on the node with the least effort. Nodes that keep the pod away are
// no reason to change a claim.
void advise(Answer& out) {
  if (out.verdict != Verdict::kPending || !out.everywhere.empty()) return;
  if (!out.aborted_by.empty()) advise_guards(out);
  if (!out.advice.empty()) return;
  for (const bool is_error_only : {true, false}) {
    std::vector<Advice> found;
    std::map<std::string, size_t> places;  // by text
    for (const NodeAnswer& node : out.nodes) {
      if (!node.kept_away.empty()) continue;
      if (is_error_only && node.found != SearchResult::kError) continue;
      if (!is_error_only && !out.aborted_by.empty()) continue;
      for (size_t i = 0; i < node.changes.alone.size(); ++i)
        if (const std::string text = advice_of(out, node, i); !text.empty()) {
          const auto [at, is_new] = places.emplace(text, found.size());
          const Change& change = node.changes.alone[i];
          const bool is_release = change.asks == ChangeKind::kRelease && change.holder != nullptr;
          if (is_new)
            found.push_back(
                {change.asks, is_release ? release_impact(*change.holder) : UsersState::kEnding, text, {}});
          found[at->second].nodes.push_back(node.name);
        }
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
      return std::tuple(a.asks, a.harm) < std::tuple(b.asks, b.harm);
    });
    // A running pod is not suggested for deletion if another one is sufficient.
    const bool is_harmless_enough = std::any_of(found.begin(), found.end(), [](const Advice& one) {
      return one.asks == ChangeKind::kRelease && one.harm != UsersState::kRunning;
    });
    if (is_harmless_enough)
      std::erase_if(found, [](const Advice& one) { return one.harm == UsersState::kRunning; });
    for (Advice& one : found)
      if (out.advice.size() < kAdviceMax) out.advice.push_back(advice_text(one.text, std::move(one.nodes)));
    if (!out.advice.empty()) return;
  }
}

// Returns requests whose DeviceClass is missing and has a misspelled name: the results of their selectors are
// unknown before it is corrected.
std::set<std::string> misnamed_classes(const Answer& out) {
  std::set<std::string> requests;
  for (const Claim& claim : out.claims)
    for (const RequestGroup& group : claim.requests)
      for (const Request& request : group.alternatives) {
        const std::string id = request_id(group, request);
        const std::string line = "there is no DeviceClass " + request.device_class + ", which request " + id +
                                 " of claim " + claim.id() + " names; did you mean ";
        if (std::any_of(out.everywhere.begin(), out.everywhere.end(),
                        [&](const std::string& one) { return one.starts_with(line); }))
          requests.insert(claim.id() + ", " + id);
      }
  return requests;
}

void ask_nodes(const Cluster& cluster, Answer& out) {
  Tainted tainted = cluster.features.taint_rules ? with_taints(cluster.slices, cluster.taint_rules)
                                                 : Tainted{cluster.slices};
  out.slices = std::move(tainted.slices);
  if (tainted.left_out > 0)
    out.unsure.push_back("DeviceTaintRules give devices " + std::to_string(tainted.left_out) +
                         " taints above the limit of this check");
  Asking asking(cluster, out);
  std::vector<const Node*> nodes;
  for (const Node& node : cluster.nodes) nodes.push_back(&node);
  // If Nodes may not be read, those with slices are known by name.
  std::map<std::string, Node> named;
  if (cluster.denied.contains("nodes"))
    for (const SlicePtr& slice : out.slices)
      if (!slice->where.node_name.empty()) {
        Node& node = named[slice->where.node_name];
        node.view.name = slice->where.node_name;
        node.is_known = false;
      }
  for (const auto& [name, node] : named) nodes.push_back(&node);
  std::sort(nodes.begin(), nodes.end(),
            [](const Node* a, const Node* b) { return natural_less(a->view.name, b->view.name); });
  for (const Node* node : nodes) out.nodes.push_back(asking.ask(*node));
  if (const size_t left = asking.not_looked_at(); left > 0)
    out.unsure.push_back(
        std::to_string(left) + " of " + std::to_string(nodes.size()) +
        " nodes were not checked: the time for the expressions and requests of this claim and its "
        "classes is limited");
  for (const std::string& what : cluster.unread) out.unsure.push_back(what);
  if (const size_t more = cluster.unread.more(); more > 0)
    out.unsure.push_back(and_more(more, "object") + " cannot be read");
  for (const Claim& claim : out.claims)
    for (const std::string& what : claim.unknown)
      out.unsure.push_back("claim " + claim.id() + ": " + what + ", which this version does not know");
  if (cluster.nodes.empty() && !cluster.denied.contains("nodes"))
    out.everywhere.push_back("there is no node");
  judge(out);
  judge_denied(cluster, out);
  advise(out);
  if (out.verdict == Verdict::kPending) out.slips = asking.slips();
  drop_selector_changes(misnamed_classes(out), out);
  if (out.verdict == Verdict::kPending) out.hints = asking.hints();
}

void look_at_pod(const Pod& pod, Answer& out) {
  for (const std::string& gate : pod.gates)
    out.everywhere.push_back("the pod has the scheduling gate " + gate +
                             ": the scheduler ignores the pod until it is removed");
  for (const Claim& claim : out.claims)
    if (claim.users.size() >= kUsersMax &&
        std::find(claim.users.begin(), claim.users.end(), pod.name) == claim.users.end())
      out.everywhere.push_back("claim " + claim.id() + " is used by " + std::to_string(claim.users.size()) +
                               " pods, and cannot be used by more");
  for (const Claim& claim : out.claims)
    if (claim.is_deleted)
      out.everywhere.push_back("claim " + claim.id() +
                               " is being deleted, and the scheduler allocates no such claim: " +
                               (claim.users.empty() ? "delete the pod, and create it again"
                                                    : release_text(claim) + ", and then this pod"));
  if (pod.is_deleted) out.everywhere.push_back("the pod is being deleted");
  if (!pod.scheduler.empty() && pod.scheduler != "default-scheduler")
    out.unsure.push_back("the pod's scheduler is " + pod.scheduler + ", which may have rules of its own");
}

bool has_ended(const Pod& pod) { return pod.phase == "Failed" || pod.phase == "Succeeded"; }

// The scheduler and the kubelet ignore it now.
void tell_of_end(const Pod& pod, Answer& out) {
  const bool has_failed = pod.phase == "Failed";
  out.verdict = has_failed ? Verdict::kPending : Verdict::kRuns;
  out.everywhere.clear();
  if (!has_failed) return;
  std::string why = pod.reason;
  if (!pod.message.empty()) why += (why.empty() ? "" : ": ") + pod.message;
  out.everywhere.push_back(
      "it has failed" + (why.empty() ? "" : " (" + why + ")") +
      ", and neither the scheduler nor the kubelet tries it again: delete it, and create "
      "it again where no controller does");
}

// The scheduler ignores a pod with a node, so an unallocated claim of it stays unallocated.
void judge_bound(const Cluster& cluster, const Pod& pod, Answer& out) {
  out.everywhere.clear();
  out.verdict = Verdict::kRuns;
  if (pod.phase != "Pending" && !pod.phase.empty()) return;
  const auto node = std::find_if(cluster.nodes.begin(), cluster.nodes.end(),
                                 [&](const Node& one) { return one.view.name == pod.node_name; });
  const std::string remedy = "delete the pod, and create it again without spec.nodeName";
  for (const Claim& claim : out.claims) {
    if (!claim.allocation)
      out.everywhere.push_back("it is on node " + pod.node_name + ", and its claim " + claim.id() +
                               (claim.is_made ? " is not allocated" : " does not exist yet") +
                               "; the scheduler allocates nothing for a pod that has a node: " + remedy);
    else if (node != cluster.nodes.end() && claim.allocation->nodes &&
             !kube::match_node(*claim.allocation->nodes, node->view).matched)
      out.everywhere.push_back("it is on node " + pod.node_name + ", and its claim " + claim.id() +
                               " is allocated for other nodes: " + remedy);
    else if (claim.users.size() >= kUsersMax &&
             std::find(claim.users.begin(), claim.users.end(), pod.name) == claim.users.end())
      out.everywhere.push_back("it is on node " + pod.node_name + ", and its claim " + claim.id() +
                               " is used by " + std::to_string(claim.users.size()) +
                               " pods, and cannot be used by more");
  }
  if (!out.everywhere.empty()) out.verdict = Verdict::kPending;
}

// The scheduler has allocated them, and waits before it binds the pod.
void tell_of_held(const Cluster& cluster, Answer& out) {
  if (!cluster.features.binding_conditions) return;
  for (const Claim& claim : out.claims) {
    if (!claim.allocation) continue;
    for (const AllocationResult& one : claim.allocation->devices)
      if (!one.held.empty())
        out.everywhere.push_back("the scheduler waits with device " + one.driver + "/" + one.pool + "/" +
                                 one.device + " of claim " + claim.id() + ": " + one.held);
  }
}

template <class T>
void keep(Result<T> decoded, std::vector<T>& into, Cluster& cluster) {
  if (decoded)
    into.push_back(*std::move(decoded));
  else
    cluster.unread.push_back("cannot be read: " + decoded.error().what);
}

}  // namespace

void add_object(const kube::Json& object, const std::string& default_namespace, Cluster& cluster) {
  const std::string_view kind = object.text("kind");
  const auto in_namespace = [&](Result<Claim> claim) {
    if (claim && claim->namespace_.empty()) claim->namespace_ = default_namespace;
    return claim;
  };
  if (kind == "Node") return keep(decode_node(object), cluster.nodes, cluster);
  if (kind == "DeviceTaintRule") return keep(decode_taint_rule(object), cluster.taint_rules, cluster);
  if (kind == "DeviceClass") return keep(decode_device_class(object), cluster.classes, cluster);
  if (kind == "ResourceClaim") return keep(in_namespace(decode_claim(object)), cluster.claims, cluster);
  if (kind == "ResourceClaimTemplate")
    return keep(in_namespace(decode_claim_template(object)), cluster.templates, cluster);
  if (kind != "ResourceSlice") return;
  auto slice = decode_slice(object);
  if (!slice) return cluster.unread.push_back("cannot be read: " + slice.error().what);
  cluster.features.compatibility_groups |= slice->has_compatibility_groups;
  cluster.slices.push_back(std::make_shared<const Slice>(*std::move(slice)));
}

void drop_selector_changes(const std::set<std::string>& requests, Answer& answer) {
  if (requests.empty()) return;
  std::set<std::string> classes;
  for (const Claim& claim : answer.claims)
    for (const RequestGroup& group : claim.requests)
      for (const Request& request : group.alternatives)
        if (requests.contains(claim.id() + ", " + request_id(group, request)))
          classes.insert(request.device_class);
  const auto is_dropped = [&](const Change& change) {
    switch (change.asks) {
      case ChangeKind::kCorrectSelector:
      case ChangeKind::kGuardSelector:
        return change.device_class.empty() ? requests.contains(change.claim + ", " + change.request)
                                           : classes.contains(change.device_class);
      case ChangeKind::kNoSelector:
      case ChangeKind::kNoRequest:
        return requests.contains(change.claim + ", " + change.request);
      case ChangeKind::kNoClassSelector:
      case ChangeKind::kMakeClass:
        return classes.contains(change.device_class);
      default:
        return false;
    }
  };
  const auto drop = [&](std::vector<Change>& changes, std::vector<std::string>& texts) {
    for (size_t i = changes.size(); i-- > 0;) {
      if (!is_dropped(changes[i])) continue;
      changes.erase(changes.begin() + static_cast<std::ptrdiff_t>(i));
      texts.erase(texts.begin() + static_cast<std::ptrdiff_t>(i));
    }
  };
  for (NodeAnswer& node : answer.nodes) {
    drop(node.changes.all, node.changes_text);
    // The other remedy is sufficient for everything that is missing here.
    if (std::all_of(node.requests.begin(), node.requests.end(), [&](const RequestView& view) {
          const bool has_enough = !view.all && static_cast<int64_t>(view.free) >= view.wanted;
          return has_enough || requests.contains(view.claim + ", " + view.request);
        })) {
      node.changes.all.clear();
      node.changes_text.clear();
    }
    drop(node.changes.alone, node.alone_text);
  }
  std::erase_if(answer.slips, [&](const Answer::Slip& one) { return requests.contains(one.request); });
  answer.advice.clear();
  advise(answer);
}

std::set<std::string> lacking_requests(const NodeAnswer& node) {
  std::set<std::string> lacking, enough;
  for (const RequestView& view : node.requests) {
    const bool lacks = view.all ? view.free < view.matching || view.free == 0
                                : static_cast<int64_t>(view.free) < view.wanted;
    (lacks ? lacking : enough).insert(view.claim + ", " + view.request.substr(0, view.request.find('/')));
  }
  std::erase_if(lacking, [&](const std::string& one) { return enough.contains(one); });
  return lacking;
}

std::string advice_text(const std::string& text, std::vector<std::string> nodes) {
  constexpr size_t kNodesNamed = 3;
  const size_t more = nodes.size() > kNodesNamed ? nodes.size() - kNodesNamed : 0;
  nodes.resize(nodes.size() - more);
  return text + " (then it can run on " + join(nodes, ", ") + (more > 0 ? " " + and_more(more, "node") : "") +
         ")";
}

Answer why_pod(const Cluster& cluster, const Pod& pod) {
  Answer out;
  out.pod = pod;
  Gathering gathering(cluster, out);
  for (const PodClaim& one : pod.claims) gathering.add(pod, one);
  gathering.add_extended(pod);
  gathering.add_classes();
  look_at_pod(pod, out);
  if (has_ended(pod)) {
    tell_of_end(pod, out);
    return out;
  }
  if (!pod.node_name.empty()) {
    judge_bound(cluster, pod, out);
    return out;
  }
  tell_of_held(cluster, out);
  ask_nodes(cluster, out);
  return out;
}

Answer why_claim(const Cluster& cluster, const Claim& claim) {
  Answer out;
  out.claims.push_back(claim);
  Gathering(cluster, out).add_classes();
  if (claim.is_deleted)
    out.everywhere.push_back("it is being deleted, and the scheduler allocates no such claim");
  if (claim.allocation) {
    out.verdict = Verdict::kRuns;
    return out;
  }
  ask_nodes(cluster, out);
  return out;
}

}  // namespace sliced::why
