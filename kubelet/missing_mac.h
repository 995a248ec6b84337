#pragma once
// Sets the administrative MAC address that a VF lacks (policy/configure/missing_mac.h). Binds and unbinds no
// driver, and changes nothing else of VF or PF.
#include <functional>
#include <string>

#include "hotplug/host_view.h"
#include "kubelet/vf_mac.h"
#include "policy/configure/missing_mac.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

/// write_missing_vf_mac(), or a test's.
using WriteMissingMac = std::function<Result<bool>(const VfOfInterface& vf, const std::string& mac)>;

/// Sets the address after checking that the facts still hold: the VF belongs to the PF, and both interfaces,
/// the VF's with its address, are in this network namespace. Blocks; for a worker. Errors: kDenied without
/// CAP_NET_ADMIN; kIo with the answer of the PF's driver.
Result<policy::MacOutcome> set_missing_mac(const hotplug::HostView& host, const WriteMissingMac& write,
                                           const policy::MissingMac& what);

}  // namespace sliced::kubelet
