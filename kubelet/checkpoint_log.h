#pragma once
// Which write makes the checkpoint's file say what is prepared: a change behind those that it has, or the whole file anew.
// Pure, of the loop's thread; kubelet/commits.h makes the writes, kubelet/checkpoint.h has the format.
#include <cstddef>
#include <optional>
#include <string>

#include "kubelet/checkpoint.h"

namespace sliced::kubelet {

class CheckpointLog {
 public:
  struct Write {
    std::string text;
    bool is_whole = false;  // the file is replaced, else the text follows what is in it
    size_t room = 0;        // of a whole file: for changes behind the text
  };

  /// The write that makes the file say this; nullopt: it does already. The first write of a process is a whole file.
  /// Requires: done() was called for the write before.
  std::optional<Write> next(const std::string& boot_id, const PreparedClaims& now);
  /// A whole file, also where it says this already. Requires: as next().
  Write rewrite(const std::string& boot_id, const PreparedClaims& now);
  /// Whether the write is on disk. Where it is not, the next one is a whole file.
  void done(bool is_written);

  /// The file that the process found has changes, or room for them.
  void note_open() { is_open_ = true; }
  /// From now on whole files without room, which earlier versions of sliced read.
  void close() { is_closing_ = true; }
  /// Whether rewrite() is of use: more than half of the room is used, or the file is to be closed.
  bool wants_rewrite() const;

 private:
  std::optional<Checkpoint> stored_;  // what the file says; nullopt: unknown
  std::optional<Checkpoint> whole_;   // the same of a whole file that is being written
  PreparedClaims changed_;            // of a change that is being written
  std::vector<PreparedKey> removed_;
  size_t changes_ = 0, room_ = 0, next_size_ = 0;
  bool is_open_ = false, is_closing_ = false;
};

}  // namespace sliced::kubelet
