#include "kubelet/health.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace sliced::kubelet {
namespace {

using hotplug::DeviceType;
using hotplug::HostDevice;

HostDevice function(const std::string& address, DeviceType type) {
  HostDevice device;
  device.id = {address};
  device.type = type;
  device.pci = hotplug::PciAddress::decode(address);
  device.driver = "d";
  return device;
}
hotplug::Netdev netdev(const std::string& name, const std::string& state) {
  hotplug::Netdev made;
  made.name = name;
  made.oper_state = state;
  return made;
}

struct HealthWorld {
  HealthWorld() {
    HostDevice pf = function("0000:03:00.0", DeviceType::kPf);
    pf.netdev = netdev("ens1f0", "up");
    add(pf);
    HostDevice vf = function("0000:03:00.2", DeviceType::kVf);
    vf.pf = pf.pci;
    vf.netdev = netdev("ens1f0v0", "down");
    add(vf);
    HostDevice bridge;
    bridge.id = {"br0"};
    bridge.type = DeviceType::kBridge;
    bridge.netdev = netdev("br0", "down");
    add(bridge);
    offered = {{.driver = "d.example", .name = "net", .devices = {entry("br0-x", "br0")}},
               {.driver = "d.example",
                .name = "pool",
                .devices = {entry("0000-03-00-0", ""), entry("0000-03-00-2-s", "")}}};
  }
  static kube::DevicePtr entry(const std::string& name, const std::string& interface) {
    kube::Device device;
    device.name = name;
    if (!interface.empty()) device.attributes["d.example/ifName"] = interface;
    return kube::DevicePtr(device);
  }
  void add(const HostDevice& device) { inventory.devices[device.id.text] = device; }
  HostDevice& at(const std::string& id) { return inventory.devices.at(id); }
  // In order: br0, PF, VF.
  std::vector<std::string> troubles() {
    std::vector<std::string> all;
    for (const DeviceHealth& device : judge()) all.push_back(device.trouble);
    return all;
  }
  std::vector<DeviceHealth> judge() {
    return book.judge(
        offered, inventory,
        [this](const std::string& pool, const std::string& device) {
          const auto at = claims.find(pool + "/" + device);
          return at == claims.end() ? std::set<std::string>{} : at->second;
        },
        [this](const std::string& pool, const std::string& device) {
          return in_pods.contains(pool + "/" + device);
        },
        [this](const std::string& pool, const std::string& device) {
          return moved.contains(pool + "/" + device);
        });
  }
  hotplug::Inventory inventory;
  std::vector<policy::DesiredPool> offered;
  HealthBook book{"d.example"};
  std::map<std::string, std::set<std::string>> claims;
  std::set<std::string> in_pods, moved;
};
using Troubles = std::vector<std::string>;

TEST(KubeletHealth, IsHealthy) {
  HealthWorld world;
  EXPECT_EQ(world.judge(),
            (std::vector<DeviceHealth>{
                {"net", "br0-x", ""}, {"pool", "0000-03-00-0", ""}, {"pool", "0000-03-00-2-s", ""}}))
      << "a VF that nobody uses is down, and so is a bridge without ports";
}

TEST(KubeletHealth, ReportsProblems) {
  HealthWorld world;
  EXPECT_EQ(world.troubles(), (Troubles{"", "", ""}));
  world.at("0000:03:00.0").netdev->oper_state = "down";
  EXPECT_EQ(world.troubles(), (Troubles{"", "the link of ens1f0 is down",
                                        "the link of ens1f0, the PF of 0000:03:00.2, is down"}));
  world.at("0000:03:00.0").netdev->oper_state = "unknown";
  world.at("0000:03:00.2").driver = "";
  EXPECT_EQ(world.troubles(), (Troubles{"", "", "0000:03:00.2 has lost its driver"}));
  world.at("0000:03:00.2").driver = "vfio-pci";
  world.at("0000:03:00.2").netdev.reset();
  EXPECT_EQ(world.troubles(), (Troubles{"", "", ""}));
  world.at("0000:03:00.2").broken = "half removed";
  EXPECT_EQ(world.troubles()[2], "0000:03:00.2 cannot be relied on: half removed");
  world.inventory.devices.erase("0000:03:00.2");
  world.inventory.devices.erase("br0");
  EXPECT_EQ(world.troubles(),
            (Troubles{"br0 no longer exists on the host", "", "0000:03:00.2 no longer exists on the host"}));
}

TEST(KubeletHealth, JudgesAllocatedDevicesByKnownFacts) {
  HealthWorld world;
  world.at("0000:03:00.0").netdev->oper_state = "down";
  world.at("0000:03:00.0").netdev->stale = true;  // in a pod: these are its last facts
  EXPECT_EQ(world.troubles(), (Troubles{"", "", ""}));
}

TEST(KubeletHealth, KeepsWithdrawnEntriesThatMayBeAllocated) {
  HealthWorld world;
  EXPECT_EQ(world.troubles(), (Troubles{"", "", ""}));
  world.offered.clear();
  world.inventory.devices.erase("0000:03:00.2");
  EXPECT_EQ(world.troubles(), (Troubles{"", "", "0000:03:00.2 no longer exists on the host"}));
}

// ovn-kubernetes/ovn-kubernetes#6786: a DPU reboots, and its VFs vanish and come back below running pods. Red when a pod that lost
// its interface is said to have a healthy device.
TEST(KubeletHealth, ADeviceThatReturnsIsNotInItsPod) {
  HealthWorld world;
  const HostDevice vf = world.at("0000:03:00.2");
  world.claims["pool/0000-03-00-2-s"] = {"uid-a"};
  EXPECT_EQ(world.troubles(), (Troubles{"", "", ""}));
  world.inventory.devices.erase("0000:03:00.2");
  EXPECT_EQ(world.troubles()[2], "0000:03:00.2 no longer exists on the host");
  world.add(vf);
  EXPECT_EQ(world.troubles()[2],
            "0000:03:00.2 was removed and is there again, but not in its pod: delete the pod");
  world.claims["pool/0000-03-00-2-s"] = {"uid-b"};
  EXPECT_EQ(world.troubles()[2], "") << "the next pod has the new one";
  world.claims.clear();
  world.inventory.devices.erase("0000:03:00.2");
  EXPECT_EQ(world.troubles()[2], "0000:03:00.2 no longer exists on the host");
  world.add(vf);
  EXPECT_EQ(world.troubles()[2], "") << "no pod had it";
}

// k8snetworkplumbingwg/sriov-network-operator#443, and recoveries of mlx5 and iavf: a driver that is bound again below a pod makes a new
// interface in the host's namespace, of the same function. Red when the pod's device is said to be healthy.
TEST(KubeletHealth, AnInterfaceThatItsDriverMadeAgainIsNotInItsPod) {
  HealthWorld world;
  const auto trouble = [&] { return world.troubles()[2]; };
  hotplug::Netdev& netdev = *world.at("0000:03:00.2").netdev;
  netdev.kernel_name = "ens1f0v0";
  world.moved.insert("pool/0000-03-00-2-s");
  EXPECT_EQ(trouble(), "") << "the event of the move has not been read";
  netdev.stale = true;
  EXPECT_EQ(trouble(), "");
  netdev.stale = false;
  const std::string made_again =
      "0000:03:00.2 has a new interface on the host, ens1f0v0, and none in its pod, since its driver was bound "
      "again or has reset it: delete the pod";
  EXPECT_EQ(trouble(), made_again);
  world.at("0000:03:00.2").driver = "";
  EXPECT_EQ(trouble(), "0000:03:00.2 has lost its driver");
  world.at("0000:03:00.2").driver = "d";
  EXPECT_EQ(trouble(), made_again);
  world.moved.clear();
  EXPECT_EQ(trouble(), "") << "its pod ends, and the interface comes back";
  world.moved.insert("pool/0000-03-00-2-s");
  EXPECT_EQ(trouble(), "") << "the next pod's";
}

// Red when a link that host-device moved into its pod makes the pod's device unhealthy.
TEST(KubeletHealth, ALinkThatItsPodHasIsNotGone) {
  HealthWorld world;
  EXPECT_EQ(world.troubles()[0], "");
  world.inventory.devices.erase("br0");
  EXPECT_EQ(world.troubles()[0], "br0 no longer exists on the host");
  world.in_pods.insert("net/br0-x");
  EXPECT_EQ(world.troubles()[0], "");
  world.in_pods.insert("pool/0000-03-00-2-s");
  world.inventory.devices.erase("0000:03:00.2");
  EXPECT_EQ(world.troubles()[2], "0000:03:00.2 no longer exists on the host")
      << "a function stays on the host";
}

// Red when an entry of a scalable function is looked up by the name of its interface, which may be in a pod.
TEST(KubeletHealth, AScalableFunctionIsFoundByItsId) {
  HealthWorld world;
  HostDevice sf;
  sf.id = {"sf88-0000-03-00-0"};
  sf.type = DeviceType::kSf;
  sf.pf = hotplug::PciAddress::decode("0000:03:00.0");
  world.add(sf);
  world.offered[1].devices = {HealthWorld::entry("sf88-0000-03-00-0", "enp3s0f0s88"),
                              HealthWorld::entry("sf88-0000-03-00-0-macvlan", "enp3s0f0s88")};
  EXPECT_EQ(world.troubles(), (Troubles{"", "", ""}));
  world.in_pods.insert("pool/sf88-0000-03-00-0");
  world.inventory.devices.erase("sf88-0000-03-00-0");
  EXPECT_EQ(world.troubles(), (Troubles{"", "sf88-0000-03-00-0 no longer exists on the host",
                                        "sf88-0000-03-00-0 no longer exists on the host"}));
}

TEST(KubeletHealth, WhatWasRecreatedBeforeTheStartIsNotInItsPod) {
  PreparedClaims prepared;
  PreparedClaim claim{.driver = "d.example", .uid = "u"};
  claim.devices.push_back({.pool = "pool", .device = "0000-03-00-2", .pci = "0000:03:00.2"});
  PreparedClaim& kept = prepared[key_of(claim)] = claim;
  EXPECT_EQ(trouble_of_recreated(prepared, "d.example", "pool", "0000-03-00-2"), "");
  kept.devices[0].was_recreated = true;
  EXPECT_EQ(trouble_of_recreated(prepared, "d.example", "pool", "0000-03-00-2"),
            "0000:03:00.2 was removed and is there again, but not in its pod: delete the pod");
  EXPECT_EQ(trouble_of_recreated(prepared, "other.example", "pool", "0000-03-00-2"), "");
  EXPECT_EQ(trouble_of_recreated(prepared, "d.example", "pool", "0000-03-00-3"), "");
}

TEST(KubeletHealth, IgnoresAMissingDriverIfThereNeverWasOne) {
  HealthWorld world;
  world.at("0000:03:00.2").driver = "";
  EXPECT_EQ(world.troubles(), (Troubles{"", "", ""}));
}

TEST(KubeletHealth, BoundsNamesAndPrefersOfferedEntries) {
  HealthWorld world;
  const auto names = [&](const std::string& prefix, size_t count) {
    std::vector<kube::DevicePtr> devices;
    for (size_t i = 0; i < count; ++i)
      devices.push_back(HealthWorld::entry(prefix + std::to_string(i), "br0"));
    world.offered = {{.driver = "d.example", .name = "net", .devices = std::move(devices)}};
    return world.judge();
  };
  EXPECT_EQ(names("a", kHealthEntriesMax).size(), kHealthEntriesMax);
  const auto now = names("b", 10);
  ASSERT_LE(now.size(), kHealthEntriesMax);
  EXPECT_EQ(now.back().device, "b9");
  EXPECT_EQ(names("c", kHealthEntriesMax + 10).size(), kHealthEntriesMax);
}

}  // namespace
}  // namespace sliced::kubelet
