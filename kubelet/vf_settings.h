#pragma once
// The settings that a PF keeps for a VF (rtnetlink IFLA_VF_INFO, linux/if_link.h): what differs from before a pod, and writing it back.
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "hotplug/facts.h"
#include "kubelet/vf_mac.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

/// One setting: its name as ip-link(8) has it, and both values as text.
struct SettingDifference {
  std::string setting, original, now;  // now: "" the PF does not report it any more
  bool operator==(const SettingDifference&) const = default;
};
/// The addresses that the VF's interface had before its pod; "" unknown. Where a PF has none set for a VF, drivers report the one that the VF
/// has asked for (igb, ixgbe, i40e, ice, bnxt), and ib-sriov-cni leaves the interface's GUID there.
struct OwnAddresses {
  std::string mac, guid;
  bool operator==(const OwnAddresses&) const = default;
};
/// What differs of the settings that the PF reported originally. A setting that it did not report is not compared, and an address that was
/// not set then (zeros; of GUIDs also ones) is as before where it is the VF's own.
std::vector<SettingDifference> setting_differences(const hotplug::VfConfig& original,
                                                   const hotplug::VfConfig& now, const OwnAddresses& own);
/// As setting_differences(). A maximum rate of the link's speed (Mbit/s, 0 unknown) or more is no limit.
bool has_settings(const hotplug::VfConfig& original, const hotplug::VfConfig& now, const OwnAddresses& own,
                  int speed_mbps);
/// All that a PF reports: "vlan 100, trust on".
std::string text_of(const hotplug::VfConfig& settings);

/// The requests (RTM_SETLINK) that turn `now` into `original`, with the setting's name, in the order in which they are sent. Only what differs
/// is written: drivers refuse settings that they do not support, also for the value that they have. otherwise: sent where the driver refuses
/// `request`; "" nothing. Drivers that take no zeros for a MAC address (qede, cxgb4, be2net) get the VF's own.
struct SettingWrite {
  std::string setting, request, otherwise = {};
};
std::vector<SettingWrite> setting_writes(const VfOfInterface& vf, const hotplug::VfConfig& original,
                                         const hotplug::VfConfig& now, const OwnAddresses& own);

/// The kernel's part: reading all VFs of a PF's interface; sending a request, which returns an errno.
struct VfSettingsKernel {
  std::function<Result<std::map<int, hotplug::VfConfig>>(int ifindex)> read;
  std::function<int(const std::string& request)> send;
};
/// That of this machine, in its own network namespace.
VfSettingsKernel running_vf_settings_kernel();

/// Writes what differs and reads it back. PFs are written to one at a time, so that a call that hung never writes beneath a later one.
/// A maximum rate of the link's speed or more is no limit. may_write: asked before the first write. Blocks. Errors: kDenied; kIo with each setting that still differs and the driver's reasons;
/// those of reading and of may_write.
Result<Unit> restore_vf_settings(const VfSettingsKernel& kernel, const VfOfInterface& vf,
                                 const hotplug::VfConfig& was, const OwnAddresses& own,
                                 const std::function<Result<Unit>()>& may_write);

/// Returns the settings of `wanted` that the PF does not report in `original`, by their names in ip-link(8): a setting whose value of before is
/// unknown cannot be restored.
std::vector<std::string> unreported_settings(const hotplug::VfConfig& wanted,
                                             const hotplug::VfConfig& original);
/// Sets what `wanted` has and the PF reports otherwise, and reads it back. What is not in `wanted` stays, but a VLAN gets priority 0 and
/// protocol 802.1Q where `wanted` has none. Blocks. Errors: kDenied; kIo with each setting that differs and the driver's reasons; those of reading.
Result<Unit> apply_vf_settings(const VfSettingsKernel& kernel, const VfOfInterface& vf,
                               const hotplug::VfConfig& wanted);

}  // namespace sliced::kubelet
