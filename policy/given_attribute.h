#pragma once
// Attributes of device entries that administrators set in policies.
#include <string>
#include <string_view>

#include "kube/objects/json.h"
#include "kube/objects/resource_slice.h"

namespace sliced::policy {

inline constexpr std::string_view kStandardDomain = "resource.kubernetes.io";  // reserved completely

/// Returns "DOMAIN/IDENTIFIER" unchanged, and "IDENTIFIER" with the driver's domain.
std::string full_key(const std::string& key, const std::string& driver);

/// value: {string: x}, {int: 5} and so on. reserved: only the daemon may publish the key.
/// Errors: kInvalid, with the remedy, for every value that the API server would refuse.
Result<kube::AttributeValue> decode_given_attribute(const std::string& key, const kube::Json& value,
                                                    bool reserved);

}  // namespace sliced::policy
