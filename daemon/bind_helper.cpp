#include "daemon/bind_helper.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>

#include "daemon/played_kernel.h"
#include "daemon/process.h"
#include "hotplug/host_view.h"
#include "kubelet/child_binder.h"
#include "kubelet/node_host.h"

namespace sliced::daemon {
namespace {

// A helper must not continue beside those of the next daemon.
bool ends_with(const std::string& parent) {
  return ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && std::to_string(::getppid()) == parent;
}

}  // namespace

// /proc/self/exe is the running version, even if another one was installed over it.
std::vector<std::string> bind_helper_program(const config::Options& options) {
  return {"/proc/self/exe", kBindHelper, std::to_string(::getpid()), options.host_root};
}

int bind_helper(const std::vector<std::string>& arguments) {
  if (arguments.size() < 2 || !ends_with(arguments[0])) {
    print_error("bind-helper: is run by the daemon alone");
    return kExitError;
  }
  const std::string& root = arguments[1];
  const auto order = kubelet::decode_order({arguments.begin() + 2, arguments.end()});
  if (!order) {
    print_error("bind-helper: " + order.error().what);
    return kExitError;
  }
  auto view = hotplug::open_host_view(root);
  if (!view) {
    print_error("bind-helper: " + view.error().what);
    return kExitError;
  }
  std::shared_ptr<const hotplug::HostView> host = *std::move(view);
  const kubelet::NodeHost node(
      host, host->is_live() ? kubelet::NodeHost::running_kernel() : played_kernel(root), {});
  for (const kubelet::PreparedDevice& device : order->devices)
    if (!print(kubelet::line_of(kubelet::bind_or_restore(node, order->what, device, order->devices))))
      return kExitError;
  return kExitSame;
}

}  // namespace sliced::daemon
