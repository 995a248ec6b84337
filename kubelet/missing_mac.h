#pragma once
// Setting the administrative MAC address that a VF lacks (policy/configure/missing_mac.h), on this node. No driver is bound
// or unbound, and nothing else of VF or PF is written.
#include <functional>
#include <string>

#include "hotplug/host_view.h"
#include "kubelet/vf_mac.h"
#include "policy/configure/missing_mac.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

/// write_missing_vf_mac(), or a test's.
using WriteMissingMac = std::function<Result<bool>(const VfOfInterface& vf, const std::string& mac)>;

/// Looks first whether all of it is so still: the VF is that one of the PF, the interface of the PF, and the one of the VF
/// with its address, are in this network namespace. Blocks; on a worker.
/// Errors: kDenied without CAP_NET_ADMIN; kIo what the PF's driver says.
Result<policy::MacOutcome> set_missing_mac(const hotplug::HostView& host, const WriteMissingMac& write,
                                           const policy::MissingMac& what);

}  // namespace sliced::kubelet
