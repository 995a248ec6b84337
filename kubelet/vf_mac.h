#pragma once
// The MAC address that a PF gives one of its VFs (rtnetlink, IFLA_VF_MAC): what a machine finds that is given the
// whole function, and may not change.
#include <map>
#include <string>

#include "reactor/base/result.h"

namespace sliced::kubelet {

/// Where a PF's driver is asked for it.
struct VfOfInterface {
  int ifindex = 0;     // of the PF's interface, in this network namespace
  int index = 0;       // of the VF
  int speed_mbps = 0;  // of the PF's link; 0 unknown, or it is down
};

/// By index of the VF, kNoMac where the PF enforces none: what the PF's driver reports of all its VFs. A VF that it does not
/// report is missing. Blocks for two seconds at most. Errors: kNotFound, kTimeout, kIo.
Result<std::map<int, std::string>> read_vf_macs(int ifindex);
/// mac: as decode_mac() yields it, or kNoMac, which takes it back. Needs CAP_NET_ADMIN, and the driver's time.
/// Errors: kInvalid for another text; kDenied; kIo, also where the driver does not do so.
Result<Unit> write_vf_mac(const VfOfInterface& vf, const std::string& mac);

/// The same where the PF enforces none, and reads it back; no other write of this process to a PF comes between. False:
/// it enforces one, and nothing was written. Errors: also kIo where it does not have it then; kConflict where another VF of
/// the PF has the address, and nothing was written.
Result<bool> write_missing_vf_mac(const VfOfInterface& vf, const std::string& mac);

/// Whether VF `index` may get the address: no other VF of the PF has it. macs: read_vf_macs() of it. Errors: kConflict, with
/// the other VF.
Result<Unit> check_unused(const std::map<int, std::string>& macs, int index, const std::string& mac);

/// Whether a PF reports the address after it was told so. now: read_vf_macs() of it. Errors: kIo, with what it reports.
Result<Unit> check_reported(const Result<std::map<int, std::string>>& now, int index, const std::string& mac);

/// The interface's own address, which a VF without one of its PF's chooses. As write_vf_mac(); kNoMac is kInvalid.
Result<Unit> write_own_mac(int ifindex, const std::string& mac);

/// The requests of write_vf_mac() and write_own_mac(). Of mac the first six bytes are taken.
std::string encode_vf_mac(const VfOfInterface& vf, const std::string& mac);
std::string encode_own_mac(int ifindex, const std::string& mac);

}  // namespace sliced::kubelet
