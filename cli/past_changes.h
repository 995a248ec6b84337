#pragma once
// Changes of the offer for people and as data. Pure.
#include <string>
#include <vector>

#include "daemon/status/history.h"
#include "kube/objects/json.h"

namespace sliced::cli {

/// TIME CHANGE DEVICES POLICY GENERATION MANAGER WHY, a row each. Of devices three names and how many more there are.
/// Times are local.
std::string past_changes_table(const std::vector<status::PastChange>& changes);
/// {"kind":"List","apiVersion":"v1","items":[...]}: items as status::json_of() has them, an interface.
kube::Json past_changes_list(const std::vector<status::PastChange>& changes);

}  // namespace sliced::cli
