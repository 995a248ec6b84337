#pragma once
// The interface of an exclusive device in a pod, without a CNI plugin: moved and configured by netlink in a program of its own
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
#include "kubelet/vf_settings.h"
#include "reactor/base/result.h"
#include "reactor/loop.h"

namespace sliced::kubelet {

struct NativeOrder {
  std::string network_namespace;  // path of the pod's
  std::string interface;          // its name in the pod
  std::string pci;                // "" of a link
  std::string host_interface;     // its name on the host
  NativeNetwork network;
  int time_ms = 0;  // which the program has, for the texts of what is not done in time
  bool operator==(const NativeOrder&) const = default;
};

/// For the program's standard input. Errors of decoding: kInvalid.
std::string encode_native_order(const NativeOrder& order);
Result<NativeOrder> decode_native_order(std::string_view text);

/// The kernel's part for the VF of a function: finding it at its PF, and the settings that the PF keeps for it. A test has its own.
struct NativeKernel {
  std::function<Result<VfOfInterface>(const std::string& pci)> find_vf;  // as kubelet::find_vf()
  VfSettingsKernel vf_settings;
  /// Called before each change of the kernel's state with the kind of step, so that a test can stop there. Null: it is not.
  std::function<void(std::string_view step)> before_change = {};
};
/// That of this machine.
NativeKernel running_native_kernel();

/// Opens the namespace once. Sets the VF's settings through its PF. Sets MTU and MAC address on the host (a MAC address that the VF's interface may
/// not take through the PF first), moves the interface down under its name in the pod, sets its sysctls, sets it up, adds addresses, routes, rules
/// and neighbors, and reads all of it back. What is as ordered already stays. Blocks; in the namespace of the host.
/// Errors: kInvalid where the namespace is the host's or none; kNotFound without the interface; kConflict where the pod has the name, an
/// address, a route or a rule, or another station has the address; kTimeout where duplicate address detection has not ended in time; kIo where
/// the kernel shows another value than was set; those of change_link(), find_vf() and apply_vf_settings(). They name the step. What was done in
/// the pod and at the PF stays; an interface that did not move is as it was.
Result<cni::Attached> attach_native(const NativeOrder& order,
                                    const NativeKernel& kernel = running_native_kernel());

/// Undoes what outlives the interface in the pod's namespace: rules that attach_native() has added. Part of bring_interface_back(); all else ends
/// when the interface leaves the namespace. Ok for a record of another network, and where nothing is left. network_namespace: a descriptor.
Result<Unit> undo_native(const cni::Record& record, int network_namespace);

/// As cni::run_chain(), for a network of cni::kNativePlugin. program: and its first arguments. CHECK and DEL run nothing and end well.
std::unique_ptr<cni::Run> run_native(reactor::Loop& loop, std::vector<std::string> program,
                                     const cni::Network& network, cni::Command command,
                                     const cni::Attachment& attachment, Millis deadline, cni::OnRun on_run);

}  // namespace sliced::kubelet
