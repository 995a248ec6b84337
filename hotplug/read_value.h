#pragma once
// Small readers shared by pci_function.cpp and link.cpp: one attribute to one value; what fails costs that
// value only.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotplug/host_view.h"

namespace sliced::hotplug {

/// The entry is not there, or has no such value: an answer, not a failure.
bool is_absence(const Error& error);
/// One attribute's text; "" when it is not there or has no value, which is no fault. Other errors go to
/// unreadable as "name: EIO".
std::string read_text(const HostDir& dir, std::string_view name, std::vector<std::string>& unreadable);
/// A decimal number within int. Junk goes to unreadable.
std::optional<int> read_int(const HostDir& dir, std::string_view name, std::vector<std::string>& unreadable);
/// readlink, asked a second time when it fails otherwise than by absence.
template <class Dir>
Result<std::string> read_link_patiently(const Dir& dir, const std::string& path) {
  auto target = dir.readlink(path);
  if (target || is_absence(target.error())) return target;
  return dir.readlink(path);
}
/// The last component of a link's target; "" when there is no link.
std::string read_link_name(const HostDir& dir, std::string_view name, std::vector<std::string>& unreadable);

/// "name: EIO" of an error whose text ends so.
std::string unreadable_note(std::string_view name, const Error& error);
/// Of a path; the whole of it where it has no '/'.
std::string_view last_component(std::string_view path);

}  // namespace sliced::hotplug
