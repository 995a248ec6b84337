#pragma once
// The settings that a PF reports for its VFs.
#include <string>
#include <utility>

#include "hotplug/facts.h"

namespace sliced::kubelet::sample {

/// A VF as the kernel makes it.
inline hotplug::VfConfig vf_config_as_made(std::string mac) {
  return {.mac = std::move(mac),
          .vlan = 0,
          .vlan_qos = 0,
          .vlan_protocol = "802.1Q",
          .trust = false,
          .spoof_check = true,
          .rss_query = false,
          .min_rate_mbps = 0,
          .max_rate_mbps = 0,
          .link_state = "auto",
          .node_guid = "",
          .port_guid = ""};
}

}  // namespace sliced::kubelet::sample
