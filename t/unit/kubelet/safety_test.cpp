#include "kubelet/safety.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "kubelet/recall.h"
#include "t/fixture/golden.h"
#include "t/fixture/growth.h"
#include "t/unit/kubelet/sample_claims.h"

namespace sliced::kubelet {
namespace safety_test {
namespace {

// An entry of the exposure driver: the function's, whole or in shares, in a group.
PreparedDevice persona(const std::string& base, const std::string& suffix, bool is_exclusive,
                       const std::string& group = "") {
  const KnownEntry known = sample::vf(base);
  PreparedDevice out{
      .pool = "node-a/0000-03-00-0", .device = base + suffix, .holding = known.holding, .pf = known.pf};
  out.holding.entry = base + suffix;
  out.holding.is_exclusive = is_exclusive;
  out.holding.group = group;
  return out;
}

PreparedDevice of_sriov(const std::string& base) {
  PreparedDevice out = persona(base, "", true);
  out.pool = "node-a";
  return out;
}

PreparedClaim claim_with(const std::string& uid, const PreparedDevice& device) {
  return {
      .driver = sample::kExposure, .namespace_ = "ns", .name = "of-" + uid, .uid = uid, .devices = {device}};
}

PreparedDevice of_link(const std::string& link, const std::string& suffix, bool is_exclusive,
                       const std::string& group = "") {
  PreparedDevice out{.pool = "node-a", .device = link + suffix};
  out.holding = {
      .entry = link + suffix, .device = link, .base = link, .is_exclusive = is_exclusive, .group = group};
  return out;
}

// As another process finds it where the record is lost.
PreparedDevice recalled(const std::string& entry, const std::string& share_id = "") {
  const std::string name = "uid-" + entry + (share_id.empty() ? "" : "-" + share_id);
  return recall(sample::kExposure, "uid", {.devices = {{name, {.env = {"A=1"}}}}}).value().devices[0];
}

// Red when a link is known by its entry's name alone, and is then another device than the one that is asked for.
TEST(Safety, ARestoredLinkIsNotReleasedToOthers) {
  constexpr const char* kShare = "01234567-89ab-cdef-0123-456789abcdef";
  const PreparedDevice whole = recalled("br0-whole"), shared = recalled("br0-macvlan", kShare);
  EXPECT_TRUE(conflict(of_link("br0", "-whole", true), whole));
  EXPECT_TRUE(conflict(whole, of_link("br0", "-macvlan", false)));
  EXPECT_TRUE(conflict(of_link("br0", "-whole", true), shared));
  EXPECT_FALSE(conflict(of_link("br0", "-macvlan", false), shared)) << "a share beside a share";
  EXPECT_FALSE(conflict(of_link("br0", "-ipvlan", false), shared));
  EXPECT_TRUE(conflict(of_link("br0", "-ipvlan", false, "g"), shared)) << "its group is not known";
  EXPECT_FALSE(conflict(of_link("br01", "-whole", true), whole));
  EXPECT_FALSE(conflict(of_link("br", "-whole", true), whole));
  EXPECT_FALSE(conflict(of_link("br", "-whole", true), of_link("br-lan", "", true))) << "known by its device";
}

TEST(Safety, AppliesCounterRulesWithoutCounters) {
  const std::string pf = "0000-03-00-0", vf = "0000-03-00-2", other = "0000-03-00-3";
  PreparedDevice admin = persona(vf, "", true);
  admin.is_admin = true;
  PreparedDevice elsewhere = persona(vf, "", true);
  elsewhere.holding.device = "0000:3b:00.2";
  elsewhere.pf = "0000:3b:00.0";
  struct Case {
    const char* name;
    PreparedDevice a, b;
    bool is_conflict;
  };
  const Case cases[] = {
      {"one device twice", persona(vf, "", true), persona(vf, "", true), true},
      {"shares of one device", persona(vf, "-macvlan", false), persona(vf, "-macvlan", false), false},
      {"two VFs", persona(vf, "", true), persona(other, "", true), false},
      {"both drivers", of_sriov(vf), persona(vf, "", true), true},
      {"both drivers, a share", of_sriov(vf), persona(vf, "-macvlan", false), true},
      {"whole and shared", persona(vf, "-whole", true), persona(vf, "-macvlan", false), true},
      {"one group", persona(vf, "-macvlan", false, "g"), persona(vf, "-ipvlan", false, "g"), true},
      {"two groups", persona(vf, "-macvlan", false, "g"), persona(vf, "-ipvlan", false, "h"), false},
      {"no groups", persona(vf, "-macvlan", false), persona(vf, "-ipvlan", false), false},
      {"a PF as a whole and its VF", persona(pf, "", true), persona(vf, "", true), true},
      {"a PF as a whole and the other driver's VF", persona(pf, "", true), of_sriov(vf), true},
      {"a PF in shares and its VF", persona(pf, "-macvlan", false), persona(vf, "", true), false},
      {"a PF as a whole and another's VF", persona(pf, "", true), elsewhere, false},
      {"who looks on", admin, persona(vf, "", true), false},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(conflict(one.a, one.b), one.is_conflict) << one.name;
    EXPECT_EQ(conflict(one.b, one.a), one.is_conflict) << one.name << ", the other way round";
  }
}

// A switch would forward to one of the two.
TEST(Safety, FunctionsOfAPfHaveDistinctMacAddresses) {
  constexpr const char *kMac = "02:00:00:00:00:0a", *kPf = "0000:03:00.0";
  const auto on = [](const std::string& pci, const std::string& pf) {
    PreparedDevice out{
        .pool = "node-a", .device = "dev-" + pci, .pci = pci, .identity = {"8086", "10ca", pf}};
    return out;
  };
  const auto asking = [&](PreparedDevice device) {
    device.mac = kMac;
    return device;
  };
  using Change = std::function<void(PreparedDevice&)>;
  const std::vector<std::pair<Change, bool>> rows = {
      {[](PreparedDevice&) {}, false},
      {[](PreparedDevice& one) { one.mac = kMac; }, true},
      {[](PreparedDevice& one) { one.mac = "02:00:00:00:00:0b"; }, false},
      {[](PreparedDevice& one) { one.held.emplace().netdev = hotplug::Netdev{.mac = kMac}; }, true},
      {[](PreparedDevice& one) { one.vfio = VfioBinding{"igbvf", "7", kMac}; }, true},
      {[](PreparedDevice& one) { one.network = R"({"type":"sriov","mac":"02-00-00-00-00-0A"})"; }, true},
      {[](PreparedDevice& one) {
         one.network = R"({"plugins":[{"type":"sriov"},{"type":"tuning","mac":"02:00:00:00:00:0a"}]})";
       },
       true},
      {[](PreparedDevice& one) { one.mac = kMac, one.is_admin = true; }, false},
      {[](PreparedDevice& one) { one.mac = kMac, one.identity.pf = "0000:04:00.0"; }, false},
      {[](PreparedDevice& one) { one.mac = kMac, one.pci = kPf, one.identity.pf = ""; },
       true},  // the PF itself
      {[](PreparedDevice& one) { one.mac = kMac, one.pci = one.identity.pf = ""; }, false},
      {[](PreparedDevice& one) {
         one.pci = one.identity.pf = "", one.lower_pfs = {"0000:02:00.0", kPf};  // of a VLAN of the PF
         one.network = R"({"type":"macvlan","mac":"02:00:00:00:00:0a"})";
       },
       true}};
  for (size_t i = 0; i < rows.size(); ++i) {
    PreparedDevice first = on("0000:03:00.2", kPf);
    rows[i].first(first);
    const PreparedClaim holder = claim_with("first", first),
                        second = claim_with("second", asking(on("0000:03:00.3", kPf)));
    const PreparedClaims prepared = {{key_of(holder), holder}, {key_of(second), second}};
    const std::string why = mac_refusal(second, second.devices[0], prepared, {});
    EXPECT_EQ(!why.empty(), rows[i].second) << i << ": " << why;
    if (rows[i].second) {
      fixture::expect_golden(why);
    }
    // In one claim, too.
    PreparedClaim both = second;
    both.devices.push_back(first);
    EXPECT_EQ(!mac_refusal(both, both.devices[0], {}, {}).empty(), rows[i].second) << i;
  }
  // The other way round: the interface on the VLAN is the one that asks.
  PreparedDevice link{.pool = "node-a", .device = "v10", .interface = "v10", .lower_pfs = {kPf}};
  link.network = R"({"type":"macvlan","mac":"02:00:00:00:00:0a"})";
  const PreparedClaim has = claim_with("first", asking(on("0000:03:00.2", kPf))),
                      asks = claim_with("second", link);
  fixture::expect_golden(mac_refusal(asks, link, {{key_of(has), has}}, {}));
  link.lower_pfs.clear();
  EXPECT_EQ(mac_refusal(asks, link, {{key_of(has), has}}, {}), "");
  // A claim without requirements is not refused for the properties of its device.
  PreparedDevice quiet = on("0000:03:00.3", kPf);
  quiet.held.emplace().netdev = hotplug::Netdev{.mac = kMac};
  const PreparedClaim holder = claim_with("first", asking(on("0000:03:00.2", kPf))),
                      second = claim_with("second", quiet);
  EXPECT_EQ(mac_refusal(second, quiet, {{key_of(holder), holder}}, {}), "");
  // An address that was written over is given back.
  const PreparedClaim third = claim_with("third", asking(on("0000:03:00.4", kPf)));
  const OriginalMacs kept = {{"0000:03:00.2", {"0000:03:00.2", kPf, "boot", kMac}}};
  fixture::expect_golden(mac_refusal(third, third.devices[0], {}, kept));
  EXPECT_EQ(mac_refusal(third, third.devices[0], {}, {{"0000:03:00.4", {"0000:03:00.4", kPf, "boot", kMac}}}),
            "");
}

// A claim is compared with all others of its PF, each with a definition of up to 16 KiB. Red when those without an address are decoded.
TEST(Safety, DecodesOnlyNetworksWithAMacAddress) {
  PreparedDevice wanting = of_sriov("0000-03-00-2");
  wanting.pci = "0000:03:00.2", wanting.identity.pf = "0000:03:00.0", wanting.mac = "02:00:00:00:00:0a";
  const auto others_with = [&](const std::string& members) {
    PreparedClaims out;
    for (int i = 0; i < 32; ++i) {
      PreparedDevice other = wanting;
      other.pci = "0000:04:00." + std::to_string(i), other.mac.clear();
      other.network = R"({"type":"macvlan",)" + members + "}";
      const PreparedClaim claim = claim_with("other-" + std::to_string(i), other);
      out[key_of(claim)] = claim;
    }
    return out;
  };
  const PreparedClaim claim = claim_with("uid", wanting);
  const double growth = fixture::growth(50, [&](size_t count) -> std::function<void()> {
    std::string routes;
    for (size_t i = 0; i < count; ++i) routes += R"({"dst":"10.0.0.0/8"},)";
    routes.pop_back();
    const auto others = std::make_shared<PreparedClaims>(
        others_with(R"("capabilities":{"mac":false},"x":"\"mac\":\"","ipam":{"routes":[)" + routes + "]}"));
    return [&claim, others] { EXPECT_EQ(mac_refusal(claim, claim.devices[0], *others, {}), ""); };
  });
  EXPECT_LT(growth, 2);
  for (const char* mac :
       {R"("mac":"02:00:00:00:00:0A")", R"("mac" : "02-00-00-00-00-0a")", R"("\u006dac":"02:00:00:00:00:0a")",
        R"("capabilities":{"mac":true},"mac":"02:00:00:00:00:0a")"})
    EXPECT_NE(mac_refusal(claim, claim.devices[0], others_with(mac), {}), "") << mac;
}

TEST(Safety, NamesTheClaimThatHoldsTheDevice) {
  const PreparedDevice macvlan = persona("0000-03-00-2", "-macvlan", false, "g"),
                       ipvlan = persona("0000-03-00-2", "-ipvlan", false, "g");
  PreparedClaims prepared;
  const PreparedClaim holder = claim_with("uid-1", macvlan), asking = claim_with("uid-2", ipvlan);
  prepared.emplace(key_of(holder), holder);
  const KnownEntry known = sample::vf("0000-03-00-2");
  EXPECT_EQ(
      refusal(asking, ipvlan, known, prepared),
      "device node-a/0000-03-00-0/0000-03-00-2-ipvlan excludes device node-a/0000-03-00-0/0000-03-00-2-macvlan, "
      "which is prepared for ResourceClaim ns/of-uid-1 (uid uid-1): it can be had when that claim's pod has ended and the kubelet has given it back");
  EXPECT_EQ(refusal(holder, macvlan, known, prepared), "") << "its own record counts for nothing";
}

TEST(Safety, NamesTheReasonForARefusal) {
  struct Case {
    const char* says;
    std::function<void(KnownEntry&)> spoil;
  };
  const Case cases[] = {
      {"cannot be distinguished from others (name not UTF-8)",
       [](KnownEntry& known) { known.device.broken = "name not UTF-8"; }},
      {"is not ready: its VFs are being configured",
       [](KnownEntry& known) { known.not_ready = "its VFs are being configured"; }},
      {"is used by the host (enslaved to br0)",
       [](KnownEntry& known) { known.device.host_use = "enslaved to br0"; }},
  };
  for (const Case& one : cases) {
    KnownEntry known = sample::vf("0000-03-00-2");
    one.spoil(known);
    PreparedDevice device = of_sriov("0000-03-00-2");
    const PreparedClaim claim = claim_with("uid", device);
    EXPECT_NE(refusal(claim, device, known, {}).find(one.says), std::string::npos)
        << refusal(claim, device, known, {});
    device.is_admin = true;
    EXPECT_EQ(refusal(claim, device, known, {}), "") << "who looks on holds nothing";
  }
  KnownEntry allowed = sample::vf("0000-03-00-2");
  allowed.device.host_use = "enslaved to br0";
  allowed.host_use.is_any = true;
  const PreparedDevice device = of_sriov("0000-03-00-2");
  EXPECT_EQ(refusal(claim_with("uid", device), device, allowed, {}), "");
  allowed.host_use = {.routes = policy::AllowedRoutes::kLearned};
  EXPECT_NE(refusal(claim_with("uid", device), device, allowed, {}), "");
  allowed.device.host_use_kind = hotplug::HostUseKind::kLearnedRoute;
  EXPECT_EQ(refusal(claim_with("uid", device), device, allowed, {}), "");
}

// Red when a pod's sandbox fails for ever because the kernel does not move the interface.
TEST(Safety, RefusesAMovingNetworkForAnImmovableInterface) {
  PreparedDevice device = of_sriov("0000-03-00-2");
  device.interface = "eth2";
  device.holding.is_exclusive = true;
  device.config.nad_namespace = "ns", device.config.nad_name = "moved";
  const DeviceSnapshot look{.immovable_interfaces = {"eth2"}};
  EXPECT_EQ(immovable_refusal(device, look), "") << "no network";
  device.network = R"({"type":"host-device"})";
  fixture::expect_golden(immovable_refusal(device, look));
  EXPECT_EQ(immovable_refusal(device, {}), "");
  for (const char* network :
       {R"({"type":"macvlan"})", R"({"plugins":[{"type":"vlan"},{"type":"tuning"}]})"}) {
    PreparedDevice stays = device;
    stays.network = network;
    EXPECT_EQ(immovable_refusal(stays, look), "") << network;
  }
  PreparedDevice admin = device, machine = device, shared = device;
  admin.is_admin = true, machine.config.driver = "vfio-pci", shared.holding.is_exclusive = false;
  for (const PreparedDevice* one : {&admin, &machine, &shared}) EXPECT_EQ(immovable_refusal(*one, look), "");
}

TEST(Safety, DistinguishesAnotherFunctionAtTheAddress) {
  const KnownEntry known = sample::vf("0000-03-00-2");
  PreparedDevice device = of_sriov("0000-03-00-2");
  device.identity = {"8086", "10ca", "0000:03:00.0"};
  const DeviceSnapshot same{.identity = device.identity};
  EXPECT_EQ(refusal(device, known, same), "");
  for (const Identity& now :
       {Identity{"15b3", "10ca", "0000:03:00.0"}, Identity{"8086", "1234", "0000:03:00.0"},
        Identity{"8086", "10ca", "0000:3b:00.0"}, Identity{}})
    fixture::expect_golden(refusal(device, known, {.identity = now}));
  device.identity = {};
  EXPECT_EQ(refusal(device, known, same), "") << "a checkpoint of others does not know it";
}

TEST(Safety, MovesAnRdmaDeviceOnlyInExclusiveMode) {
  const KnownEntry known = sample::vf("0000-03-00-2");
  PreparedDevice device = of_sriov("0000-03-00-2");
  const DeviceSnapshot shared{.is_rdma_shared = true};
  EXPECT_EQ(refusal(device, known, shared), "");
  device.config.network = NativeNetwork{};
  EXPECT_EQ(refusal(device, known, shared), "");
  device.config.network->rdma = "move";
  EXPECT_NE(refusal(device, known, shared).find("run rdma system set netns exclusive"), std::string::npos);
  EXPECT_EQ(refusal(device, known, {}), "");
}

TEST(Safety, RefusesAnInterfaceWithUppers) {
  KnownEntry known = sample::vf("0000-03-00-2");
  PreparedDevice device = of_sriov("0000-03-00-2");
  device.interface = "eth2";
  const DeviceSnapshot used{.uppers = {"macvlan0", "br0"}};
  EXPECT_EQ(refusal(device, known, used),
            "device node-a/0000-03-00-2 is used by the host: macvlan0, br0 on top of its interface eth2");
  known.host_use.is_any = true;
  EXPECT_EQ(refusal(device, known, used), "");
  known.host_use.is_any = false;
  device.holding.is_exclusive = false;
  EXPECT_EQ(refusal(device, known, used), "") << "a share is what macvlans are for";
}

// An interface of the host on a vDPA device can appear after discovery.
TEST(Safety, RefusesAVdpaDeviceThatTheHostUses) {
  KnownEntry known = sample::vf("0000-03-00-2");
  const PreparedDevice device = of_sriov("0000-03-00-2");
  DeviceSnapshot look{.vdpas = {{"vdpa1", "virtio", ""}, {"vdpa0", "vhost", "/dev/vhost-vdpa-3"}}};
  EXPECT_EQ(refusal(device, known, look),
            "device node-a/0000-03-00-2 is used by the host: its vDPA device vdpa1 has an interface of the "
            "host (virtio_vdpa)");
  known.host_use.is_any = true;
  EXPECT_EQ(refusal(device, known, look), "");
  known.host_use.is_any = false;
  look.vdpas.front().driver = hotplug::kUnknownVdpa;
  EXPECT_NE(refusal(device, known, look).find("cannot be read"), std::string::npos);
  look.vdpas.erase(look.vdpas.begin());
  EXPECT_EQ(refusal(device, known, look), "");
}

// A VF comes back under its name in the pod when the sandbox ends without DEL. The other one then cannot come back under its own.
TEST(Safety, RefusesTheNameOfAHostInterfaceInThePod) {
  PreparedDevice device = of_sriov("0000-03-00-2"), other = of_sriov("0000-03-00-3");
  device.pci = "0000:03:00.2", other.pci = "0000:03:00.3";
  device.interface = "enp3s0v0", other.interface = "enp3s0v1";
  device.network = other.network = R"({"type":"host-device"})";
  device.config.if_name = "enp3s0v1", other.config.if_name = "net1";
  const PreparedClaims prepared = {{{std::string(sample::kSriov), "other"}, claim_with("other", other)}};
  fixture::expect_golden(name_refusal(device, prepared, {}));
  fixture::expect_golden(name_refusal(device, {}, {.name_holder = "0000:03:00.3"}));
  fixture::expect_golden(name_refusal(device, {}, {.name_holder = ""}));
  EXPECT_EQ(name_refusal(device, {}, {}), "");

  device.config.if_name = "net1";
  EXPECT_EQ(name_refusal(device, prepared, {}), "") << "each pod has a network namespace of its own";
  EXPECT_EQ(name_refusal(device, prepared, {.name_holder = other.pci}), "")
      << "that is back, and gets its name";
  EXPECT_NE(name_refusal(device, {}, {.name_holder = other.pci}), "");
  device.config.if_name = device.interface;
  EXPECT_EQ(name_refusal(device, prepared, {}), "") << "its own";

  device.config.if_name = "enp3s0v1";
  for (const auto& change : std::vector<std::function<void(PreparedDevice&)>>{
           [](PreparedDevice& one) { one.is_admin = true; }, [](PreparedDevice& one) { one.network = {}; },
           [](PreparedDevice& one) { one.config.driver = "vfio-pci"; },
           [](PreparedDevice& one) { one.holding.is_exclusive = false; },
           [](PreparedDevice& one) { one.share_id = "s"; },
           [](PreparedDevice& one) { one.network = R"({"type":"macvlan"})"; }}) {
    PreparedDevice stays = device;
    change(stays);
    EXPECT_EQ(name_refusal(stays, prepared, {.name_holder = ""}), "") << "it is not moved";
  }
}

// A companion behind a plugin that moves nothing would change an interface that the pod has already. Red for each driver for
// programs in user space, as the VFIO that the claim asks for is another rule (kubelet/cni/definition.cpp).
TEST(Safety, RunsNoCompanionForAnImmovableFunction) {
  PreparedDevice device = of_sriov("0000-03-00-2");
  device.pci = "0000:03:00.2";
  device.config = {.nad_namespace = "ns", .nad_name = "nad"};
  for (const char* driver : {"uio_pci_generic", "igb_uio", "vfio-pci", "mlx5_vfio_pci"}) {
    device.network = R"({"plugins":[{"type":"sriov"},{"type":"tuning","mac":"02:00:00:00:00:01"}]})";
    EXPECT_NE(refusal_of_interface(device, {.driver = driver}).find("plugin \"tuning\" of \"ns/nad\""),
              std::string::npos)
        << driver;
    device.network = R"({"plugins":[{"type":"sriov"}]})";
    EXPECT_EQ(refusal_of_interface(device, {.driver = driver}), "") << driver;
  }
}

TEST(Safety, AnUnreadableNetworkMaySetAnyAddress) {
  PreparedDevice device = of_sriov("0000-03-00-2");
  device.network =
      R"({"type":"sriov","mac":"02:00:00:00:00:01","x":")" + std::string(kNetworkBytesMax, 'x') + "\"}";
  EXPECT_NE(mac_refusal(claim_with("uid", device), device, {}, {}).find("cannot be read"), std::string::npos);
}

TEST(Safety, AClaimDoesNotExcludeItself) {
  PreparedClaim claim = claim_with("uid", persona("0000-03-00-2", "-macvlan", false, "g"));
  EXPECT_EQ(conflict_within(claim), "");
  claim.devices.push_back(persona("0000-03-00-2", "-macvlan", false, "g"));
  EXPECT_EQ(conflict_within(claim), "") << "two shares";
  claim.devices.push_back(persona("0000-03-00-2", "-ipvlan", false, "g"));
  fixture::expect_golden(conflict_within(claim));
}

}  // namespace
}  // namespace safety_test
}  // namespace sliced::kubelet
