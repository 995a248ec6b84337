#pragma once
// What the policies in a file would change on every node, as a part of the fleet's page. Pure.
#include <cstddef>
#include <string>
#include <vector>

#include "kube/objects/json.h"
#include "kubectl/fleet/ask_cluster.h"

namespace sliced::cli {

/// As `policies --diff` has told it.
struct EditEffect {
  std::string file;
  bool is_told = false;      // false: problem says why there is no answer, and there is nothing else
  std::string problem = {};  // or what is said beside it, in lines
  size_t changed = 0, unjudged = 0, same = 0;  // nodes
  struct Change {
    std::string kind;  // "added", "removed", "changed"
    std::string text;
  };
  struct Node {
    std::string name;
    std::vector<Change> changes;
    size_t more = 0;            // changes that are not told
    std::string unjudged = {};  // why it cannot be judged; "" it is
  };
  std::vector<Node> nodes = {};  // first those that change; at most kEditNodesMax
};
inline constexpr size_t kEditNodesMax = 200, kEditChangesMax = 20;
inline constexpr size_t kEditBytesMax = 16u << 20;  // of the answer
inline constexpr const char* kEditTooLarge =
    "it would change more than fits on this page; ask kubectl sliced policies --diff";

EditEffect edit_effect(const std::string& file, const CommandResult& result);

/// "3 nodes would change, 96 nodes would not, 1 node cannot be judged; 100 nodes more than are told here"; "" it is not told.
std::string summary_of(const EditEffect& effect);
/// A section of the page; every text through status::html().
std::string html_of(const EditEffect& effect);
/// {"summary":..., "problem":..., "nodes":[{"name", "unjudged", "more", "changes":[{"kind","text"}]}]}
kube::Json json_of(const EditEffect& effect);

}  // namespace sliced::cli
