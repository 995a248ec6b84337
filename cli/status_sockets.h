#pragma once
// Reads the sockets of this node's daemons (daemon/status/listeners.h).
#include <string>
#include <vector>

#include "config/options.h"
#include "reactor/base/result.h"

namespace sliced::cli {

/// The sockets, and why a directory could not be read.
struct FoundSockets {
  std::vector<std::string> sockets, looked_in;  // the socket of the first daemon comes first
  std::string denied;
};
/// Searches --runtime-directory, or all possible directories of a daemon; with a pod's UID only that pod's
/// socket. denied: a directory that cannot be read, or has more than 4,096 sockets; the others are searched
/// nevertheless.
FoundSockets find_sockets(const config::Options& options);

struct Fetched {
  int status = 0;
  std::string body;
};
/// Reads one page of at most 256 MiB. Waits 5 s for the head of the answer, and then as long as data comes.
/// Blocks, in a loop of its own.
Result<Fetched> fetch(const std::string& socket, const std::string& path);

/// Reports on stderr that a command found no socket, with the searched directories and the remedy.
void print_no_sockets(const std::string& command, const FoundSockets& found);

}  // namespace sliced::cli
