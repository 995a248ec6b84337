#pragma once
// What single attributes of a published entry say, where they have the type that is expected. Entries that are
// read back may have been edited by others: any attribute may be absent or of another type.
#include <cstdint>
#include <string>
#include <variant>

#include "hotplug/facts.h"
#include "kube/objects/resource_slice.h"

namespace sliced::policy {

/// nullptr where it is absent or of another type. Points into `attributes`.
template <class T>
const T* attribute_as(const kube::Attributes& attributes, const std::string& key) {
  const auto at = attributes.find(key);
  return at == attributes.end() ? nullptr : std::get_if<T>(&at->second);
}

/// The device of a published entry of DeviceExposurePolicies that is not a function's, by its id: an interface or a scalable function; "" for
/// functions. For entries of this boot; whether such a device is there is for the caller to see.
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
