#pragma once
// Finds devices that would match a pod's requests but are not offered, and the policy or gate that hides
// them, from the nodes' reports. Pure.
#include <string>
#include <vector>

#include "daemon/reports/node_report.h"
#include "kube/objects/json.h"
#include "kubectl/fleet/fleet_policies.h"
#include "kubectl/why/selectors.h"
#include "kubectl/why/why.h"

namespace sliced::kubectl {

/// Devices of one node with the same reason.
struct HiddenMatch {
  std::string node, request, device;  // device: one of them, by its host name
  size_t devices = 0;
  std::string why;  // "DeviceExposurePolicy x excludes it"
  bool operator==(const HiddenMatch&) const = default;
};
inline constexpr size_t kHiddenMatchesMax = 1'000;

/// Keeps only the parts of a report that hidden_matches() uses: groups that a policy or a gate hides. So a
/// fleet's reports need little memory.
void keep_hidden(reports::NodeReport& report);

/// Evaluates the node's hidden devices as if no exclude, no host use and no policy of the other kind applied,
/// with the selectors of the answer's waiting requests. Includes devices that one policy offers and another
/// one hides (a conflict). policies: the current ones. Devices without a policy are skipped: their published
/// form is unknown. selectors: one for all nodes, with a common work budget; when it is used up nothing
/// matches.
std::vector<HiddenMatch> hidden_matches(const why::Answer& answer, const reports::NodeReport& report,
                                        const kube::NodeView& node, const FleetPolicies& policies,
                                        why::Selectors& selectors);

/// The same for all nodes, a sentence for each request and reason: "4 devices on worker-1 that request net
/// could have are not offered: ...".
std::vector<std::string> hidden_causes(const std::vector<HiddenMatch>& matches);

/// Returns the namespace of the SriovResourcePolicies that the node's daemon uses, from the report.
std::string namespace_of(const reports::NodeReport& report, const std::string& otherwise);

/// Returns lines of text, one per match; "" for none.
std::string hidden_text(const std::vector<HiddenMatch>& matches, size_t lines_max);
kube::Json json_of(const std::vector<HiddenMatch>& matches);

}  // namespace sliced::kubectl
