#include "policy/decide.h"

#include <algorithm>
#include <set>

#include "policy/exposure/decide_exposure.h"
#include "policy/exposure/explain_exposure.h"
#include "policy/sriov/attributes.h"
#include "policy/sriov/match.h"
#include "reactor/base/text.h"

namespace sliced::policy {
namespace {

using hotplug::DeviceType;
using hotplug::HostDevice;

// Attributes that a config adds to each of its entries, joined once per config.
struct Additions {
  kube::Attributes attributes;
  std::string refusal;         // not empty: the entries are held back, and why
  Notes notes;                 // what was left out
  bool is_acceptable = false;  // the API server takes each of the attributes
};

bool names_resource(const std::string& key, const std::string& driver) {
  return key == kMultusResourceName || key == driver + "/" + std::string(kResourceNameId);
}

Additions additions_of(const SriovPolicy& policy, const ResourceConfig& config, const Inputs& inputs,
                       const VfAttributes& own) {
  Additions out;
  const std::string& driver = inputs.settings.sriov_driver;
  const std::string who = "policy " + text_of(policy.id);
  if (config.attributes_selector) {
    for (const DeviceAttributes& object : inputs.policies->attributes) {  // by name: the last one wins
      if (object.id.namespace_ != policy.id.namespace_ ||
          !kube::matches(*config.attributes_selector, object.labels))
        continue;
      for (const auto& [key, why] : object.refused)
        if (names_resource(key, driver))
          out.refusal = "DeviceAttributes " + object.id.name + ": " + key + " " + why;
      for (const auto& [key, value] : object.attributes) {
        if (!kube::is_list(value) || inputs.settings.list_attributes)
          out.attributes[key] = value;
        else
          out.notes.add(
              who + ": attribute " + key.str() + " of DeviceAttributes " + object.id.name +
              " left out: the API server does not take list attributes, or has not said yet that it does");
      }
    }
  }
  if (!config.resource_name.empty())
    out.attributes[driver + "/" + std::string(kResourceNameId)] = config.resource_name;
  // The entry's own attributes come first; what no longer fits is dropped from the end of the alphabet.
  const size_t room = kube::kAttributesAndCapacitiesMax - own.keys().size();
  std::vector<std::string> droppable;
  for (const auto& [key, value] : out.attributes)
    if (!names_resource(key, driver)) droppable.push_back(key);
  for (; out.attributes.size() > room && !droppable.empty(); droppable.pop_back()) {
    out.attributes.erase(droppable.back());
    out.notes.add(who + ": attribute " + droppable.back() + " left out: a device entry holds at most " +
                  std::to_string(kube::kAttributesAndCapacitiesMax) + " attributes, " + std::to_string(room) +
                  " of them from DeviceAttributes");
  }
  out.is_acceptable = kube::validate_device({.name = "x", .attributes = out.attributes}).empty();
  return out;
}

kube::Device make_entry(const HostDevice& vf, const HostDevice* pf, const Additions& additions,
                        const VfAttributes& own) {
  kube::Device entry;
  entry.name = vf.pci->dashed();
  entry.attributes = own.of(vf, pf);
  entry.attributes.insert(additions.attributes.begin(), additions.attributes.end());
  return entry;
}

std::string pool_place(const Verdict& verdict) {
  std::string place = "spec.configs[" + std::to_string(verdict.config) + "]";
  if (verdict.filter >= 0) place += ".resourceFilters[" + std::to_string(verdict.filter) + "]";
  return place;
}

}  // namespace

std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOffered:
      return "offered";
    case Outcome::kNotAVf:
      return "not-a-vf";
    case Outcome::kNoPolicy:
      return "no-policy";
    case Outcome::kNoMatch:
      return "no-match";
    case Outcome::kHostUse:
      return "in-use-by-host";
    case Outcome::kBroken:
      return "unreadable";
    case Outcome::kRefused:
      return "refused";
    case Outcome::kExcluded:
      return "excluded";
    case Outcome::kExcludeUnreadable:
      return "exclude-unreadable";
    case Outcome::kExcludeUnknown:
      return "exclude-unknown";
    case Outcome::kConflict:
      return "conflict";
    case Outcome::kNoCounters:
      return "no-counters";
    case Outcome::kNoSharing:
      return "no-sharing";
    case Outcome::kSettling:
      return "settling";
    case Outcome::kHeldByOther:
      return "held-by-other-driver";
    case Outcome::kCharged:
      return "charged";
  }
  return "";
}

