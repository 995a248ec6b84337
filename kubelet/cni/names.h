#pragma once
// Names of networks, containers, plugins and interfaces, as the CNI specification, libcni and the kernel accept them.
#include <string_view>

namespace sliced::cni {

/// [a-zA-Z0-9][a-zA-Z0-9_.-]*, as libcni accepts names of networks and containers; at most 128 bytes.
bool is_cni_name(std::string_view text);
/// A file name: no separator, no "." and "..", nothing that is not text; at most 128 bytes.
bool is_plugin_type(std::string_view text);
/// A name that the kernel gives an interface: 1 to 15 bytes, no '/', ':' or white space.
bool is_interface_name(std::string_view text);

}  // namespace sliced::cni
