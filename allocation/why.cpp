#include "allocation/why.h"

#include <algorithm>
#include <functional>

#include "reactor/base/text.h"

namespace sliced::allocation {
namespace {

constexpr size_t kAdviceMax = 3;
// Nodes of which it is worked out what would help; of nodes that the pod is kept away from in small clusters alone.
constexpr size_t kDetailedMax = 500;
constexpr size_t kUsersMax = 256;  // ResourceClaimReservedForMaxSize

bool is_waiting(const Claim& claim) { return !claim.allocation; }

// What the pod's claims are: of those that are not made yet, what they will be.
class Gathering {
 public:
  Gathering(const Cluster& cluster, Answer& out) : cluster_(cluster), out_(out) {}

  void add(const Pod& pod, const PodClaim& one) {
    if (!one.claim.empty()) {
      if (const Claim* claim = find(cluster_.claims, pod.namespace_, one.claim))
        return out_.claims.push_back(*claim);
      return out_.everywhere.push_back("there is no ResourceClaim " + pod.namespace_ + "/" + one.claim +
                                       ", which the pod names");
    }
    const Claim* found = find(cluster_.templates, pod.namespace_, one.template_);
    if (found == nullptr)
      return out_.everywhere.push_back("there is no ResourceClaimTemplate " + pod.namespace_ + "/" +
                                       one.template_ + ", which the pod names");
    out_.everywhere.push_back("no ResourceClaim has been made of ResourceClaimTemplate " + pod.namespace_ +
                              "/" + one.template_ +
                              " yet: kube-controller-manager does that, and its log says why it did not");
    out_.claims.push_back(*found);
    out_.claims.back().name = pod.name + "-" + one.name;
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
        out_.unsure.push_back("DeviceClass " + found->name + ": " + what + ", which is not known here");
      return out_.classes.push_back(*found);
    }
    if (!is_waiting(claim)) return;
    std::string line = "there is no DeviceClass " + request.device_class + ", which request " +
                       request_id(group, request) + " of claim " + claim.id() + " names";
    const bool is_said =
        std::find(out_.everywhere.begin(), out_.everywhere.end(), line) != out_.everywhere.end();
    if (!is_said) out_.everywhere.push_back(std::move(line));
  }

  const Cluster& cluster_;
  Answer& out_;
};

// One node after the other.
class Asking {
 public:
  Asking(const Cluster& cluster, Answer& out)
      : out_(out),
        is_small_(cluster.nodes.size() <= kDetailedMax),
        index_(out.slices),
        held_(held_by(cluster.claims, cluster.features)),
        selectors_(cluster.effort_max) {
    scene_.held = &held_;
    scene_.selectors = &selectors_;
    scene_.features = cluster.features;
    for (const DeviceClass& one : out.classes) scene_.classes[one.name] = one;
    for (const Claim& claim : out.claims)
      if (is_waiting(claim)) scene_.claims.push_back(claim);
  }

  NodeAnswer ask(const Node& node) {
    NodeAnswer out;
    out.name = node.view.name;
    if (out_.pod) out.kept_away = keeps_away(*out_.pod, node);
    for (const Claim& claim : out_.claims)
      if (out.kept_away.empty() && claim.allocation && claim.allocation->nodes &&
          !kube::match_node(*claim.allocation->nodes, node.view).matched)
        out.kept_away = "claim " + claim.id() + " is allocated, for other nodes";
    if (selectors_.is_spent()) return not_looked_at(std::move(out));
    const std::vector<Pool> pools = gather_pools(index_, node.view, scene_.features);
    Scene scene = scene_;
    scene.pools = &pools;
    Outcome outcome = search(scene);
    out.found = outcome.found;
    out.error = std::move(outcome.error);
    out.picks = std::move(outcome.picks);
    tell_of_pools(pools, out);
    if (selectors_.is_spent()) return not_looked_at(std::move(out));
    out.requests = view_requests(scene);
    if (out.found == Found::kNo || out.found == Found::kError) {
      const bool is_looked_into = out.kept_away.empty() || is_small_;
      if (detailed_ < kDetailedMax && is_looked_into && !selectors_.is_half_spent())
        ++detailed_, find_what_helps(node, scene, out);
      else
        out.changes.is_known = false;
    }
    if (selectors_.is_spent()) return not_looked_at(std::move(out));
    selectors_.forget();
    return out;
  }
  /// Of which it would have taken too long.
  size_t not_looked_at() const { return not_looked_at_; }

 private:
  // Half an answer is none: with the rest of the effort expressions say no to everything.
  NodeAnswer not_looked_at(NodeAnswer half) {
    ++not_looked_at_;
    NodeAnswer out;
    out.name = std::move(half.name);
    out.kept_away = std::move(half.kept_away);
    out.found = Found::kUnsure;
    out.changes.is_known = false;
    return out;
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
  }

