// A network of a VfConfig, on real links between two network namespaces of our own.
#include <gtest/gtest.h>
#include <net/if.h>
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
    return {
        .network_namespace = path(),
        .interface = "net1",
        .pci = "",
        .host_interface = "ens1v0",
        .network = {
            .mtu = 1400,
            .mac = "02:00:00:00:00:0a",
            .addresses = {"192.0.2.5/24", "2001:db8::5/64"},
            .routes = {{"0.0.0.0/0", "192.0.2.1", 0}, {"198.51.100.0/24", "", 7}, {"::/0", "fe80::1", 0}}}};
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
  cni::Record record() const {
    cni::Record out{.config = native_config(order().network, "ens1v0"),
                    .network = "network",
                    .attachment = {.interface = "net1"},
                    .host_interface = cni::HostInterface{.name = "ens1v0"}};
    note_host_interface(out);
    return out;
  }

  const fixture::OtherNamespace pod;
};

TEST_F(NetnsNative, ThePodHasItsInterfaceAndTheHostGetsItBack) {
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
  note_moved_interface(kept, pod.fd());
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

// The host's own namespace, or a file that is none: nothing is touched.
TEST_F(NetnsNative, NothingIsDoneInTheHostsNamespace) {
  const HostLink before = *find(kOwnNamespace, "ens1v0");
  NativeOrder wrong = order();
  for (const std::string& other : {std::string("/proc/self/ns/net"), std::string("/proc/self/ns/mnt"),
                                   std::string("/dev/null"), std::string("/nowhere")}) {
    wrong.network_namespace = other;
    EXPECT_FALSE(attach_native(wrong).ok()) << other;
    EXPECT_EQ(find(kOwnNamespace, "ens1v0"), before) << other;
  }
}

TEST_F(NetnsNative, ANameThatThePodHasIsRefusedBeforeTheInterfaceMoves) {
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
TEST_F(NetnsNative, TheVfHasItsSettingsBeforeItsInterfaceMoves) {
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

// As a process that is killed leaves it: whichever step it came to, the record brings the interface back.
TEST_F(NetnsNative, WhatWasBegunIsUndoneFromTheRecord) {
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
