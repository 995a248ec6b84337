#pragma once
// Small readers shared by pci_function.cpp and link.cpp: one attribute to one value; what fails costs that
// value only.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotplug/host_view.h"

namespace sliced::hotplug {

/// One attribute's text; "" when it is not there or has no value, which is no fault. Other errors go to
/// unreadable as "name: EIO".
std::string read_text(const HostDir& dir, std::string_view name, std::vector<std::string>& unreadable);
/// A decimal number within int. Junk goes to unreadable.
std::optional<int> read_int(const HostDir& dir, std::string_view name, std::vector<std::string>& unreadable);
/// The last component of a link's target; "" when there is no link.
std::string read_link_name(const HostDir& dir, std::string_view name, std::vector<std::string>& unreadable);

/// "name: EIO" of an error whose text ends so.
std::string unreadable_note(std::string_view name, const Error& error);
std::string_view last_component(std::string_view path);

}  // namespace sliced::hotplug
