#pragma once
// Turns a claim, the known facts of its devices, and its configuration into a PreparedClaim: devices, edits
// of the container, environment. Pure. Names are compatible with dra-driver-sriov.
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

/// A device entry of this node, offered or withdrawn, with its pinned facts (from before it was bound or
/// moved). It is a copy, because a newer decision may replace its source while the claim is prepared.
struct KnownEntry {
  policy::Holding holding;
  std::string pf;  // host device id of its pool's PF; "" if none
  hotplug::HostDevice device;
  policy::HostUseAllowance host_use;     // of its policy
  std::string not_ready;                 // why it cannot be prepared now; "" if it can
  std::string multus_resource;           // attribute k8s.cni.cncf.io/resourceName; "" if none
  std::optional<kube::DevicePtr> entry;  // as it is offered; nullopt if it is not offered
  /// supportedCNIPlugins of its policy; without a deciding policy, those that each policy lists which may
  /// have offered it. Empty: no plugin. nullopt: no policy has a list, and the options of the daemon decide.
  std::optional<std::vector<std::string>> cni_plugins = std::nullopt;
  bool are_default_plugins_too = false;  // such a policy has no list, so the options of the daemon apply, too
  bool has_policy = true;                // false: no policy matches it now, and no setting is allowed
  /// VF settings that a NetworkAttachmentDefinition, or `network` of a claim, may change through the PF:
  /// those in `allow` of every matching policy that has the field. nullopt: no policy has it, and
  /// --vf-settings decides.
  std::optional<std::vector<std::string>> vf_settings = std::nullopt;
  VlanIds vlans = VlanIds::all();  // permitted values of `vlan` in vf_settings
  bool is_default_too = false;     // a matching policy has no `allow`, so --vf-settings applies as well
  std::string allowing_policies =
      {};  // those that have `allow`: "SriovResourcePolicy ns/a and SriovResourcePolicy ns/b"
};
/// Returns why a claim may not change that setting (policy/vf_settings.h) of the device: "no policy ... :
/// leave it out, ..."; "" if it may. vlan: the value, for the setting vlan. network: that of the claim. Only
/// the field `allow` counts; --vf-settings is for definitions.
std::string refusal_of_setting(const KnownEntry& known, const std::string& setting, std::optional<int> vlan,
                               const NativeNetwork& network);
/// Returns nullopt if no entry of this node has that driver, pool and name.
using FindEntry = std::function<std::optional<KnownEntry>(const std::string& driver, const std::string& pool,
                                                          const std::string& entry)>;

struct PlanSettings {
  bool names_interfaces = false;  // mode STANDALONE: an interface without ifName gets a name
  std::string interface_prefix = "vfnet";
  bool names_resources = false;  // also PCIDEVICE_<resource>, as the SR-IOV device plugin sets it
  bool names_requests = false;   // also PCI_RESOURCE_<claim>_<request>, which KubeVirt reads
  bool writes_metadata = false;  // containers can read the published attributes of their devices
};

/// Returns the devices to prepare, before the host is read: without edits, and with VfioBinding set if it is
/// requested. used_names: interface names of the pod's other claims. Errors: kInvalid; the text names claim,
/// field, value and remedy.
Result<PreparedClaim> plan(const Claim& claim, const std::string& driver, const FindEntry& find,
                           const std::set<std::string>& used_names, const PlanSettings& settings);

/// Returns whether a claim may open the device's VFIO group: an exclusive PCI function without adminAccess.
/// Such a function gets its /dev/vfio nodes if it is bound to vfio-pci at allocation, as with the SR-IOV
/// network device plugin. Its VfConfig does not have to contain `driver: vfio-pci`.
bool can_have_vfio_nodes(const PreparedDevice& device);

