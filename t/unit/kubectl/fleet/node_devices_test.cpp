#include "kubectl/fleet/node_devices.h"

#include <gtest/gtest.h>

#include "kubectl/fleet/fleet_tables.h"

namespace sliced::kubectl {
namespace node_devices_test {
namespace {

const FleetDrivers kDrivers{"sriov.example", "dra.example"};

kube::ResourceSlice slice(const std::string& driver, int64_t generation, std::vector<kube::Device> devices) {
  kube::ResourceSlice out;
  out.driver = driver;
  out.pool = {"n", generation, 1};
  out.node_name = "n";
  for (kube::Device& device : devices) out.devices.push_back(std::move(device));
  return out;
}

kube::Device vf(const std::string& name, const std::string& pci, const std::string& pf) {
  kube::Device out;
  out.name = name;
  out.attributes.insert_or_assign("resource.kubernetes.io/pciBusID", pci);
  out.attributes.insert_or_assign("sriov.example/PFName", pf);
  return out;
}

TEST(NodeDevices, AVfOfAnAllocatedPfIsUsed) {
  kube::Device pf = vf("pf", "0000:03:00.0", ""), one = vf("a", "0000:03:00.1", "p0");
  pf.consumes_counters = {{"pf", {{"slots", kube::Quantity(2)}}}};
  one.consumes_counters = {{"pf", {{"slots", kube::Quantity(1)}}}};
  kube::ResourceSlice of = slice(kDrivers.exposure, 1, {pf, one});
  of.shared_counters = {{"pf", {{"slots", kube::Quantity(2)}}}};
  Fleet fleet({kDrivers.sriov, kDrivers.exposure});
  EXPECT_EQ(device_lines("n", {of}, fleet, kDrivers)[1].state, DeviceState::kFree);
  fleet.put_claim({.id = "ns/x", .users = {"p"}, .devices = {{kDrivers.exposure, "n", "pf"}}});
  const DeviceLine line = device_lines("n", {of}, fleet, kDrivers)[1];
  EXPECT_EQ(line.state, DeviceState::kUsedUp);
  EXPECT_EQ(line.why, "takes 1 of counter pf/slots of pool n, and 0 is left");
}

TEST(NodeDevices, AVfOfAnotherCompatibilityGroupIsUsed) {
  kube::Device pf = vf("pf", "0000:03:00.0", ""), one = vf("a", "0000:03:00.1", "p0");
  pf.consumes_counters = {{"pf", {{"whole", kube::Quantity(1)}}, {"whole"}}};
  one.consumes_counters = {{"pf", {{"parts", kube::Quantity(1)}}, {"parts"}}};
  kube::ResourceSlice of = slice(kDrivers.exposure, 1, {pf, one});
  of.shared_counters = {{"pf", {{"whole", kube::Quantity(1)}, {"parts", kube::Quantity(9)}}}};
  Fleet fleet({kDrivers.sriov, kDrivers.exposure});
  fleet.put_claim({.id = "ns/x", .users = {"p"}, .devices = {{kDrivers.exposure, "n", "pf"}}});
  const DeviceLine line = device_lines("n", {of}, fleet, kDrivers)[1];
  EXPECT_EQ(line.state, DeviceState::kUsedUp);
  EXPECT_EQ(line.why,
            "its compatibility groups of counter set pf of pool n are not those of the devices in use");
}

TEST(NodeDevices, ShowsHardwareAndClaimOfEachDevice) {
  kube::Device tainted = vf("c", "0000:03:00.3", "p0");
  tainted.taints = {{"k", "v", "NoSchedule"}};
  kube::Device link;
  link.name = "macvlan";
  link.attributes.insert_or_assign("dra.example/ifName", "eth0");
  link.attributes.insert_or_assign("dra.example/driver", "ice");
  Fleet fleet({kDrivers.sriov, kDrivers.exposure});
  fleet.put_claim(
      {.id = "ns/x", .users = {"p"}, .devices = {{kDrivers.sriov, "n", "b"}, {kDrivers.sriov, "n", "z"}}});
  const auto lines = device_lines(
      "n",
      {slice(kDrivers.sriov, 2, {vf("b", "0000:03:00.2", "p0"), vf("a", "0000:03:00.1", "p0"), tainted}),
       slice(kDrivers.sriov, 1, {vf("old", "0000:03:00.0", "p0")}), slice(kDrivers.exposure, 1, {link}),
       slice("of.another", 1, {vf("gpu", "0000:05:00.0", "")})},
      fleet, kDrivers);
  EXPECT_EQ(devices_text(lines, {}),
            "DEVICE   PCI           PF  INTERFACE  DRIVER  STATE      DETAIL\n"
            "macvlan  -             -   eth0       ice     free       -\n"
            "z        -             -   -          -       gone       ns/x (pod p)\n"
            "a        0000:03:00.1  p0  -          -       free       -\n"
            "b        0000:03:00.2  p0  -          -       allocated  ns/x (pod p)\n"
            "c        0000:03:00.3  p0  -          -       tainted    taint k=v:NoSchedule\n");
  EXPECT_EQ(devices_text({lines[2]}, {.is_wide = true}),
            "DEVICE  PCI           PF  INTERFACE  DRIVER  DRA-DRIVER     POOL  STATE  DETAIL\n"
            "a       0000:03:00.1  p0  -          -       sriov.example  n     free   -\n");
  EXPECT_EQ(kube::encode_json(json_of({lines[3]}, "n")),
            R"x({"node":"n","devices":[{"entry":"b","draDriver":"sriov.example","pool":"n",)x"
            R"x("pciAddress":"0000:03:00.2","pf":"p0","state":"allocated","claims":["ns/x (pod p)"]}]})x");
}

// Red when the allocated devices of a node that no longer offers any are not shown.
TEST(NodeDevices, ShowsDevicesHeldFromADeletedPool) {
  Fleet fleet({kDrivers.sriov, kDrivers.exposure});
  fleet.put_claim({.id = "ns/x",
                   .devices = {{kDrivers.sriov, "n", "a"},
                               {kDrivers.exposure, "n/0000-03-00-0", "b"},
                               {kDrivers.sriov, "nn", "c"}}});
  EXPECT_EQ(devices_text(device_lines("n", {}, fleet, kDrivers), {}),
            "DEVICE  PCI  PF  INTERFACE  DRIVER  STATE  DETAIL\n"
            "a       -    -   -          -       gone   ns/x\n"
            "b       -    -   -          -       gone   ns/x\n");
}

}  // namespace
}  // namespace node_devices_test
}  // namespace sliced::kubectl
