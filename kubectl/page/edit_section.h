#pragma once
// The effect of a file of policies on every node, as a section of the fleet's page. Pure.
#include <cstddef>
#include <string>
#include <vector>

#include "kube/objects/json.h"
#include "kubectl/fleet/ask_cluster.h"

namespace sliced::kubectl {

/// The result of `policies --diff`.
struct EditEffect {
  std::string file;
  bool has_result = false;                     // false: there is no result, and `problem` has the reason
  std::string problem = {};                    // or additional messages, in lines
  size_t changed = 0, unjudged = 0, same = 0;  // nodes
  struct Change {
    std::string kind;  // "added", "removed", "changed"
    std::string text;
  };
  struct Node {
    std::string name;
    std::vector<Change> changes;
    size_t more = 0;            // number of omitted changes
    std::string unjudged = {};  // why it cannot be judged; "" if it can
  };
  std::vector<Node> nodes = {};  // changed nodes first; at most kEditNodesMax
};
inline constexpr size_t kEditNodesMax = 200, kEditChangesMax = 20;
inline constexpr size_t kEditBytesMax = 16u << 20;  // of the answer
inline constexpr const char* kEditTooLarge =
    "it would change more than fits on this page; ask kubectl sliced policies --diff";

EditEffect edit_effect(const std::string& file, const CommandResult& result);

/// Returns "3 nodes would change, 96 nodes would not, 1 node cannot be judged; 100 nodes more than are told
/// here"; "" without a result.
std::string summary_of(const EditEffect& effect);
/// Returns a section of the page; status::html() escapes every text.
std::string html_of(const EditEffect& effect);
/// Returns {"summary":..., "problem":..., "nodes":[{"name", "unjudged", "more",
/// "changes":[{"kind","text"}]}]}
kube::Json json_of(const EditEffect& effect);

}  // namespace sliced::kubectl
