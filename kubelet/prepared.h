#pragma once
// The prepared claims as values, which the plan, the safety rules, the checkpoint and the ledger of reserved
// entries share. They outlive the process, so they identify devices by stable facts.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hotplug/facts.h"
#include "kubelet/cdi/spec.h"
#include "kubelet/claim.h"
#include "kubelet/vf_config.h"
#include "policy/holding.h"

namespace sliced::kubelet {

/// Identifies the function at an address. It is compared at prepare and after a boot: a different function at
/// the same address is refused.
struct Identity {
  std::string vendor, product;  // 4 hexadecimal digits; "" for a link, or if unknown
  std::string pf;               // PCI address of a VF's PF; "" if none
  bool operator==(const Identity&) const = default;
};

inline constexpr std::string_view kNoDriver = "(none)";          // not a valid driver name
inline constexpr std::string_view kNoMac = "00:00:00:00:00:00";  // the VF chooses its own address

/// A function that a pod uses through VFIO. Unless it already has a VFIO driver, it is bound to vfio-pci for
/// the pod. This is recorded before the bind, so that a restarted daemon can restore the function.
struct VfioBinding {
  std::string original_driver;  // kNoDriver: none was bound. "": unknown; the kernel chooses
  std::string group;            // of its node /dev/vfio/GROUP: "7", "noiommu-0"; "" if none or unknown
  std::string original_mac;     // enforced by its PF; kNoMac if none; "" if unknown or not changed
  std::string cdev = {};  // of its node /dev/vfio/devices/CDEV, for IOMMUFD: "vfio3"; "" if none or unknown
  bool operator==(const VfioBinding&) const = default;
};

/// The VFIO device nodes of a function: /dev/vfio/GROUP, /dev/vfio/devices/CDEV, or both
/// (Documentation/driver-api/vfio.rst). As a text: "7", "vfio3" or "7 vfio3".
struct VfioNodes {
  std::string group, cdev;  // as in VfioBinding
  static VfioNodes decode(std::string_view text);
  std::string text() const;
  bool empty() const { return group.empty() && cdev.empty(); }
  bool operator==(const VfioNodes&) const = default;
};

/// Name and addresses of an interface in a pod (resource/v1 NetworkDeviceData), reported by the network's
/// plugins or Multus. For information only.
struct NetworkData {
  std::string interface;         // "net1"; "" if unknown
  std::vector<std::string> ips;  // "10.0.0.5/24"
  std::string mac;               // "aa:bb:.."; "" if unknown
  bool operator==(const NetworkData&) const = default;
};

/// Limit of a NetworkAttachmentDefinition's config, which is stored with each prepared device.
inline constexpr size_t kNetworkBytesMax = 16u << 10;

/// An immutable text that copies share. Equality compares the texts. Threads: as std::shared_ptr.
class NetworkText {
 public:
  NetworkText() = default;  // ""
  NetworkText(std::string text)
      : text_(text.empty() ? nullptr : std::make_shared<const std::string>(std::move(text))) {}
  NetworkText(const char* text) : NetworkText(std::string(text)) {}

  /// The reference is valid as long as any copy of the text.
  const std::string& str() const {
    static const std::string kNone;
    return text_ ? *text_ : kNone;
  }
  operator const std::string&() const { return str(); }
  operator std::string_view() const { return str(); }
  bool empty() const { return text_ == nullptr; }
  size_t size() const { return str().size(); }

  friend bool operator==(const NetworkText& a, const NetworkText& b) {
    return a.text_ == b.text_ || a.str() == b.str();
  }
  /// Returns whether both share one text in memory, or both are empty.
  friend bool is_same(const NetworkText& a, const NetworkText& b) { return a.text_ == b.text_; }

