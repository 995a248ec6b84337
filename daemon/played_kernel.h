#pragma once
// The kernel of a host that is played below another root (--host ROOT): whoever plays it hears of what would be
// written to sysfs.
#include <string>

#include "kubelet/node_host.h"

namespace sliced::cli {

/// A connection to the unix socket ROOT/run/sliced/kernel for each write: "PATH\nTEXT", then end of what is said; the
/// answer is an errno as a decimal number, 0 when it is done. Nodes are looked for below ROOT. Where nobody listens,
/// every write is refused: a snapshot stays as it is.
/// Threads: any; a write blocks until it is answered, 10 s at most.
kubelet::NodeHost::Kernel played_kernel(const std::string& root);

}  // namespace sliced::cli