  const Answer& out_;
  const bool is_small_;
  size_t detailed_ = 0, not_looked_at_ = 0;
  const SliceIndex index_;
  const Held held_;
  Selectors selectors_;
  Scene scene_;
};

void judge(Answer& out) {
  bool is_unsure = false;
  for (const NodeAnswer& node : out.nodes) {
    if (node.can_run()) out.verdict = Verdict::kCan;
    is_unsure |= node.kept_away.empty() && node.found == Found::kUnsure;
    if (node.kept_away.empty() && node.found == Found::kError && out.aborted_by.empty())
      out.aborted_by = node.name;
  }
  if (!out.everywhere.empty() || !out.aborted_by.empty()) out.verdict = Verdict::kPending;
  if (out.verdict == Verdict::kPending && is_unsure && out.everywhere.empty() && out.aborted_by.empty())
    out.verdict = Verdict::kUnsure;
}

// Changes that are enough alone, on the node where least is asked; what keeps the pod away from a node is no reason to
// change a claim.
void advise(Answer& out) {
  if (out.verdict != Verdict::kPending || !out.everywhere.empty()) return;
  for (const bool is_error_only : {true, false}) {
    std::vector<std::pair<Asks, std::string>> found;
    for (const NodeAnswer& node : out.nodes) {
      if (!node.kept_away.empty()) continue;
      if (is_error_only && node.found != Found::kError) continue;
      if (!is_error_only && !out.aborted_by.empty()) continue;
      for (size_t i = 0; i < node.changes.alone.size(); ++i)
        found.emplace_back(node.changes.alone[i].asks,
                           node.alone_text[i] + " (then it can run on " + node.name + ")");
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [asks, text] : found)
      if (out.advice.size() < kAdviceMax) out.advice.push_back(text);
    if (!out.advice.empty()) return;
  }
}

void ask_nodes(const Cluster& cluster, Answer& out) {
  Tainted tainted = cluster.features.taint_rules ? with_taints(cluster.slices, cluster.taint_rules)
                                                 : Tainted{cluster.slices};
  out.slices = std::move(tainted.slices);
  if (tainted.left_out > 0)
    out.unsure.push_back("DeviceTaintRules give devices " + std::to_string(tainted.left_out) +
                         " taints more than are looked at");
  Asking asking(cluster, out);
  std::vector<const Node*> nodes;
  for (const Node& node : cluster.nodes) nodes.push_back(&node);
  std::sort(nodes.begin(), nodes.end(),
            [](const Node* a, const Node* b) { return a->view.name < b->view.name; });
  for (const Node* node : nodes) out.nodes.push_back(asking.ask(*node));
  if (const size_t left = asking.not_looked_at(); left > 0)
    out.unsure.push_back(std::to_string(left) + " of " + std::to_string(nodes.size()) +
                         " nodes were not looked at: what the expressions and requests of this claim and its "
                         "classes take of time is bounded");
  for (const std::string& what : cluster.unread) out.unsure.push_back(what);
  if (const size_t more = cluster.unread.more(); more > 0)
    out.unsure.push_back(and_more(more, "object") + " cannot be read");
  for (const Claim& claim : out.claims)
    for (const std::string& what : claim.unknown)
      out.unsure.push_back("claim " + claim.id() + ": " + what + ", which is not known here");
  if (cluster.nodes.empty()) out.everywhere.push_back("there is no node");
  judge(out);
  advise(out);
}

void look_at_pod(const Cluster& cluster, const Pod& pod, Answer& out) {
  for (const std::string& gate : pod.gates)
    out.everywhere.push_back("the pod has the scheduling gate " + gate +
                             ": it is not looked at before that is removed");
  for (const Claim& claim : out.claims)
    if (claim.users.size() >= kUsersMax &&
        std::find(claim.users.begin(), claim.users.end(), pod.name) == claim.users.end())
      out.everywhere.push_back("claim " + claim.id() + " is used by " + std::to_string(claim.users.size()) +
                               " pods already, and no more may");
  if (!pod.scheduler.empty() && pod.scheduler != "default-scheduler")
    out.unsure.push_back("the pod's scheduler is " + pod.scheduler + ", which may have rules of its own");
  for (const std::string& resource : pod.extended_resources)
    for (const DeviceClass& one : cluster.classes)
      if (one.extended_resource == resource || "deviceclass.resource.kubernetes.io/" + one.name == resource)
        out.unsure.push_back("a container asks for " + resource + ", which DeviceClass " + one.name +
                             " gives: such requests are not looked at");
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
  if (slice)
    cluster.slices.push_back(std::make_shared<const Slice>(*std::move(slice)));
  else
    cluster.unread.push_back("cannot be read: " + slice.error().what);
}

Answer why_pod(const Cluster& cluster, const Pod& pod) {
  Answer out;
  out.pod = pod;
  Gathering gathering(cluster, out);
  for (const PodClaim& one : pod.claims) gathering.add(pod, one);
  gathering.add_classes();
  look_at_pod(cluster, pod, out);
  if (!pod.node_name.empty()) return out.verdict = Verdict::kRuns, out.everywhere.clear(), out;
  ask_nodes(cluster, out);
  return out;
}

Answer why_claim(const Cluster& cluster, const Claim& claim) {
  Answer out;
  out.claims.push_back(claim);
  Gathering(cluster, out).add_classes();
  if (claim.allocation) return out.verdict = Verdict::kRuns, out;
  ask_nodes(cluster, out);
  return out;
}

}  // namespace sliced::allocation
