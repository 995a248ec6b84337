#pragma once
// Which process has a device node open: as long as one has, its driver cannot let the device go.
#include <optional>
#include <string>
#include <vector>

#include "reactor/base/result.h"

namespace sliced::kubelet {

struct DeviceHolder {
  int pid = 0;
  std::string name;  // /proc/PID/comm, escaped
};
/// The first that is found; nodes that are not there are nobody's. Other processes are seen as far as /proc shows them.
/// Blocks: it reads a link for each open file of the machine, kFilesMax at most.
/// A process that opens one behind the look is not seen: the kernel's own refusal is what counts then.
std::optional<DeviceHolder> holder_of(const std::vector<std::string>& nodes,
                                      const std::string& proc = "/proc");

/// The first process whose control group is one of these pods' (by uid, as a kubelet names it). Errors: not all
/// processes of the machine can be seen (another PID namespace than the host's).
Result<std::optional<DeviceHolder>> process_of_pods(const std::vector<std::string>& pods,
                                                    const std::string& proc = "/proc");

inline constexpr size_t kFilesMax = size_t{1} << 22;

}  // namespace sliced::kubelet
