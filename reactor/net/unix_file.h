#pragma once
// Private to reactor/net: the file of a listening unix socket, from its creation to its removal.
#include <sys/types.h>

#include <memory>
#include <string>

#include "reactor/base/result.h"
#include "reactor/descriptor.h"

namespace sliced::reactor::net {

/// Owns the file. The socket is bound under a hidden name, listens, and is renamed with RENAME_NOREPLACE: so
/// the file appears ready, and never replaces another one.
class UnixFile {
 public:
  /// A listening socket. Errors: those of listen_unix(), without the path. file is nullptr for an abstract
  /// name.
  struct Bound {
    Descriptor socket;
    std::unique_ptr<UnixFile> file;
  };
  /// mode: of the file from its creation. backlog: of listen(2). An existing file is removed only if it is a
  /// socket without a listening process.
  static Result<Bound> bind(const std::string& path, unsigned mode, int backlog);
  /// Only removes such a socket.
  static Result<Unit> remove_unanswered(const std::string& path);
  /// Removes the file unless it was replaced, compared by device and inode (lstat). A replacement between
  /// check and removal is possible, because the kernel has no call for both.
  ~UnixFile();
  UnixFile(const UnixFile&) = delete;

 private:
  UnixFile(std::string path, dev_t device, ino_t inode)
      : path_(std::move(path)), device_(device), inode_(inode) {}
  const std::string path_;
  const dev_t device_;
  const ino_t inode_;
};

}  // namespace sliced::reactor::net
