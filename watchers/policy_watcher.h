#pragma once
// Policies and what goes with them, in one namespace, undecoded: the language of a policy is policy/'s to
// understand.
#include <memory>
#include <string_view>

#include "kube/object_meta.h"
#include "watchers/list_watch.h"

namespace sliced::watchers {

/// An object of a policy kind: SriovResourcePolicy or DeviceAttributes.
struct PolicyObject {
  kube::ObjectMeta meta;
  kube::Json object;  // whole, without metadata.managedFields
  bool operator==(const PolicyObject&) const = default;
};

using PolicyWatcher = WatchedSource<PolicyObject>;

/// One source per kind (kube/kinds.h). namespace_ "" watches all namespaces.
std::unique_ptr<PolicyWatcher> make_policy_watcher(Ports ports, const kube::Resource& kind,
                                                   std::string_view namespace_,
                                                   PolicyWatcher::OnEvent on_event,
                                                   PolicyWatcher::OnStanding on_standing = {},
                                                   PolicyWatcher::KeepMissing keep_missing = {});

}  // namespace sliced::watchers
