// The inventory from changes alone is equal to that from a complete reading.
#include "hotplug/affected.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>

#include "hotplug/inventory.h"

namespace sliced::hotplug {
namespace {

PciAddress pf_of(int card) { return {0, static_cast<uint8_t>(0x10 * card), 0, 0}; }
PciAddress vf_of(int card, int index) {
  return {0, static_cast<uint8_t>(0x10 * card), static_cast<uint8_t>(1 + index / 8),
          static_cast<uint8_t>(index % 8)};
}

NetdevReading own(const std::string& name, int ifindex, const PciAddress& function) {
  NetdevReading netdev{.name = name, .ifindex = ifindex};
  netdev.link_type = 1;
  netdev.function = function;
  netdev.is_functions_own = true;
  netdev.slow = SlowFacts{.oper_state = "up"};
  return netdev;
}

// Two cards with four VFs each, a bridge and a VLAN.
HostReadings small_host() {
  HostReadings host{.boot_id = "boot"};
  int ifindex = 2;
  for (const int card : {1, 2}) {
    FunctionReading pf{
        .pci = pf_of(card), .vendor = "8086", .product = "1592", .driver = "ice", .numa_node = 0};
    pf.total_vfs = pf.num_vfs = 4;
    const std::string name = "ens" + std::to_string(card);
    host.netdevs[name] = own(name, ifindex++, pf.pci);
    for (int i = 0; i < 4; ++i) {
      pf.vfs[vf_of(card, i)] = i;
      host.functions[vf_of(card, i)] = FunctionReading{
          .pci = vf_of(card, i), .vendor = "8086", .product = "1889", .driver = "iavf", .physfn = pf.pci};
      const std::string vf_name = name + "v" + std::to_string(i);
      host.netdevs[vf_name] = own(vf_name, ifindex++, vf_of(card, i));
    }
    host.functions[pf.pci] = pf;
  }
  host.netdevs["br0"] = NetdevReading{.name = "br0", .ifindex = ifindex++, .has_bridge = true};
  return host;
}

TEST(Affected, ConcernsOnlyItsFunction) {
  const HostReadings before = small_host();
  const auto changed = [&](const std::function<void(HostReadings&)>& change) {
    HostReadings now = before;
    change(now);
    return affected_functions(before, now);
  };
  using Functions = std::set<PciAddress>;
  const PciAddress pf = pf_of(1), vf = vf_of(1, 3);
  EXPECT_EQ(changed([](auto&) {}), Functions{});
  EXPECT_EQ(changed([&](auto& now) { now.netdevs.erase("ens1v3"); }), Functions{vf});
  EXPECT_EQ(changed([&](auto& now) { now.functions.at(vf).driver = "vfio-pci"; }), Functions{vf});
  EXPECT_EQ(changed([&](auto& now) { now.rdma_of_function[vf] = "irdma0"; }), Functions{vf});
  EXPECT_EQ(changed([&](auto& now) { now.enforced[vf].mac = "02:00:00:00:00:01"; }), Functions{vf});
  EXPECT_EQ(changed([&](auto& now) { now.functions.at(pf).vfs.erase(vf); }), (Functions{pf, vf}));
  EXPECT_EQ(changed([&](auto& now) { now.functions.at(pf).vfs.at(vf) = 7; }), (Functions{pf, vf}));
}

TEST(Affected, ConcernsOtherDevices) {
  const HostReadings before = small_host();
  const auto concerns_all = [&](const std::function<void(HostReadings&)>& change) {
    HostReadings now = before;
    change(now);
    return !affected_functions(before, now) && !affected_functions(now, before);
  };
  EXPECT_TRUE(concerns_all([](auto& now) { now.netdevs.erase("br0"); }));
  EXPECT_TRUE(concerns_all([](auto& now) { now.netdevs.at("ens1v3").master = "br0"; }));
  EXPECT_TRUE(concerns_all([](auto& now) { now.netdevs.at("ens1").slow->phys_switch_id = "0a"; }));
  EXPECT_TRUE(concerns_all([](auto& now) { now.default_routes.insert("ens1"); }));
  EXPECT_TRUE(concerns_all([](auto& now) { now.vlans["ens1.5"] = {5, "ens1"}; }));
  EXPECT_TRUE(concerns_all([](auto& now) { now.rdma_of_netdev["br0"] = "rxe0"; }));
  EXPECT_TRUE(concerns_all([](auto& now) { now.functions.at(pf_of(1)).numa_node = 1; }));
  EXPECT_TRUE(concerns_all([](auto& now) { now.functions.erase(vf_of(1, 3)); }))
      << "its interface is a link now";
}

// Anything that readings may do from one to the next, sensible or not.
class Chance {
 public:
  explicit Chance(unsigned seed) : random_(seed) {}
  int below(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }

