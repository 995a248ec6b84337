#pragma once
// Where `match --slices` finds what is published.
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
  bool is_whole = true;  // false: there is more, or may be, and the lines say what
  FirstFew<std::string> lines;
};

/// Lets the loop turn until done() is true or the time is over.
using Wait = std::function<void(const std::function<bool()>& done, Millis longest)>;

/// The slices that name this node, of all drivers; where the cluster does not let us list those, of our own
/// drivers. Waits at most 30 s for each list.
/// Errors: the list that failed, and why.
Result<FoundSlices> slices_of_cluster(const kube::Ports& ports, const Wait& wait, const std::string& node,
                                      const std::vector<std::string>& own_drivers);

/// The slices in these files, of whatever node; "-" is standard input. Other kinds are passed over.
FoundSlices slices_of_files(const std::vector<std::string>& paths);
/// Adds those of one file's text. path: for the lines.
void add_slices_of_text(const std::string& path, std::string_view text, FoundSlices& out);

/// Leaves the slices of the newest generation of each pool, for the others are not allocated from. A pool of
/// which not every slice is here gets a line: it is not allocated from either.
void keep_newest(FoundSlices& found);

}  // namespace sliced::cli
