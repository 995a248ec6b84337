#pragma once
// Devices that would match what a pod asks for and are not offered, and who hides them: by what their nodes report. Pure.
#include <string>
#include <vector>

#include "daemon/reports/node_report.h"
#include "kube/objects/json.h"
#include "kubectl/fleet/fleet_policies.h"
#include "kubectl/why/selectors.h"
#include "kubectl/why/why.h"

namespace sliced::cli {

/// Devices of one node of which the same is said.
struct HiddenMatch {
  std::string node, request, device;  // device: one of them, by its host's name
  size_t devices = 0;
  std::string why;  // "DeviceExposurePolicy x excludes it"
  bool operator==(const HiddenMatch&) const = default;
};
inline constexpr size_t kHiddenMatchesMax = 1'000;

/// Leaves of a report what hidden_matches() asks: groups that a policy or a gate hides. So a fleet's reports
/// need not be kept whole.
void keep_hidden(reports::NodeReport& report);

/// What the node's hidden devices would be if no exclude, no use by the host and no policy of the other kind stood in the way, asked by the
/// selectors of the answer's waiting requests. Devices that one policy offers and another one hides (a conflict) are among them.
/// policies: as they are. Devices that no policy speaks of are not looked at: nobody knows
/// what they would be published as.
/// selectors: one for all nodes, which bounds what they take together; once it is spent nothing matches.
std::vector<HiddenMatch> hidden_matches(const allocation::Answer& answer, const reports::NodeReport& report,
                                        const kube::NodeView& node, const FleetPolicies& policies,
                                        allocation::Selectors& selectors);

/// The same of all nodes, a sentence for each request and reason: "4 devices on worker-1 that request net could have are not offered: ...".
std::vector<std::string> hidden_causes(const std::vector<HiddenMatch>& matches);

/// Whose SriovResourcePolicies the node's daemon obeys, as the report tells.
std::string namespace_of(const reports::NodeReport& report, const std::string& otherwise);

/// Lines of text, one a match; "" for none.
std::string hidden_text(const std::vector<HiddenMatch>& matches, size_t lines_max);
kube::Json json_of(const std::vector<HiddenMatch>& matches);

}  // namespace sliced::cli
