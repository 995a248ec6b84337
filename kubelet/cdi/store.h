#pragma once
// The directory of CDI specifications that container runtimes watch, as far as it is ours. Every call blocks.
#include <string>
#include <string_view>
#include <vector>

#include "kubelet/cdi/spec.h"
#include "reactor/base/result.h"
#include "reactor/durable_file.h"

namespace sliced::cdi {

/// Threads: const, safe from workers; two calls about one file come one after the other.
class Store {
 public:
  /// A directory with more files is not ours to look through.
  static constexpr size_t kFilesMax = 65'536;

  /// name: of a spec's file (kubelet/cdi/spec.h).
  using NameFile = std::string (*)(std::string_view kind, std::string_view id);
  explicit Store(std::string root, NameFile name = &transient_file) : root_(std::move(root)), name_(name) {}

  /// The spec of what has that id, replaced as a whole and on disk when it returns. The root is made where it
  /// is missing.
  /// Errors: encode_spec()'s, kInvalid for an id that could lead out of the directory, and those of
  /// write_durably().
  Result<Unit> write(const Spec& spec, std::string_view id) const;
  /// The same as a file, for whoever writes several at once.
  Result<reactor::DurableFile> file_of(const Spec& spec, std::string_view id) const;
  /// One that is not there is no error.
  Result<Unit> remove(std::string_view kind, std::string_view id) const;
  /// kNotFound, or what is wrong with it.
  Result<Spec> read(std::string_view kind, std::string_view id) const;
  /// Ids of that kind, sorted. Other programs' files are not looked at; nor is one that has an id no file of
  /// ours can have.
  /// Errors: kTooLarge, kDenied, kIo. No directory is no id.
  Result<std::vector<std::string>> ids(std::string_view kind) const;
  /// Removes what writers of that kind's specs left when they were killed (reactor::remove_temporaries()). Yields their
  /// number. Requires: no spec is written meanwhile.
  Result<size_t> remove_temporaries(std::string_view kind) const;

 private:
  std::string path(std::string_view kind, std::string_view id) const;
  // The id in a file's name; "" it is no file of a spec of that kind.
  std::string id_of(std::string_view kind, std::string_view file) const;

  const std::string root_;
  const NameFile name_;
};

}  // namespace sliced::cdi
