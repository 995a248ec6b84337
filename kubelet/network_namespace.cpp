#include "kubelet/network_namespace.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <cerrno>

#include "reactor/descriptor.h"

namespace sliced::kubelet {
namespace {

// The namespace in which a call of in_namespace() runs on this thread.
thread_local int entered = kOwnNamespace;

struct NamespaceCall {
  int network_namespace;
  const std::function<void()>& act;
  int error = 0;
};

void* call_in_namespace(void* given) {
  auto& call = *static_cast<NamespaceCall*>(given);
  if (::setns(call.network_namespace, CLONE_NEWNET) != 0) {
    call.error = errno;
    return nullptr;
  }
  entered = call.network_namespace;
  call.act();
  return nullptr;
}

}  // namespace

int in_namespace(int network_namespace, const std::function<void()>& act) {
  if (network_namespace == kOwnNamespace || network_namespace == entered) {
    act();
    return 0;
  }
  NamespaceCall call{.network_namespace = network_namespace, .act = act};
  pthread_t thread{};
  if (const int error = ::pthread_create(&thread, nullptr, &call_in_namespace, &call); error != 0)
    return error;
  ::pthread_join(thread, nullptr);
  return call.error;
}

bool is_network_namespace(const std::string& path) {
  const reactor::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return errno != ENOENT && errno != ENOTDIR;
  return ::ioctl(file.get(), NS_GET_NSTYPE) == CLONE_NEWNET;
}

Result<Unit> check_pod_namespace(int network_namespace) {
  const reactor::Descriptor own(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
  struct stat there{}, here{};
  if (!own || ::fstat(network_namespace, &there) != 0 || ::fstat(own.get(), &here) != 0)
    return Error{Errc::kIo, "the network namespaces of pod and host cannot be compared"};
  if (there.st_dev != here.st_dev || there.st_ino != here.st_ino) return Unit{};
  return Error{Errc::kInvalid,
               "the network namespace of the pod's sandbox is the host's, where no interface of a pod is "
               "attached: leave out hostNetwork, or the network of the claim; if the pod does not set "
               "hostNetwork, check the container runtime"};
}

}  // namespace sliced::kubelet
