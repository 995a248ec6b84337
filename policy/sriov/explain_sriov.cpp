#include "policy/sriov/explain_sriov.h"

#include <algorithm>

#include "policy/allowed_settings.h"
#include "policy/gates/gates.h"
#include "policy/gates/readiness.h"
#include "policy/sriov/match.h"
#include "reactor/base/text.h"

namespace sliced::policy {
namespace {

using hotplug::DeviceType;
using hotplug::HostDevice;

// Returns the index of the policy that decides; -1 if none matches or may match.
int32_t who_decides(const Verdict& verdict) { return std::max(verdict.policy, verdict.may_offer); }

// Adds the rules of SriovResourcePolicies for a VF, up to the deciding one.
void add_rules(const Decision& decision, const HostDevice& device, size_t rules_max, Explanation& out) {
  const Inputs& in = *decision.inputs;
  const auto& all = in.policies->sriov;
  const Verdict& verdict = decision.verdicts.at(device.id.text);
  const auto add_refusals = [&](const auto& make) {
    if (out.rules.size() < rules_max)
      out.rules.push_back(make());
    else
      ++out.rules_left_out;
  };
  const int32_t last = who_decides(verdict);
  for (int32_t i = 0; i < static_cast<int32_t>(all.size()); ++i) {
    if (last >= 0 && i > last) break;
    if (out.rules.size() >= rules_max && i != last) {
      ++out.rules_left_out;
      continue;
    }
    const std::string name = text_of(all[i]->id);
    const auto say = [&](const Problem& problem) {
      add_refusals([&] {
        return Rule{
            name, problem.field, "no", "policy", "unreadable (" + problem.what + ")", kUnderstoodPolicy};
      });
    };
    for (const Problem& problem : all[i]->problems) say(problem);
    const auto unused = decision.sriov_problems.find(i);
    if (unused != decision.sriov_problems.end()) say(unused->second);
    if (!all[i]->problems.empty() || unused != decision.sriov_problems.end()) continue;
    const kube::NodeMatch node = kube::match_node(all[i]->node_selector, in.node);
    if (!node.matched) {
      add_refusals(
          [&] { return Rule{name, "spec.nodeSelector", "no", node.field, node.found, node.wanted}; });
      continue;
    }
    const UnknownFacts unknown = unknown_facts(device, *in.inventory);
    walk(device, *in.policies, {i}, unknown, [&](const Step& step) {
      if (!step.refusal && !step.unreadable)
        out.rules.push_back(rule_of(step, device, *in.policies, unknown));
      else
        add_refusals([&] { return rule_of(step, device, *in.policies, unknown); });
    });
    if (i != verdict.policy) continue;
    const std::string entry = function_name(*device.pci);
    const EntryPlace place{PolicyType::kSriov, in.node.name, entry};
    for (Rule& rule : readiness_rules(in, device, all[i]->readiness, name, &place))
      out.rules.push_back(std::move(rule));
  }
}

std::string place_of(const Verdict& verdict) {
  std::string place = "spec.configs[" + std::to_string(verdict.config) + "]";
  if (verdict.filter >= 0) place += ".resourceFilters[" + std::to_string(verdict.filter) + "]";
  return place;
}

std::string summary_of(const Decision& decision, const HostDevice& device, const Verdict& verdict) {
  const auto& policies = decision.inputs->policies->sriov;
  const int32_t who = who_decides(verdict);
  const std::string by =
      who < 0 ? "" : "policy " + text_of(policies[static_cast<size_t>(who)]->id) + ", " + place_of(verdict);
  std::string none = decision.inputs->policies->exposures.empty()
                         ? "there is no policy; devices are offered only by policies"
                         : "no policy selects it";
  switch (verdict.outcome) {
    case Outcome::kOffered: {
      const std::string entry = function_name(*device.pci);
      const EntryPlace place{PolicyType::kSriov, decision.inputs->node.name, entry};
      return "offered as " + entry + " by " + by +
             offered_unready(*decision.inputs, device, policies[static_cast<size_t>(who)]->readiness, place) +
             text_of(sriov_settings(decision, device));
    }
    case Outcome::kNotAVf:
      if (policies.empty()) return none;
      return "is a " + std::string(name_of(device.type)) +
             "; a SriovResourcePolicy offers virtual functions only";
    case Outcome::kNoPolicy:
      return policies.empty() || !decision.inputs->policies->exposures.empty()
                 ? none
                 : "no policy that can be understood selects this node";
    case Outcome::kMatchUnknown:
      return by + " has precedence and may offer it: it depends on a fact of the interface of PF " +
             device.pf->text() +
             ", which is in another network namespace; the VF is not offered until that returns";
    case Outcome::kNoMatch:
      return "no filter of any policy for this node matches";
    default:
      break;
  }
  const GateKind* gate = gate_of(verdict.outcome);
  if (gate == nullptr) return "";  // explain_exposures() explains it
  const auto why = decision.refusals.find(device.id.text);
  return gate->say({decision, device, PolicyType::kSriov, verdict.outcome,
                    why == decision.refusals.end() ? "" : why->second, by});
}

}  // namespace

void explain_sriov(const Decision& decision, const HostDevice& device, size_t rules_max, Explanation& out) {
  const Verdict& verdict = decision.verdicts.at(device.id.text);
  out.outcome = name_of(verdict.outcome);
  if (device.type == DeviceType::kVf && device.pci && device.broken.empty())
    add_rules(decision, device, rules_max, out);
  out.summary = summary_of(decision, device, verdict);
  if (verdict.outcome == Outcome::kOffered) out.entry = function_name(*device.pci);
}

}  // namespace sliced::policy
