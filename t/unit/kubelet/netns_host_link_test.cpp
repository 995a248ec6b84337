// Real links in a network namespace of our own. Needs CAP_SYS_ADMIN, or user namespaces that an ordinary user may make.
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>

#include "kubelet/host_link.h"
#include "kubelet/link_settings.h"

namespace sliced::kubelet {
namespace netns_host_link_test {
namespace {

std::string enter_namespace() {
  const uid_t uid = ::getuid();
  const gid_t gid = ::getgid();
  if (uid != 0) {
    if (::unshare(CLONE_NEWUSER) != 0) return std::string("unshare(CLONE_NEWUSER): ") + std::strerror(errno);
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << "0 " << uid << " 1";
    std::ofstream("/proc/self/gid_map") << "0 " << gid << " 1";
  }
  if (::unshare(CLONE_NEWNET) != 0) return std::string("unshare(CLONE_NEWNET): ") + std::strerror(errno);
  return "";
}

void ip(const std::string& command) { ASSERT_EQ(std::system(("ip " + command).c_str()), 0) << command; }

Result<Unit> rename(const std::string& from, const std::string& to) {
  return change_link(kOwnNamespace, static_cast<int>(::if_nametoindex(from.c_str())),
                     {.name = to, .up = false});
}

// A VF whose pod's network namespace is gone comes back as net1, and udev gives it ens1v0 as an alternative name. Red when it cannot be
// ens1v0 any more (EEXIST).
TEST(NetnsHostLink, AnInterfaceGetsTheNameThatIsItsAlternativeOne) {
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
TEST(NetnsHostLink, AnInterfaceIsAsItWasBeforeWhateverAPodSetOfIt) {
  ip("link add ens1v0 type bridge");
  ip("link set ens1v0 alias 'for pods' txqueuelen 500 mtu 9000 address 02:00:00:00:00:01");
  ip("link property add dev ens1v0 altname lan");
  const int ifindex = static_cast<int>(::if_nametoindex("ens1v0"));
  const HostLink before = link_of(ifindex);
  EXPECT_EQ(before.alternative_names, std::vector<std::string>{"lan"});
  EXPECT_EQ(before.alias, "for pods");
  EXPECT_EQ(before.numbers.at("txqlen"), 500u);
  EXPECT_EQ(before.numbers.size(), 5u);
  const OriginalInterface original = original_interface(before);
  ip("link set ens1v0 name net1");
  ip("link property add dev net1 altname ens1v0 altname eth9");
  ip("link property del dev net1 altname lan");
  ip("link set net1 alias x txqueuelen 1 mtu 1400 group 7 gso_max_size 1500 gso_max_segs 1 promisc on allmulticast on");
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

// Red when another interface loses a name.
TEST(NetnsHostLink, ANameOfAnotherInterfaceIsNotTaken) {
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

}  // namespace
}  // namespace netns_host_link_test
}  // namespace sliced::kubelet

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (const std::string problem = sliced::kubelet::netns_host_link_test::enter_namespace();
      !problem.empty()) {
    std::cerr << "this test needs a network namespace of its own, which this machine refuses: " << problem
              << "\nrun it as root with CAP_SYS_ADMIN, or allow user namespaces to ordinary users\n";
    return 1;
  }
  return RUN_ALL_TESTS();
}
