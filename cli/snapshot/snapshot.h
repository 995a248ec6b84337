#pragma once
// A snapshot as a value, and as a file: an archive (archive.h) of about.json, with the format (1) and the
// program's version, host.json and objects.json.
#include <string>
#include <string_view>
#include <vector>

#include "cli/snapshot/recording.h"
#include "kube/objects/json.h"
#include "reactor/base/result.h"

namespace sliced::snapshot {

struct Snapshot {
  std::string version;              // of the program that created it
  std::string node;                 // the node's name, or its alias
  std::string server;               // the API server's version; "" without a cluster
  bool is_raw = false;              // with the original names and addresses
  std::vector<kube::Json> objects;  // the Node, policies, slices
  Recording host;
};

/// Limit of decoded objects.
inline constexpr size_t kObjectsMax = 10'000;

/// Alias of the node's name.
inline constexpr const char* kNodeAlias = "node-1";

/// Without is_raw everything in aliases.h is replaced, except kind and apiVersion. words: further names of
/// this machine. Names of other nodes are found in selectors (kubernetes.io/hostname, metadata.name):
/// "node-2" and so on.
std::string encode(const Snapshot& snapshot, const std::vector<std::string>& words);

/// Errors: kInvalid (not a snapshot, another format, no node name, too many objects), kTooLarge; the text
/// does not name the file. Objects are not decoded.
Result<Snapshot> decode(std::string_view bytes);

}  // namespace sliced::snapshot
