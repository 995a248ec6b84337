#pragma once
// The networks that a claim's devices name: NetworkAttachmentDefinitions (k8s.cni.cncf.io/v1), read when the claim is
// prepared, so that a sandbox needs no API server.
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kube/cluster.h"
#include "kubelet/plan.h"
#include "kubelet/prepared.h"
#include "reactor/base/result.h"
#include "reactor/scheduler.h"

namespace sliced::kubelet {

/// What the definition's config becomes for this device. `master`, `bridge` and `device` of a plugin that stands on an
/// interface of the host are the device's own where the config says nothing of them.
/// Errors: kInvalid, kTooLarge: not a chain of CNI plugins; a plugin that supportedCNIPlugins does not name, and that is no
/// companion of others (tuning, bandwidth, ...); another interface than the device's. They name definition, field, value, remedy.
Result<std::string> network_for(const PreparedDevice& device, const KnownEntry& known,
                                std::string_view config);

/// Sets PreparedDevice::network of the devices that name one; each definition is asked for once. known: by device.
/// Reentry: done is called once, never from within this call, and may drop the call.
/// Errors:  of the cluster and of network_for(); the text names the definition and the remedy.
kube::CallPtr read_networks(kube::Cluster& cluster, reactor::Scheduler& scheduler, PreparedClaim claim,
                            std::vector<KnownEntry> known, std::function<void(Result<PreparedClaim>)> done);

}  // namespace sliced::kubelet
