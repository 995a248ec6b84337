#pragma once
// The named formats of CEL in Kubernetes: format.named("dns1123Label"), format.dns1123Label(), validate().
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sliced::cel {

/// Two are equal when their names are.
struct NamedFormat {
  std::string_view name;
  /// What is wrong with the text, one entry a rule as Kubernetes counts them, in words of our own; empty for
  /// valid text.
  std::vector<std::string> (*validate)(std::string_view text);
  /// The length of a pattern that upstream takes for the work of checking (MaxRegexSize).
  uint32_t pattern_size;
};

/// dns1123Label dns1123Subdomain dns1035Label, each also with Prefix (what generateName takes), qualifiedName
/// labelValue uri uuid byte date datetime. nullptr for other names; lives for ever.
const NamedFormat* named_format(std::string_view name);

}  // namespace sliced::cel
