// Real links in a network namespace of our own: the kernel's notifications, its sysfs, worker threads and the
// loop together. Needs CAP_SYS_ADMIN, or user namespaces that an ordinary user may make.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <net/route.h>
#include <netlink/netlink.h>
#include <netlink/route/link.h>
#include <netlink/route/link/macvlan.h>
#include <netlink/route/link/veth.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>

#include "hotplug/default_routes.h"
#include "hotplug/host_source.h"
#include "hotplug/netlink_monitor.h"
#include "hotplug/udev_monitor.h"
#include "reactor/descriptor.h"
#include "reactor/thread_executor.h"
#include "t/fake/memory_log.h"
#include "t/fixture/loop_fixture.h"
#include "t/fixture/own_namespace.h"

namespace sliced::hotplug {
namespace {

std::string enter_namespaces() {
  if (const std::string why = fixture::enter_own_namespaces(CLONE_NEWNS); !why.empty()) return why;
  if (::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return std::string("mount /: ") + std::strerror(errno);
  if (::mount("sysfs", "/sys", "sysfs", 0, nullptr) != 0)
    return std::string("mount sysfs: ") + std::strerror(errno);
  return "";
}

// What `ip link` does.
class Links {
 public:
  Links() { nl_connect(socket_, NETLINK_ROUTE); }
  ~Links() { nl_socket_free(socket_); }

  void add(const char* kind, const std::string& name) {
    rtnl_link* link = rtnl_link_alloc();
    rtnl_link_set_type(link, kind);
    rtnl_link_set_name(link, name.c_str());
    check(rtnl_link_add(socket_, link, NLM_F_CREATE | NLM_F_EXCL), "add " + name);
    rtnl_link_put(link);
  }
  void add_veth(const std::string& name, const std::string& peer) {
    check(rtnl_link_veth_add(socket_, name.c_str(), peer.c_str(), ::getpid()), "add " + name);
  }
  void add_macvlan(const std::string& name, const std::string& lower) {
    rtnl_link* link = rtnl_link_macvlan_alloc();
    rtnl_link_set_name(link, name.c_str());
    rtnl_link_set_link(link, static_cast<int>(::if_nametoindex(lower.c_str())));
    check(rtnl_link_add(socket_, link, NLM_F_CREATE | NLM_F_EXCL), "add " + name);
    rtnl_link_put(link);
  }
  void rename(const std::string& from, const std::string& to) {
    change(from, [&](rtnl_link* link) { rtnl_link_set_name(link, to.c_str()); });
  }
  void up(const std::string& name) {
    change(name, [](rtnl_link* link) { rtnl_link_set_flags(link, IFF_UP); });
  }
  void enslave(const std::string& name, const std::string& master) {
    const int index = master.empty() ? 0 : static_cast<int>(::if_nametoindex(master.c_str()));
    change(name, [&](rtnl_link* link) { rtnl_link_set_master(link, index); });
  }
  void move(const std::string& name, int namespace_fd) {
    change(name, [&](rtnl_link* link) { rtnl_link_set_ns_fd(link, namespace_fd); });
  }
  void remove(const std::string& name) {
    rtnl_link* link = rtnl_link_alloc();
    rtnl_link_set_name(link, name.c_str());
    check(rtnl_link_delete(socket_, link), "delete " + name);
    rtnl_link_put(link);
  }
  void default_route(const std::string& name) {
    const reactor::Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    rtentry route{};
    route.rt_dst.sa_family = route.rt_genmask.sa_family = AF_INET;
    route.rt_flags = RTF_UP;
    std::string device = name;
    route.rt_dev = device.data();
    EXPECT_EQ(::ioctl(socket.get(), SIOCADDRT, &route), 0) << std::strerror(errno);
  }

 private:
  template <class Set>
  void change(const std::string& name, Set set) {
    rtnl_link* old = rtnl_link_alloc();
    rtnl_link_set_ifindex(old, static_cast<int>(::if_nametoindex(name.c_str())));
    rtnl_link* fresh = rtnl_link_alloc();
    set(fresh);
    check(rtnl_link_change(socket_, old, fresh, 0), "change " + name);
    rtnl_link_put(old);
    rtnl_link_put(fresh);
  }
  static void check(int rc, const std::string& what) { EXPECT_EQ(rc, 0) << what << ": " << nl_geterror(rc); }
  nl_sock* socket_ = nl_socket_alloc();
};

struct NetnsLinksTest : fixture::LoopTest {
  Links links;
  fake::MemoryLog log;
  std::vector<InventoryUpdate> updates;

  std::unique_ptr<HostSource> open(reactor::Executor& executor) {
    auto view = open_host_view("/");
    std::vector<std::unique_ptr<EventSource>> events;
    events.push_back(make_udev_monitor(loop, UdevKind::kKernel));
    events.push_back(make_netlink_monitor(loop));
    auto source =
        std::make_unique<HostSource>(HostSourcePorts{loop.scheduler(), executor, std::move(*view),
                                                     std::move(events), log, read_vf_configs},
                                     [this](const InventoryUpdate& update) { updates.push_back(update); });
    source->start();
    EXPECT_TRUE(run_until([&] { return !updates.empty(); }));
    EXPECT_EQ(log.count("not available"), 0u) << log.all();
    return source;
  }
};

TEST_F(NetnsLinksTest, SeesKernelChangesWithoutARescan) {
  reactor::ThreadExecutor executor(loop);
  const auto source = open(executor);
  const auto find = [&](const char* id) { return source->inventory()->find(id); };
  const auto seen = [&](const std::function<bool()>& reached) { return run_until(reached); };

  links.add_veth("first0", "peer0");
  EXPECT_TRUE(seen([&] { return find("first0") && find("peer0"); }));
  links.rename("first0", "second0");
  EXPECT_TRUE(seen([&] { return !find("first0") && find("second0"); }));
  links.add("bridge", "br0");
  EXPECT_TRUE(seen([&] { return find("br0") && find("br0")->type == DeviceType::kBridge; }));
  links.enslave("second0", "br0");
  EXPECT_TRUE(seen([&] { return find("second0")->host_use == "enslaved to br0"; }));
  links.enslave("second0", "");
  EXPECT_TRUE(seen([&] { return find("second0")->host_use.empty(); }));
  links.add_macvlan("mac0", "second0");
  EXPECT_TRUE(seen([&] { return find("mac0"); }));
  links.up("peer0");
  links.up("second0");
  links.up("mac0");
  EXPECT_TRUE(seen([&] { return find("second0")->netdev->oper_state == "up"; }));
  links.default_route("mac0");
  EXPECT_TRUE(seen([&] { return find("second0")->host_use == "default route through mac0"; }));
  links.remove("mac0");
  EXPECT_TRUE(seen([&] { return !find("mac0") && find("second0")->host_use.empty(); }));
  links.remove("second0");
  EXPECT_TRUE(seen([&] { return !find("second0") && !find("peer0"); }));
  links.remove("br0");
  EXPECT_TRUE(seen([&] { return !find("br0"); }));
  EXPECT_EQ(source->counters().full_scans, 1u);
  EXPECT_EQ(source->counters().overflows, 0u);

  // The events have reported everything.
  size_t missed = SIZE_MAX;
  source->rescan("test", [&](size_t count) { missed = count; });
  EXPECT_TRUE(seen([&] { return missed != SIZE_MAX; }));
  EXPECT_EQ(missed, 0u);
}

TEST_F(NetnsLinksTest, DistinguishesAMoveFromADeletion) {
  std::vector<LinkChange> ends;
  const auto monitor = make_netlink_monitor(loop);
  ASSERT_TRUE(monitor->start([&](HostEvent event) {
    if (const auto* change = std::get_if<LinkChange>(&event); change && change->is_deleted)
      ends.push_back(*change);
  }));
  const fixture::OtherNamespace other;
  ASSERT_GE(other.fd(), 0);
  links.add_veth("away0", "stays0");
  links.move("away0", other.fd());
  links.add("bridge", "br0");
  links.remove("br0");
  ASSERT_TRUE(run_until([&] { return ends.size() >= 2; }));
  EXPECT_EQ(ends[0].name, "away0");
  EXPECT_TRUE(ends[0].is_moved);
  EXPECT_EQ(ends[1].name, "br0");
  EXPECT_FALSE(ends[1].is_moved);
  links.remove("stays0");
}

// More events than the buffer holds, without a reader.
void provoke_uevents(int count) {
  const reactor::Descriptor file(::open("/sys/class/net/lo/uevent", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(static_cast<bool>(file));
  for (int i = 0; i < count; ++i) ASSERT_EQ(::write(file.get(), "change", 6), 6);
}

TEST_F(NetnsLinksTest, ReportsAFullBuffer) {
  size_t overflows = 0, events = 0;
  const auto monitor = make_udev_monitor(loop, UdevKind::kKernel);
  ASSERT_TRUE(monitor->start(
      [&](HostEvent event) { ++(std::holds_alternative<Overflow>(event) ? overflows : events); }));
  provoke_uevents(100'000);
  EXPECT_TRUE(run_until([&] { return overflows > 0; }));
  EXPECT_LT(events, 100'000u);
  // It still receives events.
  const size_t before = events;
  EXPECT_TRUE(run_until([&] { return events > before + 100; }));
}

TEST_F(NetnsLinksTest, ReadsEverythingAfterAnOverflow) {
  reactor::ThreadExecutor executor(loop);
  const auto source = open(executor);
  provoke_uevents(100'000);
  links.add("bridge", "late0");
  EXPECT_TRUE(
      run_until([&] { return source->counters().overflows > 0 && source->inventory()->find("late0"); }));
  EXPECT_TRUE(run_until([&] { return source->counters().full_scans >= 2; }));
  links.remove("late0");
  EXPECT_TRUE(run_until([&] { return !source->inventory()->find("late0"); }));
}

TEST_F(NetnsLinksTest, ReadsDefaultRoutesFromTheKernel) {
  links.add_veth("one0", "two0");
  links.up("one0");
  links.up("two0");
  const auto before = query_route_links();
  ASSERT_TRUE(before) << before.error().what;
  EXPECT_EQ(*before, RouteLinks{});
  links.default_route("one0");
  const int one = static_cast<int>(::if_nametoindex("one0"));
  EXPECT_EQ(*query_route_links(), (RouteLinks{{one}, {}}));
  ASSERT_EQ(std::system("ip route del default && ip route add default dev one0 proto dhcp"), 0);
  EXPECT_EQ(*query_route_links(), (RouteLinks{{one}, {}, {one}}));
  links.remove("one0");
}

TEST_F(NetnsLinksTest, ReadsPropertiesFromTheKernel) {
  links.add_veth("one0", "two0");
  const int one = static_cast<int>(::if_nametoindex("one0"));
  EXPECT_TRUE(query_link_properties(one)->alternative_names.empty());
  ASSERT_EQ(std::system("ip link property add dev one0 altname first-long-name altname second"), 0);
  EXPECT_EQ(query_link_properties(one)->alternative_names,
            (std::vector<std::string>{"first-long-name", "second"}));
  // Before Linux 6.15 the kernel does not report it.
  EXPECT_NE(query_link_properties(one)->is_netns_immutable, true);
  ASSERT_EQ(std::system("ip link add br7 type bridge"), 0);
  EXPECT_NE(query_link_properties(static_cast<int>(::if_nametoindex("br7")))->is_netns_immutable, false);
  links.remove("br7");
  links.remove("one0");
  EXPECT_EQ(*query_link_properties(one), LinkProperties()) << "it is gone";
}

// A pod with CAP_NET_ADMIN may give an interface all of them.
TEST_F(NetnsLinksTest, ReadsAsManyAlternativeNamesAsTheKernelAllows) {
  constexpr int kNames = 490;  // 132 bytes each of the 65,535 of the list
  links.add_veth("one0", "two0");
  const std::string file = testing::TempDir() + "/alternative-names";
  {
    std::ofstream batch(file);
    for (int i = 0; i < kNames; ++i)
      batch << "link property add dev one0 altname n" << 1'000 + i << std::string(119, 'x') << "\n";
  }
  ASSERT_EQ(std::system(("ip -batch " + file).c_str()), 0);
  const auto properties = query_link_properties(static_cast<int>(::if_nametoindex("one0")));
  ASSERT_TRUE(properties.ok()) << properties.error().what;
  EXPECT_EQ(properties->alternative_names.size(), static_cast<size_t>(kNames));
  links.remove("one0");
  std::remove(file.c_str());
}

// Arguments of `ip` and `sysctl`, in the namespace of this test.
void run_ip(const std::string& arguments) {
  ASSERT_EQ(std::system(("ip " + arguments).c_str()), 0) << arguments;
}

// Red when routes by nexthop objects, or the tables of rules, are not looked at; or not when they change.
TEST_F(NetnsLinksTest, FindsIndirectDefaultRoutes) {
  std::ofstream("/proc/sys/net/ipv4/nexthop_compat_mode") << 0;  // routes name the object alone
  links.add_veth("one0", "two0");
  links.up("one0");
  links.up("two0");
  run_ip("addr add 192.0.2.1/24 dev one0");
  run_ip("addr add 198.51.100.1/24 dev two0");
  run_ip("-6 addr add 2001:db8::1/64 dev two0 nodad");
  reactor::ThreadExecutor executor(loop);
  const auto source = open(executor);
  const auto uses = [&](const char* one, const char* two) {
    const auto is = [&](const char* link, const std::string& how) {
      const HostDevice* device = source->inventory()->find(link);
      return device != nullptr && device->host_use == (how.empty() ? "" : how + link);
    };
    const bool reached = run_until([&] { return is("one0", one) && is("two0", two); });
    EXPECT_TRUE(reached) << source->inventory()->find("one0")->host_use << ", "
                         << source->inventory()->find("two0")->host_use;
    return reached;
  };
  constexpr const char* kRoute = "default route through ";
  constexpr const char* kBeyond = "routes beyond its own subnet through ";
  const struct {
    const char* command;
    const char *one, *two;
  } steps[] = {
      {"nexthop add id 1 via 192.0.2.2 dev one0", "", ""},
      {"route add default nhid 1", kRoute, ""},
      {"nexthop replace id 1 via 198.51.100.2 dev two0", "", kRoute},
      {"nexthop add id 2 via 192.0.2.2 dev one0", "", kRoute},
      {"nexthop add id 3 group 1/2", "", kRoute},
      {"route replace default nhid 3", kRoute, kRoute},
      {"route del default", "", ""},
      {"nexthop add id 6 via 2001:db8::2 dev two0", "", ""},
      {"-6 route add default nhid 6", "", kRoute},
      {"-6 route del default", "", ""},
      {"route add default via 192.0.2.2 dev one0 table 100", "", ""},
      {"rule add from 192.0.2.1 table 100", "", ""},
      {"rule add fwmark 7 table 100", "", ""},
      {"rule add to 203.0.113.0/24 table 100", kRoute, ""},
      {"rule del to 203.0.113.0/24 table 100", "", ""},
      {"rule add not fwmark 7 table 100", kRoute, ""},
      {"rule del not fwmark 7 table 100", "", ""},
      {"rule add iif lo table 100", kRoute, ""},
      {"rule del iif lo table 100", "", ""},
      {"-6 route add default via 2001:db8::2 dev two0 table 4711", "", ""},
      {"-6 rule add table 4711", "", kRoute},
      {"-6 rule del table 4711", "", ""},
      // Makes it ask for VRFs, of which there are none here.
      {"route add default via 192.0.2.2 dev one0 table 300", "", ""},
      {"rule add l3mdev pref 1000", "", ""},
      {"rule add table 300 pref 1001", kRoute, ""},
      {"rule del table 300 pref 1001", "", ""},
      {"rule del l3mdev pref 1000", "", ""},
      {"route add blackhole default", "", ""},
      {"route del blackhole default", "", ""},
      {"rule del table main", "", ""},
      {"route add default dev one0", kRoute, ""},
      {"route del default", "", ""},
      {"rule add table main pref 32766", "", ""},
      {"route add default nexthop via 192.0.2.2 dev one0 nexthop via 198.51.100.2 dev two0", kRoute, kRoute},
      {"route del default", "", ""},
      // DHCP and router advertisements on each NIC.
      {"route add default via 192.0.2.2 dev one0 metric 100", kRoute, ""},
      {"route add default via 198.51.100.2 dev two0 proto dhcp metric 101", kRoute, ""},
      {"route del default via 192.0.2.2 dev one0", "", kRoute},
      {"route add default via 192.0.2.2 dev one0 metric 102", "", kRoute},
      {"route flush default", "", ""},
      {"-6 route add default via 2001:db8::2 dev two0 metric 1024", "", kRoute},
      {"-6 route add default via fe80::1 dev one0 proto ra metric 2048", "", kRoute},
      {"-6 route add default via fe80::2 dev one0 proto ra metric 512", kRoute, ""},
      {"-6 route flush default", "", ""},
      // As of OVN's management port; routes of an address or from DHCP do not count.
      {"route add 10.244.0.0/16 via 192.0.2.2 dev one0", kBeyond, ""},
      {"route add default via 192.0.2.2 dev one0", kRoute, ""},
      {"route del default", kBeyond, ""},
      {"route flush 10.244.0.0/16 && ip addr add 203.0.113.9/32 dev one0 && ip addr del 203.0.113.9/32 dev one0 && "
       "ip route add default dev one0 && ip route del default",
       "", ""},
      {"route add 192.0.2.2/32 dev one0 proto dhcp", "", ""},
      {"route add 169.254.169.254/32 via 192.0.2.2 dev one0", "", ""},
      {"route add 192.0.2.64/26 via 192.0.2.2 dev one0", "", ""},
      {"route add 203.0.113.0/24 nexthop via 192.0.2.2 dev one0 nexthop via 198.51.100.2 dev two0", kBeyond,
       kBeyond},
      {"route del 203.0.113.0/24 && ip route add default dev one0 && ip route del default", "", ""},
      {"-6 route add 2001:db8:ffff::/48 via 2001:db8::2 dev two0", "", kBeyond},
      {"-6 route del 2001:db8:ffff::/48 && ip route add default dev one0 && ip route del default", "", ""},
      {"route add 203.0.113.0/24 nhid 1", "", kBeyond},
      {"route del 203.0.113.0/24 && ip route add default dev one0 && ip route del default", "", ""},
      {"route add 203.0.113.0/24 via 192.0.2.2 dev one0 table 100", "", ""},
  };
  for (const auto& step : steps) {
    run_ip(step.command);
    const auto asked = query_route_links();
    ASSERT_TRUE(asked) << asked.error().what;
    const auto is_said = [&](const char* name, const std::string& use) {
      const int link = static_cast<int>(::if_nametoindex(name));
      EXPECT_EQ(asked->defaults.contains(link), use == kRoute) << "after ip " << step.command;
      if (use != kRoute) {
        EXPECT_EQ(asked->others.contains(link), use == kBeyond) << "after ip " << step.command;
      }
    };
    is_said("one0", step.one);
    is_said("two0", step.two);
    ASSERT_TRUE(uses(step.one, step.two)) << "after ip " << step.command;
  }
  EXPECT_EQ(source->counters().full_scans, 1u);
  EXPECT_EQ(log.count("host only partly readable"), 0u) << log.all();
  // The events have reported everything.
  size_t missed = SIZE_MAX;
  source->rescan("test", [&](size_t count) { missed = count; });
  EXPECT_TRUE(run_until([&] { return missed != SIZE_MAX; }));
  EXPECT_EQ(missed, 0u);
  this->links.remove("one0");
}

TEST_F(NetnsLinksTest, ReadsNoAdminMacsWithoutVfs) {
  links.add("bridge", "br0");
  const auto macs = read_vf_configs(static_cast<int>(::if_nametoindex("br0")));
  ASSERT_TRUE(macs) << macs.error().what;
  EXPECT_TRUE(macs->empty());
  links.remove("br0");
  EXPECT_EQ(read_vf_configs(4711).error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace sliced::hotplug

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  // Before any thread: they all follow the first one's namespaces.
  if (const std::string problem = sliced::hotplug::enter_namespaces(); !problem.empty()) {
    std::cerr << sliced::fixture::refused_namespaces(problem);
    return 1;
  }
  return RUN_ALL_TESTS();
}
