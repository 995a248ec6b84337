#pragma once
// The program that binds a claim's functions to vfio-pci, or restores them: this one, run by its own daemon
// (kubelet/child_binder.h), which can give it up when the kernel does not answer. No command for people.
#include <string>
#include <vector>

#include "config/options.h"

namespace sliced::cli {

inline constexpr const char* kBindHelper = "bind-helper";

/// The program and what comes before an order: /proc/self/exe, so that it is of this version also when
/// another one has been installed over it.
std::vector<std::string> bind_helper_program(const config::Options& options);
/// arguments: behind kBindHelper: who runs it, the host's root, then an order (kubelet::arguments_of). Says a line of
/// each device; ends with its parent.
/// Kernel: prctl(2), PR_SET_PDEATHSIG: what a daemon has begun does not go on beside the next one's.
/// Exit:   kExitError where it is not its parent's child, or the order cannot be understood; how a device
///         fared is in its line.
int bind_helper(const std::vector<std::string>& arguments);

}  // namespace sliced::cli
