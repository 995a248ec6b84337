#pragma once
// The sockets of daemons that run here (daemon/status/door.h), read by commands.
#include <string>
#include <vector>

#include "config/options.h"
#include "reactor/base/result.h"

namespace sliced::cli {

/// And what kept from looking for them.
struct FoundSockets {
  std::vector<std::string> sockets, looked_in;  // the one of whoever came first before the others
  std::string denied;
};
/// In --runtime-directory, or wherever a daemon has one; with a pod's UID that pod's alone.
/// denied: a directory that may not be read, or has more than 4,096 entries; the others are looked through
///         nevertheless.
FoundSockets find_sockets(const config::Options& options);

struct Fetched {
  int status = 0;
  std::string body;
};
/// One page, of at most 256 MiB. Waits: 5 s for the head of the answer, and then as long as something comes.
/// Blocks, in a loop of its own.
Result<Fetched> fetch(const std::string& socket, const std::string& path);

/// On stderr, of a command that found no socket: where there is none, and what to do about it.
void complain_of_none(const std::string& command, const FoundSockets& found);

}  // namespace sliced::cli
