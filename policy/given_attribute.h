#pragma once
// Attributes that administrators give to device entries, beside those that the daemon makes of what it sees.
#include <string>
#include <string_view>

#include "kube/objects/json.h"
#include "kube/objects/resource_slice.h"

namespace sliced::policy {

inline constexpr std::string_view kStandardDomain = "resource.kubernetes.io";  // all of it is reserved

/// "DOMAIN/IDENTIFIER" as it is, "IDENTIFIER" below the driver's domain.
std::string full_key(const std::string& key, const std::string& driver);

/// value: {string: x}, {int: 5} and so on. reserved: the key is one that only the daemon may publish.
/// Errors: kInvalid, with the remedy, for whatever the API server would refuse, too.
Result<kube::AttributeValue> decode_given_attribute(const std::string& key, const kube::Json& value,
                                                    bool reserved);

}  // namespace sliced::policy
