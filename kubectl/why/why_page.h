#pragma once
// The answer of `why`, as text and as data. Pure.
#include <string>
#include <vector>

#include "kube/objects/json.h"
#include "kubectl/why/why.h"

namespace sliced::kubectl {

/// Returns a text about the owners of the pools: own drivers are those of this program.
std::string pools_text(const why::Cluster& cluster, const std::vector<std::string>& own_drivers);

/// subject: "pod default/a". nodes_max: rows of the table; the others are counted.
std::string why_text(const why::Answer& answer, const std::string& subject, const std::string& pools,
                     size_t nodes_max);
/// An interface (docs/command-line.md). Empty lists are omitted, except `claims` and `nodes`.
kube::Json json_of(const why::Answer& answer, const std::string& subject);

/// Returns "runs", "can be scheduled", "pending", "unsure".
std::string_view name_of(why::Verdict verdict);

}  // namespace sliced::kubectl
