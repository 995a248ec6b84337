#pragma once
// sliced's specs in the directory of CDI specifications that container runtimes watch. Every call blocks.
#include <string>
#include <string_view>
#include <vector>

#include "kubelet/cdi/spec.h"
#include "reactor/base/result.h"
#include "reactor/durable_file.h"

namespace sliced::cdi {

/// Threads: const, safe on workers; the caller serializes calls about one file.
class Store {
 public:
  /// Listing fails for a directory with more files.
  static constexpr size_t kFilesMax = 65'536;

  /// name: returns the file name of a spec (kubelet/cdi/spec.h).
  using NameFile = std::string (*)(std::string_view kind, std::string_view id);
  explicit Store(std::string root, NameFile name = &transient_file) : root_(std::move(root)), name_(name) {}

  /// Replaces the spec of that id atomically, and syncs it. Creates a missing root. Errors: those of
  /// encode_spec() and write_durably(); kInvalid for an id that could lead out of the directory.
  Result<Unit> write(const Spec& spec, std::string_view id) const;
  /// Returns the file without writing it, for callers that write several at a time.
  Result<reactor::DurableFile> file_of(const Spec& spec, std::string_view id) const;
  /// A missing spec is not an error.
  Result<Unit> remove(std::string_view kind, std::string_view id) const;
  /// Errors: kNotFound; others if the spec is invalid.
  Result<Spec> read(std::string_view kind, std::string_view id) const;
  /// Returns the ids of that kind, sorted. Ignores files of other programs, and ids that write() would
  /// refuse. Empty if the directory does not exist. Errors: kTooLarge, kDenied, kIo.
  Result<std::vector<std::string>> ids(std::string_view kind) const;
  /// Removes temporary files that killed writers of that kind's specs left (reactor::remove_temporaries()).
  /// Returns their number. Requires: no writer runs.
  Result<size_t> remove_temporaries(std::string_view kind) const;

 private:
  std::string path(std::string_view kind, std::string_view id) const;
  // Returns the id in a file's name; "" if it is not the name of a spec of that kind.
  std::string id_of(std::string_view kind, std::string_view file) const;

  const std::string root_;
  const NameFile name_;
};

}  // namespace sliced::cdi
