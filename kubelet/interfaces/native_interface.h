#pragma once
// The interface of an exclusive device in a pod, without a CNI plugin: moved and configured by netlink in a program of its own
// (daemon/attach_helper.h), so that what hangs in the kernel costs no thread of the daemon.
//
// Undone by Attachments::Ports::bring_back, as after a plugin: moved to the host, where addresses and routes do not exist. What the interface was
// like before its pod (MAC address, MTU, names) is restored when the claim is released (kubelet/link_settings.h).
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kubelet/cni/invoke.h"
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
  bool operator==(const NativeOrder&) const = default;
};

/// For the program's standard input. Errors of decoding: kInvalid.
std::string encode_native_order(const NativeOrder& order);
Result<NativeOrder> decode_native_order(std::string_view text);

/// The kernel's part for the VF of a function: finding it at its PF, and the settings that the PF keeps for it. A test has its own.
struct NativeKernel {
  std::function<Result<VfOfInterface>(const std::string& pci)> find_vf;  // as kubelet::find_vf()
  VfSettingsKernel vf_settings;
};
/// That of this machine.
NativeKernel running_native_kernel();

/// Opens the namespace once. Sets the VF's settings through its PF. Sets MTU and MAC address on the host, moves the interface down under its name in the pod, sets it up, adds addresses and
/// routes, and reads all of it back. What is as ordered already stays. Blocks; in the namespace of the host.
/// A MAC address that the VF's interface may not take is set through the PF first.
/// Errors: kInvalid where the namespace is the host's or none; kNotFound without the interface; kConflict where the pod has the name, an
/// address or a route; kIo where the kernel shows another value than was set; those of change_link(), find_vf() and apply_vf_settings(). They name the step. What was done before stays.
Result<cni::Attached> attach_native(const NativeOrder& order,
                                    const NativeKernel& kernel = running_native_kernel());

/// As cni::run_chain(), for a network of cni::kNativePlugin. program: and its first arguments. CHECK and DEL run nothing and end well.
std::unique_ptr<cni::Run> run_native(reactor::Loop& loop, std::vector<std::string> program,
                                     const cni::Network& network, cni::Command command,
                                     const cni::Attachment& attachment, Millis deadline, cni::OnRun on_run);

}  // namespace sliced::kubelet
