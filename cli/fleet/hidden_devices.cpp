#include "cli/fleet/hidden_devices.h"

#include <algorithm>

#include "cli/fleet/node_devices.h"
#include "reactor/base/first_few.h"
#include "reactor/base/text.h"

namespace sliced::cli {
namespace {

using allocation::Says;

// A request whose claim waits, with the selectors of its class.
struct Asked {
  std::string id;
  std::vector<std::string> selectors;
};

std::vector<Asked> asked_by(const allocation::Answer& answer) {
  std::vector<Asked> out;
  for (const allocation::Claim& claim : answer.claims) {
    if (claim.allocation) continue;
    for (const auto& group : claim.requests)
      for (const auto& request : group.alternatives) {
        const auto its = std::find_if(answer.classes.begin(), answer.classes.end(),
                                      [&](const auto& one) { return one.name == request.device_class; });
        if (its == answer.classes.end()) continue;
        Asked one{allocation::request_id(group, request), its->selectors};
        one.selectors.insert(one.selectors.end(), request.selectors.begin(), request.selectors.end());
        out.push_back(std::move(one));
      }
  }
  return out;
}

bool matches(const Asked& asked, const JudgedEntry& entry, allocation::Selectors& selectors) {
  allocation::Slice slice;
  slice.common.driver = entry.driver;
  const allocation::Candidate candidate{.device = &*entry.entry, .slice = &slice};
  return std::all_of(asked.selectors.begin(), asked.selectors.end(), [&](const std::string& expression) {
    return selectors.ask(expression, candidate) == Says::kYes;
  });
}

}  // namespace

void keep_hidden(reports::NodeReport& report) {
  std::erase_if(report.groups, [](const auto& group) { return !is_hidden(group); });
  report.problems.clear();
  report.pools.clear();
}

std::vector<HiddenMatch> hidden_matches(const allocation::Answer& answer, const reports::NodeReport& report,
                                        const kube::NodeView& node, const FleetPolicies& policies,
                                        allocation::Selectors& selectors) {
  const std::vector<Asked> asked = asked_by(answer);
  if (asked.empty()) return {};
  const policy::PolicySetPtr set = policies.exposing();
  std::vector<HiddenMatch> out;
  for (const reports::DeviceGroup& group : report.groups) {
    if (!is_hidden(group) || selectors.is_spent()) continue;
    reports::NodeReport free;
    free.node = report.node;
    free.groups = {group};
    free.groups.front().host_use.clear();
    const JudgedNode judged = judge_node(free, node, set, policies.drivers());
    for (const Asked& one : asked) {
      HiddenMatch match{report.node, one.id, "", 0, why_hidden(group)};
      for (const auto& [key, entry] : judged.entries) {
        if (!matches(one, entry, selectors)) continue;
        if (match.devices++ == 0) match.device = entry.device;
      }
      if (match.devices > 0) out.push_back(std::move(match));
    }
    selectors.forget();
  }
  return out;
}

std::string namespace_of(const reports::NodeReport& report, const std::string& otherwise) {
  for (const reports::PolicyReport& one : report.policies)
    if (!one.policy.namespace_.empty()) return one.policy.namespace_;
  return otherwise;
}

std::string hidden_text(const std::vector<HiddenMatch>& matches, size_t lines_max) {
  std::string out;
  for (size_t i = 0; i < matches.size() && i < lines_max; ++i) {
    const HiddenMatch& one = matches[i];
    out +=
        printable("  - on " + one.node + ", request " + one.request + ": " +
                      (one.devices == 1 ? "device " + one.device
                                        : std::to_string(one.devices) + " devices, such as " + one.device) +
                      ": " + one.why,
                  2'000) +
        "\n";
  }
  if (matches.size() > lines_max) out += "  " + and_more(matches.size() - lines_max, "line") + "\n";
  return out;
}

kube::Json json_of(const std::vector<HiddenMatch>& matches) {
  const auto text = [](const std::string& one) { return is_utf8(one) ? one : escaped(one); };
  kube::Json::Array out;
  for (const HiddenMatch& one : matches)
    out.push_back(kube::Json::Object{{"node", text(one.node)},
                                     {"request", text(one.request)},
                                     {"device", text(one.device)},
                                     {"devices", static_cast<int64_t>(one.devices)},
                                     {"why", text(one.why)}});
  return out;
}

}  // namespace sliced::cli
