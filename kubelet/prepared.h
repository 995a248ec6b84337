#pragma once
// What is prepared, as values: shared by the plan, the rules of safety, the checkpoint and the ledger of what may
// be allocated. What is here outlives the process, so it names devices by what stays the same.
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

/// Which function stands behind an address: another one there is another device.
/// Compared when a device is handed over and after a boot: an address whose card was changed is refused.
struct Identity {
  std::string vendor, product;  // 4 hexadecimal digits; "" of a link, or unknown
  std::string pf;               // a VF's PF; "" none
  bool operator==(const Identity&) const = default;
};

inline constexpr std::string_view kNoDriver = "(none)";          // no driver has such a name
inline constexpr std::string_view kNoMac = "00:00:00:00:00:00";  // a VF chooses its own

/// A function that a pod has through VFIO. Unless a VFIO driver has it already, it is bound to vfio-pci for the pod.
/// Written before anything is bound, so that whoever comes next knows what to restore.
struct VfioBinding {
  std::string original_driver;  // kNoDriver none was bound; "" not known: whichever the kernel chooses
  std::string group;            // of its node /dev/vfio/GROUP: "7", "noiommu-0"; "" none, or not known yet
  std::string original_mac;     // its PF enforced, kNoMac none; "" not known, or not changed
  std::string cdev =
      {};  // of its node /dev/vfio/devices/CDEV, for IOMMUFD: "vfio3"; "" none, or not known yet
  bool operator==(const VfioBinding&) const = default;
};

/// The device nodes of a function that VFIO has: /dev/vfio/GROUP, /dev/vfio/devices/CDEV, or both
/// (Documentation/driver-api/vfio.rst). As a text "7", "vfio3" or "7 vfio3".
struct VfioNodes {
  std::string group, cdev;  // as VfioBinding has them
  static VfioNodes decode(std::string_view text);
  std::string text() const;
  bool empty() const { return group.empty() && cdev.empty(); }
  bool operator==(const VfioNodes&) const = default;
};

/// What an interface is called in a pod and which addresses it has there (resource/v1 NetworkDeviceData).
/// What the network's plugins said, or Multus; nothing of it decides what is handed over.
struct NetworkData {
  std::string interface;         // "net1"; "" not known
  std::vector<std::string> ips;  // "10.0.0.5/24"
  std::string mac;               // "aa:bb:.."; "" not known
  bool operator==(const NetworkData&) const = default;
};

/// Of a NetworkAttachmentDefinition's config: the text is kept with each device that is prepared.
inline constexpr size_t kNetworkBytesMax = 16u << 10;

/// Such a text, immutable, which several devices may hold: copies share it. Equality is that of the texts. Threads: as std::shared_ptr.
class NetworkText {
 public:
  NetworkText() = default;  // ""
  NetworkText(std::string text)
      : text_(text.empty() ? nullptr : std::make_shared<const std::string>(std::move(text))) {}
  NetworkText(const char* text) : NetworkText(std::string(text)) {}

  /// The reference lasts as long as some holder of the text.
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
  /// One object in memory; two empty ones are.
  friend bool is_same(const NetworkText& a, const NetworkText& b) { return a.text_ == b.text_; }

 private:
  std::shared_ptr<const std::string> text_;  // null: ""
};

/// Before the number of a scalable function, in place of Identity::product: PCI ids are four hexadecimal digits.
inline constexpr std::string_view kSfProduct = "sf";

