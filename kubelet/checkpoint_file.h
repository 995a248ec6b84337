#pragma once
// The file of the checkpoint: replaced as a whole, or extended. kubelet/checkpoint.h has its format.
#include <string>

#include "reactor/base/result.h"
#include "reactor/descriptor.h"

namespace sliced::kubelet {

/// Threads: any, one call after the other. Every call blocks.
class CheckpointFile {
 public:
  explicit CheckpointFile(std::string path) : path_(std::move(path)) {}

  /// Replaces the file (reactor::write_durably()); room: bytes that append() may add. Their blocks are written with the file, as spaces, so
  /// that append() changes neither the size nor the blocks of the file, and the disk has one write to make for it.
  Result<Unit> write(const std::string& text, size_t room);
  /// Adds text behind that of write() and append(); on disk when it returns.
  /// Errors: kInvalid, there is no room, or the file is not the one that write() made; kIo. Then the file has to be written as a whole: what it has
  /// of the text is not known.
  Result<Unit> append(const std::string& text);

 private:
  const std::string path_;
  reactor::Descriptor file_;  // that write() made; none: append() fails
  size_t end_ = 0, room_ = 0;
};

}  // namespace sliced::kubelet
