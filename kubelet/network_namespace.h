#pragma once
// Work in another network namespace than that of the process.
#include <functional>

namespace sliced::kubelet {

/// Descriptor of a network namespace; kOwnNamespace: that of the calling thread.
inline constexpr int kOwnNamespace = -1;

/// Calls act in that namespace: for kOwnNamespace here, else in a thread of its own. A call for the same descriptor within act needs no further
/// thread. Blocks. Returns errno where the namespace cannot be
/// entered or no thread can be made (std::thread would end the process then), without a call; 0 after the call.
int in_namespace(int network_namespace, const std::function<void()>& act);

}  // namespace sliced::kubelet
