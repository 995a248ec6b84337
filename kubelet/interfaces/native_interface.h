#pragma once
// The interface of an exclusive device in a pod, without a CNI plugin: moved and configured by netlink in a program of its own
// (daemon/attach_helper.h), so that what hangs in the kernel costs no thread of the daemon.
//
// Undone by Attachments::Ports::bring_back, as after a plugin: moved to the host, where addresses and routes do not exist. What the interface was
// like before its pod (MAC address, MTU, names) is restored when the claim is released (kubelet/link_settings.h).
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kubelet/cni/invoke.h"
#include "kubelet/native_network.h"
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

/// Opens the namespace once. Sets MTU and MAC address on the host, moves the interface down under its name in the pod, sets it up, adds addresses and
/// routes, and reads all of it back. What is as ordered already stays. Blocks; in the namespace of the host.
/// Errors: kInvalid where the namespace is the host's or none; kNotFound without the interface; kConflict where the pod has the name, an
/// address or a route; kIo where the kernel shows another value than was set; those of change_link(). They name the step. What was done before stays.
Result<cni::Attached> attach_native(const NativeOrder& order);

/// As cni::run_chain(), for a network of cni::kNativePlugin. program: and its first arguments. CHECK and DEL run nothing and end well.
std::unique_ptr<cni::Run> run_native(reactor::Loop& loop, std::vector<std::string> program,
                                     const cni::Network& network, cni::Command command,
                                     const cni::Attachment& attachment, Millis deadline, cni::OnRun on_run);

}  // namespace sliced::kubelet
