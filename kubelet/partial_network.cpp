#include "kubelet/partial_network.h"

namespace sliced::kubelet {

// Fills each place that the other author may fill with a value that satisfies all rules, and checks the result.
Result<Unit> check_partial_network(const NativeNetwork& network, const std::string& path) {
  constexpr const char* kAnyIpam = "{}";
  NativeNetwork whole = network;
  if (whole.type.empty()) whole.mode.clear();
  if (whole.addresses.empty() && !whole.runs_ipam()) whole.ipam = kAnyIpam;
  const bool has_fields_of_vlan = whole.vf.vlan_qos || !whole.vf.vlan_protocol.empty();
  const bool needs_vlan = whole.type == "vlan" || (has_fields_of_vlan && !whole.creates_link());
  if (!whole.vf.vlan && needs_vlan) whole.vf.vlan = 1;
  return check_native_network(whole, path);
}

}  // namespace sliced::kubelet
