#include "kubelet/interfaces/host_interface.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "cni/names.h"
#include "kubelet/host_link.h"
#include "reactor/base/text.h"
#include "reactor/descriptor.h"
#include "reactor/durable_file.h"

namespace sliced::kubelet {

void note_host_interface(cni::Record& record) {
  if (!record.host_interface) return;
  const auto links = read_links(kOwnNamespace);
  if (!links) return;
  const auto at = std::find_if(links->begin(), links->end(), [&](const HostLink& link) {
    return link.name == record.host_interface->name;
  });
  if (at == links->end())
    record.host_interface.reset();
  else
    record.host_interface->kind = at->kind;
}

Result<Unit> bring_interface_back(const cni::Record& record, int network_namespace) {
  if (!record.host_interface) return Unit{};
  const MovedLink moved{.pci = record.attachment.device,
                        .name = record.host_interface->name,
                        .kind = record.host_interface->kind,
                        .name_in_pod = record.attachment.interface};
  const auto here = read_links(kOwnNamespace);
  if (!here) return here.error();
  const bool is_here = std::any_of(here->begin(), here->end(), [&](const HostLink& link) {
    return (!moved.pci.empty() && link.parent == moved.pci) ||
           (link.name == moved.name && link.kind == moved.kind);
  });
  if (is_here) return Unit{};
  auto back = move_link_back(network_namespace, moved);
  if (!back) return std::move(back.error());
  return Unit{};
}

void HostSysctls::note(cni::Record& record) {
  const auto network = cni::decode_network(record.config, record.network);
  if (!network) return;
  for (const cni::PluginConfig& plugin : network->plugins) {
    const std::string bridge(plugin.config.text("bridge"));
    if (plugin.type != "bridge" || !cni::is_interface_name(bridge)) continue;
    const std::string path = "net/ipv6/conf/" + bridge + "/accept_ra";
    const std::lock_guard alone(mutex_);
    Noted& noted = noted_[path];
    if (noted.records.empty()) {
      const auto now = reactor::read_whole(root_ + "/" + path, 64);
      if (!now) {
        noted_.erase(path);
        continue;
      }
      noted.value = trim(*now);
    }
    noted.records.insert(cni::record_name(record.attachment));
    record.host_sysctls[path] = noted.value;
  }
}

void HostSysctls::restore(cni::Record& record) {
  for (const auto& [path, value] : record.host_sysctls) {
    const std::lock_guard alone(mutex_);
    const std::string file = root_ + "/" + path;
    const auto now = reactor::read_whole(file, 64);
    const bool is_safe = path.starts_with("net/ipv6/conf/") && path.find("..") == std::string::npos;
    if (is_safe && now && trim(*now) != value) {
      const reactor::Descriptor out(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
      if (out) (void)!::write(out.get(), value.data(), value.size());
    }
    if (const auto noted = noted_.find(path); noted != noted_.end()) {
      noted->second.records.erase(cni::record_name(record.attachment));
      if (noted->second.records.empty()) noted_.erase(noted);
    }
  }
  record.host_sysctls.clear();
}

}  // namespace sliced::kubelet
