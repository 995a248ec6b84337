#pragma once
// The interface of a device that CNI plugins move into a sandbox: what it was on the host, and its way back where they leave it.
#include "cni/record.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

/// Completes Record::host_interface with the interface's kind; where the host does not have the interface it becomes nullopt.
/// Blocks; for a worker.
void note_host_interface(cni::Record& record);

/// Moves the interface back from the sandbox's namespace where the host lacks it: down, under its name of before. Ok where there is nothing to
/// move. network_namespace: a descriptor. Blocks; for a worker. Errors: kDenied, kTimeout, kIo.
Result<Unit> bring_interface_back(const cni::Record& record, int network_namespace);

}  // namespace sliced::kubelet
