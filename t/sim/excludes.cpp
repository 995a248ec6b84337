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
bool has_interface(const VfFacts& vf) { return !vf.driver.empty() && vf.driver != "vfio-pci"; }

}  // namespace

kube::Json object_of(const Exclude& exclude) {
  using kube::Json;
  const std::string value =
      exclude.asks == Exclude::Asks::kVfIndex ? exclude.value : "\"" + exclude.value + "\"";
  const std::string cel = std::string("device.attributes[\"dra.networking\"].") + attribute_of(exclude.asks) +
                          (exclude.is_negated ? " != " : " == ") + value;
  Json spec = Json::Object{{"action", "exclude"}, {"selector", Json::Object{{"cel", cel}}}};
  if (!exclude.nodes.empty()) {
    Json::Object labels;
    for (const auto& [key, wanted] : exclude.nodes) labels.emplace_back(key, wanted);
    spec.set("nodeSelector", Json::Object{{"matchLabels", std::move(labels)}});
  }
  return Json::Object{{"metadata", Json::Object{{"name", exclude.name}}}, {"spec", std::move(spec)}};
}

Said said_by(const Exclude& exclude, const VfFacts& vf, const std::string& vf_address,
             const std::string& pf_name, const std::string& if_name, const Labels& node) {
  for (const auto& [key, wanted] : exclude.nodes) {
    const auto at = node.find(key);
    if (at == node.end() || at->second != wanted) return Said::kNo;
  }
  std::string found;
  switch (exclude.asks) {
    case Exclude::Asks::kVendor:
      found = vf.vendor;
      break;
    case Exclude::Asks::kPciAddress:
      found = vf_address;
      break;
    case Exclude::Asks::kDriver:
      found = vf.driver;
      break;
    case Exclude::Asks::kVfIndex:
      found = std::to_string(vf.index);
      break;
    case Exclude::Asks::kPfPciAddress:
      found = vf.pf;
      break;
    case Exclude::Asks::kPfName:
      if (pf_name.empty()) return Said::kUnknown;  // or its PF has no driver; nothing hangs on that
      found = pf_name;
      break;
    case Exclude::Asks::kIfName:
      if (if_name.empty() && has_interface(vf)) return Said::kUnknown;
      found = if_name;
      break;
  }
  return (found == exclude.value) != exclude.is_negated ? Said::kYes : Said::kNo;
}

Said said_by(const Excludes& excludes, const VfFacts& vf, const std::string& vf_address,
             const std::string& pf_name, const std::string& if_name, const Labels& node) {
  Said gravest = Said::kNo;
  for (const auto& [name, exclude] : excludes)
    gravest = std::max(gravest, said_by(exclude, vf, vf_address, pf_name, if_name, node));
  return gravest;
}

}  // namespace sliced::sim
