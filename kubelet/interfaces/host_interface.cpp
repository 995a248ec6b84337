#include "kubelet/interfaces/host_interface.h"

#include <algorithm>

#include "kubelet/host_link.h"

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

}  // namespace sliced::kubelet
