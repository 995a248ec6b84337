#pragma once
// Unix socket clients (unix(7)).
#include <memory>
#include <string>

#include "reactor/base/time.h"
#include "reactor/net/stream.h"

namespace sliced::reactor {
class Loop;
}

namespace sliced::reactor::net {

/// Connects to a unix stream socket; a path that starts with NUL is an abstract name. At most 107 bytes
/// (unix(7)). Waits for a full backlog until the deadline.
/// Errors: kNotFound, kDenied, kTimeout, kInvalid (too long), kIo (no process listens); the text names the
/// path.
std::unique_ptr<Connecting> connect_unix(Loop& loop, std::string path, Millis deadline,
                                         OnConnected on_connected);

}  // namespace sliced::reactor::net
