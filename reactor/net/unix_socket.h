#pragma once
// Private to reactor/net: addresses and descriptors of unix sockets (unix(7)).
#include <sys/un.h>

#include <string>

#include "reactor/base/result.h"
#include "reactor/descriptor.h"

namespace sliced::reactor::net {

constexpr size_t kUnixPathMax = 107;  // bytes: one less than there are, for the NUL

/// An address for bind(2) and connect(2).
struct UnixAddress {
  sockaddr_un raw{};
  unsigned size = 0;
};

/// A path, or an abstract name after a NUL.
/// Errors: kInvalid (empty, longer than 107 bytes, NUL inside a path).
Result<UnixAddress> unix_address(const std::string& path);

/// Returns the path as text; an abstract name starts with '@'.
std::string unix_text(const std::string& path);

/// A non-blocking, close-on-exec stream socket; empty after an error (errno).
Descriptor unix_socket();

}  // namespace sliced::reactor::net
