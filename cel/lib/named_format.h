#pragma once
// The named formats of Kubernetes' CEL library: format.named("dns1123Label"), format.dns1123Label(),
// validate().
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sliced::cel {

/// Two are equal if their names are.
struct NamedFormat {
  std::string_view name;
  /// Returns the errors of the text, one entry per rule of Kubernetes, in sliced's words; empty for valid
  /// text.
  std::vector<std::string> (*validate)(std::string_view text);
  /// The length of a pattern that upstream charges for a check (MaxRegexSize).
  uint32_t pattern_size;
};

/// dns1123Label dns1123Subdomain dns1035Label, each also with Prefix (for generateName), qualifiedName
/// labelValue uri uuid byte date datetime. Returns nullptr for other names; valid during the whole process.
const NamedFormat* named_format(std::string_view name);

}  // namespace sliced::cel
