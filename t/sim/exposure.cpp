#include "t/sim/exposure.h"

#include <algorithm>

namespace sliced::sim {
namespace {

using kube::Json;
using Of = Condition::Of;

std::string attribute(const std::string& name) {
  return std::string("device.attributes[\"") + kExposureDriver + "\"]." + name;
}
std::string is_text(const std::string& name, const std::string& value) {
  return attribute(name) + " == \"" + value + "\"";
}

std::string joined(const std::vector<Condition>& parts, const char* by) {
  std::string out;
  for (const Condition& part : parts) out += (out.empty() ? "(" : by) + cel_of(part);
  return out + ")";
}

Answer yes_if(bool is) { return is ? Answer::kYes : Answer::kNo; }
Answer opposite(Answer a) { return a == Answer::kOpen ? a : yes_if(a == Answer::kNo); }

// What may be several things: yes or no when all of them are, and what may not be known is open.
Answer any_of_names(const std::set<std::string>& names, const std::string& wanted) {
  if (names.size() == 1) return yes_if(*names.begin() == wanted);
  if (names.contains("")) return Answer::kOpen;
  return names.contains(wanted) ? Answer::kOpen : Answer::kNo;
}

bool reads(const Condition& condition, const std::set<Of>& facts) {
  return facts.contains(condition.of) ||
         std::any_of(condition.parts.begin(), condition.parts.end(),
                     [&](const Condition& part) { return reads(part, facts); });
}

Answer plain_answer(const Condition& c, const DeviceFacts& d, const std::set<std::string>& pf_names) {
  switch (c.of) {
    case Of::kAnything:
      return Answer::kYes;
    case Of::kType:
      return yes_if(d.type == c.text);
    case Of::kName:
      return d.is_name_open ? Answer::kOpen : yes_if(d.name == c.text);
    case Of::kAddress:
      return yes_if(d.is_function() && d.id == c.text);
    case Of::kPfAddress:
      return yes_if(d.pf == c.text);
    case Of::kPfName:
      return d.type == "vf" ? any_of_names(pf_names, c.text) : Answer::kNo;
    case Of::kVendor:
      return yes_if(d.vendor == c.text);
    case Of::kDriver:
      return yes_if(d.driver == c.text);
    case Of::kIndexBelow:
      return yes_if(d.type != "vf" || d.index < c.number);
    case Of::kFree:
      return yes_if(d.master.empty());
    case Of::kNot:
      return opposite(plain_answer(c.parts.front(), d, pf_names));
    case Of::kBoth:
    case Of::kEither:
      break;
  }
  const Answer ends = c.of == Of::kBoth ? Answer::kNo : Answer::kYes;
  Answer out = opposite(ends);
  for (const Condition& part : c.parts) {
    const Answer one = plain_answer(part, d, pf_names);
    if (one == ends) return ends;
    if (one == Answer::kOpen) out = one;
  }
  return out;
}

Json labels_object(const std::map<std::string, std::string>& texts) {
  Json::Object out;
  for (const auto& [key, value] : texts) out.emplace_back(key, value);
  return out;
}

bool selects(const std::map<std::string, std::string>& wanted, const Labels& node) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& one) {
    const auto at = node.find(one.first);
    return at != node.end() && at->second == one.second;
  });
}

// By priority, then by name.
std::vector<ExposurePtr> in_order(const Exposures& policies, const Labels& node) {
  std::vector<ExposurePtr> out;
  for (const auto& [name, policy] : policies)
    if (selects(policy->nodes, node)) out.push_back(policy);
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a->priority > b->priority; });
  return out;
}

std::string why_one_device(const Offer& a, const Offer& b) {
  if (a.driver != b.driver) return "one function, two drivers";
  const bool is_same = a.name == b.name;
  if (a.is_exclusive || b.is_exclusive)
    return is_same ? "the same exclusive " + a.type : "exclusive beside another persona of a " + a.type;
  return !is_same && !a.group.empty() && a.group == b.group ? "one group of a " + a.type : "";
}

}  // namespace

std::string cel_of(const Condition& c) {
  switch (c.of) {
    case Of::kAnything:
      return "true";
    case Of::kType:
      return is_text("type", c.text);
    case Of::kName:
      return is_text("ifName", c.text);
    case Of::kAddress:
      return is_text("pciAddress", c.text);
    case Of::kPfAddress:
      return is_text("pfPciAddress", c.text);
    case Of::kPfName:
      return is_text("pfName", c.text);
    case Of::kVendor:
      return is_text("vendor", c.text);
    case Of::kDriver:
      return is_text("driver", c.text);
    case Of::kIndexBelow:
      return attribute("vfIndex") + " < " + std::to_string(c.number);
    case Of::kFree:
      return is_text("masterBridge", "");
    case Of::kBoth:
      return joined(c.parts, " && ");
    case Of::kEither:
      return joined(c.parts, " || ");
    case Of::kNot:
      return "!(" + cel_of(c.parts.front()) + ")";
  }
  return "";
}

