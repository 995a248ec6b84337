#include "policy/exposure/policy.h"

#include <algorithm>
#include <utility>

namespace sliced::policy {

std::string_view name_of(ExposureAction action) {
  switch (action) {
    case ExposureAction::kExpose:
      return "expose";
    case ExposureAction::kExclude:
      return "exclude";
    case ExposureAction::kUnknown:
      return "unknown";
  }
  return "unknown";
}

std::string text_of(const ExposurePolicy::Id& id) { return id.name; }

void keep_last_exclude(ExposurePolicy& now, const ExposurePolicy& before, bool was_understood) {
  if (now.action == ExposureAction::kExpose) return;
  if (!was_understood || !before.problems.empty()) {
    now.last_understood = before.last_understood;
  } else if (before.action == ExposureAction::kExclude) {
    ExposurePolicy kept = before;
    kept.last_understood = nullptr;
    now.last_understood = std::make_shared<const ExposurePolicy>(std::move(kept));
  }
}

bool is_moved(const Exposure& exposure) {
  if (exposure.allow_multiple_allocations) return false;
  return std::any_of(exposure.plugins.begin(), exposure.plugins.end(), [](const CniPlugin& plugin) {
    return plugin.name == "host-device" || plugin.name == "sriov" || plugin.name == "ib-sriov";
  });
}

ExposurePolicy unreadable_exposure_policy(std::string name, std::string why) {
  ExposurePolicy policy;
  policy.id = {std::move(name)};
  policy.problems.push_back({"", std::move(why)});
  return policy;
}

}  // namespace sliced::policy
