#pragma once
// Reads the NetworkAttachmentDefinitions (k8s.cni.cncf.io/v1) of a claim's devices when the claim is
// prepared, so that starting a sandbox requires no API server.
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/cluster.h"
#include "kubelet/plan.h"
#include "kubelet/prepared.h"
#include "reactor/base/result.h"
#include "reactor/scheduler.h"

namespace sliced::kubelet {

/// host-local's base directory for networks whose definition sets no dataDir. It has a directory for each
/// namespace, so that no definition reaches addresses of another namespace or of the cluster's own network,
/// and in it one for each network.
inline constexpr std::string_view kAddressDirectory = "/var/lib/cni/sliced/networks";

/// Permissions of definitions if the policy of the device has none (options of the daemon).
struct NetworkSettings {
  std::vector<std::string> exclusive_plugins = {"sriov", "host-device", "ib-sriov"};
  std::vector<std::string> shared_plugins = {"macvlan", "ipvlan", "macvtap", "vlan", "ipoib", "bridge"};
  bool allows_vf_settings = true;  // all VF settings through the PF, if no policy has `allow`
};

/// Returns the text to run for this device: the config in its canonical form (kubelet/cni/definition.h), with
/// `master`, `bridge` and `device` of the device's own interface. Errors: kInvalid, kTooLarge; each names
/// definition, plugin, field, value and expected value.
Result<std::string> network_for(const PreparedDevice& device, const KnownEntry& known,
                                std::string_view config, const NetworkSettings& settings = {});

/// Sets PreparedDevice::network of the devices with a definition; reads each definition once. known: by
/// device. Reentry: `done` is called once, never from within this call, and may drop the call. Errors: of the
/// cluster and of network_for(); the text names the definition and the remedy.
kube::CallPtr read_networks(kube::Cluster& cluster, reactor::Scheduler& scheduler, PreparedClaim claim,
                            std::vector<KnownEntry> known, NetworkSettings settings,
                            std::function<void(Result<PreparedClaim>)> done);

}  // namespace sliced::kubelet
