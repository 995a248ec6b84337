#pragma once
// The field allowDefaultRoutes of policies: default routes of the host that are no reason to withhold a device.
#include <cstdint>
#include <string_view>

#include "hotplug/facts.h"
#include "policy/field_reader.h"

namespace sliced::policy {

enum class AllowedRoutes : uint8_t {
  kNone,
  kLearned,  // those that DHCP and router advertisements set
  kAll,
};
std::string_view name_of(AllowedRoutes value);  // none learned all
/// kNone where the field is absent or wrong; a wrong one is a problem of the reader's.
AllowedRoutes decode_allowed_routes(FieldReader& reader);

/// What a policy gives away of devices that the host uses.
struct HostUseAllowance {
  bool is_any = false;  // allowHostUse
  AllowedRoutes routes = AllowedRoutes::kNone;
  bool operator==(const HostUseAllowance&) const = default;
};
/// Whether it covers the use of this kind.
bool allows(const HostUseAllowance& allowance, hotplug::HostUseKind kind);

}  // namespace sliced::policy
