#pragma once
// From a claim, what is known of its devices, and its configuration to what is to be prepared: devices, edits of
// the container, environment. Pure. The names are those that workloads know from dra-driver-sriov.
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hotplug/facts.h"
#include "kube/objects/resource_slice.h"
#include "kubelet/cdi/spec.h"
#include "kubelet/claim.h"
#include "kubelet/prepared.h"
#include "kubelet/preparer_port.h"
#include "policy/allowed_routes.h"
#include "policy/holding.h"
#include "reactor/base/result.h"
#include "reactor/base/vlan_ids.h"

namespace sliced::kubelet {

/// What the daemon knows of an entry of this node, offered or withdrawn: its facts are those of before anything
/// was bound or moved here.
/// A copy: the decision that it was found in may be gone while the claim is prepared.
struct KnownEntry {
  policy::Holding holding;
  std::string pf;  // host device id of its pool's PF; "" none
  hotplug::HostDevice device;
  policy::HostUseAllowance host_use;     // of its policy
  std::string not_ready;                 // why it cannot be handed over now; "" it can
  std::string multus_resource;           // attribute k8s.cni.cncf.io/resourceName; "" none
  std::optional<kube::DevicePtr> entry;  // as it is offered; nullopt it is not
  std::vector<std::string> cni_plugins;  // supportedCNIPlugins; empty: its policy has no list
  bool has_policy = true;  // false: no policy matches it now, and none of the settings is allowed
  /// Which settings of the VF a NetworkAttachmentDefinition, or `network` of a claim, may make through the PF: those in `allow` of each policy that matches
  /// the device and has the field; nullopt: none has it, and --vf-settings decides.
  std::optional<std::vector<std::string>> vf_settings = std::nullopt;
  VlanIds vlans = VlanIds::all();  // that `vlan` of vf_settings may have
  bool is_default_too =
      false;  // a policy that matches the device does not have `allow`: --vf-settings limits it, too
  std::string allowing_policies =
      {};  // that have `allow`: "SriovResourcePolicy ns/a and SriovResourcePolicy ns/b"
};
/// Why a claim may not make that setting (policy/vf_settings.h) of the device: "no policy ... : leave it out, ..."; "" it may. vlan: of the
/// setting vlan, its value. The field `allow` alone counts: --vf-settings and its default are for definitions.
std::string refusal_of_setting(const KnownEntry& known, const std::string& setting, std::optional<int> vlan);
/// nullopt: no entry of this node has that driver, pool and name.
using FindEntry = std::function<std::optional<KnownEntry>(const std::string& driver, const std::string& pool,
                                                          const std::string& entry)>;

struct PlanSettings {
  bool names_interfaces = false;  // STANDALONE: who has no ifName gets one
  std::string interface_prefix = "vfnet";
  bool names_resources = false;  // also PCIDEVICE_<resource>, as of the SR-IOV device plugin
  bool names_requests = false;   // also PCI_RESOURCE_<claim>_<request>, as KubeVirt looks for
  bool tells_metadata = false;   // containers can read what is published of their devices
};

/// What is to be prepared, before the host has been looked at: no edits yet, and a vfio binding as a wish.
/// taken: interface names that the same pod has of its other claims.
/// Errors: kInvalid; the text names claim, field, value and remedy.
Result<PreparedClaim> plan(const Claim& claim, const std::string& driver, const FindEntry& find,
                           const std::set<std::string>& taken, const PlanSettings& settings);

/// Returns whether a claim may open the device's VFIO group: an exclusive PCI function without adminAccess. Such a
/// function gets its /dev/vfio nodes where it is bound to vfio-pci when it is allocated, as from the SR-IOV network device
/// plugin, whether or not its VfConfig has `driver: vfio-pci`.
bool can_have_vfio_nodes(const PreparedDevice& device);

/// What the kernel says of one device when it is prepared.
struct HostLook {
  Identity identity;
  std::string driver;               // bound now; "" none
  std::vector<std::string> uppers;  // interfaces of the host that stand on its own: macvlan, VLAN, bridge ...
  std::vector<std::string> interfaces;  // of the function, in the host's namespace
  std::string in_use;           // why it cannot be had: a process has it open, or may have; "" none has
  std::string rdma_device;      // "mlx5_0"; "" none
  bool is_rdma_shared = false;  // each network namespace has all RDMA devices (rdma system show netns)
  std::vector<std::string> rdma_nodes;      // "/dev/infiniband/uverbs0"
  std::string vfio_group = {};              // after binding: VfioBinding::group
  std::string admin_mac;                    // its PF enforces, where it is to be changed; "" not asked
  std::vector<std::string> lower_pfs = {};  // PreparedDevice::lower_pfs
  // "VF 3 (0000:03:00.5) of its PF", of a link "VF 3 (0000:03:00.5) of PF 0000:03:00.0": another function of the PF that has a MAC address which the device is to get, as the
  // PF enforces it or an interface has it in this network namespace. "" none is known.
  std::string mac_holder;
  std::string mac_held;  // that address
  // PCI address of what has the name that the interface is to have in its pod, in the host's network namespace: "" no function.
  // nullopt: nothing has it, or the device itself.
  std::optional<std::string> name_holder = std::nullopt;
  bool is_on_vfio =
      false;  // the driver that is bound now has registered it with VFIO (hotplug::is_bound_to_vfio)
  hotplug::VdpaDevice vdpa = {};
  std::string vfio_cdev = {};  // after binding: VfioBinding::cdev
  // Of `interfaces`, or the link itself: those that the kernel moves to no other network namespace (HostLink::is_netns_immutable).
  std::vector<std::string> immovable_interfaces = {};

