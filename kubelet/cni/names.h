#pragma once
// Names of networks, containers, plugins and interfaces that the CNI specification, libcni and the kernel
// accept.
#include <string_view>

namespace sliced::cni {

/// [a-zA-Z0-9][a-zA-Z0-9_.-]*, libcni's rule for networks and containers; at most 128 bytes.
bool is_cni_name(std::string_view text);
/// A file name without separator, "." or "..", in valid text; at most 128 bytes.
bool is_plugin_type(std::string_view text);
/// A valid interface name for the kernel: 1 to 15 bytes, no '/', ':' or white space.
bool is_interface_name(std::string_view text);

}  // namespace sliced::cni
