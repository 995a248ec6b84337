#include "kubelet/cni/host_local.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "kube/objects/json.h"
#include "kubelet/cni/names.h"
#include "kubelet/cni/network.h"
#include "reactor/base/text.h"
#include "reactor/descriptor.h"
#include "reactor/durable_file.h"

namespace sliced::cni {
namespace {

constexpr const char* kLockFile = "/lock";
constexpr std::string_view kCounter = "last_reserved_ip.";
constexpr size_t kAddressesMax = 65'536, kDirectoriesMax = 65'536;

Error failed_to(const std::string& what, int error) {
  return {error == EACCES || error == EPERM ? Errc::kDenied : Errc::kIo, what + ": " + std::strerror(error)};
}

}  // namespace

std::string host_local_directory(const std::string& config, const std::string& network,
                                 const std::string& base) {
  const auto chain = decode_network(config, network);
  if (!chain || base.empty()) return "";
  for (const PluginConfig& plugin : chain->plugins) {
    const kube::Json* ipam = plugin.config.find("ipam");
    if (ipam == nullptr || ipam->text("type") != "host-local") continue;
    const std::string data(ipam->text("dataDir"));
    const bool is_name = is_cni_name(chain->name);
    if (data.starts_with(base + "/") && data.find("..") == std::string::npos && is_name)
      return data + "/" + chain->name;
  }
  return "";
}

Result<bool> remove_unused_network(const std::string& directory) {
  const auto names = reactor::list_names(directory, kAddressesMax);
  if (!names) return names.error();
  const reactor::Descriptor lock(::open((directory + kLockFile).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!lock && errno != ENOENT) return failed_to("open " + directory + kLockFile, errno);
  if (lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return false;
  const auto held = reactor::list_names(directory, kAddressesMax);
  if (!held) return held.error();
  for (const std::string& name : *held)
    if (name != "lock" && !name.starts_with(kCounter)) return false;
  for (const std::string& name : *held)
    if (::unlink((directory + "/" + name).c_str()) != 0 && errno != ENOENT)
      return failed_to("remove " + directory + "/" + name, errno);
  if (::rmdir(directory.c_str()) != 0 && errno != ENOENT) return failed_to("remove " + directory, errno);
  return true;
}

void remove_unused_networks(const std::string& base, const std::set<std::string>& used) {
  const auto namespaces = reactor::list_names(base, kDirectoriesMax);
  for (const std::string& name_space : namespaces.value_or(std::vector<std::string>())) {
    const std::string parent = base + "/" + name_space;
    const auto networks = reactor::list_names(parent, kDirectoriesMax);
    for (const std::string& network : networks.value_or(std::vector<std::string>()))
      if (const std::string directory = parent + "/" + network; !used.contains(directory))
        (void)remove_unused_network(directory);
    (void)::rmdir(parent.c_str());  // fails if it is not empty
  }
}

}  // namespace sliced::cni
