// A network of a VfConfig, on real links between two network namespaces of our own.
#include <gtest/gtest.h>
#include <net/if.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <vector>

#include "kubelet/host_link.h"
#include "kubelet/interfaces/host_interface.h"
#include "kubelet/interfaces/native_interface.h"
#include "kubelet/link_network.h"
#include "t/fixture/own_namespace.h"
#include "t/unit/kubelet/fake_pf.h"

namespace sliced::kubelet {
namespace netns_native_interface_test {
namespace {

void ip(const std::string& command) { ASSERT_EQ(std::system(("ip " + command).c_str()), 0) << command; }

struct NetnsNative : testing::Test {
  NetnsNative() {
    ip("link add ens1v0 type veth peer name far");
    ip("link set far up");
  }
  ~NetnsNative() override { (void)!std::system("ip link del far 2>/dev/null"); }

  std::string path() const { return "/proc/" + std::to_string(pod.process()) + "/ns/net"; }
  NativeOrder order() const {
    return {.network_namespace = path(),
            .interface = "net1",
            .pci = "",
            .host_interface = "ens1v0",
            .network = {.mtu = 1400,
                        .mac = "02:00:00:00:00:0a",
                        .addresses = {"192.0.2.5/24", "2001:db8::5/64"},
                        .routes = {{"0.0.0.0/0", "192.0.2.1", 0},
                                   {"198.51.100.0/24", "", 7},
                                   {"::/0", "fe80::1", 0}}},
            .time_ms = 10'000};
  }
  // With everything that can be set inside the pod.
  NativeOrder full_order() const {
    NativeOrder out = order();
    out.network.routes.push_back({"203.0.113.0/24", "192.0.2.1", 5, 100});
    out.network.routes.push_back({"::/0", "2001:db8::1", 0, 1'000});
    out.network.rules = {{"192.0.2.5/32", "", 100, 200}, {"2001:db8::5/128", "2001:db8:9::/48", 1'000, 201}};
    out.network.neighbors = {{"192.0.2.1", "02:00:00:00:00:99"}, {"2001:db8::1", "02:00:00:00:00:98"}};
    out.network.sysctls = {{"net.ipv4.conf.IFNAME.arp_ignore", "2"},
                           {"net.ipv4.neigh.IFNAME.gc_stale_time", "77"},
                           {"net.ipv6.conf.IFNAME.accept_ra", "0"}};
    return out;
  }
  // attach_native() in a process that ends before its change number `last`, as one that is killed. Returns whether it came to its end.
  static bool attach_until(const NativeOrder& order, int last) {
    const pid_t child = ::fork();
    if (child == 0) {
      int steps = 0;
      NativeKernel kernel = running_native_kernel();
      kernel.before_change = [&](std::string_view) {
        if (++steps == last) ::_exit(1);
      };
      const auto made = attach_native(order, kernel);
      ::_exit(made ? 0 : 2);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) != 2) << "step " << last;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  std::optional<HostLink> find(int network_namespace, const std::string& name) const {
    const auto links = read_links(network_namespace);
    for (const HostLink& link : links.value())
      if (link.name == name) return link;
    return std::nullopt;
  }
  void in_pod(const std::string& command) const {
    const std::string whole = "nsenter -t " + std::to_string(pod.process()) + " -n ip " + command;
    ASSERT_EQ(std::system(whole.c_str()), 0) << whole;
  }
  cni::Record record() const { return record_of(order()); }
  static cni::Record record_of(const NativeOrder& order) {
    cni::Record out{.config = native_config(order.network, "ens1v0"),
                    .network = "network",
                    .attachment = {.interface = "net1"},
                    .host_interface = cni::HostInterface{.name = "ens1v0"}};
    record_host_interface(out);
    return out;
  }

  const fixture::OtherNamespace pod;
};

// With ticks of 4 ms the kernel shows 1004 for 1001. Red when such a pod never starts.
TEST_F(NetnsNative, AcceptsATimeThatTheKernelRounds) {
  NativeOrder wanted = order();
  for (const char* family : {"ipv4", "ipv6"})
    for (const auto& [name, value] :
         {std::pair("base_reachable_time_ms", "1001"), std::pair("retrans_time_ms", "11")})
      wanted.network.sysctls.push_back({"net." + std::string(family) + ".neigh.IFNAME." + name, value});
  const auto made = attach_native(wanted);
  EXPECT_TRUE(made.ok()) << made.error().what;
}

TEST_F(NetnsNative, MovesTheInterfaceAndReturnsIt) {
  cni::Record kept = record();
  const auto made = attach_native(order());
  ASSERT_TRUE(made.ok()) << made.error().what;
  EXPECT_EQ(made->interfaces.at(0).mac, "02:00:00:00:00:0a");
  EXPECT_EQ(made->ips.size(), 2u);
  EXPECT_FALSE(find(kOwnNamespace, "ens1v0"));
  const auto link = find(pod.fd(), "net1");
  ASSERT_TRUE(link.has_value());
  EXPECT_TRUE(link->is_up);
  EXPECT_EQ(link->mtu, 1400);
  EXPECT_EQ(link->mac, "02:00:00:00:00:0a");
  const auto addresses = read_link_addresses(pod.fd());
  for (const char* address : {"192.0.2.5/24", "2001:db8::5/64"})
    EXPECT_EQ(std::count(addresses->begin(), addresses->end(), LinkAddress{link->ifindex, address}), 1)
        << address;
  const auto routes = read_routes(pod.fd());
  EXPECT_EQ(std::count(routes->begin(), routes->end(), LinkRoute{link->ifindex, "0.0.0.0/0", "192.0.2.1", 0}),
            1);
  EXPECT_EQ(std::count(routes->begin(), routes->end(), LinkRoute{link->ifindex, "198.51.100.0/24", "", 7}),
            1);
  EXPECT_EQ(std::count(routes->begin(), routes->end(), LinkRoute{link->ifindex, "::/0", "fe80::1", 1024}), 1);
  record_moved_interface(kept, pod.fd());
  EXPECT_EQ(kept.host_interface->ifindex_in_pod, link->ifindex) << "it is found whatever its pod calls it";
  in_pod("link set net1 down");
  in_pod("link set net1 name hidden");
  ASSERT_TRUE(restore_names_in_sandbox(kept, pod.fd()).ok());
  ASSERT_TRUE(bring_interface_back(kept, pod.fd()).ok());
  const auto back = find(kOwnNamespace, "ens1v0");
  ASSERT_TRUE(back.has_value());
  EXPECT_FALSE(back->is_up);
  EXPECT_TRUE(bring_interface_back(kept, pod.fd()).ok()) << "nothing is left to do";
}

// As clouds assign addresses: the gateway is on no subnet of the interface. Red when what check_native_network() accepts is refused by the kernel.
TEST_F(NetnsNative, ReachesAGatewayByALinkRoute) {
  NativeOrder cloud = order();
  cloud.network.addresses = {"192.0.2.5/32", "2001:db8::5/128"};
  cloud.network.routes = {{"0.0.0.0/0", "192.0.2.1", 200},
                          {"192.0.2.1/32", ""},
                          {"::/0", "2001:db8::1"},
                          {"2001:db8::1/128", ""},
                          {"198.51.100.0/24", "192.0.2.1", 0, 100},
                          {"203.0.113.1/32", "", 0, 100},
                          {"0.0.0.0/0", "203.0.113.1", 0, 100}};
  ASSERT_TRUE(check_native_network(cloud.network, "network").ok());
  const cni::Record kept = record_of(cloud);
  const auto made = attach_native(cloud);
  ASSERT_TRUE(made.ok()) << made.error().what;
  const auto link = find(pod.fd(), "net1");
  const auto routes = read_routes(pod.fd());
  for (const LinkRoute& route : {LinkRoute{link->ifindex, "0.0.0.0/0", "192.0.2.1", 200},
                                 LinkRoute{link->ifindex, "192.0.2.1/32", "", 0},
                                 LinkRoute{link->ifindex, "::/0", "2001:db8::1", 1024},
                                 LinkRoute{link->ifindex, "0.0.0.0/0", "203.0.113.1", 0, 100}})
    EXPECT_EQ(std::count(routes->begin(), routes->end(), route), 1)
        << route.destination << " via " << route.gateway;
  ASSERT_TRUE(bring_interface_back(kept, pod.fd()).ok());

  // The kernel does not look into another table.
  cloud.network.routes = {{"203.0.113.1/32", "", 0, 100}, {"0.0.0.0/0", "203.0.113.1"}};
  EXPECT_FALSE(check_native_network(cloud.network, "network").ok());
  EXPECT_FALSE(attach_native(cloud).ok());
  ASSERT_TRUE(bring_interface_back(kept, pod.fd()).ok());
}

// The host's own namespace, or a file that is none: nothing is touched.
TEST_F(NetnsNative, DoesNothingInTheHostsNamespace) {
  const HostLink before = *find(kOwnNamespace, "ens1v0");
  NativeOrder wrong = order();
  for (const std::string& other : {std::string("/proc/self/ns/net"), std::string("/proc/self/ns/mnt"),
                                   std::string("/dev/null"), std::string("/nowhere")}) {
    wrong.network_namespace = other;
    EXPECT_FALSE(attach_native(wrong).ok()) << other;
    EXPECT_EQ(find(kOwnNamespace, "ens1v0"), before) << other;
  }
}

TEST_F(NetnsNative, RefusesAnExistingNameBeforeTheMove) {
  in_pod("link add net1 type dummy || nsenter -t " + std::to_string(pod.process()) +
         " -n ip link add net1 type veth peer name other");
  const HostLink before = *find(kOwnNamespace, "ens1v0");
  const auto made = attach_native(order());
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Errc::kConflict);
  EXPECT_NE(made.error().what.find("set another ifName"), std::string::npos) << made.error().what;
  EXPECT_EQ(find(kOwnNamespace, "ens1v0"), before);
}

// Red when an interface reaches the pod's network without the settings that its VF is to have there.
TEST_F(NetnsNative, SetsTheVfBeforeTheMove) {
  sample::FakePf pf;
  std::vector<bool> is_on_host;  // at each write to the PF
  NativeKernel kernel{
      .find_vf = [](const std::string&) { return Result<VfOfInterface>(sample::kVfOfFakePf); },
      .vf_settings = pf.kernel()};
  kernel.vf_settings.send = [&, send = pf.kernel().send](const std::string& request) {
    is_on_host.push_back(find(kOwnNamespace, "ens1v0").has_value());
    return send(request);
  };
  NativeOrder with_vf = order();
  with_vf.network.vf = {.vlan = 100, .trust = true};
  const HostLink before = *find(kOwnNamespace, "ens1v0");
  pf.refused = {IFLA_VF_TRUST};
  const auto refused = attach_native(with_vf, kernel);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().what.find("network: VF 3 of its PF: trust is off, expected on"),
            std::string::npos)
      << refused.error().what;
  EXPECT_EQ(find(kOwnNamespace, "ens1v0"), before);
  EXPECT_FALSE(find(pod.fd(), "net1").has_value());
  pf.refused.clear();
  const auto made = attach_native(with_vf, kernel);
  ASSERT_TRUE(made.ok()) << made.error().what;
  EXPECT_EQ(pf.vf.vlan, 100);
  EXPECT_EQ(pf.vf.trust, true);
  EXPECT_TRUE(std::ranges::all_of(is_on_host, [](bool is) { return is; }));
  EXPECT_TRUE(find(pod.fd(), "net1").has_value());
}

// Red when the ports of a host's bridge are cut off by a pod that cannot have the bridge.
TEST_F(NetnsNative, LeavesAnImmovableInterfaceUnchanged) {
  ip("link add br9 address 02:00:00:00:00:99 mtu 1500 type bridge");
  ip("link set br9 up");
  NativeOrder bridge = order();
  bridge.host_interface = "br9";
  const HostLink before = *find(kOwnNamespace, "br9");
  const auto made = attach_native(bridge);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(find(kOwnNamespace, "br9"), before) << made.error().what;
  ip("link del br9");
}

// udev gives a VF its path name as an alternative one, which a claim may choose.
TEST_F(NetnsNative, AcceptsAnAlternativeNameOfTheInterface) {
  ip("link property add dev ens1v0 altname enp1s0v0");
  NativeOrder by_path = order();
  by_path.interface = "enp1s0v0";
  const auto made = attach_native(by_path);
  ASSERT_TRUE(made.ok()) << made.error().what;
  EXPECT_TRUE(find(pod.fd(), "enp1s0v0")->is_up);
}

TEST_F(NetnsNative, SetsRulesNeighborsAndSysctlsAndRemovesTheRules) {
  const NativeOrder full = full_order();
  const cni::Record kept = record_of(full);
  in_pod("rule add from 10.9.0.0/16 table 100 priority 200");  // another program's
  const auto made = attach_native(full);
  ASSERT_TRUE(made.ok()) << made.error().what;
  const auto link = find(pod.fd(), "net1");
  ASSERT_TRUE(link.has_value());
  const auto rules = read_rules(pod.fd());
  ASSERT_TRUE(rules.ok()) << rules.error().what;
  const auto ours = [](const auto& all) {
    return std::count_if(all->begin(), all->end(), [](const NetworkRule& one) { return one.is_ours; });
  };
  EXPECT_EQ(ours(rules), 2);
  EXPECT_EQ(std::count(rules->begin(), rules->end(),
                       NetworkRule{"2001:db8::5/128", "2001:db8:9::/48", 1'000, 201, true}),
            1);
  const auto routes = read_routes(pod.fd());
  EXPECT_EQ(std::count(routes->begin(), routes->end(),
                       LinkRoute{link->ifindex, "203.0.113.0/24", "192.0.2.1", 5, 100}),
            1);
  const auto neighbors = read_neighbors(pod.fd());
  EXPECT_EQ(std::count(neighbors->begin(), neighbors->end(),
                       LinkNeighbor{link->ifindex, "2001:db8::1", "02:00:00:00:00:98"}),
            1);
  EXPECT_EQ(read_sysctl(pod.fd(), "net/ipv4/conf/net1/arp_ignore").value(), "2");
  EXPECT_EQ(read_sysctl(pod.fd(), "net/ipv4/neigh/net1/gc_stale_time").value(), "77");
  ASSERT_TRUE(bring_interface_back(kept, pod.fd()).ok());
  EXPECT_TRUE(find(kOwnNamespace, "ens1v0").has_value());
  const auto left = read_rules(pod.fd());
  EXPECT_EQ(ours(left), 0);
  EXPECT_EQ(left->size(), rules->size() - 2) << "another program's rules stay";
  EXPECT_NE(read_sysctl(kOwnNamespace, "net/ipv4/conf/ens1v0/arp_ignore").value_or(""), "2");
  EXPECT_TRUE(bring_interface_back(kept, pod.fd()).ok()) << "nothing is left to do";
}

// The same rule but for its protocol number.
TEST_F(NetnsNative, KeepsRulesOfOtherPrograms) {
  NativeOrder with_rule = order();
  with_rule.network.rules = {{"192.0.2.5/32", "", 100, 200}};
  in_pod("rule add from 192.0.2.5 table 100 priority 200");
  const NetworkRule others{"192.0.2.5/32", "", 100, 200, false};
  const auto count = [&] {
    const auto rules = read_rules(pod.fd());
    return std::count(rules->begin(), rules->end(), others);
  };
  ASSERT_EQ(count(), 1);
  (void)attach_native(with_rule);  // kernels that compare all but the protocol refuse it
  const cni::Record kept = record_of(with_rule);
  ASSERT_TRUE(bring_interface_back(kept, pod.fd()).ok());
  EXPECT_EQ(count(), 1);
  const auto rules = read_rules(pod.fd());
  EXPECT_TRUE(std::none_of(rules->begin(), rules->end(), [](const NetworkRule& one) { return one.is_ours; }));
}

// The helper may be killed anywhere: its record undoes it, and the next sandbox has everything.
TEST_F(NetnsNative, TheRecordUndoesAnyInterruptedStep) {
  const NativeOrder full = full_order();
  const cni::Record kept = record_of(full);
  const HostLink before = *find(kOwnNamespace, "ens1v0");
  int steps = 1;
  for (;; ++steps) {
    const bool is_whole = attach_until(full, steps);
    ASSERT_TRUE(restore_names_in_sandbox(kept, pod.fd()).ok()) << steps;
    ASSERT_TRUE(bring_interface_back(kept, pod.fd()).ok()) << steps;
    const auto back = find(kOwnNamespace, "ens1v0");
    ASSERT_TRUE(back.has_value()) << steps;
    EXPECT_FALSE(find(pod.fd(), "net1").has_value()) << steps;
    const auto rules = read_rules(pod.fd());
    EXPECT_TRUE(std::none_of(rules->begin(), rules->end(), [](const NetworkRule& one) {
      return one.is_ours;
    })) << steps;
    // What the release of the claim restores (kubelet/link_settings.h).
    ASSERT_TRUE(change_link(kOwnNamespace, back->ifindex, {.mac = before.mac, .mtu = before.mtu}).ok());
    if (is_whole) break;
  }
  EXPECT_GE(steps, 15) << "sysctls, MTU, MAC address, move, up, and each address, route, rule and neighbor";
}

TEST_F(NetnsNative, WaitsForDuplicateAddressDetection) {
  NativeOrder waits = order();
  waits.network = {.addresses = {"2001:db8::5/64", "192.0.2.5/24"}, .routes = {}};
  waits.network.dad = "wait";
  waits.network.sysctls = {{"net.ipv6.conf.IFNAME.router_solicitation_delay", "0"},
                           {"net.ipv6.neigh.IFNAME.retrans_time_ms", "20"}};
  const cni::Record kept = record_of(waits);
  auto made = attach_native(waits);
  ASSERT_TRUE(made.ok()) << made.error().what;
  const auto link = find(pod.fd(), "net1");
  const auto addresses = read_link_addresses(pod.fd());
  EXPECT_EQ(std::count(addresses->begin(), addresses->end(), LinkAddress{link->ifindex, "2001:db8::5/64"}), 1)
      << "no longer tentative";
  ASSERT_TRUE(bring_interface_back(kept, pod.fd()).ok());

  ip("-6 addr add 2001:db8::5/64 dev far nodad");
  made = attach_native(waits);
  ASSERT_FALSE(made.ok()) << "the other end of the link has it";
  EXPECT_NE(made.error().what.find("another station on the network has 2001:db8::5/64"), std::string::npos)
      << made.error().what;
  ASSERT_TRUE(bring_interface_back(kept, pod.fd()).ok());

  ip("link set far down");
  waits.time_ms = 150;
  made = attach_native(waits);
  ASSERT_FALSE(made.ok()) << "without a carrier nothing is detected";
  EXPECT_EQ(made.error().code, Errc::kTimeout);
  EXPECT_NE(made.error().what.find("is still tentative after 150 ms"), std::string::npos)
      << made.error().what;
}

// RDMA devices of a node in exclusive mode, each in one network namespace: number, name, and whether the pod has it.
struct FakeRdma {
  struct Device {
    RdmaDevice device;
    bool is_pods = false;
    std::string function = {};
  };
  std::vector<Device> devices;
  bool is_exclusive = true;
  RdmaKernel kernel() {
    const auto find = [this](uint32_t index) -> Device& {
      return *std::ranges::find_if(devices, [&](const Device& one) { return one.device.index == index; });
    };
    return {.is_exclusive = [this]() -> Result<bool> { return is_exclusive; },
            .read = [this](int network_namespace) -> Result<std::vector<RdmaDevice>> {
              std::vector<RdmaDevice> out;
              for (const Device& one : devices)
                if (one.is_pods == (network_namespace != kOwnNamespace)) out.push_back(one.device);
              return out;
            },
            .move = [find](int network_namespace, uint32_t index, int to) -> Result<Unit> {
              EXPECT_GE(to, 0);
              find(index).is_pods = network_namespace == kOwnNamespace;
              return Unit{};
            },
            .rename = [find](int, uint32_t index, const std::string& name) -> Result<Unit> {
              find(index).device.name = name;
              return Unit{};
            },
            .function_of = [this](const std::string& name) -> std::string {
              for (const Device& one : devices)
                if (one.device.name == name && !one.is_pods) return one.function;
              return "";
            }};
  }
};

TEST_F(NetnsNative, MovesAndReturnsTheRdmaDevice) {
  const cni::Record plain = record();  // brings the interface alone back
  FakeRdma rdma{.devices = {{{3, "mlx5_0"}}, {{4, "mlx5_1"}}}};
  NativeKernel kernel = running_native_kernel();
  kernel.rdma = rdma.kernel();
  NativeOrder with_rdma = order();
  with_rdma.network.rdma = "move", with_rdma.rdma_device = "mlx5_1";
  cni::Record kept = record_of(with_rdma);
  kept.config = native_config(with_rdma.network, "ens1v0", "", "mlx5_1");
  kept.attachment.container_id = "sandbox";
  record_rdma_index(kept, kernel.rdma);
  EXPECT_EQ(kept.host_interface->rdma_index, 4);
  EXPECT_EQ(cni::decode_record(cni::encode_record(kept)).value(), kept);
  rdma.is_exclusive = false;
  const auto refused = attach_native(with_rdma, kernel);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().what.find("rdma system set netns exclusive"), std::string::npos)
      << refused.error().what;
  ASSERT_TRUE(bring_interface_back(plain, pod.fd()).ok());

  rdma.is_exclusive = true;
  const auto made = attach_native(with_rdma, kernel);
  ASSERT_TRUE(made.ok()) << made.error().what;
  EXPECT_FALSE(rdma.devices[0].is_pods);
  EXPECT_TRUE(rdma.devices[1].is_pods);
  rdma.devices[1].device.name = "hidden";  // by the pod
  ASSERT_TRUE(undo_native(kept, pod.fd(), kernel.rdma).ok());
  EXPECT_FALSE(rdma.devices[1].is_pods);
  EXPECT_EQ(rdma.devices[1].device.name, "mlx5_1");
  EXPECT_TRUE(undo_native(kept, pod.fd(), kernel.rdma).ok()) << "nothing is left to do";
}

// Networks of one pod are attached at the same time. Red when one that has a rule of another one refuses the pod.
TEST_F(NetnsNative, AcceptsTheSameRuleOfTwoNetworksOfAPod) {
  NativeOrder wanted = order();
  wanted.network.rules = {{"192.0.2.5/32", "", 100, 200}};
  NativeKernel kernel = running_native_kernel();
  int rules = 0;
  kernel.before_change = [&](std::string_view step) {
    if (step != "rule") return;
    ++rules;
    const NetworkRule same{.source = "192.0.2.5/32", .destination = "", .table = 100, .priority = 200};
    EXPECT_TRUE(add_rule(pod.fd(), same).ok());
  };
  const auto made = attach_native(wanted, kernel);
  EXPECT_TRUE(made.ok()) << made.error().what;
  EXPECT_EQ(rules, 1);
}

// VFs that were made again after the claim was prepared have the next free names. Red when a pod gets the RDMA device of another claim.
TEST_F(NetnsNative, DoesNotMoveTheRdmaDeviceOfAnotherFunction) {
  FakeRdma rdma{.devices = {{{3, "mlx5_1"}, false, "0000:03:00.3"}, {{4, "mlx5_2"}, false, "0000:03:00.2"}}};
  NativeKernel kernel = running_native_kernel();
  kernel.rdma = rdma.kernel();
  NativeOrder with_rdma = order();
  with_rdma.pci = "0000:03:00.2";
  with_rdma.network.rdma = "move", with_rdma.rdma_device = "mlx5_1";
  const auto refused = attach_native(with_rdma, kernel);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(
      refused.error().what,
      "network.rdma: RDMA device \"mlx5_1\" belongs to 0000:03:00.3 now, and the claim has 0000:03:00.2: "
      "delete the pod and its claim, so that the device is prepared again");
  for (const FakeRdma::Device& one : rdma.devices) EXPECT_FALSE(one.is_pods);
}

// Red when a scalable function's claim takes the RDMA device of its PF or of another one, or the PF's claim
// that of a scalable function.
TEST_F(NetnsNative, DistinguishesRdmaOfAScalableFunctionFromItsPfs) {
  const std::string pf = "0000:03:00.0", sf88 = pf + "/sf88", sf99 = pf + "/sf99";
  FakeRdma rdma{
      .devices = {{{3, "mlx5_0"}, false, pf}, {{4, "mlx5_4"}, false, sf88}, {{5, "mlx5_5"}, false, sf99}}};
  NativeKernel kernel = running_native_kernel();
  kernel.rdma = rdma.kernel();
  NativeOrder wanted = order();
  wanted.network.rdma = "move", wanted.scalable_function = sf88;
  kernel.hardware_of_interface = [&](const std::string&) { return sf88; };
  for (const char* others : {"mlx5_0", "mlx5_5"}) {
    wanted.rdma_device = others;
    const auto refused = attach_native(wanted, kernel);
    ASSERT_FALSE(refused.ok()) << others;
    EXPECT_NE(refused.error().what.find("the claim has 0000:03:00.0/sf88"), std::string::npos)
        << refused.error().what;
  }
  NativeOrder of_pf = wanted;
  of_pf.pci = pf, of_pf.scalable_function = "", of_pf.rdma_device = "mlx5_4";
  const auto refused = attach_native(of_pf, kernel);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().what.find("\"mlx5_4\" belongs to 0000:03:00.0/sf88 now"), std::string::npos)
      << refused.error().what;
  for (const FakeRdma::Device& one : rdma.devices) EXPECT_FALSE(one.is_pods);

  wanted.rdma_device = "mlx5_4";
  const auto made = attach_native(wanted, kernel);
  ASSERT_TRUE(made.ok()) << made.error().what;
  EXPECT_TRUE(rdma.devices[1].is_pods);
}

// Red when an interface is moved that got the name of the claim's after it was prepared.
TEST_F(NetnsNative, DoesNotMoveTheInterfaceOfOtherHardware) {
  const HostLink before = *find(kOwnNamespace, "ens1v0");
  NativeKernel kernel = running_native_kernel();
  NativeOrder wanted = order();
  wanted.scalable_function = "0000:03:00.0/sf88";
  for (const std::string owner : {"0000:03:00.0/sf99", "0000:03:00.0", ""}) {
    kernel.hardware_of_interface = [&](const std::string&) { return owner; };
    const auto refused = attach_native(wanted, kernel);
    ASSERT_FALSE(refused.ok()) << owner;
    EXPECT_EQ(find(kOwnNamespace, "ens1v0"), before) << owner;
  }
  EXPECT_EQ(decode_native_order(encode_native_order(wanted)).value(), wanted);
}

// What is made on an interface of the host, of a device that several pods use.
struct NetnsNativeMade : NetnsNative {
  NetnsNativeMade() {
    ip("link set ens1v0 up");
    ip("link add br7 type bridge");
    ip("link set br7 up");
  }
  ~NetnsNativeMade() override { (void)!std::system("ip link del br7 2>/dev/null"); }

  static NativeNetwork network(const std::string& type) {
    NativeNetwork out{.addresses = {"192.0.2.5/24", "2001:db8::5/64"},
                      .routes = {{"0.0.0.0/0", "192.0.2.1", 0}}};
    out.rules = {{"192.0.2.5/32", "", 100, 200}};
    out.type = type;
    return out;
  }
  static cni::Record record_for(const NativeNetwork& network, const std::string& parent) {
    return {.config = native_config(network, parent),
            .network = "network",
            .attachment = {.container_id = "sandbox", .interface = "net1"}};
  }
  // As run_native() has it.
  NativeOrder order_for(const cni::Record& record) const {
    cni::Attachment attachment = record.attachment;
    attachment.network_namespace = path();
    return native_order(cni::decode_network(record.config, record.network).value(), attachment,
                        Millis{10'000})
        .value();
  }
  static std::vector<std::string> names(int network_namespace) {
    std::vector<std::string> out;
    const auto links = read_links(network_namespace);
    for (const HostLink& link : links.value()) out.push_back(link.name);
    return out;
  }
  bool has_our_rules() const {
    const auto rules = read_rules(pod.fd());
    return std::ranges::any_of(*rules, [](const NetworkRule& one) { return one.is_ours; });
  }
  std::string refused(const NativeNetwork& network, const std::string& parent) const {
    const auto made = attach_native(order_for(record_for(network, parent)));
    EXPECT_FALSE(made.ok());
    return made ? "" : made.error().what;
  }
};

TEST_F(NetnsNativeMade, CreatesAMacvlanAndKeepsItsParent) {
  NativeNetwork wanted = network("macvlan");
  wanted.mtu = 1400, wanted.mode = "private", wanted.mac = "02:00:00:00:00:0b";
  cni::Record kept = record_for(wanted, "ens1v0");
  const auto before = names(kOwnNamespace);
  const HostLink parent = *find(kOwnNamespace, "ens1v0");
  const auto made = attach_native(order_for(kept));
  ASSERT_TRUE(made.ok()) << made.error().what;
  EXPECT_EQ(made->interfaces.at(0).mac, "02:00:00:00:00:0b");
  const auto link = find(pod.fd(), "net1");
  ASSERT_TRUE(link.has_value());
  EXPECT_EQ(link->kind, "macvlan");
  EXPECT_EQ(link->mtu, 1400);
  EXPECT_TRUE(link->is_up);
  EXPECT_EQ(names(kOwnNamespace), before) << "the host never has it";
  EXPECT_EQ(*find(kOwnNamespace, "ens1v0"), parent);
  record_moved_interface(kept, pod.fd());
  EXPECT_EQ(kept.made_ifindex, link->ifindex);
  EXPECT_EQ(cni::decode_record(cni::encode_record(kept)).value().made_ifindex, link->ifindex);
  in_pod("link set net1 down");
  in_pod("link set net1 name hidden group 0");
  in_pod("link add net1 type veth peer name other");  // the pod's own
  ASSERT_TRUE(restore_names_in_sandbox(kept, pod.fd()).ok());
  ASSERT_TRUE(bring_interface_back(kept, pod.fd()).ok());
  EXPECT_FALSE(find(pod.fd(), "hidden").has_value());
  EXPECT_TRUE(find(pod.fd(), "net1").has_value()) << "what the pod has made is its own";
  EXPECT_FALSE(has_our_rules());
  EXPECT_EQ(*find(kOwnNamespace, "ens1v0"), parent);
  EXPECT_TRUE(bring_interface_back(kept, pod.fd()).ok()) << "nothing is left to do";
}

TEST_F(NetnsNativeMade, CreatesAPortOfABridge) {
  ip("link set br7 mtu 1450");
  cni::Record kept = record_for(network("bridgePort"), "br7");
  const auto before = names(kOwnNamespace);
  const auto made = attach_native(order_for(kept));
  ASSERT_TRUE(made.ok()) << made.error().what;
  const auto link = find(pod.fd(), "net1");
  ASSERT_TRUE(link.has_value());
  EXPECT_EQ(link->kind, "veth");
  EXPECT_EQ(link->mtu, 1450);
  const auto port = find(kOwnNamespace, order_for(kept).host_end);
  ASSERT_TRUE(port.has_value());
  EXPECT_TRUE(port->is_up);
  EXPECT_EQ(port->mtu, 1450);
  EXPECT_EQ(std::system(("ip link show master br7 | grep -q " + port->name).c_str()), 0);
  const auto addresses = read_link_addresses(kOwnNamespace);
  EXPECT_TRUE(std::ranges::none_of(*addresses, [&](const LinkAddress& one) {
    return one.ifindex == port->ifindex;
  })) << "the host has no address on the port";
  record_moved_interface(kept, pod.fd());
  ASSERT_TRUE(bring_interface_back(kept, pod.fd()).ok());
  EXPECT_EQ(names(kOwnNamespace), before);
  EXPECT_FALSE(find(pod.fd(), "net1").has_value());
}

TEST_F(NetnsNativeMade, TheRecordUndoesAnyInterruptedStep) {
  for (const auto& [type, parent] : {std::pair("macvlan", "ens1v0"), std::pair("bridgePort", "br7")}) {
    const cni::Record kept = record_for(network(type), parent);
    const auto before = names(kOwnNamespace), of_pod = names(pod.fd());
    int steps = 1;
    for (;; ++steps) {
      const bool is_whole = attach_until(order_for(kept), steps);
      ASSERT_TRUE(bring_interface_back(kept, pod.fd()).ok()) << type << steps;
      EXPECT_EQ(names(kOwnNamespace), before) << type << steps;
      EXPECT_EQ(names(pod.fd()), of_pod) << type << steps;
      EXPECT_FALSE(has_our_rules()) << type << steps;
      if (is_whole) break;
    }
    EXPECT_GE(steps, 7) << type;
  }
}

TEST_F(NetnsNativeMade, RefusesForbiddenSettingsAndRemovesNothing) {
  in_pod("link add net1 type veth peer name other");
  const cni::Record kept = record_for(network("bridgePort"), "br7");
  EXPECT_NE(refused(network("bridgePort"), "br7").find("the pod has an interface \"net1\" already"),
            std::string::npos);
  ASSERT_TRUE(bring_interface_back(kept, pod.fd()).ok());
  EXPECT_TRUE(find(pod.fd(), "net1").has_value()) << "of the same name and kind, and not made by sliced";
  in_pod("link del net1");

  NativeNetwork large = network("macvlan");
  large.mtu = 9000;
  EXPECT_NE(refused(large, "ens1v0").find("network.mtu is 9000, and its MTU is 1500"), std::string::npos);
  NativeNetwork tagged = network("bridgePort");
  tagged.vf.vlan = 100;
  EXPECT_NE(refused(tagged, "br7").find("type bridge vlan_filtering 1"), std::string::npos);
  EXPECT_NE(refused(network("bridgePort"), "ens1v0").find("it is not a bridge"), std::string::npos);
  EXPECT_NE(refused(network("macvlan"), "gone").find("interface \"gone\" is not on the host"),
            std::string::npos);
  ip("link set ens1v0 promisc on");
  EXPECT_NE(refused(network("macvlan"), "ens1v0").find("it is in promiscuous mode"), std::string::npos);
  ip("link set ens1v0 promisc off");
  ip("link set ens1v0 down");
  EXPECT_NE(refused(network("macvlan"), "ens1v0").find("ip link set dev ens1v0 up"), std::string::npos);
  EXPECT_FALSE(find(pod.fd(), "net1").has_value());
}

// Of kernels with and without the module.
TEST_F(NetnsNativeMade, CreatesVlanAndIpvlanOrNamesTheModule) {
  NativeNetwork vlan = network("vlan");
  vlan.vf.vlan = 100;
  for (const auto& [wanted, module] : {std::pair(vlan, "8021q"), std::pair(network("ipvlan"), "ipvlan")}) {
    const cni::Record kept = record_for(wanted, "ens1v0");
    const auto made = attach_native(order_for(kept));
    if (made)
      EXPECT_EQ(find(pod.fd(), "net1")->kind, wanted.type);
    else
      EXPECT_NE(made.error().what.find("load module " + std::string(module)), std::string::npos)
          << made.error().what;
    ASSERT_TRUE(bring_interface_back(kept, pod.fd()).ok());
    EXPECT_FALSE(find(pod.fd(), "net1").has_value());
  }
}

// As a process that is killed leaves it: whichever step it came to, the record brings the interface back.
TEST_F(NetnsNative, UndoesAnInterruptedAttachFromTheRecord) {
  const cni::Record kept = record();
  in_pod("link add eth0 type veth peer name eth0far");
  in_pod("link set eth0 up");
  in_pod("addr add 192.0.9.2/24 dev eth0");
  in_pod("route add default via 192.0.9.1 dev eth0");
  const auto made = attach_native(order());
  ASSERT_FALSE(made.ok()) << "the pod has a default route";
  EXPECT_NE(made.error().what.find("another interface of the pod has this route"), std::string::npos)
      << made.error().what;
  EXPECT_TRUE(find(pod.fd(), "net1").has_value());
  ASSERT_TRUE(restore_names_in_sandbox(kept, pod.fd()).ok());
  ASSERT_TRUE(bring_interface_back(kept, pod.fd()).ok());
  EXPECT_TRUE(find(kOwnNamespace, "ens1v0").has_value());
  EXPECT_FALSE(find(pod.fd(), "net1").has_value());
}

}  // namespace
}  // namespace netns_native_interface_test
}  // namespace sliced::kubelet
