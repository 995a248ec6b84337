#pragma once
// Device metadata on disk. Every call blocks. Names come out of claims: nothing below the directory of a driver's
// plugin is reached by way of a link.
#include <string>
#include <vector>

#include "kubelet/device_metadata.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

/// Threads: const, safe from workers; two calls about one file come one after the other.
class MetadataFiles {
 public:
  /// A driver with more claims has none of its files looked through.
  static constexpr size_t kFoldersMax = 65'536;

  /// plugins: the kubelet's directory with a folder for each plugin; "" nothing is kept.
  explicit MetadataFiles(std::string plugins) : plugins_(std::move(plugins)) {}

  std::string path_of(const MetadataFile& file) const;
  /// The file says so, and is on disk (0644, folders 0755). One that is the claim's already is written in place: a
  /// container has that very file mounted. Another claim's of the same name is replaced, and its containers keep it.
  Result<Unit> write(const RequestMetadata& metadata) const;
  /// And its folders, once they are empty. What is not there, or is another claim's, is no error.
  Result<Unit> remove(const MetadataFile& file) const;
  /// Of a driver, in order; whatever else lies there is passed over.
  Result<std::vector<MetadataFile>> list(const std::string& driver) const;
  /// Removes what writers of that driver's files left when they were killed. Requires: no file is written meanwhile.
  Result<Unit> remove_temporaries(const std::string& driver) const;

 private:
  const std::string plugins_;
};

}  // namespace sliced::kubelet
