#pragma once
// Why a pod or a claim waits, as text for people and as data. Pure.
#include <string>
#include <vector>

#include "kube/objects/json.h"
#include "kubectl/why/why.h"

namespace sliced::cli {

/// Whose pools there are, in words: own drivers are those that this program publishes under.
std::string pools_text(const allocation::Cluster& cluster, const std::vector<std::string>& own_drivers);

/// subject: "pod default/a". nodes_max: rows of the table; the others are counted.
std::string why_text(const allocation::Answer& answer, const std::string& subject, const std::string& pools,
                     size_t nodes_max);
/// An interface (docs/command-line.md). Empty lists are left out but `claims` and `nodes`, which are always there.
kube::Json json_of(const allocation::Answer& answer, const std::string& subject);

/// "runs", "can be scheduled", "pending", "unsure".
std::string_view name_of(allocation::Verdict verdict);

}  // namespace sliced::cli
