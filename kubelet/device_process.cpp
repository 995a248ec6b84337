#include "kubelet/device_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <utility>

#include "reactor/base/text.h"
#include "reactor/descriptor.h"
#include "reactor/small_file.h"

namespace sliced::kubelet {
namespace {

bool is_number(std::string_view name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c); });
}

using Number = std::pair<uint32_t, uint32_t>;

// Returns the number of a character device. Reads only attributes that the kernel has cached, so that no file
// server is contacted.
std::optional<Number> number_of(const std::string& path, bool* is_denied = nullptr) {
  struct statx found{};
  const bool is_read =
      ::statx(AT_FDCWD, path.c_str(), AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, &found) == 0;
  if (!is_read && is_denied != nullptr) *is_denied |= errno == EACCES || errno == EPERM;
  if (!is_read || !S_ISCHR(found.stx_mode)) return std::nullopt;
  return Number{found.stx_rdev_major, found.stx_rdev_minor};
}

// Calls visit with each numeric name until it returns true. Returns whether it did.
bool any_number_in(const std::string& directory, const std::function<bool(const std::string&)>& visit,
                   bool* is_denied = nullptr) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(directory.c_str()), ::closedir);
  if (!open && is_denied != nullptr) *is_denied |= errno == EACCES || errno == EPERM;
  if (!open) return false;
  while (const dirent* entry = ::readdir(open.get()))
    if (is_number(entry->d_name) && visit(entry->d_name)) return true;
  return false;
}

DeviceProcess holder(const std::string& proc, const std::string& pid) {
  const auto name = reactor::read_small_file(proc + "/" + pid + "/comm");
  return {static_cast<int>(parse_int(pid).value_or(0)), name ? escaped(trim(*name)) : "?"};
}

// include/linux/proc_ns.h, PROC_PID_INIT_INO.
constexpr std::string_view kHostPids = "pid:[4026531836]";

bool has_host_pids(const std::string& proc) {
  std::error_code error;
  return std::filesystem::read_symlink(proc + "/self/ns/pid", error).string() == kHostPids;
}

}  // namespace

// A container has the node under another path, so it is known by its number.
Result<std::optional<DeviceProcess>> process_with_open(const std::vector<std::string>& nodes,
                                                       const std::string& proc) {
  std::vector<Number> numbers;
  for (const std::string& node : nodes)
    if (const auto number = number_of(node)) numbers.push_back(*number);
  std::optional<DeviceProcess> out;
  if (numbers.empty()) return out;
  size_t files = 0;
  bool is_denied = false;
  any_number_in(proc, [&](const std::string& pid) {
    const std::string process = proc + "/" + pid;
    const auto is_node = [&](const std::string& fd) {
      if (++files > kFilesMax) return true;
      const auto number = number_of(process + "/fd/" + fd, &is_denied);
      if (!number || std::find(numbers.begin(), numbers.end(), *number) == numbers.end()) return false;
      out = holder(proc, pid);
      return true;
    };
    return any_number_in(process + "/fd", is_node, &is_denied);
  });
  if (out) return out;
  if (!has_host_pids(proc))
    return Error{Errc::kDenied, "this is not the host's PID namespace, so not all processes can be seen"};
  if (is_denied || files > kFilesMax)
    return Error{Errc::kDenied, "the open files of some processes cannot be read (CAP_SYS_PTRACE)"};
  return out;
}

GroupUse probe_vfio_group(const std::string& node) {
  // The node may be of any kind: it must not become the controlling terminal, and open(2) must not block.
  const reactor::Descriptor group(::open(node.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (group) return GroupUse::kFree;
  if (errno == ENOENT) return GroupUse::kAbsent;
  return errno == EBUSY ? GroupUse::kOpen : GroupUse::kUnknown;
}

Result<std::optional<DeviceProcess>> process_of_pods(const std::vector<std::string>& pods,
                                                     const std::string& proc) {
  if (!has_host_pids(proc))
    return Error{Errc::kIo, "processes of pods cannot be seen: run in the host's PID namespace (hostPID)"};
  std::vector<std::string> names;
  for (const std::string& uid : pods) {
    if (uid.empty()) continue;
    names.push_back("pod" + uid);
    // The systemd driver writes a slice's name so.
    std::string slice = "pod" + uid;
    std::replace(slice.begin(), slice.end(), '-', '_');
    names.push_back(std::move(slice));
  }
  std::optional<DeviceProcess> out;
  any_number_in(proc, [&](const std::string& pid) {
    const auto groups = reactor::read_small_file(proc + "/" + pid + "/cgroup");
    const bool is_theirs = groups && std::any_of(names.begin(), names.end(), [&](const std::string& name) {
                             return groups->find(name) != std::string::npos;
                           });
    if (is_theirs) out = holder(proc, pid);
    return is_theirs;
  });
  return out;
}

}  // namespace sliced::kubelet
