#pragma once
// The interface of a device in a pod, without a CNI plugin: moved, or made on a shared device, and configured by netlink in a program of its own
// (daemon/attach_helper.h), so that what hangs in the kernel costs no thread of the daemon.
//
// Undone by Attachments::Ports::bring_back, as after a plugin: moved to the host, where addresses, routes, neighbors and sysctls do not exist. What the interface was
// like before its pod (MAC address, MTU, names) is restored when the claim is released (kubelet/link_settings.h).
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
  std::string network_namespace;  // path of the pod's
  std::string interface;          // its name in the pod
  std::string pci;                // of the device; "" of a link
  std::string host_interface;     // its name on the host
  std::string host_end = {};      // of a port of a bridge: its name on the host
  std::string rdma_device = {};   // which moves with the interface; "" none
  NativeNetwork network;
  int time_ms = 0;  // which the program has, for the texts of what is not done in time
  bool operator==(const NativeOrder&) const = default;
};

/// The order for a network of cni::kNativePlugin, as native_config() wrote it. deadline: for the program. Errors: as network_of_config().
Result<NativeOrder> native_order(const cni::Network& network, const cni::Attachment& attachment,
                                 Millis deadline);
/// For the program's standard input. Errors of decoding: kInvalid.
std::string encode_native_order(const NativeOrder& order);
Result<NativeOrder> decode_native_order(std::string_view text);

/// The kernel's part for the VF of a function: finding it at its PF, and the settings that the PF keeps for it. A test has its own.
struct NativeKernel {
  std::function<Result<VfOfInterface>(const std::string& pci)> find_vf;  // as kubelet::find_vf()
  VfSettingsKernel vf_settings;
  RdmaKernel rdma;
  /// Called before each change of the kernel's state with the kind of step, so that a test can stop there. Null: it is not.
  std::function<void(std::string_view step)> before_change = {};
};
/// That of this machine.
NativeKernel running_native_kernel();

/// Opens the namespace once. Of type passthrough: sets the VF's settings through its PF. Sets MTU and MAC address on the host (a MAC address that the VF's interface may
/// not take through the PF first), moves the interface down under its name in the pod, and its RDMA device, sets its sysctls, sets it up, adds addresses, routes, rules
/// and neighbors, and reads all of it back. Of another type: makes the interface in the pod's namespace on the device's, which is found by its PCI
/// function, of a link by its name, and stays as it is; the rest is the same. What is as ordered already stays. Blocks; in the namespace of the host.
/// Errors: kInvalid where the namespace is the host's or none; kNotFound without the interface; kConflict where the pod has the name, an
/// address, a route or a rule, or another station has the address; kTimeout where duplicate address detection has not ended in time; kIo where
/// the kernel shows another value than was set; those of change_link(), find_vf() and apply_vf_settings(). They name the step. What was done in
/// the pod and at the PF stays; an interface that did not move is as it was.
Result<cni::Attached> attach_native(const NativeOrder& order,
                                    const NativeKernel& kernel = running_native_kernel());

/// Into Record::made_ifindex, after attach_native() has made an interface. Part of record_moved_interface(). network_namespace: a descriptor.
void note_made_interface(cni::Record& record, int network_namespace);
/// Into Record::host_interface, before ADD, the number of the RDMA device that moves with the interface. Part of note_host_interface(). A device that is
/// not on the host is left to attach_native() to refuse.
void note_rdma_device(cni::Record& record, const RdmaKernel& kernel = running_rdma_kernel());
/// Undoes what does not leave the pod's namespace with a moved interface: its RDMA device, which gets its name of before again, rules that attach_native() has added, and an interface that it has made,
/// with its end on the host. Part of bring_interface_back(). The interface is found by its number, before that is on record by its name, kind and
/// group (kMadeLinkGroup). Ok for a record of another network, and where nothing is left. network_namespace: a descriptor.
Result<Unit> undo_native(const cni::Record& record, int network_namespace,
                         const RdmaKernel& kernel = running_rdma_kernel());

/// As cni::run_chain(), for a network of cni::kNativePlugin. program: and its first arguments. CHECK and DEL run nothing and end well.
std::unique_ptr<cni::Run> run_native(reactor::Loop& loop, std::vector<std::string> program,
                                     const cni::Network& network, cni::Command command,
                                     const cni::Attachment& attachment, Millis deadline, cni::OnRun on_run);

}  // namespace sliced::kubelet
