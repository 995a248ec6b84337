#pragma once
// The ResourceSlices that one driver, or every driver, has published for one node, ours or not: what the
// server holds (`observed`).
#include <memory>
#include <string_view>

#include "kube/resource_slice.h"
#include "watchers/list_watch.h"

namespace sliced::watchers {

/// Slices of a node, selected by the server with spec.driver and spec.nodeName (spec.nodeName is what its
/// watch cache is indexed by: pkg/registry/resource/resourceslice TriggerFunc). A slice that cannot be
/// decoded is still a slice in our pool: Watched::value is then an Error, and its name says what to replace.
using SliceWatcher = WatchedSource<kube::ResourceSlice>;

/// driver: "" for all of them. salvages: of a slice that cannot be decoded what can be read is its value
/// (kube::salvage_resource_slice), as long as that tells whose it is.
std::unique_ptr<SliceWatcher> make_slice_watcher(Ports ports, std::string_view driver,
                                                 std::string_view node_name, SliceWatcher::OnEvent on_event,
                                                 SliceWatcher::OnStanding on_standing = {},
                                                 bool salvages = false);

}  // namespace sliced::watchers
