#include "daemon/attach_helper.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <iterator>

#include "daemon/process.h"
#include "kubelet/cni/result.h"
#include "kubelet/interfaces/native_interface.h"

namespace sliced::daemon {

std::vector<std::string> attach_helper_program() {
  return {"/proc/self/exe", kAttachHelper, std::to_string(::getpid())};
}

int attach_helper(const std::vector<std::string>& arguments) {
  const auto fail = [](const std::string& why) {
    std::cerr << why << "\n";
    return kExitError;
  };
  // A helper must not continue beside those of the next daemon.
  if (arguments.size() != 1 || ::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ||
      std::to_string(::getppid()) != arguments[0])
    return fail("attach-helper: is run by the daemon alone");
  const std::string input{std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  const auto order = kubelet::decode_native_order(input);
  if (!order) return fail("attach-helper: " + order.error().what);
  const auto made = kubelet::attach_native(*order);
  if (!made) return fail(made.error().what);
  return print(kube::encode_json(cni::encode_result(*made)) + "\n") ? kExitSame : kExitError;
}

}  // namespace sliced::daemon
