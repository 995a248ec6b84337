#pragma once
// `network.sysctls` of a VfConfig: sysctls of the pod's interface, from a fixed list. Pure.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/json.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

/// name: as in the CNI plugin `tuning`, with IFNAME for the interface: "net.ipv4.conf.IFNAME.arp_ignore".
/// value: a decimal number.
struct NativeSysctl {
  std::string name, value;
  bool operator==(const NativeSysctl&) const = default;
};

inline constexpr size_t kNativeSysctlsMax = 32;

/// A permitted sysctl and the range of its values.
struct AllowedSysctl {
  std::string_view name;
  int min, max;
};
std::span<const AllowedSysctl> allowed_sysctls();

/// Decodes a map of names to values, each a number as a string. Returns them sorted by name. Errors:
/// kInvalid, kTooLarge; each names sysctl, value, expected value and remedy.
Result<std::vector<NativeSysctl>> decode_native_sysctls(const kube::Json& value, const std::string& path);
kube::Json encode_native_sysctls(const std::vector<NativeSysctl>& sysctls);

/// Returns the path below /proc/sys: "net/ipv4/conf/net1/arp_ignore". Requires: the sysctl is from
/// decode_native_sysctls(), interface has no "/" or "..".
std::string path_of_sysctl(const NativeSysctl& sysctl, std::string_view interface);

}  // namespace sliced::kubelet