std::vector<int32_t> policies_for_node(const PolicySet& policies, const kube::NodeView& node) {
  std::vector<int32_t> selected;
  for (size_t i = 0; i < policies.sriov.size(); ++i)
    if (policies.sriov[i]->problems.empty() &&
        kube::match_node(policies.sriov[i]->node_selector, node).matched)
      selected.push_back(static_cast<int32_t>(i));
  return selected;
}

Verdict decide_function(const HostDevice& device, const PolicySet& policies,
                        const std::vector<int32_t>& selected) {
  if (!device.broken.empty()) return {Outcome::kBroken};
  if (device.type != DeviceType::kVf || !device.pci) return {Outcome::kNotAVf};
  if (selected.empty()) return {Outcome::kNoPolicy};
  return walk(device, policies, selected, [](const Step&) {});
}

uint64_t content_hash(const kube::Device& device) {
  kube::ResourceSlice carrier;
  carrier.devices.push_back(device);
  return stable_hash(kube::encode_json(kube::encode_resource_slice(carrier)));
}

namespace {

// Why the server would refuse the entry, after dropping what may be dropped alone.
std::string drop_refused(kube::Device& entry, const std::function<bool(const std::string&)>& is_vital,
                         std::vector<std::string>& notes) {
  for (int round = 0; round < 64; ++round) {
    const auto problems = kube::validate_device(entry);
    if (problems.empty()) break;
    const kube::DeviceProblem& first = problems.front();
    if (!first.descriptive || is_vital(first.attribute)) return first.field + " " + first.what;
    notes.push_back("device " + entry.name + ": attribute " + escaped(first.attribute) +
                    " left out: " + first.what);
    entry.attributes.erase(first.attribute);
  }
  return {};
}

}  // namespace

std::string refused_before(const kube::Device& entry, const QuarantinedEntries& quarantine) {
  const auto at = quarantine.find(entry.name);
  return at != quarantine.end() && at->second.content_hash == content_hash(entry) ? at->second.why : "";
}

bool is_plainly_good(const kube::Device& entry) {
  if (entry.attributes.size() + entry.capacity.size() > kube::kAttributesAndCapacitiesMax) return false;
  for (const auto& [key, value] : entry.attributes) {
    if (kube::is_list(value)) return false;
    if (const auto* text = std::get_if<std::string>(&value);
        text != nullptr && (text->size() > kube::kAttributeValueBytesMax || !is_utf8(*text)))
      return false;
  }
  return true;
}

std::string make_acceptable(kube::Device& entry, const QuarantinedEntries& quarantine,
                            const std::function<bool(const std::string&)>& is_vital,
                            std::vector<std::string>& notes) {
  std::string why = drop_refused(entry, is_vital, notes);
  return why.empty() ? refused_before(entry, quarantine) : why;
}

std::vector<PolicyProblem> problems_of(const Decision& decision) {
  std::vector<PolicyProblem> out;
  const PolicySet& policies = *decision.inputs->policies;
  for (const auto& [policy, problem] : decision.sriov_problems)
    out.push_back({"policy " + text_of(policies.sriov[static_cast<size_t>(policy)]->id), problem});
  for (const auto* problems : {&decision.selectors->problems, &decision.exposure_problems})
    for (const auto& [policy, problem] : *problems)
      out.push_back(
          {"DeviceExposurePolicy " + text_of(policies.exposures[static_cast<size_t>(policy)]->id), problem});
  return out;
}

namespace {

// Of those that are left, the ones whose needs, which are known beforehand, are within the budget.
struct Share {
  const std::vector<uint64_t>& entries;  // by policy
  uint64_t times;                        // that each is looked at
  Budget budget;
  const char *what, *remedy;
};
void keep_those_that_fit(std::vector<int32_t>& left, const Share& share,
                         std::map<int32_t, Problem>& problems) {
  std::vector<uint64_t> needs;
  for (const int32_t one : left) needs.push_back(share.times * share.entries[static_cast<size_t>(one)]);
  const std::vector<bool> fits = who_fits(needs, share.budget);
  std::vector<int32_t> kept;
  for (size_t i = 0; i < left.size(); ++i) {
    if (fits[i])
      kept.push_back(left[i]);
    else
      problems[left[i]] = {"spec.configs",
                           "has " + std::to_string(share.entries[static_cast<size_t>(left[i])]) + " " +
                               share.what +
                               ", which is more than its share of work, so it is not used: one policy may "
                               "take " +
                               std::to_string(share.budget.each) + " such looks, all of a node together " +
                               std::to_string(share.budget.all) + "; " + share.remedy};
  }
  left = std::move(kept);
}

std::vector<int32_t> within_budget(std::vector<int32_t> selected, const Inputs& in,
                                   std::map<int32_t, Problem>& problems) {
  const auto& devices = in.inventory->devices;
  const auto vfs = static_cast<uint64_t>(std::count_if(
      devices.begin(), devices.end(), [](const auto& one) { return one.second.type == DeviceType::kVf; }));
  keep_those_that_fit(
      selected,
      {in.policies->filter_entries, vfs, in.settings.budgets.filters,
       "entries of filters to look at for each VF of this node", "name ranges or PFs instead of single VFs"},
      problems);
  keep_those_that_fit(
      selected,
      {in.policies->attribute_entries, 1, in.settings.budgets.attributes,
       "labels and attributes of DeviceAttributes to look at through its deviceAttributesSelectors",
       "fewer configs with a deviceAttributesSelector, or fewer DeviceAttributes, are wanted"},
      problems);
  return selected;
}

}  // namespace

