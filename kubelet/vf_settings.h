#pragma once
// The settings that a PF keeps for a VF (rtnetlink IFLA_VF_INFO, linux/if_link.h): comparing them with those
// from before a pod, and restoring them.
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "hotplug/facts.h"
#include "kubelet/vf_mac.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

/// One setting: its name in ip-link(8), and both values as text.
struct SettingDifference {
  std::string setting, original, now;  // now: "" if the PF no longer reports it
  bool operator==(const SettingDifference&) const = default;
};
/// The addresses of the VF's interface before its pod; "" if unknown. If a PF enforces none, drivers report
/// the address that the VF requested (igb, ixgbe, i40e, ice, bnxt), and ib-sriov-cni leaves the interface's
/// GUID there.
struct OwnAddresses {
  std::string mac, guid;
  bool operator==(const OwnAddresses&) const = default;
};
/// Returns the differences to the original settings. A setting that was not reported then is not compared. An
/// address that was not set then (zeros; for GUIDs also ones) is unchanged if it is the VF's own now.
std::vector<SettingDifference> setting_differences(const hotplug::VfConfig& original,
                                                   const hotplug::VfConfig& now, const OwnAddresses& own);
/// Returns whether setting_differences() is empty. A maximum rate of the link's speed (Mbit/s, 0 unknown) or
/// more counts as no limit.
bool has_settings(const hotplug::VfConfig& original, const hotplug::VfConfig& now, const OwnAddresses& own,
                  int speed_mbps);
/// Returns all settings that the PF reports: "vlan 100, trust on".
std::string text_of(const hotplug::VfConfig& settings);

/// Returns the requests (RTM_SETLINK) that turn `now` into `original`, with the setting's name, in the order
/// of sending. Only differences are written: drivers refuse settings that they do not support, even with the
/// current value. otherwise: sent if the driver refuses `request`; "" if there is no alternative. Drivers
/// that refuse an all-zero MAC address (qede, cxgb4, be2net) get the VF's own.
struct SettingWrite {
  std::string setting, request, otherwise = {};
};
std::vector<SettingWrite> setting_writes(const VfOfInterface& vf, const hotplug::VfConfig& original,
                                         const hotplug::VfConfig& now, const OwnAddresses& own);

/// Kernel calls: reading all VFs of a PF's interface; sending a request, which returns an errno.
struct VfSettingsKernel {
  std::function<Result<std::map<int, hotplug::VfConfig>>(int ifindex)> read;
  std::function<int(const std::string& request)> send;
};
/// The functions of the running kernel, in this network namespace.
VfSettingsKernel running_vf_settings_kernel();

/// Writes the differences and reads them back. Writes to one PF are serialized, so that a write that hung
/// never follows a later one. A maximum rate of the link's speed or more counts as no limit. may_write:
/// called before the first write. Blocks. Errors: kDenied; kIo with each setting that still differs and the
/// driver's reasons; those of reading and of may_write.
Result<Unit> restore_vf_settings(const VfSettingsKernel& kernel, const VfOfInterface& vf,
                                 const hotplug::VfConfig& was, const OwnAddresses& own,
                                 const std::function<Result<Unit>()>& may_write);

/// Returns the settings of `wanted` that the PF does not report in `original`, by their names in ip-link(8).
/// They cannot be restored, because their original value is unknown.
std::vector<std::string> unreported_settings(const hotplug::VfConfig& wanted,
                                             const hotplug::VfConfig& original);
/// Writes the settings of `wanted` that differ, and reads them back. Other settings stay, except that a VLAN
/// gets priority 0 and protocol 802.1Q if `wanted` sets none. Blocks. Errors: kDenied; kIo with each setting
/// that differs and the driver's reasons; those of reading.
Result<Unit> apply_vf_settings(const VfSettingsKernel& kernel, const VfOfInterface& vf,
                               const hotplug::VfConfig& wanted);

}  // namespace sliced::kubelet
