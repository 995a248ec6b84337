#pragma once
// Under which excludes the entries of a slice stand: each of them said of each entry's device that it is not
// meant. While a device's interface is elsewhere an exclude cannot be asked anew, and after a restart that
// alone tells what it said. Pure.
#include <string>
#include <string_view>
#include <vector>

namespace sliced::policy {

/// On each slice with entries. A fingerprint of 12 hex digits for each exclude that asks for facts of
/// interfaces, sorted, with commas; of more than 64 one fingerprint of all.
inline constexpr std::string_view kExcludesAnnotation = "dra.networking/excludes";

/// selectors: their CEL texts, in any order. "" for none.
std::string exclude_record(const std::vector<std::string>& selectors);

/// Whether the selector is among those of `record`. now: the record of the excludes of today.
bool is_recorded(std::string_view record, std::string_view now, const std::string& selector);

}  // namespace sliced::policy
