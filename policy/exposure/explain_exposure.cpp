#include "policy/exposure/explain_exposure.h"

#include <algorithm>

#include "policy/allowed_settings.h"
#include "policy/exposure/resolve.h"
#include "policy/exposure/selector.h"
#include "policy/gates/gates.h"
#include "policy/gates/readiness.h"
#include "policy/identity.h"
#include "reactor/base/text.h"

namespace sliced::policy {
namespace {

// The answer of a selector for a device, for people.
struct SelectorOutcome {
  cel::Answer::Is is = cel::Answer::Is::kError;
  std::string error;           // with its column
  bool is_remembered = false;  // from before its interface left; the error is unknown then
  std::string unknown;         // of kUnknown: the unknown fact
};

std::string shown(const SelectorOutcome& answer) {
  if (answer.is_remembered)
    return std::string(answer.is == cel::Answer::Is::kTrue    ? "true"
                       : answer.is == cel::Answer::Is::kFalse ? "false"
                                                              : "an error") +
           ", as before its interface left";
  switch (answer.is) {
    case cel::Answer::Is::kTrue:
      return "true";
    case cel::Answer::Is::kFalse:
      return "false";
    case cel::Answer::Is::kUnknown:
      return "not known: " + answer.unknown +
             " of an interface in another network namespace, or that cannot be read";
    case cel::Answer::Is::kError:
      break;
  }
  return answer.error.empty() ? "not to be evaluated" : "an error: " + answer.error;
}

// Returns the stored answer. The text of an error is computed again, at a cost that the decision has counted.
SelectorOutcome answer_of(const Decision& decision, int32_t policy, const hotplug::HostDevice& device) {
  const SelectorResults& known = *decision.selectors;
  const std::string& cel = known.asked[static_cast<size_t>(policy)];
  const StoredResult kept = known.memory.of(device.id.text, cel);
  if (!kept.is_known()) return {};
  if (const std::string_view fact = known.memory.unknown_fact(device.id.text, cel); !fact.empty())
    return {.is = cel::Answer::Is::kUnknown, .unknown = std::string(fact)};
  SelectorOutcome out{.is = kept.is()};
  const auto& before = decision.inputs->selectors;
  out.is_remembered =
      is_away(device) && before != nullptr && before->memory.of(device.id.text, cel).is_known();
  if (out.is != cel::Answer::Is::kError || out.is_remembered) return out;
  HostDeviceView view(decision.inputs->settings.exposure_driver);
  view.set_device(facts_of(device, *decision.inputs->inventory));
  cel::Evaluator evaluator;
  const cel::Program& program = *known.programs->at(cel).program;
  evaluator.select(program, view);
  out.error = evaluator.error_text(program);
  return out;
}

// Returns one sentence about a persona.
std::string text_of_verdict(const Decision& decision, const PersonaVerdict& verdict,
                            const hotplug::HostDevice& device) {
  if (verdict.outcome == Outcome::kOffered) {
    const Inputs& in = *decision.inputs;
    const std::string pool = exposure_pool_name(in.node.name, device);
    const EntryPlace place{PolicyType::kExposure, pool, verdict.entry};
    const ExposurePolicy& policy = *in.policies->exposures[static_cast<size_t>(verdict.policy)];
    return "offered as " + verdict.entry + offered_unready(in, device, policy.readiness, place) +
           text_of(exposure_settings(decision, device, policy.exposure.name_suffix));
  }
  if (verdict.outcome == Outcome::kNoCounters)
    return "it excludes another entry that is offered, and this cluster cannot count that "
           "(DRAPartitionableDevices, kube-scheduler 1.36.2)";
  if (verdict.outcome == Outcome::kExposeUnknown)
    return "DeviceExposurePolicy " + verdict.why +
           " has precedence and may offer it: it depends on a fact that is unknown, because its interface is in another network namespace, has not been read yet or cannot be read";
  const GateKind* gate = gate_of(verdict.outcome);
  return gate == nullptr
             ? ""
             : gate->say({decision, device, PolicyType::kExposure, verdict.outcome, verdict.why, ""});
}

// Returns "" if it is known, or unknown because its interface is in another namespace.
std::string why_unreadable(const std::string& attribute, const hotplug::HostDevice& device) {
  for (const KnownAttribute& known : known_attributes())
    if (known.id == attribute) return std::string(unreadable_note(known, device));
  return "";
}

void explain_excluded(const Decision& decision, const hotplug::HostDevice& device, const Verdict& verdict,
                      Explanation& out) {
  const auto& policies = decision.inputs->policies->exposures;
  const ExposurePolicy& policy = policies[static_cast<size_t>(verdict.exposure)];
  out.outcome = name_of(verdict.outcome);
  out.summary = "DeviceExposurePolicy " + policy.id.name + " excludes it";
  const SelectorOutcome answer = answer_of(decision, verdict.exposure, device);
  if (verdict.outcome == Outcome::kExcludeUnknown) {
    const std::string note = why_unreadable(answer.unknown, device);
    out.summary =
        "DeviceExposurePolicy " + policy.id.name + " may exclude it: it depends on " + answer.unknown +
        (note.empty()
             ? " of an interface that is in another network namespace; it is not offered until that is "
               "back, or the function is bound to a driver without one"
             : ", which cannot be read (" + note + "); it is not offered until that can be");
    return;
  }
  if (answer.is == cel::Answer::Is::kError)
    out.summary += answer.is_remembered ? ", because its selector failed before its interface left"
                                        : ", because its selector fails on this device: " + answer.error;
  if (!policy.problems.empty() || decision.selectors->problems.contains(verdict.exposure))
    out.summary += " (as it was last understood: it cannot be read now)";
}

std::vector<Rule> rules_of_readiness(const Decision& decision, const hotplug::HostDevice& device,
                                     int32_t index) {
  const Inputs& in = *decision.inputs;
  const ExposurePolicy& policy = *in.policies->exposures[static_cast<size_t>(index)];
  const auto rules = [&](const EntryPlace* place) {
    return readiness_rules(in, device, policy.readiness, policy.id.name, place);
  };
  const auto personas = decision.personas.find(device.id.text);
  if (personas == decision.personas.end()) return rules(nullptr);
  const std::string pool = exposure_pool_name(in.node.name, device);
  for (const PersonaVerdict& persona : personas->second) {
    const EntryPlace place{PolicyType::kExposure, pool, persona.entry};
    if (persona.policy == index) return rules(&place);
  }
  return rules(nullptr);
}

void add_exposure_rules(const Decision& decision, const hotplug::HostDevice& device, size_t rules_max,
                        Explanation& out) {
  const Inputs& in = *decision.inputs;
  const SelectorResults& known = *decision.selectors;
  for (size_t i = 0; i < in.policies->exposures.size(); ++i) {
    if (out.rules.size() >= rules_max) {
      out.rules_left_out += in.policies->exposures.size() - i;
      return;
    }
    const ExposurePolicy& policy = in.policies->exposures[i];
    const auto index = static_cast<int32_t>(i);
    const auto say = [&](const Problem& problem) {
      out.rules.push_back({policy.id.name, problem.field, "no", "policy", "unreadable (" + problem.what + ")",
                           kUnderstoodPolicy});
    };
    for (const Problem& problem : policy.problems) say(problem);
    for (const auto* problems : {&known.problems, &decision.exposure_problems})
      if (const auto at = problems->find(index); at != problems->end()) say(at->second);
    const kube::NodeMatch node = kube::match_node(policy.node_selector, in.node);
    if (policy.problems.empty() && !node.matched)
      out.rules.push_back({policy.id.name, "spec.nodeSelector", "no", node.field, node.found, node.wanted});
    const auto is_in = [&](const std::vector<int32_t>& list) {  // both lists are in order of evaluation
      return std::binary_search(list.begin(), list.end(), index);
    };
    if (!is_in(known.node.excludes) && !is_in(known.node.exposes)) continue;
    if (device.type == hotplug::DeviceType::kVirtual && !policy.include_virtual &&
        policy.action == ExposureAction::kExpose) {
      out.rules.push_back({policy.id.name, "spec.includeVirtual", "no", "type", "virtual",
                           "includeVirtual: true, which a virtual link requires"});
      continue;
    }
    const SelectorOutcome answer = answer_of(decision, index, device);
    const bool matches = answer.is == cel::Answer::Is::kTrue;
    out.rules.push_back({policy.id.name, "spec.selector.cel",
                         matches ? std::string(name_of(policy.action)) : "no", "cel", shown(answer), "true"});
    if (matches && policy.action == ExposureAction::kExpose)
      for (Rule& rule : rules_of_readiness(decision, device, index)) out.rules.push_back(std::move(rule));
  }
}

}  // namespace

void explain_exposures(const Decision& decision, const hotplug::HostDevice& device, size_t rules_max,
                       Explanation& out) {
  const auto& policies = decision.inputs->policies->exposures;
  if (policies.empty()) return;
  add_exposure_rules(decision, device, rules_max, out);
  const Verdict& verdict = decision.verdicts.at(device.id.text);
  if (verdict.outcome == Outcome::kExcludeUnreadable) return;  // its gate explains it
  if (verdict.exposure >= 0) return explain_excluded(decision, device, verdict, out);
  const auto found = decision.personas.find(device.id.text);
  if (found == decision.personas.end()) {
    if (verdict.outcome == Outcome::kNotAVf) {
      out.outcome = name_of(Outcome::kNoMatch);
      out.summary = "no policy for this node exposes it";
    }
    return;
  }
  bool is_offered = verdict.outcome == Outcome::kOffered;
  std::string summary;
  for (const PersonaVerdict& persona : found->second) {
    const std::string& policy = policies[static_cast<size_t>(persona.policy)]->id.name;
    const std::string text = text_of_verdict(decision, persona, device),
                      by = " by DeviceExposurePolicy " + policy;
    const bool has_entry = persona.outcome == Outcome::kOffered;
    out.personas.push_back({policy, has_entry ? persona.entry : "", std::string(name_of(persona.outcome)),
                            has_entry ? text : "not offered: " + text});
    summary += (summary.empty() ? "" : "; ") + (has_entry ? text + by : "not offered" + by + ": " + text);
    if (!has_entry || is_offered) continue;
    is_offered = true;
    out.entry = persona.entry;
    out.outcome = name_of(Outcome::kOffered);
  }
  if (!is_offered) out.outcome = out.personas.front().outcome;
  out.summary = verdict.outcome == Outcome::kOffered ? out.summary + "; " + summary : summary;
}

}  // namespace sliced::policy
