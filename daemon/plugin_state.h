#pragma once
// The state of the kubelet plugin, as text.
#include <string>
#include <vector>

namespace sliced::daemon {

/// For people and for the node's report.
struct PluginState {
  /// "on", "off", or "waiting" for the end of another program that serves one of the drivers. kubelet_plugin_state()
  /// also returns "skipped".
  std::string word;
  std::string other;                           // if "waiting": which driver, and where, "driver D: PATH: ..."
  std::vector<std::string> unknown_macs = {};  // a sentence for each VF whose original MAC address is unknown
  std::vector<std::string> settings_problems =
      {};  // a sentence for each device without its original settings
  std::vector<std::string> not_returned =
      {};  // a sentence with the reason for each device that is held for a deleted claim
  std::string connection_problem = {};  // kubelet::Interfaces::connection_problem()
};
}  // namespace sliced::daemon
