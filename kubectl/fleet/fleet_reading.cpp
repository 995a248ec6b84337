#include "kubectl/fleet/fleet_reading.h"

#include "kube/objects/kinds.h"
#include "kube/objects/names.h"
#include "kubectl/why/claim.h"
#include "reactor/base/text.h"

namespace sliced::kubectl {
namespace {

kube::Scope node_names() {
  return {.resource = kube::kNodes, .namespace_ = "", .field_selector = "", .metadata_only = true};
}

void add_unread(std::vector<std::string>& unread, std::string what) {
  if (unread.size() < kUnreadMax)
    unread.push_back(std::move(what));
  else if (unread.size() == kUnreadMax)
    unread.emplace_back("and more objects cannot be read");
}

// forget: removes the objects of this list.
ListHandlers into(std::vector<std::string>& unread, std::function<void(const kube::Json&)> on_object,
                  std::function<void()> forget) {
  return {.on_object = std::move(on_object),
          .on_bad = [&unread](std::string what) { add_unread(unread, std::move(what)); },
          .on_restart =
              [&unread, before = unread.size(), forget = std::move(forget)] {
                unread.resize(before);
                forget();
              }};
}

bool is_of_no_interest(Errc code) { return code == Errc::kNotFound || code == Errc::kDenied; }

}  // namespace

Result<Unit> read_reports(ClusterObjects& objects,
                          const std::function<void(reports::NodeReport report)>& on_report,
                          const std::function<void()>& on_restart, std::vector<std::string>& unread) {
  const auto on_object = [&](const kube::Json& object) {
    auto report = reports::decode_node_report(object);
    if (!report) return add_unread(unread, "a NodeDeviceReport: " + report.error().what);
    on_report(*std::move(report));
  };
  auto listed = objects.list(kube::kNodeDeviceReports, "", into(unread, on_object, on_restart));
  // Reports may be off, or not readable: the slices are still valid.
  if (!listed && listed.error().code == Errc::kDenied)
    add_unread(unread, std::string(lack_without(kube::kNodeDeviceReports)) + ": " + listed.error().what);
  return !listed && is_of_no_interest(listed.error().code) ? Result<Unit>(Unit{}) : std::move(listed);
}

Result<Unit> read_claims(ClusterObjects& objects, Fleet& fleet, std::vector<std::string>& unread) {
  const auto on_object = [&](const kube::Json& object) {
    // Most waiting claims have nothing to count.
    if (const kube::Json* allocation = object.find({"status", "allocation"});
        allocation == nullptr || allocation->is_null())
      return;
    auto claim = why::decode_claim(object);
    if (!claim) return add_unread(unread, kube::describe_object(object) + ": " + claim.error().what);
    fleet.put_claim(fleet_claim(*claim));
  };
  return objects.list(kube::kResourceClaims, "", into(unread, on_object, [&] { fleet.clear_claims(); }));
}

std::string_view lack_without(const kube::Resource& kind) {
  if (kind == kube::kNodes) return "nodes without slices are unknown";
  if (kind == kube::kResourceSlices) return "DEVICES, ALLOCATED and FREE are unknown";
  if (kind == kube::kResourceClaims) return "ALLOCATED and FREE are unknown";
  if (kind == kube::kNodeDeviceReports) return "HIDDEN, VERSION, CHANGED and problems are unknown";
  if (kind == kube::kLeases) return "whether daemons are alive is unknown";
  return "whether nodes have applied the latest policies is unknown";
}

namespace {

// Returns true if it was listed; false if that is denied, with an entry in `unread`.
Result<bool> may_list(Result<Unit> listed, const kube::Resource& kind, std::vector<std::string>& unread) {
  if (listed) return true;
  if (listed.error().code != Errc::kDenied) return std::move(listed.error());
  add_unread(unread, std::string(lack_without(kind)) + ": " + listed.error().what);
  return false;
}

Result<bool> read_fleet_nodes(ClusterObjects& objects, Fleet& fleet, std::vector<std::string>& unread) {
  const auto on_node = [&](const kube::Json& object) {
    const kube::Json* name = object.find({"metadata", "name"});
    if (name == nullptr || name->string() == nullptr) return;
    if (!kube::is_dns_subdomain(*name->string()))
      return add_unread(unread, "a Node is called " + in_quotes(*name->string()) + ", as no node can be");
    kube::NodeView node{*name->string(), {}};
    if (auto meta = kube::decode_object_meta(object))
      node.labels = {meta->labels.begin(), meta->labels.end()};
    fleet.put_node(std::move(node));
  };
  auto nodes = may_list(objects.list(node_names(), into(unread, on_node, [&] { fleet.clear_nodes(); })),
                        kube::kNodes, unread);
  if (nodes) fleet.set_knows_nodes(*nodes);
  return nodes;
}

Result<bool> read_fleet_slices(ClusterObjects& objects, Fleet& fleet, std::vector<std::string>& unread) {
  const auto on_slice = [&](const kube::Json& object) {
    auto slice = decode_fleet_slice(object);
    if (!slice) return add_unread(unread, slice.error().what);
    fleet.put_slice(*std::move(slice));
  };
  auto slices =
      may_list(objects.list(kube::kResourceSlices, "", into(unread, on_slice, [&] { fleet.clear_slices(); })),
               kube::kResourceSlices, unread);
  if (slices) fleet.set_knows_slices(*slices);
  return slices;
}

// A kind that is not installed has no objects.
Result<Unit> read_fleet_policies(ClusterObjects& objects, const std::string& namespace_, Fleet& fleet,
                                 std::vector<std::string>& unread) {
  for (const auto* kind : {&kube::kSriovResourcePolicies, &kube::kDeviceExposurePolicies}) {
    const std::string where = kind->namespaced ? namespace_ : "";
    auto listed = objects.list(*kind, where,
                               into(
                                   unread,
                                   [&](const kube::Json& object) {
                                     if (auto policy = decode_fleet_policy(object))
                                       fleet.put_policy(*std::move(policy));
                                   },
                                   [&] { fleet.clear_policies(kind->kind); }));
    const bool is_absent = !listed && listed.error().code == Errc::kNotFound;
    const auto known = may_list(is_absent ? Result<Unit>(Unit{}) : std::move(listed), *kind, unread);
    if (!known) return known.error();
    if (*known) fleet.set_knows_policies(kind->kind, where);
  }
  return Unit{};
}

}  // namespace

Result<Unit> read_leases(ClusterObjects& objects, const std::string& namespace_, Fleet& fleet,
                         std::vector<std::string>& unread) {
  const auto on_lease = [&](const kube::Json& object) {
    if (auto lease = reports::decode_node_lease(object)) fleet.put_lease(*std::move(lease));
  };
  auto listed =
      objects.list(kube::kLeases, namespace_, into(unread, on_lease, [&] { fleet.clear_leases(); }));
  const bool is_absent = !listed && listed.error().code == Errc::kNotFound;
  const auto known = may_list(is_absent ? Result<Unit>(Unit{}) : std::move(listed), kube::kLeases, unread);
  fleet.set_now(objects.now());
  return known ? Result<Unit>(Unit{}) : Result<Unit>(known.error());
}

Result<Unit> read_fleet(ClusterObjects& objects, const std::string& namespace_, Fleet& fleet,
                        std::vector<std::string>& unread) {
  const auto nodes = read_fleet_nodes(objects, fleet, unread);
  if (!nodes) return nodes.error();
  const auto slices = read_fleet_slices(objects, fleet, unread);
  if (!slices) return slices.error();
  size_t reports = 0;
  auto reported = read_reports(
      objects, [&](const reports::NodeReport& report) { fleet.put_report(fleet_report(report)), ++reports; },
      [&] { fleet.clear_reports(), reports = 0; }, unread);
  if (!reported) return reported;
  if (!*nodes && !*slices && reports == 0)
    return Error{Errc::kDenied, "nothing of the fleet may be read: " + join(unread, "; ")};
  const auto claims = may_list(read_claims(objects, fleet, unread), kube::kResourceClaims, unread);
  if (!claims) return claims.error();
  fleet.set_knows_claims(*claims);
  if (auto policies = read_fleet_policies(objects, namespace_, fleet, unread); !policies) return policies;
  return read_leases(objects, namespace_, fleet, unread);
}

kube::Scope slices_of(const std::string& node) {
  return {.resource = kube::kResourceSlices, .namespace_ = "", .field_selector = "spec.nodeName=" + node};
}

Result<std::vector<kube::ResourceSlice>> read_slices_of(ClusterObjects& objects, const std::string& node,
                                                        std::vector<std::string>& unread) {
  std::vector<kube::ResourceSlice> out;
  const auto on_object = [&](const kube::Json& object) {
    auto slice = kube::decode_resource_slice(object);
    if (!slice) return add_unread(unread, kube::describe_object(object) + ": " + slice.error().what);
    // A proxy may have dropped the selector.
    if (slice->node_name == node) out.push_back(*std::move(slice));
  };
  auto listed = objects.list(slices_of(node), into(unread, on_object, [&] { out.clear(); }));
  if (!listed) return std::move(listed.error());
  return out;
}

Result<Unit> read_policies(ClusterObjects& objects, const std::string& namespace_, FleetPolicies& policies,
                           std::vector<std::string>& unread, std::set<std::string>* unlisted) {
  for (const auto* kind :
       {&kube::kSriovResourcePolicies, &kube::kDeviceAttributes, &kube::kDeviceExposurePolicies}) {
    const FleetPolicies before = policies;
    auto listed = objects.list(
        *kind, kind->namespaced ? namespace_ : "",
        into(unread, [&](const kube::Json& object) { policies.put(object); }, [&] { policies = before; }));
    if (!listed && listed.error().code == Errc::kDenied && unlisted != nullptr) {
      unlisted->insert(kind->kind);
      add_unread(unread, kind->kind + ": only facts from nodes' reports are known: " + listed.error().what);
      continue;
    }
    if (!listed && listed.error().code != Errc::kNotFound) return listed;
  }
  return Unit{};
}

Result<Unit> read_node_views(ClusterObjects& objects, NodeViews& nodes, std::vector<std::string>& unread) {
  const auto on_object = [&](const kube::Json& object) {
    auto meta = kube::decode_object_meta(object);
    if (!meta) return add_unread(unread, "a node: " + meta.error().what);
    std::string name = meta->name;
    nodes[name] = {name, {meta->labels.begin(), meta->labels.end()}};
  };
  return objects.list(node_names(), into(unread, on_object, [&] { nodes.clear(); }));
}

Result<Unit> visit_nodes(ClusterObjects& objects, const NodeViews* nodes, std::vector<std::string>& unread,
                         const VisitNode& visit) {
  std::set<std::string> reported;
  std::vector<std::string> unread_reports;
  auto read = read_reports(
      objects,
      [&](const reports::NodeReport& report) {
        if (nodes == nullptr) {
          if (reported.insert(report.node).second) visit(kube::NodeView{report.node, {}}, &report, "");
          return;
        }
        const auto node = nodes->find(report.node);
        if (node != nodes->end() && reported.insert(report.node).second) visit(node->second, &report, "");
      },
      [] {},  // visited nodes stay: each report is independent, and was current a moment ago
      unread_reports);
  for (const std::string& what : unread_reports) add_unread(unread, what);
  if (!read || nodes == nullptr) return read;
  const std::string_view why =
      unread_reports.empty() ? "it writes no report" : "it writes no report that can be read";
  for (const auto& [name, node] : *nodes)
    if (!reported.contains(name)) visit(node, nullptr, why);
  return Unit{};
}

}  // namespace sliced::kubectl
