// Writes of a directory cluster.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "kube/directory/directory_files.h"
#include "kube/directory/directory_tree.h"
#include "reactor/base/text.h"

namespace sliced::kube {

Result<Unit> DirectoryTree::write(const std::string& file, const std::string& text) {
  if (!files_.contains(file) && files_.size() >= limits_.files_max)
    return too_many(limits_.files_max, "files");
  const size_t slash = file.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : file.substr(0, slash);
  const std::string scratch =
      full((folder.empty() ? "" : folder + "/") + "." + file.substr(slash + 1) + ".new");
  if (!folder.empty()) {
    if (folders_ >= limits_.folders_max && ::access(full(folder).c_str(), F_OK) != 0)
      return too_many(limits_.folders_max, "folders");
    const bool made = ::mkdir(full(folder).c_str(), 0755) == 0;
    if (!made && errno != EEXIST) return io_error("make directory", full(folder), errno);
    // Files below a linked folder would never be read.
    if (is_link(full(folder)))
      return Error{Errc::kInvalid,
                   in_quotes(full(folder)) + " is a link, which is not followed; make it a folder"};
    if (made) (void)watch(folder);
  }
  if (auto written = write_synced(scratch, text); !written.ok()) return written.error();
  if (::rename(scratch.c_str(), full(file).c_str()) != 0) {
    const int code = errno;
    ::unlink(scratch.c_str());
    return io_error("rename to", full(file), code);
  }
  refresh(file);
  update_store();
  schedule();
  if (trouble_) schedule_processing();
  return Unit{};
}

Result<Unit> DirectoryTree::erase(const std::string& file) {
  if (::unlink(full(file).c_str()) != 0 && errno != ENOENT) return io_error("delete", full(file), errno);
  if (files_.contains(file)) drop(file);
  update_store();
  schedule();
  return Unit{};
}

}  // namespace sliced::kube