Answer answer_of(const Condition& condition, const DeviceFacts& device,
                 const std::set<std::string>& pf_names) {
  // What was said before stands, and who starts now does not know what was said.
  const bool is_open = device.is_away && reads(condition, {Of::kName, Of::kPfName, Of::kFree});
  return is_open ? Answer::kOpen : plain_answer(condition, device, pf_names);
}

Json object_of(const Exposure& exposure) {
  Json spec = Json::Object{{"selector", Json::Object{{"cel", cel_of(exposure.selector)}}}};
  spec.set("priority", exposure.priority);
  if (!exposure.nodes.empty())
    spec.set("nodeSelector", Json::Object{{"matchLabels", labels_object(exposure.nodes)}});
  if (exposure.is_broken) spec.set("exposrue", Json::Object{});
  if (exposure.allow_host_use) spec.set("allowHostUse", true);
  if (exposure.include_virtual) spec.set("includeVirtual", true);
  if (exposure.wants_mac_for) {
    static constexpr const char* kOnLoss[] = {"withdraw", "keep", "taint"};  // by Lost
    spec.set("readiness", Json::Object{{"require", Json::Array{Json(std::string("adminMac"))}},
                                       {"stableFor", std::to_string(exposure.wants_mac_for->count()) + "ms"},
                                       {"onLoss", kOnLoss[static_cast<size_t>(exposure.lost)]}});
  }
  Json how =
      Json::Object{{"additionalAttributes", Json::Object{{"rev", Json::Object{{"int", exposure.rev}}}}}};
  if (!exposure.suffix.empty()) how.set("deviceNameSuffix", exposure.suffix);
  if (!exposure.group.empty()) how.set("exclusionGroup", exposure.group);
  if (exposure.is_shared) how.set("allowMultipleAllocations", true);
  if (exposure.is_shared && exposure.capacity > 0) {
    Json shares = Json::Object{{"value", std::to_string(exposure.capacity)}};
    if (exposure.each > 1) {
      const std::string each = std::to_string(exposure.each);
      Json range = Json::Object{{"min", each}};
      if (exposure.capacity >= 2 * exposure.each) range.set("step", each);
      shares.set("requestPolicy", Json::Object{{"default", each}, {"validRange", std::move(range)}});
    }
    how.set("capacity", Json::Object{{"shares", std::move(shares)}});
  }
  spec.set("exposure", std::move(how));
  return Json::Object{{"metadata", Json::Object{{"name", exposure.name}}}, {"spec", std::move(spec)}};
}

std::vector<Persona> personas_of(const DeviceFacts& device, const std::set<std::string>& pf_names,
                                 const Exposures& policies, const Labels& node) {
  std::vector<Persona> out;
  if (!device.is_there) return out;
  std::set<std::string> decided, open;  // suffixes
  for (const ExposurePtr& policy : in_order(policies, node)) {
    if (policy->is_broken || decided.contains(policy->suffix)) continue;
    if (device.type == "virtual" && !policy->include_virtual) continue;
    const Answer one = answer_of(policy->selector, device, pf_names);
    if (one == Answer::kNo) continue;
    const bool is_sure = one == Answer::kYes;
    out.push_back({policy, is_sure && !open.contains(policy->suffix)});
    (is_sure ? decided : open).insert(policy->suffix);
  }
  return out;
}

std::string why_not_both(const Offer& a, const Offer& b) {
  if (a.device == b.device) return a.born == b.born ? why_one_device(a, b) : "";
  const auto is_whole = [](const Offer& pf, const Offer& vf) {
    return pf.type == "pf" && pf.is_exclusive && vf.type == "vf" && vf.pf == pf.device;
  };
  if (!is_whole(a, b) && !is_whole(b, a)) return "";
  return a.driver == b.driver ? "exclusive PF beside its VF"
                              : "exclusive PF beside its VF of the other driver";
}

std::string pool_of(const DeviceFacts& device, const std::string& node) {
  if (device.type == "pf") return node + "/" + name_of_entry(device.id);
  if (device.type == "vf") return node + "/" + name_of_entry(device.pf);
  return node + "/net";
}

std::string base_of(const DeviceFacts& device) { return name_of_entry(device.id); }

}  // namespace sliced::sim
