#pragma once
// The field allowDefaultRoutes of policies: default routes of the host that do not prevent an exclusive
// offer.
#include <cstdint>
#include <string_view>

#include "hotplug/facts.h"
#include "policy/field_reader.h"

namespace sliced::policy {

enum class AllowedRoutes : uint8_t {
  kNone,
  kLearned,  // routes from DHCP and router advertisements
  kAll,
};
std::string_view name_of(AllowedRoutes value);  // none learned all
/// Returns kNone if the field is absent or invalid. An invalid one is added to the reader's problems.
AllowedRoutes decode_allowed_routes(FieldReader& reader);

/// The uses by the host that a policy permits for devices that it offers exclusively.
struct HostUseAllowance {
  bool is_any = false;  // allowHostUse
  AllowedRoutes routes = AllowedRoutes::kNone;
  bool operator==(const HostUseAllowance&) const = default;
};
/// Returns true if the allowance covers this kind of use.
bool allows(const HostUseAllowance& allowance, hotplug::HostUseKind kind);

}  // namespace sliced::policy
