#pragma once
// The ResourceSlices that one driver, or every driver, has published for one node, ours or not: what the
// server holds (`observed`).
#include <cstdint>
#include <memory>
#include <string_view>

#include "kube/objects/resource_slice.h"
#include "watchers/watched_source.h"

namespace sliced::watchers {

/// Slices of a node, selected by the server with spec.driver and spec.nodeName (spec.nodeName is what its
/// watch cache is indexed by: pkg/registry/resource/resourceslice TriggerFunc). A slice that cannot be
/// decoded is still a slice in our pool: Watched::value is then an Error, and its name says what to replace.
using SliceWatcher = WatchedSource<kube::ResourceSlice>;

/// Bytes of a slice in memory, near enough to bound them all together. One that finds no room beside the others
/// is like one that cannot be decoded: whoever owns it asks for it by name.
/// Counted as it lies in memory (blocks, tree nodes, texts over 15 bytes) and three times for what is copied
/// on its way to who keeps it; entries are shared and count once.
size_t footprint(const kube::ResourceSlice& slice);
template <>
struct MemoryAccounting<kube::ResourceSlice> {
  static constexpr bool kIsAccounted = true;
  static constexpr Footprint kUnreadable{.bytes = 1'024};
  static Footprint of(const kube::ResourceSlice& slice) { return {.bytes = footprint(slice)}; }
  static Result<kube::ResourceSlice> left_out(const Footprint&) { return no_room(); }
};
/// How many slices one scope may have at all: a list of more is refused.
inline constexpr size_t kSlicesMax = 4'096;

/// driver: "" for all of them. salvages: of a slice that cannot be decoded what can be read is its value
/// (kube::salvage_resource_slice), as long as that tells whose it is. bytes_max: of all that are kept.
/// Does not start. A list may have 512 MiB of text: slices are decoded as they come and not kept as text.
std::unique_ptr<SliceWatcher> make_slice_watcher(kube::Ports ports, std::string_view driver,
                                                 std::string_view node_name, SliceWatcher::OnEvent on_event,
                                                 SliceWatcher::OnStanding on_standing = {},
                                                 bool salvages = false, size_t bytes_max = SIZE_MAX);

}  // namespace sliced::watchers
