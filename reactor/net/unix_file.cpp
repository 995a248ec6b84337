#include "reactor/net/unix_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "reactor/base/text.h"
#include "reactor/handle.h"
#include "reactor/net/unix_socket.h"

namespace sliced::reactor::net {
namespace {

constexpr int kTries = 3;   // attempts against concurrent processes
constexpr int kNames = 64;  // attempts to find a free name: there may be 16 in total

Error from_errno() { return uv_error(-errno); }

// Returns a hidden name beside the socket's file: watchers of such directories (the kubelet's) ignore hidden
// files. The path must not exceed the limit of a socket's path.
std::string hidden_sibling(const std::string& path) {
  uint32_t number = 0;
  (void)::getrandom(&number, sizeof number, GRND_NONBLOCK);
  const size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  const size_t room = kUnixPathMax - std::min(kUnixPathMax - 1, directory.size() + 1);
  return directory + "." + hex(number, 8).substr(0, room);
}

Result<Descriptor> listening(const std::string& path, unsigned mode, int backlog) {
  const auto address = unix_address(path);
  if (!address) return Error(address.error());
  Descriptor socket = unix_socket();
  if (!socket) return from_errno();
  // bind(2) creates the file with the socket's mode and the umask, so it never permits more than requested.
  (void)::fchmod(socket.get(), mode);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address->raw), address->size) != 0)
    return errno == EADDRINUSE ? Error{Errc::kBusy, "another process listens on it"} : from_errno();
  if (::listen(socket.get(), backlog) != 0) return from_errno();
  return socket;
}

// Returns Unit if no process listens at the socket.
Result<Unit> refuse_if_served(const std::string& path) {
  const auto address = unix_address(path);
  const Descriptor probe = unix_socket();
  if (!address || !probe) return address ? from_errno() : Error(address.error());
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address->raw), address->size) == 0 ||
      errno == EAGAIN)
    return Error{Errc::kBusy, "another process listens on it"};
  if (errno == ECONNREFUSED || errno == ENOENT) return Unit{};
  return from_errno().in("check for a listener");
}

// Removes a socket without a listening process. It is renamed and checked again, because another process may
// have replaced it meanwhile.
Result<Unit> remove_stale(const std::string& path) {
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0) return errno == ENOENT ? Result<Unit>(Unit{}) : from_errno();
  if (!S_ISSOCK(found.st_mode))
    return Error{Errc::kInvalid, "something that is not a socket is there; remove it or choose another path"};
  if (auto silent = refuse_if_served(path); !silent) return silent;
  std::string aside;
  int refused = EEXIST;
  for (int i = 0; i < kNames && refused == EEXIST; ++i) {
    aside = hidden_sibling(path);
    // Never over another hidden name: where they are short, it may be the one that comes here next.
    const bool is_moved = ::renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, aside.c_str(), RENAME_NOREPLACE) == 0;
    refused = is_moved ? 0 : errno;
  }
  if (refused != 0) return refused == ENOENT ? Result<Unit>(Unit{}) : uv_error(-refused);
  if (auto silent = refuse_if_served(aside); !silent) {
    ::renameat2(AT_FDCWD, aside.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE);
    return silent;
  }
  ::unlink(aside.c_str());
  return Unit{};
}

}  // namespace

Result<Unit> UnixFile::remove_unanswered(const std::string& path) { return remove_stale(path); }

Result<UnixFile::Bound> UnixFile::bind(const std::string& path, unsigned mode, int backlog) {
  const auto checked = unix_address(path);
  if (!checked) return Error(checked.error());
  const bool is_abstract = path[0] == '\0';
  std::string made = is_abstract ? path : hidden_sibling(path);
  auto socket = listening(made, mode, backlog);
  for (int i = 1; i < kNames && !is_abstract && !socket && socket.error().code == Errc::kBusy; ++i) {
    made = hidden_sibling(path);
    socket = listening(made, mode, backlog);
  }
  if (!socket) return Error(socket.error());
  if (is_abstract) return Bound{std::move(*socket), nullptr};
  Error why{Errc::kBusy, "others put their sockets there"};
  struct stat found{};
  // chmod(2) adds the bits that the umask removed.
  if (::chmod(made.c_str(), mode) != 0 || ::lstat(made.c_str(), &found) != 0) {
    why = from_errno();
  } else {
    for (int i = 0; i < kTries; ++i) {
      if (::renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0)
        return Bound{std::move(*socket),
                     std::unique_ptr<UnixFile>(new UnixFile(path, found.st_dev, found.st_ino))};
      const auto removed = errno == EEXIST ? remove_stale(path) : from_errno();
      if (removed) continue;
      why = removed.error();
      break;
    }
  }
  ::unlink(made.c_str());
  return why;
}

UnixFile::~UnixFile() {
  struct stat found{};
  if (::lstat(path_.c_str(), &found) == 0 && found.st_dev == device_ && found.st_ino == inode_)
    ::unlink(path_.c_str());
}

}  // namespace sliced::reactor::net
