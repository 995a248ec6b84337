#pragma once
// Changes of the offer, as text and as data. Pure.
#include <string>
#include <vector>

#include "daemon/status/history.h"
#include "kube/objects/json.h"

namespace sliced::cli {

/// Returns TIME CHANGE DEVICES POLICY GENERATION MANAGER WHY, a row each. DEVICES contains three names and
/// the number of further ones. Times are local.
std::string past_changes_table(const std::vector<status::PastChange>& changes);
/// Returns {"kind":"List","apiVersion":"v1","items":[...]}: items from status::json_of(), an interface.
kube::Json past_changes_list(const std::vector<status::PastChange>& changes);

}  // namespace sliced::cli
