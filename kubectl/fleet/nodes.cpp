#include "cli/show.h"
#include "kube/objects/kinds.h"
#include "kubectl/commands.h"
#include "kubectl/fleet/ask_cluster.h"
#include "kubectl/fleet/fleet.h"
#include "kubectl/fleet/fleet_reading.h"
#include "kubectl/fleet/fleet_tables.h"

namespace sliced::kubectl {
namespace {

Result<CommandOutput> write_nodes(ClusterObjects& objects, const config::Options& options) {
  Fleet fleet({options.sriov_driver_name, options.exposure_driver_name});
  std::vector<std::string> unread;
  if (auto read = read_fleet(objects, options.namespace_, fleet, unread); !read) return read.error();
  print_unread(unread);
  const auto rows = fleet.rows();
  return CommandOutput{is_for_people(options) ? nodes_text(rows, style_of(options))
                                              : cli::formatted(json_of(rows), options.output)};
}

Result<CommandOutput> write_devices(ClusterObjects& objects, const config::Options& options) {
  const FleetDrivers drivers{options.sriov_driver_name, options.exposure_driver_name};
  Fleet fleet({drivers.sriov, drivers.exposure});
  std::vector<std::string> unread;
  auto slices = read_slices_of(objects, options.on_node, unread);
  const bool knows_slices = slices.ok();
  if (!slices && slices.error().code != Errc::kDenied) return slices.error();
  if (!slices) {
    unread.push_back("the devices that the node offers are unknown: " + slices.error().what);
    slices = std::vector<kube::ResourceSlice>{};
  }
  if (slices->empty()) {
    // A node without devices is a valid answer; a missing node is an error.
    const auto node = objects.get(kube::kNodes, "", options.on_node);
    if (!node && node.error().code == Errc::kNotFound)
      return Error{Errc::kNotFound, "there is no node " + options.on_node};
  }
  const auto claims = read_claims(objects, fleet, unread);
  if (!claims && claims.error().code != Errc::kDenied) return claims.error();
  if (!claims) unread.push_back("which devices are allocated is unknown: " + claims.error().what);
  auto lines = device_lines(options.on_node, *slices, fleet, drivers);
  if (!claims)
    for (DeviceLine& line : lines)
      if (line.state == DeviceState::kFree) line.state = DeviceState::kUnknown;
  const auto object = objects.get(kube::kNodeDeviceReports, "", options.on_node);
  const auto report =
      object ? reports::decode_node_report(*object) : Result<reports::NodeReport>(object.error());
  if (report)
    add_hidden(*report, lines);
  else if (report.error().code != Errc::kNotFound)
    unread.push_back("the devices that the node does not offer are unknown: " + report.error().what);
  if (!knows_slices && !report)
    return Error{Errc::kDenied, "nothing of node " + options.on_node + " may be read: " + join(unread, "; ")};
  print_unread(unread);
  return CommandOutput{is_for_people(options)
                           ? devices_text(lines, style_of(options))
                           : cli::formatted(json_of(lines, options.on_node), options.output)};
}

}  // namespace

int nodes(const config::Options& options) {
  return ask_cluster(options, [&](ClusterObjects& objects) { return write_nodes(objects, options); });
}

int devices(const config::Options& options) {
  return ask_cluster(options, [&](ClusterObjects& objects) { return write_devices(objects, options); });
}

}  // namespace sliced::kubectl
