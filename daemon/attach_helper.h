#pragma once
// The helper process that attaches the interface of a VfConfig's network to a pod
// (kubelet/interfaces/native_interface.h). The daemon runs this same program, and can kill it when the kernel
// does not answer. Not a command for users.
#include <string>
#include <vector>

namespace sliced::daemon {

inline constexpr const char* kAttachHelper = "attach-helper";

/// Returns the program and its arguments, as bind_helper_program().
std::vector<std::string> attach_helper_program();
/// arguments: those after kAttachHelper: the parent's pid. Reads a kubelet::NativeOrder from standard input
/// and prints a CNI result; ends with its parent. Exit: kExitError if it is not its parent's child, or the
/// interface is not attached; the reason is on standard error.
int attach_helper(const std::vector<std::string>& arguments);

}  // namespace sliced::daemon
