#include "kubelet/device_holder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "reactor/base/text.h"
#include "reactor/small_file.h"

namespace sliced::kubelet {
namespace device_holder {
namespace {

bool is_number(std::string_view name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c); });
}

using Number = std::pair<uint32_t, uint32_t>;

// Of a character device. What the kernel knows by itself: no file server is asked.
std::optional<Number> number_of(const std::string& path) {
  struct statx found{};
  const bool is_read =
      ::statx(AT_FDCWD, path.c_str(), AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, &found) == 0;
  if (!is_read || !S_ISCHR(found.stx_mode)) return std::nullopt;
  return Number{found.stx_rdev_major, found.stx_rdev_minor};
}

// Calls visit with each name that is a number until it says true; whether it did.
bool any_number_in(const std::string& directory, const std::function<bool(const std::string&)>& visit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(directory.c_str()), ::closedir);
  if (!open) return false;
  while (const dirent* entry = ::readdir(open.get()))
    if (is_number(entry->d_name) && visit(entry->d_name)) return true;
  return false;
}

}  // namespace
}  // namespace device_holder

// A container has the node under another path, so it is known by its number.
std::optional<DeviceHolder> holder_of(const std::vector<std::string>& nodes, const std::string& proc) {
  using namespace device_holder;
  std::vector<Number> numbers;
  for (const std::string& node : nodes)
    if (const auto number = number_of(node)) numbers.push_back(*number);
  if (numbers.empty()) return std::nullopt;
  std::optional<DeviceHolder> out;
  size_t files = 0;
  any_number_in(proc, [&](const std::string& pid) {
    const std::string process = proc + "/" + pid;
    return any_number_in(process + "/fd", [&](const std::string& fd) {
      if (++files > kFilesMax) return true;
      const auto number = number_of(process + "/fd/" + fd);
      if (!number || std::find(numbers.begin(), numbers.end(), *number) == numbers.end()) return false;
      const auto name = reactor::read_small_file(process + "/comm");
      out = DeviceHolder{static_cast<int>(parse_int(pid).value_or(0)), name ? escaped(trim(*name)) : "?"};
      return true;
    });
  });
  return out;
}

}  // namespace sliced::kubelet
