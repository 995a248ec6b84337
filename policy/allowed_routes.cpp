#include "policy/allowed_routes.h"

#include <string>

#include "reactor/base/text.h"

namespace sliced::policy {

std::string_view name_of(AllowedRoutes value) {
  switch (value) {
    case AllowedRoutes::kLearned:
      return "learned";
    case AllowedRoutes::kAll:
      return "all";
    default:
      return "none";
  }
}

AllowedRoutes decode_allowed_routes(FieldReader& reader) {
  constexpr const char* kField = "allowDefaultRoutes";
  constexpr size_t kShownBytesMax = 64;
  const kube::Json* value = reader.member(kField);
  if (value == nullptr) return AllowedRoutes::kNone;
  const std::string text = reader.text(kField);
  for (const AllowedRoutes one : {AllowedRoutes::kNone, AllowedRoutes::kLearned, AllowedRoutes::kAll})
    if (text == name_of(one)) return one;
  if (value->string() != nullptr)
    reader.problem(kField, "is " + in_quotes(text, kShownBytesMax) + ", expected none, learned or all");
  return AllowedRoutes::kNone;
}

bool allows(const HostUseAllowance& allowance, hotplug::HostUseKind kind) {
  using Kind = hotplug::HostUseKind;
  if (allowance.is_any) return true;
  if (kind == Kind::kOther) return false;
  return allowance.routes == AllowedRoutes::kAll ||
         (allowance.routes == AllowedRoutes::kLearned && kind == Kind::kLearnedRoute);
}

}  // namespace sliced::policy
