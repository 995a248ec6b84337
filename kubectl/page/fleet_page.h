#pragma once
// The fleet's HTML page, complete without its script. status::html() escapes every text from outside. Pure.
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

namespace sliced::kubectl {

/// Selects the shown nodes.
struct FleetFilter {
  std::string health;  // "" all
  std::string policy;  // only nodes that report this policy, "ns/name" or "name"; "" all
};
bool is_shown(const NodeRow& row, const FleetFilter& filter);

/// A snapshot.
struct FleetPageFacts {
  std::vector<NodeRow> rows;  // all of them
  FleetFilter filter;
  uint64_t moment = 0;
  std::string version, cluster;
  std::string note;                  // why it may be old; "" if it is current
  std::vector<std::string> gaps;     // kinds that may not be read, with the unknown information
  std::string node;                  // the node whose devices are shown; "" if none
  std::vector<DeviceLine> devices;   // of that node
  std::string problem;               // why the devices are incomplete; "" if they are complete
  std::string pod, why;              // the requested pod, and the output of `why`; "" if none
  const EditEffect* edit = nullptr;  // effect of edited policies; nullptr: none are edited
  uint64_t edit_moment = 0;
};
/// Returns the whole page, in memory: a row per node, and the devices of at most one node.
std::string fleet_page(const FleetPageFacts& facts);

/// Returns {"counts":{"all":n,"bad":n,...,"policies":n},"policies":[{name, kind, action, nodes, matched,
/// offered, hidden, behind, problem}], "nodes":[{name, health, usage, used, hidden, version, state, title}]}:
/// the parts that the script updates, with the shown nodes, bad ones first. Numbers that may be unknown are
/// texts; `used` is in percent.
kube::Json page_rows(const std::vector<NodeRow>& rows, const FleetFilter& filter);
/// Returns {"moment":"7","state":...,"tone":"" "stale" or "bad"}, and "edit":"3" if policies are edited.
kube::Json page_moment(const std::vector<NodeRow>& rows, uint64_t moment, const std::string& note,
                       std::optional<uint64_t> edit_moment);

/// As on a node's page, except that its form may send requests to this server.
http::Headers fleet_page_headers();

/// fleet.html, fleet.css and fleet.js of this folder, embedded by the build.
extern const std::string_view kFleetHtml, kFleetCss, kFleetJs;

}  // namespace sliced::kubectl
