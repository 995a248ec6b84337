#pragma once
// The attribute pKeys of devices with InfiniBand ports.
#include <string>

#include "hotplug/facts.h"

namespace sliced::policy {

/// ",0x7fff,0x8001,": a comma before and after each partition key, so that contains(",0x8001,") finds a whole one. "" without keys. May have
/// more bytes than an attribute takes.
inline std::string pkeys_text(const hotplug::HostDevice& device) {
  std::string out;
  for (const std::string& key : device.pkeys) out += (out.empty() ? "," : "") + key + ",";
  return out;
}

}  // namespace sliced::policy
