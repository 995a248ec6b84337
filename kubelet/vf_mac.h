#pragma once
// The MAC address that a PF enforces for a VF (rtnetlink, IFLA_VF_MAC). A VM with the whole function sees it
// and cannot change it.
#include <map>
#include <string>

#include "reactor/base/result.h"

namespace sliced::kubelet {

/// Identifies a VF by its PF's interface.
struct VfOfInterface {
  int ifindex = 0;     // of the PF's interface, in this network namespace
  int index = 0;       // of the VF
  int speed_mbps = 0;  // of the PF's link; 0 if unknown or down
};

/// Returns the addresses that the PF's driver reports, by index of the VF; kNoMac if the PF enforces none. A
/// VF that it does not report is missing. Blocks for two seconds at most. Errors: kNotFound, kTimeout, kIo.
Result<std::map<int, std::string>> read_vf_macs(int ifindex);
/// Sets the address. mac: a result of decode_mac(), or kNoMac, which removes it. Requires CAP_NET_ADMIN.
/// Blocks until the driver answers. Errors: kInvalid for another text; kDenied; kIo, also if the driver
/// ignores the request.
Result<Unit> write_vf_mac(const VfOfInterface& vf, const std::string& mac);

/// Sets the address if the PF enforces none, and reads it back; no other write of this process to a PF
/// happens in between. Returns false without a write if the PF enforces one. Errors: as write_vf_mac(); kIo
/// if the address is not set afterwards; kConflict without a write if another VF of the PF has the address.
Result<bool> write_missing_vf_mac(const VfOfInterface& vf, const std::string& mac);

/// Checks that no VF of the PF other than `index` has the address. macs: read_vf_macs() of the PF. Errors:
/// kConflict with the other VF.
Result<Unit> check_unused(const std::map<int, std::string>& macs, int index, const std::string& mac);

/// Checks that the PF reports the address after a write. now: read_vf_macs() of the PF. Errors: kIo with the
/// reported address.
Result<Unit> check_reported(const Result<std::map<int, std::string>>& now, int index, const std::string& mac);

/// Sets the interface's own address, which a VF without an enforced one chooses. As write_vf_mac(); kNoMac is
/// kInvalid.
Result<Unit> write_own_mac(int ifindex, const std::string& mac);

/// The requests of write_vf_mac() and write_own_mac(). They use the first six bytes of mac.
std::string encode_vf_mac(const VfOfInterface& vf, const std::string& mac);
std::string encode_own_mac(int ifindex, const std::string& mac);

}  // namespace sliced::kubelet
