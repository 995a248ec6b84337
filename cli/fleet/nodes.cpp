#include <set>

#include "cli/commands.h"
#include "cli/fleet/cluster_objects.h"
#include "cli/fleet/fleet.h"
#include "cli/fleet/fleet_reading.h"
#include "cli/fleet/fleet_tables.h"
#include "cli/process.h"
#include "cli/show.h"
#include "cli/terminal.h"
#include "kube/credentials.h"
#include "kube/kinds.h"

namespace sliced::cli {
namespace {

TableStyle style_of(const config::Options& options) {
  return {options.output == config::OutputFormat::kWide, has_colours(), kube::system_wall_clock() * 1'000};
}

bool is_table(const config::Options& options) {
  return options.output == config::OutputFormat::kTable || options.output == config::OutputFormat::kWide;
}

void complain_of(const std::vector<std::string>& unread) {
  for (const std::string& what : unread) complain(what);
}

// One command: the cluster is opened, asked, and left with what `told` returns.
int ask_cluster(const config::Options& options,
                const std::function<Result<std::string>(ClusterObjects& objects)>& told) {
  auto opened = Process::open(options);
  if (!opened) return complain(opened.error().what), kExitError;
  Process& process = **opened;
  ClusterObjects objects(*process.cluster,
                         [&](const auto& done, Millis longest) { return process.run_until(done, longest); });
  const auto text = told(objects);
  if (!text) return complain(text.error().what), process.leave(kExitError);
  return process.leave(print(*text) ? kExitSame : kExitError);
}

Result<std::string> tell_devices(ClusterObjects& objects, const config::Options& options) {
  const FleetDrivers drivers{options.sriov_driver_name, options.exposure_driver_name};
  Fleet fleet({drivers.sriov, drivers.exposure});
  std::vector<std::string> unread;
  auto slices = read_slices_of(objects, options.on_node, unread);
  if (!slices) return slices.error();
  if (slices->empty()) {
    // A node that offers nothing is an answer, one that is not there is none.
    const auto node = objects.get(kube::kNodes, "", options.on_node);
    if (!node && node.error().code == Errc::kNotFound)
      return Error{Errc::kNotFound, "there is no node " + options.on_node};
  }
  if (auto read = read_claims(objects, fleet, unread); !read) return read.error();
  complain_of(unread);
  const auto lines = device_lines(*slices, fleet, drivers);
  return is_table(options) ? devices_text(lines, style_of(options))
                           : formatted(json_of(lines, options.on_node), options.output);
}

}  // namespace

int nodes(const config::Options& options) {
  return ask_cluster(options, [&](ClusterObjects& objects) -> Result<std::string> {
    Fleet fleet({options.sriov_driver_name, options.exposure_driver_name});
    std::vector<std::string> unread;
    if (auto read = read_fleet(objects, fleet, unread); !read) return read.error();
    complain_of(unread);
    const auto rows = fleet.rows();
    return is_table(options) ? nodes_text(rows, style_of(options)) : formatted(json_of(rows), options.output);
  });
}

int devices(const config::Options& options) {
  return ask_cluster(options, [&](ClusterObjects& objects) { return tell_devices(objects, options); });
}

}  // namespace sliced::cli
