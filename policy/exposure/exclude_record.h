#pragma once
// Records in each slice which excludes were evaluated and did not select its entries. While a device's
// interface is in another namespace an exclude cannot be evaluated again, and after a restart the record is
// the only source of its answer. Pure.
#include <string>
#include <string_view>
#include <vector>

namespace sliced::policy {

/// On each slice with entries: a hash of 12 hex digits for each exclude that reads facts of interfaces,
/// sorted, separated by commas; for more than 64 excludes one hash of all.
inline constexpr std::string_view kExcludesAnnotation = "dra.networking/excludes";

/// selectors: CEL texts in any order. Returns "" for none.
std::string exclude_record(const std::vector<std::string>& selectors);

/// Returns true if `record` contains the selector. now: the record of the present excludes.
bool is_recorded(std::string_view record, std::string_view now, const std::string& selector);

}  // namespace sliced::policy
