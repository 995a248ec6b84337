#include "t/sim/excludes.h"

#include <algorithm>

namespace sliced::sim {
namespace {

const char* attribute_of(Exclude::Asks asks) {
  switch (asks) {
    case Exclude::Asks::kVendor:
      return "vendor";
    case Exclude::Asks::kPciAddress:
      return "pciAddress";
    case Exclude::Asks::kDriver:
      return "driver";
    case Exclude::Asks::kVfIndex:
      return "vfIndex";
    case Exclude::Asks::kPfPciAddress:
      return "pfPciAddress";
    case Exclude::Asks::kPfName:
      return "pfName";
    case Exclude::Asks::kIfName:
      return "ifName";
  }
  return "";
}

// Its driver makes interfaces; where none is seen, one is elsewhere.
bool has_interface(const Asked& device) { return !device.driver.empty() && device.driver != "vfio-pci"; }

bool selects(const Exclude& exclude, const Labels& node) {
  return std::all_of(exclude.nodes.begin(), exclude.nodes.end(), [&](const auto& wanted) {
    const auto at = node.find(wanted.first);
    return at != node.end() && at->second == wanted.second;
  });
}

}  // namespace

kube::Json object_of(const Exclude& exclude) {
  using kube::Json;
  const std::string value =
      exclude.asks == Exclude::Asks::kVfIndex ? exclude.value : "\"" + exclude.value + "\"";
  const std::string cel = std::string("device.attributes[\"dra.networking\"].") + attribute_of(exclude.asks) +
                          (exclude.is_negated ? " != " : " == ") + value;
  using Flaw = Exclude::Flaw;
  const bool is_compiled = exclude.flaw != Flaw::kSelector;
  Json spec = Json::Object{{"selector", Json::Object{{"cel", is_compiled ? cel : cel + " &&"}}}};
  spec.set(exclude.flaw == Flaw::kActionsName ? "actoin" : "action",
           exclude.flaw == Flaw::kAction ? "exclud" : "exclude");
  if (exclude.flaw == Flaw::kField) spec.set("prority", 1);
  if (!exclude.nodes.empty()) {
    Json::Object labels;
    for (const auto& [key, wanted] : exclude.nodes) labels.emplace_back(key, wanted);
    spec.set("nodeSelector", Json::Object{{"matchLabels", std::move(labels)}});
  }
  return Json::Object{{"metadata", Json::Object{{"name", exclude.name}}}, {"spec", std::move(spec)}};
}

void Exclude::follow(const Exclude& last, bool is_seen_of_it) {
  is_seen = is_seen_of_it;
  former = last.former;
  // Nobody compiles the selector of one that may not mean the node: it passes for understood.
  if (last.flaw == Flaw::kSelector && !last.nodes.empty()) this->is_seen = false;
  if (last.flaw != Flaw::kNone) return;
  if (last.is_seen) former.clear();
  Exclude plain = last;
  plain.former.clear();
  former.push_back(std::make_shared<const Exclude>(std::move(plain)));
}

Asked asked_of(const VfFacts& vf, const std::string& address) {
  return {vf.vendor, address, vf.driver, vf.pf, vf.index, true};
}

Asked asked_of(const DeviceFacts& device) {
  const bool is_vf = device.type == "vf";
  return {device.vendor,
          device.is_function() ? device.id : "",
          device.driver,
          device.pf,
          is_vf ? device.index : -1,
          is_vf};
}

Said said_by(const Exclude& exclude, const Asked& device, const std::string& pf_name,
             const std::string& if_name, const Labels& node) {
  if (exclude.flaw != Exclude::Flaw::kNone && !exclude.former.empty())
    return exclude.is_seen && exclude.former.size() == 1
               ? said_by(*exclude.former.front(), device, pf_name, if_name, node)
               : Said::kUnknown;
  if (!selects(exclude, node)) return Said::kNo;
  if (exclude.flaw != Exclude::Flaw::kNone) return Said::kUnknown;
  std::string found;
  switch (exclude.asks) {
    case Exclude::Asks::kVendor:
      found = device.vendor;
      break;
    case Exclude::Asks::kPciAddress:
      found = device.address;
      break;
    case Exclude::Asks::kDriver:
      found = device.driver;
      break;
    case Exclude::Asks::kVfIndex:
      found = std::to_string(device.index);
      break;
    case Exclude::Asks::kPfPciAddress:
      found = device.pf;
      break;
    case Exclude::Asks::kPfName:
      if (pf_name.empty() && device.is_vf)
        return Said::kUnknown;  // or its PF has no driver; nothing hangs on that
      found = pf_name;
      break;
    case Exclude::Asks::kIfName:
      if (if_name.empty() && has_interface(device)) return Said::kUnknown;
      found = if_name;
      break;
  }
  return (found == exclude.value) != exclude.is_negated ? Said::kYes : Said::kNo;
}

Said said_by(const Excludes& excludes, const Asked& device, const std::string& pf_name,
             const std::string& if_name, const Labels& node) {
  Said gravest = Said::kNo;
  for (const auto& [name, exclude] : excludes)
    gravest = std::max(gravest, said_by(exclude, device, pf_name, if_name, node));
  return gravest;
}

std::set<Said> may_be_said_by(const Excludes& excludes, const Asked& device, const std::string& pf_name,
                              const std::string& if_name, const Labels& node) {
  // Of each that cannot be understood, what it was when it was seen last: any of its former ones, or none.
  std::set<Said> all{Said::kNo};
  for (const auto& [name, exclude] : excludes) {
    std::set<Said> one;
    for (const auto& former : exclude.former)
      if (exclude.flaw != Exclude::Flaw::kNone) one.insert(said_by(*former, device, pf_name, if_name, node));
    if (one.empty())
      one.insert(said_by(exclude, device, pf_name, if_name, node));
    else
      one.insert(selects(exclude, node) ? Said::kUnknown : Said::kNo);
    std::set<Said> gravest;
    for (const Said before : all)
      for (const Said now : one) gravest.insert(std::max(before, now));
    all = std::move(gravest);
  }
  return all;
}

const std::set<std::string>& or_none(const std::set<std::string>& names) {
  static const std::set<std::string> kNone{""};
  return names.empty() ? kNone : names;
}

}  // namespace sliced::sim
