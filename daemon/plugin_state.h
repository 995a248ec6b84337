#pragma once
// The state of the kubelet plugin, in words.
#include <string>
#include <vector>

namespace sliced::cli {

/// For people and for the node's report.
struct PluginState {
  /// "on", "off", or "waiting" for the end of another program that serves one of the drivers. plugin_word() has a fourth.
  std::string word;
  std::string other;  // "waiting": which driver, and where, "driver D: PATH: ..."
  std::vector<std::string> unknown_macs =
      {};  // a sentence for each VF whose MAC address of before is unknown
  std::vector<std::string> settings_problems =
      {};  // the same of devices without their settings of before a pod
  std::vector<std::string> not_returned =
      {};  // the same of devices that are held for claims that are gone, each with the reason
  std::string connection_problem = {};  // kubelet::Interfaces::connection_problem()
};
}  // namespace sliced::cli
