#pragma once
// Watches the ResourceSlices of one node, of one driver or of all: the observed state.
#include <cstdint>
#include <memory>
#include <string_view>

#include "kube/objects/resource_slice.h"
#include "watchers/watched_source.h"

namespace sliced::watchers {

/// Slices of a node, selected by the server with spec.driver and spec.nodeName (its watch cache is indexed
/// by spec.nodeName: pkg/registry/resource/resourceslice TriggerFunc). A slice that cannot be
/// decoded is present with an Error as Watched::value; it is replaced by its name.
using SliceWatcher = WatchedSource<kube::ResourceSlice>;

/// Estimated memory of a slice. A slice without room is treated like an invalid one, and read by its name.
/// Counts blocks, tree nodes and texts over 15 bytes, three times for copies on the way; shared entries count
/// once.
size_t footprint(const kube::ResourceSlice& slice);
template <>
struct MemoryAccounting<kube::ResourceSlice> {
  static constexpr bool kIsAccounted = true;
  static constexpr Footprint kUnreadable{.bytes = 1'024};
  static Footprint of(const kube::ResourceSlice& slice) { return {.bytes = footprint(slice)}; }
  static Result<kube::ResourceSlice> left_out(const Footprint&) { return no_room(); }
};
/// Maximum of slices in a list; larger lists are rejected.
inline constexpr size_t kSlicesMax = 4'096;

/// Returns a watcher that is not started. driver: "" for all. salvages: an invalid slice is decoded in part
/// (kube::salvage_resource_slice) if its driver and node are readable. bytes_max: memory of all slices. A
/// list may have 512 MiB of text, because slices are decoded on arrival.
std::unique_ptr<SliceWatcher> make_slice_watcher(kube::ClusterPorts ports, std::string_view driver,
                                                 std::string_view node_name, SliceWatcher::OnEvent on_event,
                                                 SliceWatcher::OnSyncState on_sync_state = {},
                                                 bool salvages = false, size_t bytes_max = SIZE_MAX);

}  // namespace sliced::watchers
