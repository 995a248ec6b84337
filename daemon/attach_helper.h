#pragma once
// The program that gives a pod the interface of a VfConfig's network: this one, run by its own daemon (kubelet/interfaces/native_interface.h),
// which can give it up when the kernel does not answer. No command for people.
#include <string>
#include <vector>

namespace sliced::cli {

inline constexpr const char* kAttachHelper = "attach-helper";

/// The program and its arguments, as bind_helper_program().
std::vector<std::string> attach_helper_program();
/// arguments: behind kAttachHelper: who runs it. Reads a kubelet::NativeOrder from standard input and prints a CNI result; ends with its parent.
/// Exit: kExitError where it is not its parent's child, or the interface is not attached; standard error says why.
int attach_helper(const std::vector<std::string>& arguments);

}  // namespace sliced::cli