/// The kernel's facts about one device at prepare.
struct DeviceSnapshot {
  Identity identity;
  std::string driver;                   // bound now; "" if none
  std::vector<std::string> uppers;      // interfaces of the host on top of its own: macvlan, VLAN, bridge ...
  std::vector<std::string> interfaces;  // of the function, in the host's namespace
  // The device's own one of them, whose name may have changed since the plan (interface_of_hardware()); of a
  // link its name.
  std::string interface = {};
  std::string in_use;           // why it cannot be used: a process has it open, or may have; "" if none has
  std::string rdma_device;      // "mlx5_0"; "" if none
  bool is_rdma_shared = false;  // each network namespace sees all RDMA devices (rdma system show netns)
  std::vector<std::string> rdma_nodes;      // "/dev/infiniband/uverbs0"
  std::string vfio_group = {};              // after binding: VfioBinding::group
  std::string admin_mac;                    // enforced by its PF; read only if it will change, otherwise ""
  std::vector<std::string> lower_pfs = {};  // PreparedDevice::lower_pfs
  // Another function of the PF that has a MAC address that the device will get, enforced by the PF or on an
  // interface in this network namespace: "VF 3 (0000:03:00.5) of its PF"; for a link "VF 3 (0000:03:00.5) of
  // PF 0000:03:00.0"; "" if none is known.
  std::string mac_holder;
  std::string mac_held;  // that address
  // PCI address of the interface that already has, in the host's network namespace, the name that the
  // interface gets in its pod; "" if it is not a function. nullopt: only the device itself has the name, or
  // none has.
  std::optional<std::string> name_holder = std::nullopt;
  bool is_on_vfio = false;  // the current driver has registered it with VFIO (hotplug::is_bound_to_vfio)
  std::vector<hotplug::VdpaDevice> vdpas = {};  // hotplug::find_vdpa_devices()
  std::string vfio_cdev = {};                   // after binding: VfioBinding::cdev
  // Those of `interfaces`, or the link itself, that the kernel does not move to another network namespace
  // (HostLink::is_netns_immutable).
  std::vector<std::string> immovable_interfaces = {};
  std::string incarnation = {};  // PreparedDevice::incarnation

  bool has_vfio_driver() const { return is_on_vfio || hotplug::is_vfio_driver(driver); }
  bool operator==(const DeviceSnapshot&) const = default;
};

/// Returns the edits of one device, after the host was read: its variables; /dev/vfio nodes if it is bound,
/// otherwise RDMA nodes; vhost nodes if its configuration requests them. A device with adminAccess gets only
/// variables.
cdi::Edits edits_of(const PreparedDevice& device, const DeviceSnapshot& snapshot);

/// Adds PCIDEVICE_<resource> to each device of a claim, with all its devices of that resource.
void add_resource_names(PreparedClaim& claim);

/// Adds PCI_RESOURCE_<claim>_<request> to each device of a claim, with all devices of its request. It is
/// added for the claim's name and for the pod's name of it, each unchanged and in capitals, with _ for
/// characters other than letters and digits.
void add_request_names(PreparedClaim& claim);

/// Returns "sriovnetwork.k8snetworkplumbingwg.io/vf" for that driver, "<driver>/device" for any other.
std::string cdi_kind(const std::string& driver);
/// Returns the spec of one claim; its file name contains the claim's uid. It has a device for each of the
/// claim's, under the name that the kubelet is given. Several results for one device, such as a request with
/// adminAccess, are merged.
cdi::Spec claim_spec(const PreparedClaim& claim);
/// Returns the spec with the edits of all claims of the pod; nullopt if there are none.
std::optional<cdi::Spec> pod_spec(const std::string& driver, const std::string& pod_id,
                                  const PreparedClaims& prepared);
/// Returns the id of the pod spec that the claim's devices refer to: that of its only pod; "" if several pods
/// share the claim. One spec covers all claims of a pod: if two specs set the same variable, the runtime uses
/// the last one. Limitation: a pod that joins later gets the edits of the first one, because the kubelet
/// prepares a claim once.
std::string pod_id_of(const Claim& claim);

/// Returns the answer for the kubelet, in the order of the claim's results. The first device of a request
/// refers to the request's file. writes_metadata: with the specs that mount metadata files.
PrepareAnswer answer_of(const PreparedClaim& claim, bool writes_metadata);

/// The file in which Multus finds the function of (resourceName, deviceID): DeviceInfo, version 1.1.0.
struct DeviceInfo {
  std::string path, text;
  bool operator==(const DeviceInfo&) const = default;
};
/// Returns nullopt if Multus does not know the device.
std::optional<DeviceInfo> device_info(const PreparedDevice& device, const std::string& directory);

}  // namespace sliced::kubelet