Decision decide(std::shared_ptr<const Inputs> inputs, const std::stop_token& stop) {
  Decision out;
  const ExposureDecision exposures(*inputs, stop);
  if (stop.stop_requested()) return out;
  const bool has_exposures = !inputs->policies->exposures.empty() || !inputs->holdings.empty();
  std::set<std::string> taken;  // by SriovResourcePolicies
  const auto selected =
      within_budget(policies_for_node(*inputs->policies, inputs->node), *inputs, out.sriov_problems);
  const VfAttributes own(inputs->settings.sriov_driver);
  DesiredPool pool{.driver = inputs->settings.sriov_driver, .name = inputs->node.name};
  std::map<std::pair<int32_t, int32_t>, Additions> additions;  // by policy and config
  auto resolution = exposures.resolutions().begin();
  for (const auto& [id, device] : inputs->inventory->devices) {
    const Resolution& said = *resolution++;
    Verdict verdict = decide_function(device, *inputs->policies, selected);
    if (said.excluded_by >= 0)
      verdict = {.outcome = said.is_unknown ? Outcome::kExcludeUnknown : Outcome::kExcluded,
                 .exposure = said.excluded_by};
    else if (verdict.outcome == Outcome::kOffered && exposures.unreadable_exclude() >= 0 &&
             !inputs->published.sriov.contains(device.pci->dashed()))
      verdict = {.outcome = Outcome::kExcludeUnreadable, .exposure = exposures.unreadable_exclude()};
    if (verdict.outcome == Outcome::kOffered && exposures.may_be_allocated(device)) {
      verdict.outcome = Outcome::kHeldByOther;
      taken.insert(id);
      out.wanted.insert(exposure_pool_name(inputs->node.name, device));
    } else if (verdict.outcome == Outcome::kOffered && exposures.awaits_pods(device)) {
      verdict.outcome = Outcome::kHeldByOther;
      taken.insert(id);
      out.awaits_pods = true;
    }
    if (verdict.outcome == Outcome::kOffered) {
      const SriovPolicy& policy = inputs->policies->sriov[verdict.policy];
      const auto [at, fresh] = additions.try_emplace({verdict.policy, verdict.config});
      if (fresh) {
        at->second = additions_of(policy, policy.configs[verdict.config], *inputs, own);
        out.notes.add(at->second.notes);
      }
      const HostDevice* pf = device.pf ? inputs->inventory->find(device.pf->text()) : nullptr;
      kube::Device entry = make_entry(device, pf, at->second, own);
      std::string refusal = at->second.refusal;
      if (refusal.empty() && !(at->second.is_acceptable && is_plainly_good(entry))) {
        std::vector<std::string> notes;
        refusal = drop_refused(
            entry, [&](const std::string& key) { return names_resource(key, inputs->settings.sriov_driver); },
            notes);
        out.notes.add(notes);
      }
      if (refusal.empty()) refusal = refused_before(entry, inputs->quarantine.sriov);
      if (refusal.empty()) {
        pool.devices.push_back(std::move(entry));
        if (has_exposures) taken.insert(id);
      } else {
        verdict.outcome = Outcome::kRefused;
        out.notes.add("device " + entry.name + " held back: " + refusal);
        out.refusals[id] = std::move(refusal);
      }
    }
    out.verdicts.emplace_hint(out.verdicts.end(), id, verdict);
  }
  std::sort(pool.devices.begin(), pool.devices.end(),
            [](const auto& a, const auto& b) { return a->name < b->name; });
  if (!pool.devices.empty()) pool.excludes = exposures.exclude_record();
  out.pools.push_back(std::move(pool));
  if (has_exposures) exposures.decide(taken, out);
  out.selectors = exposures.selectors();
  out.inputs = std::move(inputs);
  return out;
}

