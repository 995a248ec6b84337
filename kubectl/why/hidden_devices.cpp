#include "kubectl/why/hidden_devices.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "kubectl/fleet/node_devices.h"
#include "reactor/base/first_few.h"
#include "reactor/base/text.h"

namespace sliced::kubectl {
namespace {

using why::SelectorResult;

// A request of a waiting claim, with the selectors of its class.
struct Asked {
  std::string id;
  std::vector<std::string> selectors;
};

std::vector<Asked> asked_by(const why::Answer& answer) {
  std::vector<Asked> out;
  for (const why::Claim& claim : answer.claims) {
    if (claim.allocation) continue;
    for (const auto& group : claim.requests)
      for (const auto& request : group.alternatives) {
        const auto its = std::find_if(answer.classes.begin(), answer.classes.end(),
                                      [&](const auto& one) { return one.name == request.device_class; });
        if (its == answer.classes.end()) continue;
        Asked one{why::request_id(group, request), its->selectors};
        one.selectors.insert(one.selectors.end(), request.selectors.begin(), request.selectors.end());
        out.push_back(std::move(one));
      }
  }
  return out;
}

bool matches(const Asked& asked, const JudgedEntry& entry, why::Selectors& selectors) {
  why::Slice slice;
  slice.common.driver = entry.driver;
  const why::Candidate candidate{.device = &*entry.entry, .slice = &slice};
  return std::all_of(asked.selectors.begin(), asked.selectors.end(), [&](const std::string& expression) {
    return selectors.ask(expression, candidate) == SelectorResult::kYes;
  });
}

bool is_kept_back(const reports::DeviceGroup& group) {
  return is_hidden(group) ||
         std::any_of(group.verdicts.begin(), group.verdicts.end(),
                     [](const auto& verdict) { return !verdict.policy.kind.empty() && hides(verdict); });
}

// Returns all policies, and each kind without the other, which may be the obstacle.
std::vector<policy::PolicySetPtr> sets_of(const policy::PolicySetPtr& all) {
  std::vector<policy::PolicySetPtr> out = {all};
  if (all->sriov.empty() || all->exposures.empty()) return out;
  out.push_back(
      std::make_shared<const policy::PolicySet>(policy::make_policy_set(all->sriov, all->attributes, {})));
  out.push_back(std::make_shared<const policy::PolicySet>(
      policy::make_policy_set({}, all->attributes, all->exposures)));
  return out;
}

}  // namespace

void keep_hidden(reports::NodeReport& report) {
  std::erase_if(report.groups, [](const auto& group) { return !is_kept_back(group); });
  report.problems.clear();
  report.pools.clear();
}

std::vector<HiddenMatch> hidden_matches(const why::Answer& answer, const reports::NodeReport& report,
                                        const kube::NodeView& node, const FleetPolicies& policies,
                                        why::Selectors& selectors) {
  const std::vector<Asked> asked = asked_by(answer);
  if (asked.empty()) return {};
  const std::vector<policy::PolicySetPtr> sets = sets_of(policies.exposing());
  std::vector<HiddenMatch> out;
  for (const reports::DeviceGroup& group : report.groups) {
    if (!is_kept_back(group) || selectors.is_spent()) continue;
    // For an offered device, only entries of policies that do not offer it.
    const auto is_in_question = [&](const JudgedEntry& entry) {
      return is_hidden(group) ||
             std::any_of(group.verdicts.begin(), group.verdicts.end(), [&](const auto& verdict) {
               return hides(verdict) && verdict.policy == entry.policy;
             });
    };
    reports::NodeReport free;
    free.node = report.node;
    free.groups = {group};
    free.groups.front().host_use.clear();
    std::map<size_t, std::set<std::string>> matching;  // by request
    for (const policy::PolicySetPtr& set : sets) {
      const JudgedNode judged = judge_node(free, node, set, policies.drivers());
      for (size_t i = 0; i < asked.size(); ++i)
        for (const auto& [key, entry] : judged.entries)
          if (is_in_question(entry) && matches(asked[i], entry, selectors)) matching[i].insert(entry.device);
      selectors.forget();
    }
    for (const auto& [i, devices] : matching)
      out.push_back({report.node, asked[i].id, *devices.begin(), devices.size(), why_hidden(group)});
  }
  return out;
}

std::vector<std::string> hidden_causes(const std::vector<HiddenMatch>& matches) {
  struct Sum {
    size_t devices = 0;
    std::vector<std::string> nodes;
  };
  std::map<std::pair<std::string, std::string>, size_t> places;  // by request and reason
  std::vector<std::pair<const HiddenMatch*, Sum>> sums;
  for (const HiddenMatch& one : matches) {
    const auto [at, is_new] = places.emplace(std::pair(one.request, one.why), sums.size());
    if (is_new) sums.emplace_back(&one, Sum{});
    Sum& sum = sums[at->second].second;
    sum.devices += one.devices;
    if (std::find(sum.nodes.begin(), sum.nodes.end(), one.node) == sum.nodes.end())
      sum.nodes.push_back(one.node);
  }
  constexpr size_t kNodesNamed = 3;
  std::vector<std::string> out;
  for (auto& [match, sum] : sums) {
    const size_t more = sum.nodes.size() > kNodesNamed ? sum.nodes.size() - kNodesNamed : 0;
    sum.nodes.resize(sum.nodes.size() - more);
    out.push_back(std::to_string(sum.devices) + (sum.devices == 1 ? " device on " : " devices on ") +
                  join(sum.nodes, ", ") + (more > 0 ? " " + and_more(more, "node") : "") + " that request " +
                  match->request + " could have " + (sum.devices == 1 ? "is" : "are") +
                  " not offered: " + match->why);
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

}  // namespace sliced::kubectl
