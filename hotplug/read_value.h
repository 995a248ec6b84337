#pragma once
// Readers of single attributes for pci_function.cpp and link.cpp. A failure affects only that value.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotplug/host_view.h"

namespace sliced::hotplug {

/// Returns whether the entry does not exist or has no value, which is an answer and not a failure.
bool is_absence(const Error& error);
/// Returns one attribute's text; "" if it does not exist or has no value. Other errors are added to
/// unreadable as "name: EIO".
std::string read_text(const HostDir& dir, std::string_view name, std::vector<std::string>& unreadable);
/// Returns a decimal number within int. An invalid text is added to unreadable.
std::optional<int> read_int(const HostDir& dir, std::string_view name, std::vector<std::string>& unreadable);
/// readlink with a second attempt after errors other than absence.
template <class Dir>
Result<std::string> read_link_patiently(const Dir& dir, const std::string& path) {
  auto target = dir.readlink(path);
  if (target || is_absence(target.error())) return target;
  return dir.readlink(path);
}
/// Returns the last component of a link's target; "" without a link.
std::string read_link_name(const HostDir& dir, std::string_view name, std::vector<std::string>& unreadable);

/// Returns "name: EIO" for an error whose text ends with the errno's name.
std::string unreadable_note(std::string_view name, const Error& error);
/// Returns the part after the last '/'; the whole path without one.
std::string_view last_component(std::string_view path);

}  // namespace sliced::hotplug
