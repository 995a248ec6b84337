#include "policy/exposure/max_cost.h"

#include <algorithm>
#include <optional>
#include <string>

#include "hotplug/visit_facts.h"
#include "policy/exposure/selector.h"

namespace sliced::policy {
namespace {

using hotplug::DeviceType;

constexpr DeviceType kTypes[] = {DeviceType::kPf,      DeviceType::kVf,   DeviceType::kNic,
                                 DeviceType::kBridge,  DeviceType::kVlan, DeviceType::kBond,
                                 DeviceType::kVirtual, DeviceType::kSf};

// Sets each fact of any type, so that later facts of the host are covered.
struct NonEmptyFacts {
  void operator()(const char*, std::string& text) const { text = "ens1f0np0"; }
  void operator()(const char*, int& number) const { number = 8; }
  void operator()(const char*, std::optional<int>& number) const { number = 0; }
  void operator()(const char*, std::optional<bool>& flag) const { flag = true; }
  void operator()(const char*, std::optional<hotplug::PciAddress>& address) const {
    address = hotplug::PciAddress{0, 0x3b, 0, 0};
  }
};

hotplug::HostDevice with_everything(DeviceType type) {
  hotplug::HostDevice device{.id = {"0000:3b:00.0"}, .type = type};
  hotplug::visit_facts(device, NonEmptyFacts{});
  device.vendor = device.product = device.subsystem_vendor = device.subsystem_product = "15b3";
  device.driver = "mlx5_core";
  device.pcie_root = "pci0000:3a";
  device.eswitch_mode = "switchdev";
  device.pf_product = "101d";
  device.pf_numa_node = 0;
  device.pf_link_type = 1;
  device.admin_mac = "02:00:00:00:00:01";
  device.bridge_type = "linux";
  device.vlan_id = 100;
  device.representor_of = "0000:3b:00.1";
  device.rdma_device = "mlx5_0";
  device.vdpa = {"vdpa0", "virtio", "/dev/vhost-vdpa-0"};
  device.pkeys = {"0x7fff", "0x8001", "0x8002", "0x8003", "0x8004", "0x8005", "0x8006", "0x8007", "0x8008"};
  hotplug::Netdev netdev;
  netdev.name = netdev.kernel_name = "ens1f0np0";
  netdev.mac = device.admin_mac;
  netdev.mtu = 1500;
  netdev.link_type = 1;
  netdev.oper_state = "up";
  netdev.speed_mbps = 100'000;
  netdev.master = "br0";
  netdev.phys_switch_id = "000000000000000000";
  netdev.phys_port_name = "p0";
  device.netdev = netdev;
  return device;
}

}  // namespace

void MaxCost::add(uint64_t its_cost, uint64_t its_steps, uint64_t its_compile_steps) {
  cost = std::max(cost, its_cost);
  steps = std::max(steps, its_steps);
  compile_steps = std::max(compile_steps, its_compile_steps);
  work += std::max(its_cost, its_steps);
}

std::string MaxCost::text() const {
  return std::to_string(cost) + " of " + std::to_string(cel::kCostMax) + ", and takes " +
         std::to_string(steps) + " of " + std::to_string(cel::kStepsMax) + " work steps";
}

bool MaxCost::is_near() const {
  return cost > cel::kCostMax / 2 || steps > cel::kStepsMax / 2 || compile_steps > cel::kCompileStepsMax / 2;
}

MaxCost static_cost(const cel::Program& program, const std::string& driver) {
  MaxCost out;
  cel::Evaluator evaluator;
  HostDeviceView view(driver);
  const auto ask = [&](const hotplug::HostDevice& device) {
    view.set_device({device});
    evaluator.select(program, view);
    out.add(evaluator.cost(), evaluator.steps(), program.compile_steps());
  };
  for (const DeviceType type : kTypes) ask(with_everything(type));
  ask(hotplug::HostDevice{.id = {"x"}});
  return out;
}

}  // namespace sliced::policy
