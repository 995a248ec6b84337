#pragma once
// What single attributes of a published entry say, where they have the type that is expected. Entries that are
// read back may have been edited by others: any attribute may be absent or of another type.
#include <string>
#include <variant>

#include "kube/objects/resource_slice.h"

namespace sliced::policy {

/// nullptr where it is absent or of another type. Points into `attributes`.
template <class T>
const T* attribute_as(const kube::Attributes& attributes, const std::string& key) {
  const auto at = attributes.find(key);
  return at == attributes.end() ? nullptr : std::get_if<T>(&at->second);
}

/// The interface of a published entry of DeviceExposurePolicies that is not a function's; "" for functions.
/// For entries of this boot; whether such an interface is there is for the caller to see.
inline std::string interface_of_link(const kube::Attributes& attributes, const std::string& driver) {
  if (attributes.contains(driver + "/pciAddress")) return "";
  const auto* name = attribute_as<std::string>(attributes, driver + "/ifName");
  return name == nullptr ? "" : *name;
}

}  // namespace sliced::policy
