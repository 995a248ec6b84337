#pragma once
// The program that binds a claim's functions to vfio-pci, or restores them: this one, run by its own daemon
// (kubelet/child_binder.h), which can give it up when the kernel does not answer. No command for people.
#include <string>
#include <vector>

#include "config/options.h"

namespace sliced::cli {

inline constexpr const char* kBindHelper = "bind-helper";

/// The program and what comes before an order.
std::vector<std::string> bind_helper_program(const config::Options& options);
/// arguments: behind kBindHelper: who runs it, the host's root, then an order (kubelet::arguments_of). Says a line of
/// each device; ends with its parent.
int bind_helper(const std::vector<std::string>& arguments);

}  // namespace sliced::cli
