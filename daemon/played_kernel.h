#pragma once
// A simulated kernel for a host below another root (--host ROOT): a test or demonstration receives the writes
// to sysfs.
#include <string>

#include "kubelet/node_host.h"

namespace sliced::daemon {

/// Connects to the unix socket ROOT/run/sliced/kernel for each write: "PATH\nTEXT", then shutdown; the answer
/// is an errno as a decimal number, 0 for success. Device nodes (/dev/...) are looked up below ROOT. The MAC
/// address that a PF enforces for a VF is the content of ROOT/run/sliced/vf-macs/IFINDEX-INDEX. Without a
/// listener every write is refused, so a snapshot stays unchanged. Threads: any; a write blocks until it is
/// answered, 10 s at most.
kubelet::NodeHost::Kernel played_kernel(const std::string& root);

}  // namespace sliced::daemon
