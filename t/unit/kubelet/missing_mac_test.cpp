#include "kubelet/missing_mac.h"

#include <gtest/gtest.h>

#include "t/fixture/sysfs_tree.h"

namespace sliced::kubelet {
namespace missing_mac_test {
namespace {

constexpr const char* kPf = "0000:03:00.0";

struct World {
  World() {
    tree.pci(kPf).netdev("ens1").sriov(7).vfs(2, [](fixture::SysfsTree::Pci vf, int index) {
      vf.driver("igbvf").netdev("ens1v" + std::to_string(index));
    });
    what = {.vf = tree.pci(kPf).vf(1).address(),
            .pf = *hotplug::PciAddress::decode(kPf),
            .pf_name = "ens1",
            .pf_ifindex = number("ens1"),
            .index = 1,
            .interface = "ens1v1",
            .ifindex = number("ens1v1"),
            .mac = text("ens1v1", "address"),
            .asked_by = "policy ns/p"};
  }
  std::string text(const std::string& netdev, const std::string& name) {
    return tree.view()->read(tree.netdev_path(netdev) + "/" + name).value();
  }
  int number(const std::string& netdev) { return std::stoi(text(netdev, "ifindex")); }
  Result<policy::MacOutcome> set() {
    const auto write = [this](const VfOfInterface& vf, const std::string& mac) {
      written.push_back(std::to_string(vf.ifindex) + " vf " + std::to_string(vf.index) + " mac " + mac);
      return answer;
    };
    return set_missing_mac(*tree.view(), write, what);
  }

  fixture::SysfsTree tree;
  policy::MissingMac what;
  Result<bool> answer = true;
  std::vector<std::string> written;
};

struct MissingMacTest : testing::Test, World {};

TEST_F(MissingMacTest, SetsThePfOnce) {
  EXPECT_EQ(set().value(), policy::MacOutcome::kSet);
  EXPECT_EQ(written, std::vector{std::to_string(number("ens1")) + " vf 1 mac " + text("ens1v1", "address")});
  answer = false;
  EXPECT_EQ(set().value(), policy::MacOutcome::kHadAddress);
  answer = Error{Errc::kDenied, "no"};
  EXPECT_EQ(set().error().code, Errc::kDenied);
}

TEST(MissingMac, WritesNothingThatIsOutdated) {
  const struct {
    const char* why;
    void (*change)(World&);
  } rows[] = {
      {"its interface is in another namespace", [](World& t) { t.tree.remove_netdev("ens1v1"); }},
      {"its interface is another one",
       [](World& t) {
         t.tree.remove_netdev("ens1v1");
         t.tree.pci(t.what.vf).netdev("ens1v1");
       }},
      {"another address", [](World& t) { t.tree.netdev_attr("ens1v1", "address", "02:00:00:00:00:99"); }},
      {"another VF has its number", [](World& t) { t.what.index = 0; }},
      {"it is gone", [](World& t) { t.tree.pci(t.what.vf).remove(); }},
      {"the PF's interface is gone", [](World& t) { t.tree.remove_netdev("ens1"); }},
      {"the PF's interface is another one", [](World& t) { t.what.pf_ifindex += 1000; }},
  };
  for (const auto& row : rows) {
    World changed;
    row.change(changed);
    EXPECT_EQ(changed.set().value(), policy::MacOutcome::kFactsChanged) << row.why;
    EXPECT_TRUE(changed.written.empty()) << row.why;
  }
}

}  // namespace
}  // namespace missing_mac_test
}  // namespace sliced::kubelet
