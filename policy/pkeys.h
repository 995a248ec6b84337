#pragma once
// The attribute pKeys of devices with InfiniBand ports.
#include <string>

#include "hotplug/facts.h"

namespace sliced::policy {

/// Returns ",0x7fff,0x8001,": each partition key between commas, so that contains(",0x8001,") finds a whole
/// key. "" without keys. May be longer than an attribute value may be.
inline std::string pkeys_text(const hotplug::HostDevice& device) {
  std::string out;
  for (const std::string& key : device.pkeys) out += (out.empty() ? "," : "") + key + ",";
  return out;
}

}  // namespace sliced::policy
