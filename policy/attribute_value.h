#pragma once
// One attribute of a published entry, where it has the type that is expected.
#include <string>
#include <variant>

#include "kube/resource_slice.h"

namespace sliced::policy {

/// nullptr where it is absent or of another type.
template <class T>
const T* attribute_as(const kube::Attributes& attributes, const std::string& key) {
  const auto at = attributes.find(key);
  return at == attributes.end() ? nullptr : std::get_if<T>(&at->second);
}

}  // namespace sliced::policy