  void change(HostReadings& host, NetdevChanges& events, InventoryBook& one, InventoryBook& other) {
    const int card = 1 + below(2), index = below(4);
    const bool is_pf = below(4) == 0;
    const PciAddress function = is_pf ? pf_of(card) : vf_of(card, index);
    const std::string name = "ens" + std::to_string(card) + (is_pf ? "" : "v" + std::to_string(index));
    switch (below(16)) {
      case 0:
        host.netdevs.erase(name);
        if (below(2)) events.left.insert(name);
        break;
      case 1:
        host.netdevs[name] = own(name, below(3) ? whole_.netdevs.at(name).ifindex : 50 + below(9), function);
        break;
      case 2: {
        const std::string other_name = "net" + std::to_string(below(3));
        if (!host.netdevs.contains(name)) break;
        NetdevReading renamed = host.netdevs.at(name);
        host.netdevs.erase(name);
        renamed.name = other_name;
        if (below(2)) {
          events.renamed_to.insert(other_name);
          for (InventoryBook* book : {&one, &other}) book->rename(name, other_name, renamed.ifindex);
        }
        host.netdevs[other_name] = renamed;
        break;
      }
      case 3:
        host.functions.erase(function);
        break;
      case 4:
        host.functions[function] = whole_.functions.at(function);
        break;
      case 5:
        if (host.functions.contains(function))
          host.functions.at(function).driver = below(2) ? "vfio-pci" : "";
        break;
      case 6:
        if (host.functions.contains(pf_of(card)))
          host.functions.at(pf_of(card)).vfs.erase(vf_of(card, index));
        break;
      case 7:
        if (host.functions.contains(pf_of(card))) host.functions.at(pf_of(card)).numa_node = below(3) - 1;
        break;
      case 8:
        if (host.netdevs.contains(name)) host.netdevs.at(name).master = below(2) ? "br0" : "";
        break;
      case 9:
        if (!host.default_routes.erase(name)) host.default_routes.insert(name);
        break;
      case 10:
        if (below(2))
          host.rdma_of_function[function] = "irdma" + std::to_string(below(2));
        else
          host.rdma_of_function.erase(function);
        break;
      case 11:
        if (host.netdevs.contains(name)) events.ended[host.netdevs.at(name).ifindex] = name;
        host.netdevs.erase(name);
        break;
      case 12:
        if (host.netdevs.contains(name)) host.netdevs.at(name).link_type = below(2) ? 1 : 32;
        break;
      case 13:  // heard, and not read yet
        for (InventoryBook* book : {&one, &other}) book->rename(name, "net7", 0);
        break;
      case 14: {
        if (host.netdevs.contains("rep3")) {
          host.netdevs.erase("rep3");
          break;
        }
        NetdevReading representor{.name = "rep3", .ifindex = 90};
        representor.function = pf_of(1);
        representor.slow = SlowFacts{.phys_switch_id = "0a", .phys_port_name = "pf0vf3"};
        host.netdevs["rep3"] = representor;
        if (host.netdevs.contains("ens1")) host.netdevs.at("ens1").slow = representor.slow;
        if (host.netdevs.contains("ens1")) host.netdevs.at("ens1").slow->phys_port_name = "p0";
        break;
      }
      default:
        host.enforced[function].mac = "02:00:00:00:00:0" + std::to_string(below(9));
    }
    if (below(20) == 0 && host.netdevs.contains("ens1"))
      host.netdevs.at("ens1").slow->phys_switch_id = below(2) ? "0a" : "";
    events.is_complete = below(8) != 0;
  }

 private:
  std::mt19937 random_;
  const HostReadings whole_ = small_host();
};

TEST(Affected, IncrementalResultEqualsFullResult) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    Chance chance(seed);
    HostReadings host = small_host();
    InventoryBook changes, everything(InventoryBook::Conclude::kEverything);
    for (int step = 0; step < 120; ++step) {
      NetdevChanges events;
      for (int i = chance.below(3); i > 0; --i) chance.change(host, events, changes, everything);
      const InventoryDiff diff = changes.take(host, events);
      ASSERT_EQ(diff, everything.take(host, events)) << "seed " << seed << ", step " << step;
      ASSERT_TRUE(changes.now()->devices == everything.now()->devices)
          << "seed " << seed << ", step " << step;
      ASSERT_EQ(changes.sticky(), everything.sticky()) << "seed " << seed << ", step " << step;
      ASSERT_EQ(changes.now()->version, everything.now()->version);
    }
  }
}

// What nothing concerns is the same object as before.
TEST(Affected, ResolvesOneOfManyVfsAlone) {
  HostReadings host = small_host();
  InventoryBook book;
  book.take(host, {});
  const InventoryPtr before = book.now();
  host.netdevs.erase("ens1v3");
  host.functions.erase(vf_of(1, 3));
  host.functions.at(pf_of(1)).vfs.erase(vf_of(1, 3));
  host.functions.at(pf_of(1)).num_vfs = 3;
  const InventoryDiff diff = book.take(host, {});
  EXPECT_EQ(diff.removed, std::vector<std::string>{vf_of(1, 3).text()});
  EXPECT_EQ(diff.changed, std::vector<std::string>{pf_of(1).text()});
  EXPECT_EQ(book.now()->find(vf_of(1, 2).text()), before->find(vf_of(1, 2).text()));
}

}  // namespace
}  // namespace sliced::hotplug
