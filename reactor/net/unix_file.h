#pragma once
// Private to reactor/net: the file of a unix socket that listens, from its appearance to its removal.
#include <sys/types.h>

#include <memory>
#include <string>

#include "reactor/base/result.h"
#include "reactor/descriptor.h"

namespace sliced::reactor::net {

/// Exists as long as the file is ours to remove.
/// The socket is bound under a hidden name beside the wanted one, listens there, and is renamed with
/// RENAME_NOREPLACE: so it appears whole, and never over somebody else's.
class UnixFile {
 public:
  /// A socket that listens at path, which appears when it does.
  /// Errors: those of listen_unix(), without the path. Null: an abstract name, which has no file.
  struct Bound {
    Descriptor socket;
    std::unique_ptr<UnixFile> file;
  };
  /// mode: of the file, from its first moment on. backlog: listen(2)'s. What is in the way is removed only
  /// if it is a socket at which nobody answers.
  static Result<Bound> bind(const std::string& path, unsigned mode, int backlog);
  /// That alone.
  static Result<Unit> remove_unanswered(const std::string& path);
  /// Removes it, unless somebody else's is there by now.
  /// By device and inode (lstat). Between the look and the removal another one may come: the kernel has no
  /// call for both.
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
