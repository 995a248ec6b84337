#pragma once
// Files and folders of a directory cluster, as the system has them; and the objects that stand for what is not kept of them.
#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kube/directory/manifest.h"
#include "kube/directory/object_store.h"
#include "reactor/base/result.h"

namespace sliced::kube {

/// kDenied where permission lacks, else kIo; with the system's word for `code` (errno).
Error io_error(std::string_view action, const std::string& path, int code);

/// Names in a folder, all of them, sorted; the folder itself is followed if it is a link.
/// Errors: kNotFound, kDenied, kIo.
Result<std::vector<std::string>> names_in(const std::string& folder);

enum class Sort {
  kNone,    // there is nothing of that name
  kFile,    // or a link that leads to one
  kFolder,  // a link to a folder is not followed
  kOther,   // a link that leads nowhere or to a folder, a pipe, a device
};
/// status is that of what a link leads to; for kNone and kOther it says nothing.
/// Errors: kDenied (its folder may not be searched), kIo: it may be any of these, a folder too.
Result<Sort> sort_of(const std::string& path, struct stat& status);

bool is_link(const std::string& path);

/// What tells one version of a file from another without reading it.
struct Signature {
  uint64_t device = 0, inode = 0, size = 0;
  int64_t changed_ns = 0, modified_ns = 0;
  bool operator==(const Signature&) const = default;
};
Signature signature_of(const struct stat& status);

/// Replaces the file, and syncs it to disk; what was written in part goes again.
Result<Unit> write_synced(const std::string& path, const std::string& text);

/// What it is known by, and the labels, by which nodes are selected; its spec says that it is not kept.
ContentPtr name_alone(const std::string& content, const char* why);

/// Whether an object that cannot be read any more must not be forgotten: a DeviceExposurePolicy that is an exclude, or
/// may be one.
bool may_exclude(const ObjectKey& key, const std::string& content);

}  // namespace sliced::kube