/// One result of a claim. What is known of it only once it is bound or in a pod is filled in by the steps that follow
/// the plan (kubelet/prepare_steps.cpp, kubelet/interfaces/); all of it but the last two members is in the checkpoint.
/// pool and device stay what they were when it was prepared, whatever is offered now.
struct PreparedDevice {
  std::string request, pool, device, share_id;  // as AllocatedDevice has them
  bool is_admin = false;
  policy::Holding holding;  // what it keeps others from
  std::string pf;           // host device id of its pool's PF: of policy::exclude_each_other(); "" none
  std::string pci;          // "0000:03:00.2"; "" of a link
  std::string interface;    // of the device on the host, as it was known; "" none
  Identity identity;
  std::vector<std::string> lower_pfs =
      {};  // of a link: PFs below it, or of VFs below it, sorted; since the host was looked at
  VfConfig config;
  /// The text of the definition as it was when the claim was prepared: an edit does not reach pods that run.
  NetworkText network;  // CNI config that is run for it in the pod's sandbox; "" none
  /// Why it is run in no sandbox that is not there yet: dra-driver-sriov had read it, and it may reach what is not the claim's.
  std::string network_refusal;  // "" it is run
  /// Its vDPA device when it was prepared, which the pod has by its node: "vdpa0", "/dev/vhost-vdpa-0"; "" none.
  std::string vdpa_device = {}, vdpa_node = {};
  /// dra-driver-sriov may have run it in a sandbox that stands: until the runtime has told which do.
  bool is_of_peer = false;
  std::string multus_resource;      // k8s.cni.cncf.io/resourceName; "" none
  std::optional<VfioBinding> vfio;  // it is, or is to be, bound
  /// Facts of before it was bound or moved (hotplug/held_facts.h); none of what others share, or only look at.
  std::optional<hotplug::HostDevice> held;
  std::string mac;                     // its pod asks for; "" whichever it has
  bool has_original_settings = false;  // they are in a file of their own (kubelet/original_settings.h)
  cdi::Edits edits;
  // For the files that containers read, which keep what is not known here: no part of the checkpoint.
  kube::Json attributes;                    // as they are published; null not known
  std::optional<NetworkData> network_data;  // since it is a pod's interface
  bool operator==(const PreparedDevice&) const = default;
};

/// OriginalSettings::device of it; "" it is neither a function nor an interface.
inline const std::string& settings_key(const PreparedDevice& device) {
  return device.pci.empty() ? device.interface : device.pci;
}

/// The results that one driver has in one claim.
/// One that is begun keeps its devices from others like one that is complete, and is undone or completed when
/// the kubelet asks next.
struct PreparedClaim {
  std::string driver, namespace_, name, uid;
  std::string pod_claim_name;
  std::vector<ReservingPod>
      pods;  // that it was reserved for when it was prepared, or that use its CDI devices
  std::vector<ReservingPod> pod_groups = {};  // that it was reserved for when it was prepared
  std::vector<PreparedDevice> devices;
  bool is_complete = false;  // else preparing it was begun: its effects may be there, its answer is not
  std::string cdi_pod_id;    // id of the spec with what the pod has of all its claims; "" none
  std::string not_returned =
      {};  // why its devices could not be given back the last time; "" they were not to be
  bool is_claim_gone = false;  // there is no such ResourceClaim any more
  std::string user = {};       // of one that is gone: what still uses its devices; "" nothing is known
  bool operator==(const PreparedClaim&) const = default;
};

/// What holds from now on of a network that dra-driver-sriov had read, and perhaps run.
struct PeerNetwork {
  std::string config =
      {};  // for another sandbox of the pod; "" it is no network, and is neither run nor undone
  std::string refusal = {};  // PreparedDevice::network_refusal
  bool operator==(const PeerNetwork&) const = default;
};

/// Driver, uid of the claim: a claim with results of both drivers is two of these. Names are no key: another claim may
/// have the name by now.
using PreparedKey = std::pair<std::string, std::string>;
/// In order of driver and uid, so that a checkpoint of the same claims is the same text.
using PreparedClaims = std::map<PreparedKey, PreparedClaim>;
using PeerNetworks = std::map<std::pair<PreparedKey, std::string>, PeerNetwork>;  // by claim and device

/// Lets devices of the claim hold the texts that prepared devices hold already, and each text once.
void share_networks(PreparedClaim& claim, const PreparedClaims& prepared);

inline PreparedKey key_of(const PreparedClaim& claim) { return {claim.driver, claim.uid}; }
/// As the kubelet would name it.
inline PrepareRequest request_of(const PreparedClaim& claim) {
  return {claim.namespace_, claim.name, claim.uid};
}

}  // namespace sliced::kubelet
