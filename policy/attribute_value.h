#pragma once
// Reads single attributes of published entries. Others may have edited an entry: any attribute may be absent
// or of another type.
#include <cstdint>
#include <string>
#include <variant>

#include "hotplug/facts.h"
#include "kube/objects/resource_slice.h"

namespace sliced::policy {

/// Returns nullptr if the attribute is absent or of another type. Points into `attributes`.
template <class T>
const T* attribute_as(const kube::Attributes& attributes, const std::string& key) {
  const auto at = attributes.find(key);
  return at == attributes.end() ? nullptr : std::get_if<T>(&at->second);
}

/// Returns the host device id of a published entry that is not a PCI function's: an interface name or a
/// scalable function. "" for functions. Requires: an entry of this boot. The caller checks that the device
/// exists.
inline std::string id_of_link(const kube::Attributes& attributes, const std::string& driver) {
  if (attributes.contains(driver + "/pciAddress")) return "";
  const auto* number = attribute_as<int64_t>(attributes, driver + "/sfNumber");
  const auto* pf = attribute_as<std::string>(attributes, driver + "/pfPciAddress");
  if (const auto address = pf == nullptr ? std::nullopt : hotplug::PciAddress::decode(*pf);
      address && number != nullptr)
    return hotplug::scalable_function_id(*address, static_cast<int>(*number));
  const auto* name = attribute_as<std::string>(attributes, driver + "/ifName");
  return name == nullptr ? "" : *name;
}

}  // namespace sliced::policy
