#pragma once
// The MAC address that a PF gives one of its VFs (rtnetlink, IFLA_VF_MAC): what a machine finds that is given the
// whole function, and may not change.
#include <string>

#include "reactor/base/result.h"

namespace sliced::kubelet {

/// Where a PF's driver is asked for it.
struct VfOfInterface {
  int ifindex = 0;  // of the PF's interface, in this network namespace
  int index = 0;    // of the VF
};

/// kNoMac: none, the VF chooses its own. Blocks for two seconds at most. Errors: kNotFound, kTimeout, kIo.
Result<std::string> read_vf_mac(const VfOfInterface& vf);
/// mac: "aa:bb:cc:dd:ee:ff"; kNoMac takes it back. Takes CAP_NET_ADMIN, and the driver's time.
/// Errors: kDenied; kIo, also where the driver does not do so.
Result<Unit> write_vf_mac(const VfOfInterface& vf, const std::string& mac);

/// The same where the PF enforces none, and reads it back; no other write of this process to a PF comes between. False:
/// it enforces one, and nothing was written. Errors: also kIo where it does not have it then.
Result<bool> write_missing_vf_mac(const VfOfInterface& vf, const std::string& mac);

/// The interface's own address, which a VF without one of its PF's chooses. As write_vf_mac().
Result<Unit> write_own_mac(int ifindex, const std::string& mac);

/// The requests of write_vf_mac() and write_own_mac(). mac is one.
std::string encode_vf_mac(const VfOfInterface& vf, const std::string& mac);
std::string encode_own_mac(int ifindex, const std::string& mac);

}  // namespace sliced::kubelet
