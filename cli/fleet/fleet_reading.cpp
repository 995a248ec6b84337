#include "cli/fleet/fleet_reading.h"

#include "allocation/claim.h"
#include "kube/kinds.h"
#include "reactor/base/text.h"

namespace sliced::cli {
namespace {

void add_unread(std::vector<std::string>& unread, std::string what) {
  if (unread.size() < kUnreadMax)
    unread.push_back(std::move(what));
  else if (unread.size() == kUnreadMax)
    unread.emplace_back("and more objects cannot be read");
}

bool is_of_no_interest(Errc code) { return code == Errc::kNotFound || code == Errc::kDenied; }

}  // namespace

Result<Unit> read_reports(ClusterObjects& objects,
                          const std::function<void(reports::NodeReport report)>& on_report,
                          std::vector<std::string>& unread) {
  const auto on_bad = [&](std::string what) { add_unread(unread, std::move(what)); };
  auto listed = objects.list(
      kube::kNodeDeviceReports, "",
      [&](const kube::Json& object) {
        auto report = reports::decode_node_report(object);
        if (!report) return on_bad("a NodeDeviceReport: " + report.error().what);
        on_report(*std::move(report));
      },
      on_bad);
  // Reports may be off, or not for everybody: what slices say stands without them.
  if (!listed && listed.error().code == Errc::kDenied)
    on_bad("what nodes report is not known: " + listed.error().what);
  return !listed && is_of_no_interest(listed.error().code) ? Result<Unit>(Unit{}) : std::move(listed);
}

Result<Unit> read_claims(ClusterObjects& objects, Fleet& fleet, std::vector<std::string>& unread) {
  const auto on_bad = [&](std::string what) { add_unread(unread, std::move(what)); };
  return objects.list(
      kube::kResourceClaims, "",
      [&](const kube::Json& object) {
        // Most that wait have nothing that is counted.
        if (const kube::Json* allocation = object.find({"status", "allocation"});
            allocation == nullptr || allocation->is_null())
          return;
        auto claim = allocation::decode_claim(object);
        if (!claim) return on_bad(kube::describe_object(object) + ": " + claim.error().what);
        fleet.put_claim(fleet_claim(*claim));
      },
      on_bad);
}

Result<Unit> read_fleet(ClusterObjects& objects, Fleet& fleet, std::vector<std::string>& unread) {
  const auto on_bad = [&](std::string what) { add_unread(unread, std::move(what)); };
  auto nodes = objects.list(
      kube::Scope{.resource = kube::kNodes, .namespace_ = "", .field_selector = "", .metadata_only = true},
      [&](const kube::Json& object) {
        if (const kube::Json* name = object.find({"metadata", "name"}); name != nullptr && name->string())
          fleet.put_node(*name->string());
      },
      on_bad);
  if (!nodes && nodes.error().code != Errc::kDenied) return nodes;
  if (!nodes) on_bad("nodes without slices are not known: " + nodes.error().what);
  fleet.set_knows_nodes(nodes.ok());
  auto slices = objects.list(
      kube::kResourceSlices, "",
      [&](const kube::Json& object) {
        auto slice = decode_fleet_slice(object);
        if (!slice) return on_bad(slice.error().what);
        fleet.put_slice(*std::move(slice));
      },
      on_bad);
  if (!slices) return slices;
  auto reported = read_reports(
      objects, [&](const reports::NodeReport& report) { fleet.put_report(fleet_report(report)); }, unread);
  if (!reported) return reported;
  return read_claims(objects, fleet, unread);
}

kube::Scope slices_of(const std::string& node) {
  return {.resource = kube::kResourceSlices, .namespace_ = "", .field_selector = "spec.nodeName=" + node};
}

Result<std::vector<kube::ResourceSlice>> read_slices_of(ClusterObjects& objects, const std::string& node,
                                                        std::vector<std::string>& unread) {
  std::vector<kube::ResourceSlice> out;
  const auto on_bad = [&](std::string what) { add_unread(unread, std::move(what)); };
  auto listed = objects.list(
      slices_of(node),
      [&](const kube::Json& object) {
        auto slice = kube::decode_resource_slice(object);
        if (!slice) return on_bad(kube::describe_object(object) + ": " + slice.error().what);
        // A proxy may have dropped the selector.
        if (slice->node_name == node) out.push_back(*std::move(slice));
      },
      on_bad);
  if (!listed) return std::move(listed.error());
  return out;
}

Result<Unit> read_policies(ClusterObjects& objects, const std::string& namespace_, FleetPolicies& policies,
                           std::vector<std::string>& unread) {
  const auto on_bad = [&](std::string what) { add_unread(unread, std::move(what)); };
  for (const auto* kind :
       {&kube::kSriovResourcePolicies, &kube::kDeviceAttributes, &kube::kDeviceExposurePolicies}) {
    auto listed = objects.list(
        *kind, kind->namespaced ? namespace_ : "", [&](const kube::Json& object) { policies.put(object); },
        on_bad);
    if (!listed && listed.error().code != Errc::kNotFound) return listed;
  }
  return Unit{};
}

Result<Unit> read_node_views(ClusterObjects& objects, std::map<std::string, kube::NodeView>& nodes,
                             std::vector<std::string>& unread) {
  const auto on_bad = [&](std::string what) { add_unread(unread, std::move(what)); };
  return objects.list(
      kube::Scope{.resource = kube::kNodes, .namespace_ = "", .field_selector = "", .metadata_only = true},
      [&](const kube::Json& object) {
        auto meta = kube::decode_object_meta(object);
        if (!meta) return on_bad("a node: " + meta.error().what);
        std::string name = meta->name;
        nodes[name] = {name, {meta->labels.begin(), meta->labels.end()}};
      },
      on_bad);
}

}  // namespace sliced::cli
