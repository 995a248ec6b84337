#pragma once
// The fleet's page for a browser, complete without its script. Every text of others' goes through status::html(). Pure.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"
#include "kube/objects/json.h"
#include "kubectl/fleet/fleet.h"
#include "kubectl/fleet/node_devices.h"
#include "kubectl/page/edit_section.h"

namespace sliced::cli {

/// Which nodes are shown.
struct FleetFilter {
  std::string health;  // "" all
  std::string policy;  // only nodes that report to obey it, "ns/name" or "name"; "" all
};
bool is_shown(const NodeRow& row, const FleetFilter& filter);

/// One moment.
struct FleetPageFacts {
  std::vector<NodeRow> rows;  // all of them
  FleetFilter filter;
  uint64_t moment = 0;
  std::string version, cluster;
  std::string note;                  // why what is shown may be old; "" it is not
  std::vector<std::string> gaps;     // what may not be read, and what is not known for want of it
  std::string node;                  // whose devices are told; "" none
  std::vector<DeviceLine> devices;   // its
  std::string problem;               // why these are not all; "" they are
  std::string pod, why;              // what was asked, and what `why` says; "" nothing was
  const EditEffect* edit = nullptr;  // what edited policies would change; nullptr: none are edited
  uint64_t edit_moment = 0;
};
/// The whole page, in memory: a row a node, and the devices of one node at most.
std::string fleet_page(const FleetPageFacts& facts);

/// {"counts":{"all":n,"bad":n,...,"policies":n},"policies":[{name, kind, action, nodes, matched, offered, hidden, behind, problem}],
/// "nodes":[{name, health, usage, used, hidden, version, state, title}]}: what the script makes anew, of nodes those that are shown, with
/// those first that need somebody. Numbers that may be unknown are texts; `used` is in percent.
kube::Json page_rows(const std::vector<NodeRow>& rows, const FleetFilter& filter);
/// {"moment":"7","state":...,"tone":"" "stale" or "bad"}, and "edit":"3" where policies are edited.
kube::Json page_moment(const std::vector<NodeRow>& rows, uint64_t moment, const std::string& note,
                       std::optional<uint64_t> edit_moment);

/// As a node's page has them, but that its form may ask this server.
http::Headers fleet_page_headers();

/// cli/fleet/page/, as the build has embedded them.
extern const std::string_view kFleetHtml, kFleetCss, kFleetJs;

}  // namespace sliced::cli
