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
/// The first process that is found; nullopt: none has. Nodes that do not exist are open nowhere.
/// Blocks: it reads a link for each open file of the machine, kFilesMax at most.
/// A process that opens one behind the look is not seen: the kernel's own refusal is what counts then.
/// Errors: kDenied, none was found and not all processes of the machine can be seen: this is another PID namespace than the
/// host's, or files of some process cannot be read (without CAP_SYS_PTRACE).
Result<std::optional<DeviceHolder>> process_with_open(const std::vector<std::string>& nodes,
                                                      const std::string& proc = "/proc");

/// What the kernel says of a VFIO group, to an open(2) that is closed immediately. A group has one file open at a time, whatever
/// PID namespace its process is in, and none while one of its devices is bound to an iommufd by its own node:
/// EBUSY (vfio_group_fops_open() in drivers/vfio/group.c, drivers/vfio/vfio.c before 6.2).
/// kUnknown: the open was refused for another reason, such as a container's device cgroup (EPERM).
enum class GroupUse { kAbsent, kFree, kOpen, kUnknown };
GroupUse probe_vfio_group(const std::string& node);

/// The first process whose control group is one of these pods' (by uid, as a kubelet names it). Errors: not all
/// processes of the machine can be seen (another PID namespace than the host's).
Result<std::optional<DeviceHolder>> process_of_pods(const std::vector<std::string>& pods,
                                                    const std::string& proc = "/proc");

inline constexpr size_t kFilesMax = size_t{1} << 22;

}  // namespace sliced::kubelet
