#include "cli/fleet/fleet_reading.h"

#include "allocation/claim.h"
#include "kube/kinds.h"
#include "kube/names.h"
#include "reactor/base/text.h"

namespace sliced::cli {
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

// forget: what was put of this list.
ListTold into(std::vector<std::string>& unread, std::function<void(const kube::Json&)> on_object,
              std::function<void()> forget) {
  return {.on_object = std::move(on_object),
          .on_bad = [&unread](std::string what) { add_unread(unread, std::move(what)); },
          .on_anew =
              [&unread, before = unread.size(), forget = std::move(forget)] {
                unread.resize(before);
                forget();
              }};
}

bool is_of_no_interest(Errc code) { return code == Errc::kNotFound || code == Errc::kDenied; }

}  // namespace

Result<Unit> read_reports(ClusterObjects& objects,
                          const std::function<void(reports::NodeReport report)>& on_report,
                          const std::function<void()>& on_anew, std::vector<std::string>& unread) {
  const auto on_object = [&](const kube::Json& object) {
    auto report = reports::decode_node_report(object);
    if (!report) return add_unread(unread, "a NodeDeviceReport: " + report.error().what);
    on_report(*std::move(report));
  };
  auto listed = objects.list(kube::kNodeDeviceReports, "", into(unread, on_object, on_anew));
  // Reports may be off, or not for everybody: what slices say stands without them.
  if (!listed && listed.error().code == Errc::kDenied)
    add_unread(unread, "what nodes report is not known: " + listed.error().what);
  return !listed && is_of_no_interest(listed.error().code) ? Result<Unit>(Unit{}) : std::move(listed);
}

Result<Unit> read_claims(ClusterObjects& objects, Fleet& fleet, std::vector<std::string>& unread) {
  const auto on_object = [&](const kube::Json& object) {
    // Most that wait have nothing that is counted.
    if (const kube::Json* allocation = object.find({"status", "allocation"});
        allocation == nullptr || allocation->is_null())
      return;
    auto claim = allocation::decode_claim(object);
    if (!claim) return add_unread(unread, kube::describe_object(object) + ": " + claim.error().what);
    fleet.put_claim(fleet_claim(*claim));
  };
  return objects.list(kube::kResourceClaims, "", into(unread, on_object, [&] { fleet.clear_claims(); }));
}

Result<Unit> read_fleet(ClusterObjects& objects, Fleet& fleet, std::vector<std::string>& unread) {
  const auto on_node = [&](const kube::Json& object) {
    const kube::Json* name = object.find({"metadata", "name"});
    if (name == nullptr || name->string() == nullptr) return;
    if (!kube::is_dns_subdomain(*name->string()))
      return add_unread(unread, "a Node is called " + in_quotes(*name->string()) + ", as no node can be");
    fleet.put_node(*name->string());
  };
  auto nodes = objects.list(node_names(), into(unread, on_node, [&] { fleet.clear_nodes(); }));
  if (!nodes && nodes.error().code != Errc::kDenied) return nodes;
  if (!nodes) add_unread(unread, "nodes without slices are not known: " + nodes.error().what);
  fleet.set_knows_nodes(nodes.ok());
  const auto on_slice = [&](const kube::Json& object) {
    auto slice = decode_fleet_slice(object);
    if (!slice) return add_unread(unread, slice.error().what);
    fleet.put_slice(*std::move(slice));
  };
  auto slices =
      objects.list(kube::kResourceSlices, "", into(unread, on_slice, [&] { fleet.clear_slices(); }));
  if (!slices) return slices;
  auto reported = read_reports(
      objects, [&](const reports::NodeReport& report) { fleet.put_report(fleet_report(report)); },
      [&] { fleet.clear_reports(); }, unread);
  if (!reported) return reported;
  return read_claims(objects, fleet, unread);
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
                           std::vector<std::string>& unread) {
  for (const auto* kind :
       {&kube::kSriovResourcePolicies, &kube::kDeviceAttributes, &kube::kDeviceExposurePolicies}) {
    const FleetPolicies before = policies;
    auto listed = objects.list(
        *kind, kind->namespaced ? namespace_ : "",
        into(unread, [&](const kube::Json& object) { policies.put(object); }, [&] { policies = before; }));
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

Result<Unit> visit_nodes(ClusterObjects& objects, const NodeViews& nodes, std::vector<std::string>& unread,
                         const VisitNode& visit) {
  std::set<std::string> reported;
  std::vector<std::string> unread_reports;
  auto read = read_reports(
      objects,
      [&](const reports::NodeReport& report) {
        const auto node = nodes.find(report.node);
        if (node != nodes.end() && reported.insert(report.node).second) visit(node->second, &report, "");
      },
      [] {},  // what was visited stays so: each report stands by itself, and was so a moment ago
      unread_reports);
  for (const std::string& what : unread_reports) add_unread(unread, what);
  if (!read) return read;
  const std::string_view why =
      unread_reports.empty() ? "it writes no report" : "it writes no report that can be read";
  for (const auto& [name, node] : nodes)
    if (!reported.contains(name)) visit(node, nullptr, why);
  return Unit{};
}

}  // namespace sliced::cli
