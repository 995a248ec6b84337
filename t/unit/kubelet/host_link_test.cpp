// Interfaces of two network namespaces that are made for the test: a host's and a pod's. Needs CAP_SYS_ADMIN, or user namespaces that an
// ordinary user may make.
#include "kubelet/host_link.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <system_error>

#include "kubelet/netlink.h"
#include "reactor/descriptor.h"

namespace sliced::kubelet {
namespace host_link_test {
namespace {

std::string bytes_of(const void* from, size_t size) { return {static_cast<const char*>(from), size}; }

// "" it is made. The kernel names its peer.
std::string add_veth(int network_namespace, const std::string& name) {
  nlmsghdr header{};
  ifinfomsg info{};
  std::string attributes, kind;
  put_attribute(attributes, IFLA_IFNAME, name + '\0');
  put_attribute(kind, IFLA_INFO_KIND, "veth");
  put_attribute(attributes, IFLA_LINKINFO, kind);
  header.nlmsg_type = RTM_NEWLINK;
  header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
  header.nlmsg_len = static_cast<uint32_t>(sizeof header + sizeof info + attributes.size());
  const int error = send_link_request(
      network_namespace, bytes_of(&header, sizeof header) + bytes_of(&info, sizeof info) + attributes);
  return error == 0 ? "" : "add " + name + ": errno " + std::to_string(error);
}

bool has(int network_namespace, const std::string& name) {
  const auto links = read_links(network_namespace);
  return links &&
         std::any_of(links->begin(), links->end(), [&](const HostLink& one) { return one.name == name; });
}

// judge(pod) in a child whose own namespace is the host's; its text, "" well.
void in_namespaces(const std::function<std::string(int pod)>& judge) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto make = [](int more) { return ::unshare(CLONE_NEWNET | more) == 0; };
    std::string problem = "no network namespace can be made";
    if (make(::geteuid() == 0 ? 0 : CLONE_NEWUSER)) {
      const reactor::Descriptor pod(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
      if (make(0)) problem = judge(pod.get());
    }
    if (!problem.empty()) std::fprintf(stderr, "%s\n", problem.c_str());
    ::_exit(problem.empty() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << "it says why above";
}

// Red when an interface whose name on the host is taken counts as lost: the kernel has moved it before it refuses the name.
TEST(HostLink, ReturnsAnInterfaceUnderAnotherNameIfItsNameIsTaken) {
  for (const bool is_pods_name_taken : {false, true})
    in_namespaces([&](int pod) -> std::string {
      const MovedLink moved{.pci = "", .name = "ens1f0v0", .kind = "veth", .name_in_pod = "net1"};
      for (const std::string& problem :
           {add_veth(pod, "net1"), add_veth(kOwnNamespace, "ens1f0v0"),
            is_pods_name_taken ? add_veth(kOwnNamespace, "net1") : std::string()})
        if (!problem.empty()) return problem;
      const size_t before = read_links(kOwnNamespace).value().size();
      const auto back = move_link_back(pod, moved);
      if (!back) return back.error().what;
      if (!*back) return "it was not found";
      if (has(pod, "net1")) return "it is still in the pod";
      if (!has(kOwnNamespace, "net1")) return "its name is neither that on the host nor that in the pod";
      const size_t after = read_links(kOwnNamespace).value().size();
      return after == before + 1 ? "" : "the host has " + std::to_string(after) + " interfaces";
    });
}

TEST(HostLink, ReturnsAnInterfaceUnderItsName) {
  in_namespaces([&](int pod) -> std::string {
    const MovedLink moved{.pci = "", .name = "ens1f0v0", .kind = "veth", .name_in_pod = "net1"};
    if (std::string problem = add_veth(pod, "net1"); !problem.empty()) return problem;
    const auto back = move_link_back(pod, moved);
    if (!back || !*back) return "it is not moved";
    return has(kOwnNamespace, "ens1f0v0") && !has(pod, "net1") ? "" : "it is elsewhere";
  });
}

// Red when the daemon ends where the limit of its processes is reached.
// A pod could else give another interface the name of a virtio function's one, by which the DEL of host-device moves it to the host.
TEST(HostLink, FindsTheInterfaceOfAVirtioFunction) {
  const std::string sysfs = testing::TempDir() + "/virtio-sysfs";
  std::filesystem::remove_all(sysfs);
  std::filesystem::create_directories(sysfs + "/bus/virtio/devices");
  const auto add = [&](const std::string& name, const std::string& target) {
    std::filesystem::create_symlink(target, sysfs + "/bus/virtio/devices/" + name);
  };
  add("virtio2", "../../../devices/pci0000:00/0000:00:03.0/virtio2");
  add("virtio3", "../../../devices/platform/d0003000.virtio_mmio/virtio3");
  EXPECT_EQ(function_of_parent("virtio2", sysfs), "0000:00:03.0");
  EXPECT_EQ(function_of_parent("virtio3", sysfs), "virtio3") << "of no PCI function";
  EXPECT_EQ(function_of_parent("virtio4", sysfs), "virtio4") << "gone";
  EXPECT_EQ(function_of_parent("0000:03:00.2", sysfs), "0000:03:00.2");
  EXPECT_EQ(function_of_parent("", sysfs), "");
  std::filesystem::remove_all(sysfs);
  // Each interface of this host that /sys shows on a virtio function is read so.
  const auto links = read_links(kOwnNamespace);
  ASSERT_TRUE(links) << links.error().what;
  for (const HostLink& link : *links) {
    std::error_code error;
    const auto device = std::filesystem::canonical("/sys/class/net/" + link.name + "/device", error);
    const std::string function = device.parent_path().filename();
    if (error || !device.filename().string().starts_with("virtio") || function.find(':') == std::string::npos)
      continue;
    EXPECT_EQ(link.parent, function) << link.name;
    EXPECT_EQ(
        find_moved(*links, {.pci = function, .name = "was", .name_in_pod = "other", .ifindex_in_pod = 0}),
        &link);
  }
}

// It has no PCI address, and its parent is an auxiliary device.
TEST(HostLink, FindsTheInterfaceOfAScalableFunctionInThePod) {
  const std::vector<HostLink> links = {{.ifindex = 1, .name = "lo"},
                                       {.ifindex = 4, .name = "net1", .kind = "veth"},
                                       {.ifindex = 7, .name = "renamed", .parent = "mlx5_core.sf.4"},
                                       {.ifindex = 8, .name = "ens1v0", .parent = "0000:03:00.2"}};
  MovedLink moved{.pci = "", .name = "enp3s0f0s88", .kind = "", .name_in_pod = "net1", .ifindex_in_pod = 7};
  EXPECT_EQ(find_moved(links, moved), &links[2]);
  moved.ifindex_in_pod = 8;
  EXPECT_EQ(find_moved(links, moved), nullptr) << "of a PCI function, which is another device";
  moved.ifindex_in_pod = 0, moved.name_in_pod = "renamed";
  EXPECT_EQ(find_moved(links, moved), &links[2]);
}

TEST(HostLink, ReportsANamespaceWithoutAThread) {
  constexpr size_t kNoAddressSpaceHasIt = size_t{1} << 47;
  pthread_attr_t before, none;
  ASSERT_EQ(::pthread_getattr_default_np(&before), 0);
  ASSERT_EQ(::pthread_getattr_default_np(&none), 0);
  ASSERT_EQ(::pthread_attr_setstacksize(&none, kNoAddressSpaceHasIt), 0);
  ASSERT_EQ(::pthread_setattr_default_np(&none), 0);
  const reactor::Descriptor own(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  const auto links = read_links(own.get());
  EXPECT_EQ(::pthread_setattr_default_np(&before), 0);
  ASSERT_FALSE(links.ok());
  EXPECT_EQ(links.error().code, Errc::kTimeout);
  EXPECT_EQ(links.error().what, "enter the pod's network namespace: Resource temporarily unavailable");
  ::pthread_attr_destroy(&before), ::pthread_attr_destroy(&none);
}

}  // namespace
}  // namespace host_link_test
}  // namespace sliced::kubelet
