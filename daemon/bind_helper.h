#pragma once
// The helper process that binds a claim's functions to vfio-pci, or restores them (kubelet/child_binder.h).
// The daemon runs this same program, and can kill it when the kernel does not answer. Not a command for
// users.
#include <string>
#include <vector>

#include "config/options.h"

namespace sliced::daemon {

inline constexpr const char* kBindHelper = "bind-helper";

/// Returns the program and the arguments before an order. /proc/self/exe is the running version even if
/// another one was installed over it.
std::vector<std::string> bind_helper_program(const config::Options& options);
/// arguments: those after kBindHelper: the parent's pid, the host's root, then an order
/// (kubelet::arguments_of). Prints a line for each device; ends with its parent.
/// Kernel: prctl(2), PR_SET_PDEATHSIG: a helper must not continue beside those of the next daemon.
/// Exit: kExitError if it is not its parent's child, or the order is invalid; the result of a device is in
/// its line.
int bind_helper(const std::vector<std::string>& arguments);

}  // namespace sliced::daemon