 private:
  std::shared_ptr<const std::string> text_;  // null: ""
};

/// Prefix of a scalable function's number in Identity::product. PCI ids are four hexadecimal digits, so it is
/// unambiguous.
inline constexpr std::string_view kSfProduct = "sf";

/// One result of a claim. Steps after the plan fill in facts of binding and of the pod
/// (kubelet/prepare_steps.cpp, kubelet/interfaces/). The checkpoint contains all but the last three members.
/// pool and device keep their values of the time of preparing.
struct PreparedDevice {
  std::string request, pool, device, share_id;  // as in AllocatedDevice
  bool is_admin = false;
  policy::Holding holding;  // the resources that it occupies
  std::string pf;           // host device id of its pool's PF, for policy::exclude_each_other(); "" if none
  std::string pci;          // "0000:03:00.2"; "" for a link
  std::string interface;    // of the device on the host, when it was planned; "" if none
  Identity identity;
  std::vector<std::string> lower_pfs =
      {};  // link: the PFs below it, or whose VFs are below it, sorted; set after the host was read
  VfConfig config;
  /// Copy of the definition at prepare: a later edit does not affect running pods.
  NetworkText network;  // CNI config to run in the pod's sandbox; "" if none
  /// Why it is not run in new sandboxes: dra-driver-sriov had read it, and it may affect resources outside
  /// the claim.
  std::string network_refusal;  // "" if it is run
  /// Its vDPA device at prepare, whose node the pod gets: "vdpa0", "/dev/vhost-vdpa-0"; "" if none.
  std::string vdpa_device = {}, vdpa_node = {};
  /// Host::incarnation_of() at prepare. Another one later: the device was removed and created again, and its
  /// pod cannot use the new one. "" if unknown.
  std::string incarnation = {};
  /// dra-driver-sriov may have run it in a running sandbox; valid until the runtime has reported its
  /// sandboxes.
  bool is_of_peer = false;
  std::string multus_resource;      // k8s.cni.cncf.io/resourceName; "" if none
  std::optional<VfioBinding> vfio;  // set if it is bound, or will be
  /// Facts from before it was bound or moved (hotplug/pinned_facts.h); nullopt for shared devices and
  /// adminAccess.
  std::optional<hotplug::HostDevice> held;
  std::string mac;                     // requested by its pod; "" if none
  bool has_original_settings = false;  // stored in a separate file (kubelet/original_settings.h)
  cdi::Edits edits;
  // For the metadata files, which keep values that are unknown here; not in the checkpoint.
  kube::Json attributes;                    // as published; null if unknown
  std::optional<NetworkData> network_data;  // set after the interface is in its pod
  bool was_recreated = false;               // since the prepare, as found when the record was read
  bool operator==(const PreparedDevice&) const = default;
};

/// Returns its OriginalSettings::device; "" if it is neither a function nor an interface. A scalable function
/// keeps its id when its interface is renamed or created again (docs/design/scalable-functions.md).
std::string settings_key(const PreparedDevice& device);

/// The results of one driver in one claim. An incomplete one reserves its devices like a complete one; the
/// kubelet's next call completes or undoes it.
struct PreparedClaim {
  std::string driver, namespace_, name, uid;
  std::string pod_claim_name;
  std::vector<ReservingPod> pods;  // for which it was reserved at prepare, or that use its CDI devices
  std::vector<ReservingPod> pod_groups = {};  // for which it was reserved at prepare
  std::vector<PreparedDevice> devices;
  bool is_complete = false;  // false: preparing started, and may have changed the node, but was not answered
  std::string cdi_pod_id;    // id of the spec with the edits of all claims of the pod; "" if none
  std::string not_returned = {};  // why the last attempt to return its devices failed; "" if there was none
  bool is_claim_gone = false;     // the ResourceClaim no longer exists
  std::string user = {};  // if it is gone: the process or pod that still uses its devices; "" if none is
                          // known
  bool operator==(const PreparedClaim&) const = default;
};

/// New values for a network that dra-driver-sriov had read, and may have run.
struct PeerNetwork {
  std::string config =
      {};  // for another sandbox of the pod; "": not a network, so it is neither run nor undone
  std::string refusal = {};  // PreparedDevice::network_refusal
  bool operator==(const PeerNetwork&) const = default;
};

/// Driver and claim uid: a claim with results of both drivers has two entries. Names are not keys, because
/// another claim may get the same name.
using PreparedKey = std::pair<std::string, std::string>;
/// Sorted by driver and uid, so that equal claims give equal checkpoints.
using PreparedClaims = std::map<PreparedKey, PreparedClaim>;
using PeerNetworks = std::map<std::pair<PreparedKey, std::string>, PeerNetwork>;  // by claim and device

/// Makes equal texts of the claim's devices share one copy, with those of the prepared devices.
void share_networks(PreparedClaim& claim, const PreparedClaims& prepared);

inline PreparedKey key_of(const PreparedClaim& claim) { return {claim.driver, claim.uid}; }
/// Returns the kubelet's request for it.
inline PrepareRequest request_of(const PreparedClaim& claim) {
  return {claim.namespace_, claim.name, claim.uid};
}

}  // namespace sliced::kubelet
