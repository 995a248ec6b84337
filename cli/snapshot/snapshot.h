#pragma once
// A snapshot as a value, and as a file.
// The file is an archive (archive.h) of about.json, which says the format (1) and who made it, host.json and
// objects.json.
#include <string>
#include <string_view>
#include <vector>

#include "cli/snapshot/recording.h"
#include "kube/objects/json.h"
#include "reactor/base/result.h"

namespace sliced::snapshot {

struct Snapshot {
  std::string version;              // of the program that made it
  std::string node;                 // the node's name, or its alias
  std::string server;               // the API server's version; "" none was asked
  bool is_raw = false;              // names and addresses are those of the host
  std::vector<kube::Json> objects;  // the Node, policies, slices
  Recording host;
};

/// Objects of a snapshot that are read.
inline constexpr size_t kObjectsMax = 10'000;

/// In place of the node's name.
inline constexpr const char* kNodeAlias = "node-1";

/// Without is_raw what aliases.h names is replaced everywhere but in kind and apiVersion. words: further
/// names of this machine. Names of other nodes are found where selectors ask for them
/// (kubernetes.io/hostname, metadata.name): "node-2" and so on.
std::string encode(const Snapshot& snapshot, const std::vector<std::string>& words);

/// Errors: kInvalid (no such file, another format, no name of a node, too many objects), kTooLarge; the text
///         does not name the file.
/// Objects are as they stand there: whoever reads them as policies or slices decodes them.
Result<Snapshot> decode(std::string_view bytes);

}  // namespace sliced::snapshot
