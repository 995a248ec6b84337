#pragma once
// Finds the process that has a device node open. As long as one has, the driver cannot release the device.
#include <optional>
#include <string>
#include <vector>

#include "reactor/base/result.h"

namespace sliced::kubelet {

struct DeviceProcess {
  int pid = 0;
  std::string name;  // /proc/PID/comm, escaped
};
/// Returns the first process found that has one of these nodes open; nullopt if none has. Nodes that do not
/// exist are ignored. Blocks: reads a link for each open file of the machine, at most kFilesMax.
/// Limitation: a process that opens a node after the scan is not found. The kernel's refusal decides then.
/// Errors: kDenied if none was found and not all processes are visible: this is not the host's PID namespace,
/// or files of a process cannot be read (no CAP_SYS_PTRACE).
Result<std::optional<DeviceProcess>> process_with_open(const std::vector<std::string>& nodes,
                                                       const std::string& proc = "/proc");

/// State of a VFIO group, by an open(2) that is closed immediately. A group can be open once, in whichever
/// PID namespace. It cannot be opened while one of its devices is bound to an iommufd: EBUSY
/// (vfio_group_fops_open() in drivers/vfio/group.c, drivers/vfio/vfio.c before 6.2).
/// kUnknown: the open failed for another reason, such as a device cgroup (EPERM).
enum class GroupUse { kAbsent, kFree, kOpen, kUnknown };
GroupUse probe_vfio_group(const std::string& node);

/// Returns the first process whose cgroup belongs to one of these pods (by uid, in the kubelet's naming).
/// Errors: not all processes are visible (not the host's PID namespace).
Result<std::optional<DeviceProcess>> process_of_pods(const std::vector<std::string>& pods,
                                                     const std::string& proc = "/proc");

inline constexpr size_t kFilesMax = size_t{1} << 22;

}  // namespace sliced::kubelet
