#pragma once
// Files and folders of a directory cluster, and the placeholders for objects that are not stored.
#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kube/directory/manifest.h"
#include "kube/directory/object_store.h"
#include "reactor/base/result.h"

namespace sliced::kube {

/// Returns kDenied for a lack of permission, else kIo, with the system's text for `code` (errno).
Error io_error(std::string_view action, const std::string& path, int code);

/// Returns all names in a folder, sorted. Follows the path if it is a link.
/// Errors: kNotFound, kDenied, kIo.
Result<std::vector<std::string>> names_in(const std::string& folder);

enum class Sort {
  kNone,    // no entry of that name
  kFile,    // or a link to one
  kFolder,  // links to folders are kOther
  kOther,   // a broken link, a link to a folder, a pipe, a device
};
/// status: of the target of a link; undefined for kNone and kOther. Errors: kDenied (no search permission for
/// its folder), kIo: the entry may be of any sort.
Result<Sort> sort_of(const std::string& path, struct stat& status);

bool is_link(const std::string& path);

/// Distinguishes versions of a file without reading it.
struct Signature {
  uint64_t device = 0, inode = 0, size = 0;
  int64_t changed_ns = 0, modified_ns = 0;
  bool operator==(const Signature&) const = default;
};
Signature signature_of(const struct stat& status);

/// Replaces the file and syncs it to disk; removes a partially written one.
Result<Unit> write_synced(const std::string& path, const std::string& text);

/// Returns the object's names and labels, by which nodes are selected, with a spec that says that it is not
/// stored.
ContentPtr name_alone(const std::string& content, const char* why);

/// Returns true if an unreadable object must not be removed: a DeviceExposurePolicy that is or may be an
/// exclude.
bool may_exclude(const ObjectKey& key, const std::string& content);

}  // namespace sliced::kube
