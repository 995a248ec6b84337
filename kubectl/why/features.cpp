#include "kubectl/why/features.h"

#include "reactor/base/text.h"

namespace sliced::why {

std::optional<Features> features_of(std::string_view version) {
  if (version.starts_with('v')) version.remove_prefix(1);
  const auto parts = split(version, '.');
  if (parts.size() < 2 || parts[0] != "1") return std::nullopt;
  std::string_view digits = parts[1];  // "36", of a few providers "36+"
  if (digits.ends_with('+')) digits.remove_suffix(1);
  const auto minor = parse_int(digits);
  if (!minor) return std::nullopt;
  Features out;
  const bool is_beta = *minor >= 36;  // k8s.io/kubernetes pkg/features: enabled by 1.36
  out.partitionable_devices = out.device_taints = out.binding_conditions = out.consumable_capacity = is_beta;
  out.extended_resources = is_beta;
  out.taint_rules = *minor >= 37;
  out.fractional_range = *minor >= 38;
  return out;
}

}  // namespace sliced::why
