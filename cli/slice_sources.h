#pragma once
// Sources of published slices for `match --slices`.
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/resource_slice.h"
#include "reactor/base/first_few.h"
#include "reactor/base/result.h"
#include "reactor/base/time.h"
#include "watchers/list_watch.h"

namespace sliced::cli {

struct FoundSlices {
  std::vector<kube::ResourceSlice> slices;
  bool is_whole = true;  // false: some slices are or may be missing; `lines` has the reasons
  FirstFew<std::string> lines;
};

/// Runs the loop until done() is true or the time is over.
using Wait = std::function<void(const std::function<bool()>& done, Millis longest)>;

/// Returns the slices of this node, of all drivers; if these may not be listed, those of sliced's drivers.
/// Waits at most 30 s for each list. Errors: the list that failed, and the reason.
Result<FoundSlices> slices_of_cluster(const kube::ClusterPorts& ports, const Wait& wait,
                                      const std::string& node, const std::vector<std::string>& own_drivers);

/// Returns the slices in these files, of any node; "-" is standard input. Other kinds are ignored.
FoundSlices slices_of_files(const std::vector<std::string>& paths);
/// Adds the slices of one file's text. path: for the lines.
void add_slices_of_text(const std::string& path, std::string_view text, FoundSlices& out);

/// Keeps the slices of the newest generation of each pool, because others are not allocated from. An
/// incomplete pool gets a line: it is not allocated from either.
void keep_newest(FoundSlices& found);

}  // namespace sliced::cli