  bool has_vfio_driver() const { return is_on_vfio || hotplug::is_vfio_driver(driver); }
  bool operator==(const HostLook&) const = default;
};

/// The edits of one device, now that the host is known: its variables, /dev/vfio nodes where it is bound, else RDMA
/// nodes where it has any, and those of vhost where its configuration asks for them. A device with adminAccess gets variables alone.
cdi::Edits edits_of(const PreparedDevice& device, const HostLook& look);

/// PCIDEVICE_<resource> in each device of a claim, of all its devices with that resource.
void add_resource_names(PreparedClaim& claim);

/// PCI_RESOURCE_<claim>_<request> in each device of a claim, of all devices of its request: of the claim's own name and
/// of the pod's for it, each as it is and in capitals with _ for what is no letter or digit.
void add_request_names(PreparedClaim& claim);

/// "sriovnetwork.k8snetworkplumbingwg.io/vf" of that driver, "<driver>/device" of any other.
std::string cdi_kind(const std::string& driver);
/// Of one claim; its file has the claim's uid.
/// A device for each of the claim's, by the name that the answer gives the kubelet; results that are one device, as that
/// of a request with adminAccess beside the one that has it, are one.
cdi::Spec claim_spec(const PreparedClaim& claim);
/// What a pod has of all its claims; nullopt: nothing.
std::optional<cdi::Spec> pod_spec(const std::string& driver, const std::string& pod_id,
                                  const PreparedClaims& prepared);
/// Whose pod spec the claim's devices come with: the one pod's that it is reserved for; a claim that several pods
/// have tells of itself alone. A pod's claims come with one spec, also those that it shares with nobody yet: of two that
/// set the same variable the last would win. (A pod that shares one later gets the edits of the first: a kubelet
/// prepares a claim once.)
std::string pod_id_of(const Claim& claim);

/// For the kubelet, by device in the order of the claim's results. The first device of a request brings the request's file.
/// tells_metadata: with the specs that mount its files.
PrepareAnswer answer_of(const PreparedClaim& claim, bool tells_metadata);

/// Where Multus finds the function behind (resourceName, deviceID): NAD's DeviceInfo, version 1.1.0.
struct DeviceInfo {
  std::string path, text;
  bool operator==(const DeviceInfo&) const = default;
};
/// nullopt: Multus does not know the device.
std::optional<DeviceInfo> device_info(const PreparedDevice& device, const std::string& directory);

}  // namespace sliced::kubelet
