// Real links in a network namespace of our own. Needs CAP_SYS_ADMIN, or user namespaces that an ordinary user may make.
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "hotplug/default_routes.h"
#include "kubelet/host_link.h"
#include "kubelet/interfaces/host_interface.h"
#include "kubelet/link_settings.h"
#include "kubelet/network_namespace.h"
#include "t/fixture/own_namespace.h"

namespace sliced::kubelet {
namespace netns_host_link_test {
namespace {

void ip(const std::string& command) { ASSERT_EQ(std::system(("ip " + command).c_str()), 0) << command; }

Result<Unit> rename(const std::string& from, const std::string& to) {
  return change_link(kOwnNamespace, static_cast<int>(::if_nametoindex(from.c_str())),
                     {.name = to, .up = false});
}

// A VF whose pod's network namespace is gone comes back as net1, and udev gives it ens1v0 as an alternative name. Red when it cannot be
// ens1v0 any more (EEXIST).
TEST(NetnsHostLink, UsesAnAlternativeName) {
  ip("link add net1 type bridge");
  ip("link property add dev net1 altname ens1v0");
  ip("link property add dev net1 altname enp33s16v0");
  const auto renamed = rename("net1", "ens1v0");
  ASSERT_TRUE(renamed.ok()) << renamed.error().what;
  EXPECT_EQ(::if_nametoindex("net1"), 0u);
  EXPECT_EQ(::if_nametoindex("ens1v0"), ::if_nametoindex("enp33s16v0")) << "the other one stays";
  ip("link del ens1v0");
}

HostLink link_of(int ifindex) {
  const auto links = read_links(kOwnNamespace);
  for (const HostLink& link : links.value())
    if (link.ifindex == ifindex) return link;
  ADD_FAILURE() << "it is gone";
  return {};
}

// What a pod can set of an interface that was moved to it. Red when the kernel does not take our request, or we do not read its answer.
TEST(NetnsHostLink, RestoresAnInterfaceAfterAnyChangeOfAPod) {
  ip("link add ens1v0 type bridge");
  ip("link set ens1v0 alias 'for pods' txqueuelen 500 mtu 9000 address 02:00:00:00:00:01");
  ip("link property add dev ens1v0 altname lan");
  const int ifindex = static_cast<int>(::if_nametoindex("ens1v0"));
  const HostLink before = link_of(ifindex);
  EXPECT_EQ(before.alternative_names, std::vector<std::string>{"lan"});
  EXPECT_EQ(before.alias, "for pods");
  EXPECT_EQ(before.numbers.at("txqlen"), 500u);
  for (const char* name :
       {"group", "gso_max_size", "gso_max_segs", "gro_max_size", "mode", "arp", "multicast"})
    EXPECT_TRUE(before.numbers.contains(name)) << name;
  const OriginalInterface original = original_interface(before);
  ip("link set ens1v0 name net1");
  ip("link property add dev net1 altname ens1v0 altname eth9");
  ip("link property del dev net1 altname lan");
  ip("link set net1 alias x txqueuelen 1 mtu 1400 group 7 gso_max_size 1500 gso_max_segs 1 promisc on allmulticast on");
  ip("link set net1 arp off multicast off dynamic on trailers off mode dormant broadcast 02:00:00:00:06:67");
  if (before.numbers.contains("gso_ipv4_max_size")) {  // iproute2 6.1 has no word for it
    const auto set = change_link(kOwnNamespace, ifindex,
                                 {.numbers = {{"gso_ipv4_max_size", 3'000}, {"gro_ipv4_max_size", 4'000}}});
    ASSERT_TRUE(set.ok()) << set.error().what;
  }
  ip("link set net1 address 02:00:00:00:06:66 up");
  const LinkKernel kernel{
      [] { return read_links(kOwnNamespace); },
      [](int at, const LinkChange& change) { return change_link(kOwnNamespace, at, change); }};
  EXPECT_EQ(restore_name(kernel, link_of(ifindex), original), "");
  const auto restored = restore_link(kernel, link_of(ifindex), original, false);
  EXPECT_TRUE(restored.ok()) << restored.error().what;
  EXPECT_EQ(link_of(ifindex), before);
  ip("link del ens1v0");
}

// Pods that start at once, before the bridge has a port. Red when one takes for the bridge's MTU what another one has set for a moment.
TEST(NetnsHostLink, ABridgeKeepsItsMtuWhileManyPodsStart) {
  constexpr int kWorkers = 4, kPods = 200;
  // /sys shows the interfaces of the namespace in which it was mounted.
  ASSERT_EQ(::unshare(CLONE_NEWNS), 0);
  ASSERT_EQ(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
  ASSERT_EQ(::mount("none", "/sys", "sysfs", 0, nullptr), 0);
  ip("link add br0 mtu 9000 type bridge");
  ip("link set br0 up");
  std::vector<std::thread> workers;
  for (int i = 0; i < kWorkers; ++i)
    workers.emplace_back([] {
      for (int pod = 0; pod < kPods; ++pod) {
        cni::Record record{.config = R"({"cniVersion":"1.0.0","name":"net","type":"bridge","bridge":"br0"})",
                           .network = "net"};
        const auto kept = protect_bridge(record);
        EXPECT_TRUE(kept.ok()) << kept.error().what;
        EXPECT_NE(record.config.find("9000"), std::string::npos) << record.config;
      }
    });
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(link_of(static_cast<int>(::if_nametoindex("br0"))).mtu, 9'000);
  ip("link del br0");
  EXPECT_EQ(::umount2("/sys", MNT_DETACH), 0);
}

// Only some kinds of interfaces can be kept down by a program (change_proto_down), with a reason that has to end first.
TEST(NetnsHostLink, SetsAnInterfaceUpAgain) {
  ip("link add below type bridge");
  ip("link add link below name ens1v0 type macvlan mode bridge");
  const int ifindex = static_cast<int>(::if_nametoindex("ens1v0"));
  const HostLink before = link_of(ifindex);
  const OriginalInterface original = original_interface(before);
  ip("link set ens1v0 protodown on protodown_reason 3 on");
  ASSERT_NE(link_of(ifindex), before);
  const LinkKernel kernel{
      [] { return read_links(kOwnNamespace); },
      [](int at, const LinkChange& change) { return change_link(kOwnNamespace, at, change); }};
  const auto restored = restore_link(kernel, link_of(ifindex), original, false);
  EXPECT_TRUE(restored.ok()) << restored.error().what;
  EXPECT_EQ(link_of(ifindex), before);
  ip("link del ens1v0");
  ip("link del below");
}

// A pod with CAP_NET_ADMIN has made an interface on its own one, and another pod keeps its namespace open. Red when the former goes on receiving and
// sending by a device that the next claim has, or when the device goes with the pod's end of a pair.
TEST(NetnsHostLink, RemovesWhatAPodCreatedOnItsInterface) {
  for (const bool is_before_del : {false, true}) {
    const fixture::OtherNamespace pod;
    const std::string process = std::to_string(pod.process());
    ip("link add ens1v0 type veth peer name far");
    cni::Record record{.config = R"({"cniVersion":"1.0.0","name":"net","type":"host-device"})",
                       .network = "net",
                       .attachment = {.interface = "net1"},
                       .host_interface = cni::HostInterface{.name = "ens1v0"}};
    record_host_interface(record);
    ip("link set ens1v0 name net1 netns " + process);
    ip("link set far netns " + process);
    record_moved_interface(record, pod.fd());
    const std::string in_pod = "nsenter -t " + process + " -n ip ";
    ASSERT_EQ(std::system((in_pod + "link add link net1 name hidden type macvlan mode private").c_str()), 0);
    ASSERT_EQ(std::system((in_pod + "link add link net1 name more type macvlan mode private").c_str()), 0);
    ASSERT_EQ(std::system((in_pod + "link set far group 29549").c_str()), 0);  // the first that would be used
    const auto names = [&](int network_namespace) {
      std::vector<std::string> out;
      const auto links = read_links(network_namespace);
      for (const HostLink& link : links.value())
        if (link.kind == "veth" || link.kind == "macvlan") out.push_back(link.name);
      std::sort(out.begin(), out.end());
      return out;
    };
    ASSERT_EQ(names(pod.fd()), (std::vector<std::string>{"far", "hidden", "more", "net1"}));
    if (is_before_del) {
      const auto named = restore_names_in_sandbox(record, pod.fd());
      ASSERT_TRUE(named.ok()) << named.error().what;
      EXPECT_EQ(names(pod.fd()), (std::vector<std::string>{"far", "net1"}));
    }
    const auto back = bring_interface_back(record, pod.fd());
    ASSERT_TRUE(back.ok()) << back.error().what;
    EXPECT_EQ(names(pod.fd()), std::vector<std::string>{"far"});
    EXPECT_EQ(names(kOwnNamespace), std::vector<std::string>{"ens1v0"});
    ip("link del ens1v0");
  }
}

// A pod with CAP_NET_ADMIN has renamed its interface, and given that one's name, or an alternative one of it, to interfaces of its own.
// Red when a plugin that goes by the names would move one of these, or call any on the host as the pod wants it.
TEST(NetnsHostLink, RestoresNamesInASandboxBeforeDel) {
  const fixture::OtherNamespace pod;
  ASSERT_GE(pod.fd(), 0);
  const auto in_pod = [&](const std::string& command) {
    const std::string whole = "nsenter -t " + std::to_string(pod.process()) + " -n ip " + command;
    ASSERT_EQ(std::system(whole.c_str()), 0) << whole;
  };
  ip("link add ens1v0 type veth peer name far");
  cni::Record record{.config = R"({"cniVersion":"1.0.0","name":"net","type":"host-device"})",
                     .network = "net",
                     .attachment = {.interface = "net1"},
                     .host_interface = cni::HostInterface{.name = "ens1v0"}};
  record_host_interface(record);
  ip("link set ens1v0 name net1 netns " + std::to_string(pod.process()));
  record_moved_interface(record, pod.fd());
  ASSERT_NE(record.host_interface->ifindex_in_pod, 0);
  const auto find = [&](const std::string& name) -> std::optional<HostLink> {
    const auto links = read_links(pod.fd());
    for (const HostLink& link : links.value())
      if (link.name == name) return link;
    return std::nullopt;
  };
  const HostLink moved = *find("net1");
  const auto expect_own = [&] {
    const auto restored = restore_names_in_sandbox(record, pod.fd());
    ASSERT_TRUE(restored.ok()) << restored.error().what;
    const auto own = find("net1");
    ASSERT_TRUE(own.has_value());
    EXPECT_EQ(own->ifindex, moved.ifindex);
    EXPECT_EQ(own->alias, "ens1v0");
    EXPECT_EQ(own->alternative_names, std::vector<std::string>());
    const auto links = read_links(pod.fd());
    for (const HostLink& link : *links) {
      const auto& names = link.alternative_names;
      EXPECT_EQ(std::count(names.begin(), names.end(), "net1"), 0) << link.name;
    }
  };
  expect_own();
  in_pod("link set net1 name hidden");
  in_pod("link property add dev hidden altname eno7");
  in_pod("link add net1 type veth peer name other");
  in_pod("link set net1 alias docker0 up");
  expect_own();
  in_pod("link set net1 name hidden");
  in_pod("link property add dev other altname net1");
  in_pod("link set hidden alias cni0 up");
  expect_own();
  in_pod("link set net1 name hidden");
  in_pod("link property add dev hidden altname net1");
  expect_own();
  // Of a macvlan, which is deleted, nothing is renamed.
  record.config = R"({"cniVersion":"1.0.0","name":"net","type":"macvlan"})";
  in_pod("link set net1 name hidden");
  EXPECT_TRUE(restore_names_in_sandbox(record, pod.fd()).ok());
  EXPECT_FALSE(find("net1").has_value());
  // Without the device's interface no other one is moved, either.
  record.config = R"({"cniVersion":"1.0.0","name":"net","type":"sriov"})";
  in_pod("link del hidden");
  in_pod("link add net1 index 4000 type veth peer name more");  // no number of one that is gone
  EXPECT_TRUE(restore_names_in_sandbox(record, pod.fd()).ok());
  EXPECT_FALSE(find("net1").has_value());
}

TEST(NetnsHostLink, TheKernelReportsImmovableInterfaces) {
  ip("link add fixed0 type bridge");
  ip("link add free0 type veth peer name free1");
  const bool is_reported = hotplug::query_link_properties(static_cast<int>(::if_nametoindex("fixed0")))
                               ->is_netns_immutable.has_value();  // since Linux 6.15
  const auto links = read_links(kOwnNamespace);
  ASSERT_TRUE(links.ok());
  for (const HostLink& link : *links) {
    if (link.name == "fixed0") {
      EXPECT_EQ(link.is_netns_immutable, is_reported);
    }
    if (link.name == "free0") {
      EXPECT_FALSE(link.is_netns_immutable);
    }
  }
  ip("link del fixed0");
  ip("link del free0");
}

// Red when another interface loses a name.
TEST(NetnsHostLink, DoesNotTakeTheNameOfAnotherInterface) {
  ip("link add net1 type bridge");
  ip("link add other type bridge");
  ip("link property add dev other altname ens1v0");
  for (const char* taken : {"ens1v0", "other"}) {
    EXPECT_EQ(rename("net1", taken).error().code, Errc::kConflict) << taken;
    EXPECT_EQ(::if_nametoindex(taken), ::if_nametoindex("other")) << taken;
    EXPECT_NE(::if_nametoindex("net1"), 0u);
  }
  ip("link del net1");
  ip("link del other");
}

// Red when each request in a pod starts a thread, or when a call for another namespace is made in the one that the thread is in.
TEST(NetnsHostLink, ANestedCallEntersItsNamespace) {
  const fixture::OtherNamespace pod, other;
  const auto here = [] {
    struct stat file{};
    ::stat("/proc/thread-self/ns/net", &file);
    return std::pair(file.st_ino, ::gettid());
  };
  const auto host = here();
  EXPECT_EQ(in_namespace(pod.fd(),
                         [&] {
                           const auto outer = here();
                           EXPECT_NE(outer.first, host.first);
                           EXPECT_EQ(in_namespace(pod.fd(), [&] { EXPECT_EQ(here(), outer); }), 0);
                           EXPECT_EQ(in_namespace(other.fd(), [&] { EXPECT_NE(here().first, outer.first); }),
                                     0);
                           EXPECT_EQ(here(), outer);
                         }),
            0);
  EXPECT_EQ(here(), host);
}

}  // namespace
}  // namespace netns_host_link_test
}  // namespace sliced::kubelet

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (const std::string problem = sliced::fixture::enter_own_namespaces(); !problem.empty()) {
    std::cerr << sliced::fixture::refused_namespaces(problem);
    return 1;
  }
  return RUN_ALL_TESTS();
}
