#pragma once
// Device metadata on disk. Every call blocks. File names come from claims, so no call follows a symbolic link
// below the directory of a driver's plugin.
#include <string>
#include <vector>

#include "kubelet/device_metadata.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

/// Threads: const, safe on workers. The caller serializes calls about one file.
class MetadataFiles {
 public:
  /// list() fails for a driver with more folders.
  static constexpr size_t kFoldersMax = 65'536;

  /// plugins: the kubelet's directory with a folder for each plugin; "" stores nothing.
  explicit MetadataFiles(std::string plugins) : plugins_(std::move(plugins)) {}

  std::string path_of(const MetadataFile& file) const;
  /// Writes the file (0644, folders 0755) and syncs it. A file of the same claim is overwritten in place,
  /// because a container has mounted it. A file of another claim is replaced; its containers keep the old
  /// one.
  Result<Unit> write(const RequestMetadata& metadata) const;
  /// Removes the file and its empty folders. A missing file, or one of another claim, is not an error.
  Result<Unit> remove(const MetadataFile& file) const;
  /// Returns the driver's files, sorted. Other files are ignored.
  Result<std::vector<MetadataFile>> list(const std::string& driver) const;
  /// Removes temporary files that killed writers of that driver left. Requires: no writer runs.
  Result<Unit> remove_temporaries(const std::string& driver) const;

 private:
  const std::string plugins_;
};

}  // namespace sliced::kubelet
