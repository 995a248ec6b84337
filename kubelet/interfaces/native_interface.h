#pragma once
// Attaches a device's interface to a pod without a CNI plugin: it is moved, or created on a shared device,
// and configured by netlink in a helper process (daemon/attach_helper.h). A kernel call that hangs blocks no
// thread of the daemon. HostSteps::bring_back undoes it as after a plugin: addresses, routes,
// neighbors and sysctls do not survive the move to the host. MAC address, MTU and names are restored when the
// claim is released (kubelet/link_settings.h).
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kubelet/cni/invoke.h"
#include "kubelet/cni/record.h"
#include "kubelet/native_network.h"
#include "kubelet/rdma_device.h"
#include "kubelet/vf_settings.h"
#include "reactor/base/result.h"
#include "reactor/loop.h"

namespace sliced::kubelet {

struct NativeOrder {
  std::string network_namespace;       // path of the pod's
  std::string interface;               // its name in the pod
  std::string pci;                     // of the device; "" for a link
  std::string host_interface;          // its name on the host
  std::string host_end = {};           // for a bridge port: its name on the host
  std::string rdma_device = {};        // moves with the interface; "" if none
  std::string scalable_function = {};  // hardware_of() it; "" for another device
  NativeNetwork network;
  int time_ms = 0;  // the helper's time limit, for error texts
  /// hardware_of() the device.
  const std::string& hardware() const { return pci.empty() ? scalable_function : pci; }
  bool operator==(const NativeOrder&) const = default;
};

/// Returns the order for a network of cni::kNativePlugin, which native_config() wrote. deadline: of the
/// helper. Errors: as network_of_config().
Result<NativeOrder> native_order(const cni::Network& network, const cni::Attachment& attachment,
                                 Millis deadline);
/// For the helper's standard input. Errors of decoding: kInvalid.
std::string encode_native_order(const NativeOrder& order);
Result<NativeOrder> decode_native_order(std::string_view text);

/// Kernel calls for the VF of a function: finding it at its PF, and the settings that the PF keeps for it.
/// Tests replace them.
struct NativeKernel {
  std::function<Result<VfOfInterface>(const std::string& pci)> find_vf;  // see kubelet::find_vf()
  VfSettingsKernel vf_settings;
  RdmaKernel rdma;
  /// Returns the hardware of an interface of the host; see hardware_of_interface(). Null: names are trusted.
  std::function<std::string(const std::string& interface)> hardware_of_interface = {};
  /// Called before each change of the kernel's state with the kind of step, so that a test can stop there.
  /// Null: not called.
  std::function<void(std::string_view step)> before_change = {};
};
/// The functions of the running kernel.
NativeKernel running_native_kernel();

/// Attaches the interface:
///  - passthrough: sets the VF's settings through its PF; sets MTU and MAC address on the host (first a MAC
///    address that the VF's interface may only get from the PF); moves the interface down under its name in
///    the pod, with its RDMA device; sets sysctls; sets it up; adds addresses, routes, rules and neighbors;
///    reads all of it back.
///  - other types: creates the interface in the pod's namespace on top of the device's, then continues in the
///    same way. The device's interface is found by its PCI function, for a link by its name, and stays
///    unchanged.
/// Existing settings that are as ordered stay. Opens the namespace once. Requires: called in the namespace of
/// the host. Blocks. After an error, changes in the pod and at the PF stay; an interface that did not move is
/// unchanged. Errors: kInvalid if the namespace is the host's or not a namespace; kNotFound without the
/// interface; kConflict if the interface or the RDMA device belongs to other hardware, if the pod has the
/// name, an address, a route or a rule, or another station has the address; kTimeout if duplicate address
/// detection has not ended in time; kIo if the kernel reports another value than was set; those of
/// change_link(), find_vf() and apply_vf_settings(). Each names the step.
Result<cni::Attached> attach_native(const NativeOrder& order,
                                    const NativeKernel& kernel = running_native_kernel());

/// Sets Record::made_ifindex after attach_native() created an interface. Part of record_moved_interface().
/// network_namespace: a descriptor.
void record_created_interface(cni::Record& record, int network_namespace);
/// Sets the index of the RDMA device that moves with the interface in Record::host_interface, before ADD.
/// Part of record_host_interface(). Ignores a missing device, which attach_native() refuses.
void record_rdma_index(cni::Record& record, const RdmaKernel& kernel = running_rdma_kernel());
/// Undoes the changes that do not end when a moved interface leaves the pod's namespace: its RDMA device,
/// which gets its former name; rules of attach_native(); a created interface with its peer on the host. Part
/// of bring_interface_back(). A created interface is found by its ifindex; before that is recorded, by its
/// name, kind and group (kVirtualLinkGroup). Ok for a record of another network, and if nothing remains.
/// network_namespace: a descriptor.
Result<Unit> undo_native(const cni::Record& record, int network_namespace,
                         const RdmaKernel& kernel = running_rdma_kernel());

/// As cni::run_chain(), for a network of cni::kNativePlugin. ADD runs the network's IPAM plugin, if it has
/// one, and then the helper with the addresses and routes of the plugin's result. DEL runs the IPAM plugin
/// only. CHECK runs nothing and succeeds. program: the helper with its first arguments. place: of IPAM
/// plugins.
std::unique_ptr<cni::Run> run_native(reactor::Loop& loop, std::vector<std::string> program,
                                     const cni::Place& place, const cni::Network& network,
                                     cni::Command command, const cni::Attachment& attachment, Millis deadline,
                                     cni::OnRun on_run);

}  // namespace sliced::kubelet
