#pragma once
// A snapshot as a value, and as a file.
#include <string>
#include <string_view>
#include <vector>

#include "kube/json.h"
#include "reactor/base/result.h"
#include "snapshot/recording.h"

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

/// Without is_raw what aliases.h names is replaced everywhere. words: further names of this machine.
std::string encode(const Snapshot& snapshot, const std::vector<std::string>& words);

/// Errors: kInvalid, kTooLarge; the text does not name the file.
Result<Snapshot> decode(std::string_view bytes);

}  // namespace sliced::snapshot