namespace {

// What SriovResourcePolicies say of a VF, up to the one that decides.
void add_rules(const Decision& decision, const HostDevice& device, size_t rules_max, Explanation& out) {
  const Inputs& in = *decision.inputs;
  const auto& all = in.policies->sriov;
  const Verdict& verdict = decision.verdicts.at(device.id.text);
  const auto say_no = [&](const auto& make) {
    if (out.rules.size() < rules_max)
      out.rules.push_back(make());
    else
      ++out.rules_left_out;
  };
  for (int32_t i = 0; i < static_cast<int32_t>(all.size()); ++i) {
    if (verdict.policy >= 0 && i > verdict.policy) break;
    if (out.rules.size() >= rules_max && i != verdict.policy) {
      ++out.rules_left_out;
      continue;
    }
    const std::string name = text_of(all[i]->id);
    const auto say = [&](const Problem& problem) {
      say_no([&] {
        return Rule{name,
                    problem.field,
                    "no",
                    "policy",
                    "unreadable (" + problem.what + ")",
                    "a policy that can be understood"};
      });
    };
    for (const Problem& problem : all[i]->problems) say(problem);
    const auto unused = decision.sriov_problems.find(i);
    if (unused != decision.sriov_problems.end()) say(unused->second);
    if (!all[i]->problems.empty() || unused != decision.sriov_problems.end()) continue;
    const kube::NodeMatch node = kube::match_node(all[i]->node_selector, in.node);
    if (!node.matched) {
      say_no([&] { return Rule{name, "spec.nodeSelector", "no", node.field, node.found, node.wanted}; });
      continue;
    }
    walk(device, *in.policies, {i}, [&](const Step& step) {
      if (!step.refusal && !step.unreadable)
        out.rules.push_back(rule_of(step, device, *in.policies));
      else
        say_no([&] { return rule_of(step, device, *in.policies); });
    });
  }
}

}  // namespace

Explanation explain(const Decision& decision, const std::string& device_id, size_t rules_max) {
  Explanation out{.device = device_id};
  const Inputs& in = *decision.inputs;
  const HostDevice* device = in.inventory->find(device_id);
  const auto found = decision.verdicts.find(device_id);
  if (device == nullptr || found == decision.verdicts.end()) {
    out.outcome = "unknown";
    out.summary = "this host has no device " + escaped(device_id);
    return out;
  }
  const Verdict& verdict = found->second;
  out.outcome = name_of(verdict.outcome);
  if (device->type == DeviceType::kVf && device->pci && device->broken.empty())
    add_rules(decision, *device, rules_max, out);
  const std::string who = verdict.policy >= 0 ? text_of(in.policies->sriov[verdict.policy]->id) : "";
  const std::string by = "policy " + who + ", " + pool_place(verdict);
  switch (verdict.outcome) {
    case Outcome::kOffered:
      out.entry = device->pci->dashed();
      out.summary = "offered as " + out.entry + " by " + by;
      break;
    case Outcome::kExcluded:
    case Outcome::kExcludeUnreadable:
    case Outcome::kExcludeUnknown:
    case Outcome::kConflict:
    case Outcome::kNoCounters:
    case Outcome::kNoSharing:
    case Outcome::kSettling:
    case Outcome::kCharged:
      break;  // explain_exposures() says it
    case Outcome::kHeldByOther:
      out.summary = by + " offers it, but a former entry of " + in.settings.exposure_driver +
                    " may still be allocated; it waits until the ResourceClaims show that free";
      break;
    case Outcome::kNotAVf:
      out.summary = "is a " + std::string(name_of(device->type)) +
                    "; a SriovResourcePolicy offers virtual functions only";
      break;
    case Outcome::kNoPolicy:
      out.summary = in.policies->sriov.empty() ? "there is no policy; nothing is offered without one"
                                               : "no policy that can be understood selects this node";
      break;
    case Outcome::kNoMatch:
      out.summary = "no filter of any policy for this node matches";
      break;
    case Outcome::kHostUse:
      out.summary = "the host uses it (" + escaped(device->host_use) + "); " + by +
                    " would offer it: set spec.allowHostUse: true there if that is meant";
      break;
    case Outcome::kBroken:
      out.summary = "cannot be trusted: " + escaped(device->broken);
      break;
    case Outcome::kRefused: {
      const auto why = decision.refusals.find(device_id);
      out.summary = by + " would offer it, but its entry is held back: " +
                    (why == decision.refusals.end() ? "" : why->second);
      break;
    }
  }
  explain_exposures(decision, *device, rules_max, out);
  return out;
}

}  // namespace sliced::policy
