#include "kubelet/device_nodes.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "kubelet/hardware.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

constexpr std::string_view kRdmaNodes = "/dev/infiniband/";

// A node that every RDMA device shares.
constexpr std::string_view kRdmaCm = "/dev/infiniband/rdma_cm";

bool is_rdma_node(const std::string& path) { return path.starts_with(kRdmaNodes) && path != kRdmaCm; }

bool has_rdma_nodes(const PreparedDevice& device) {
  return std::any_of(device.edits.nodes.begin(), device.edits.nodes.end(),
                     [](const cdi::DeviceNode& node) { return is_rdma_node(node.path); });
}

std::string rdma_device_of(const cdi::Edits& edits) {
  constexpr std::string_view kName = "_RDMA_DEVICE=";
  for (const std::string& line : edits.env)
    if (const size_t at = line.find(kName); at != std::string::npos) return line.substr(at + kName.size());
  return "";
}

// The variables that a claim adds after edits_of(): add_resource_names(), add_request_names().
bool is_of_claim(const std::string& line) {
  return line.starts_with("PCIDEVICE_") || line.starts_with("PCI_RESOURCE_");
}

Error gone(const PreparedDevice& device, const std::string& what) {
  return {Errc::kBusy,
          "device " + in_quotes(device.pool + "/" + device.device) + " (" + escaped(hardware_of(device)) +
              ") has lost " + what +
              " since its claim was prepared: a CNI plugin or driver has bound it again; see its driver in "
              "the kernel's log, and delete the pod"};
}

}  // namespace

bool has_changing_nodes(const PreparedDevice& device) {
  const bool is_alone = device.holding.is_exclusive && device.share_id.empty() && !device.is_admin;
  return is_alone && !hardware_of(device).empty() &&
         (device.vfio || !device.vdpa_node.empty() || has_rdma_nodes(device));
}

Result<PreparedDevice> with_present_nodes(const PreparedDevice& device, DeviceSnapshot now) {
  PreparedDevice out = device;
  if (device.vfio) {
    if (now.vfio_group.empty() && now.vfio_cdev.empty()) return gone(device, "its VFIO nodes");
    out.vfio->group = now.vfio_group;
    out.vfio->cdev = now.vfio_cdev;
  } else if (has_rdma_nodes(device)) {
    if (std::none_of(now.rdma_nodes.begin(), now.rdma_nodes.end(), is_rdma_node))
      return gone(device, "the nodes of its RDMA device");
    if (now.rdma_device.empty()) now.rdma_device = rdma_device_of(device.edits);
  }
  if (!device.vdpa_node.empty()) {
    if (now.vdpas.empty() || now.vdpas.front().node.empty()) return gone(device, "its vDPA node");
    out.vdpa_device = now.vdpas.front().name;
    out.vdpa_node = now.vdpas.front().node;
  }
  out.edits = edits_of(out, now);
  std::copy_if(device.edits.env.begin(), device.edits.env.end(), std::back_inserter(out.edits.env),
               is_of_claim);
  return out;
}

}  // namespace sliced::kubelet
