#include "kubelet/node_host.h"

#include <gtest/gtest.h>
#include <linux/if_link.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "kubelet/binder.h"
#include "kubelet/cni/plugin_fields.h"
#include "kubelet/safety.h"
#include "kubelet/vf_of_pf.h"
#include "t/fixture/golden.h"
#include "t/fixture/infiniband.h"
#include "t/fixture/syncs.h"
#include "t/fixture/sysfs_tree.h"

namespace sliced::kubelet {
namespace node_host_test {
namespace {

namespace fs = std::filesystem;
using fixture::SysfsTree;

constexpr const char* kVf = "0000:03:00.2";

// A tree that answers writes as the kernel does: overrides, unbinding, probing (drivers/pci, drivers/base).
class NodeHostTest : public testing::Test {
 protected:
  NodeHostTest() {
    std::string name = testing::TempDir() + "node-XXXXXX";
    root_ = ::mkdtemp(name.data());
    vf().id("8086", "10ca").driver("igbvf").attr("driver_override", "").attr("class", "0x020000");
    fs::create_directories(tree_.root() + "/sys/bus/pci/drivers/vfio-pci");
    group(kVf, "7");
  }
  ~NodeHostTest() override { fs::remove_all(root_); }

  SysfsTree::Pci vf() { return tree_.pci(kVf); }
  void group(const std::string& pci, const std::string& number) {
    const std::string path = tree_.root() + "/sys/kernel/iommu_groups/" + number;
    fs::create_directories(path + "/devices");
    fs::create_directory_symlink("../../../../" + tree_.pci(pci).path(), path + "/devices/" + pci);
    const std::string function = tree_.root() + "/" + tree_.pci(pci).path();
    fs::create_directory_symlink(fs::relative(path, fs::canonical(function)), function + "/iommu_group");
  }
  NodeHost host() {
    return {
        std::move(hotplug::open_host_view(tree_.root())).value(),
        {[this](const std::string& path, std::string_view text) { return write(path, text); },
         [this](const std::string& path) { return nodes_.contains(path); },
         [this](const std::vector<std::string>& nodes) -> Result<std::optional<DeviceProcess>> {
           asked_ = nodes;
           if (!holder_ && !sees_processes_) return Error{Errc::kDenied, "not all processes can be seen"};
           return holder_;
         },
         [this](const std::vector<std::string>& pods) -> Result<std::optional<DeviceProcess>> {
           if (sees_pods_) return pods == std::vector<std::string>{"pod-1"} ? process_ : std::nullopt;
           return Error{Errc::kIo, "not the host's processes"};
         },
         [this](int ifindex) -> Result<std::map<int, std::string>> {
           std::map<int, std::string> out;
           for (int index = 0; index < 8; ++index)
             if (const auto at = macs_.find(std::to_string(ifindex) + "-" + std::to_string(index));
                 at != macs_.end())
               out.emplace(index, at->second);
           return out;
         },
         [this](const VfOfInterface& vf, const std::string& mac) -> Result<Unit> {
           if (!keeps_mac_) macs_[std::to_string(vf.ifindex) + "-" + std::to_string(vf.index)] = mac;
           ++mac_writes_;
           return Unit{};
         },
         [this](int ifindex, const std::string& mac) -> Result<Unit> {
           own_macs_.push_back(std::to_string(ifindex) + " " + mac);
           return Unit{};
         },
         [this](const std::string& node) { return nodes_.contains(node) ? group_use_ : GroupUse::kAbsent; },
         {.read =
              [this](int) {
                return unread_settings_ ? Result<std::map<int, hotplug::VfConfig>>(*unread_settings_)
                                        : Result<std::map<int, hotplug::VfConfig>>(vf_settings_);
              },
          .send =
              [this](const std::string& request) {
                apply_setting(request);
                ++setting_writes_;
                return 0;
              }},
         [this] { return Result<std::vector<HostLink>>(links_); },
         [this](int ifindex, const LinkChange& what) { return change(ifindex, what); }},
        {.cdi_root = root_ + "/cdi",
         .checkpoint = root_ + "/plugins/sliced-checkpoint.json",
         .peer_checkpoint = root_ + "/plugins/checkpoint.json",
         .original_macs = root_ + "/plugins/macs",
         .original_settings = root_ + "/plugins/settings",
         .plugins = root_ + "/plugins"}};
  }
  Result<Unit> apply(const FileChange& change) { return host().apply({change}).front(); }
  // Of a claim with one device: an original, a spec and a device info.
  FileChange change_of(int number) const {
    const std::string n = std::to_string(number), pci = "0000:03:00." + n;
    const cdi::Spec spec{.kind = "a.b/vf", .devices = {{"d", {.env = {"A=" + n}}}}};
    return {.specs = {{spec, "uid-" + n}},
            .infos = {{root_ + "/dp/" + n + ".json", "{}"}},
            .original_macs = {{pci, "0000:03:00.0", "boot-1", std::string(kNoMac)}}};
  }
  Result<Unit> write(const std::string& path, std::string_view text) {
    writes_.push_back(path.substr(path.rfind('/') + 1) + "=" + std::string(trim(text)));
    if (path.ends_with("driver_override")) override_ = trim(text);
    auto function = tree_.pci(moved_);
    if (path.ends_with("unbind")) function.driver("");
    if (path.ends_with("drivers_probe") && !refuses_.contains(override_))
      function.driver(override_.empty() ? (moved_ == kVf ? "igbvf" : "mlx5_core") : override_);
    return Unit{};
  }
  // RTM_SETLINK with one setting of one VF: behind three headers of attributes its number, and then the value.
  void apply_setting(const std::string& request) {
    constexpr size_t kType = 42, kNumber = 44, kValue = 48, kMac = 6;
    uint16_t type = 0;
    uint32_t index = 0, value = 0;
    ASSERT_GE(request.size(), kValue + sizeof value);
    std::memcpy(&type, request.data() + kType, sizeof type);
    std::memcpy(&index, request.data() + kNumber, sizeof index);
    std::memcpy(&value, request.data() + kValue, sizeof value);
    hotplug::VfConfig& vf = vf_settings_[static_cast<int>(index)];
    if (type == IFLA_VF_VLAN) vf.vlan = static_cast<int>(value);
    if (type == IFLA_VF_TRUST) vf.trust = value != 0;
    if (type == IFLA_VF_SPOOFCHK) vf.spoof_check = value != 0;
    if (type != IFLA_VF_MAC) return;
    vf.mac.clear();
    for (size_t i = 0; i < kMac; ++i)
      vf.mac += (i == 0 ? "" : ":") + hex(static_cast<unsigned char>(request[kValue + i]), 2);
  }
  Result<Unit> change(int ifindex, const LinkChange& what) {
    if (refused_change_) return *refused_change_;
    if (refused_mtu_ && what.mtu) return *refused_mtu_;
    const auto has = [](const HostLink& link, const std::optional<std::string>& name) {
      const auto& names = link.alternative_names;
      return name && (link.name == *name || std::find(names.begin(), names.end(), *name) != names.end());
    };
    for (const HostLink& link : links_)
      if ((has(link, what.name) && link.name != *what.name) || has(link, what.added_name) ||
          (has(link, what.name) && link.ifindex != ifindex))
        return Error{Errc::kConflict, "change interface: File exists"};
    for (HostLink& link : links_) {
      if (link.ifindex != ifindex) continue;
      if (what.name && *what.name != link.name) {
        // Without live renaming: do_setlink() changes the name before the flags.
        if (link.is_up) return Error{Errc::kTimeout, "change interface 7: Device or resource busy"};
        if (std::any_of(links_.begin(), links_.end(),
                        [&](const auto& one) { return one.name == *what.name; }))
          return Error{Errc::kConflict, "change interface 7: File exists"};
      }
      link.name = what.name.value_or(link.name), link.mac = what.mac.value_or(link.mac);
      if (reports_own_mac_) vf_settings_[0].mac = link.mac;
      link.mtu = what.mtu.value_or(link.mtu), link.is_up = what.up.value_or(link.is_up);
      link.is_promisc = what.promisc.value_or(link.is_promisc);
      link.is_allmulti = what.allmulti.value_or(link.is_allmulti);
      link.alias = what.alias.value_or(link.alias);
      link.broadcast = what.broadcast.value_or(link.broadcast);
      for (const auto& [name, number] : what.numbers) link.numbers[name] = number;
      if (what.detached_xdp) link.xdp.erase(*what.detached_xdp);
      if (what.removed_name) std::erase(link.alternative_names, *what.removed_name);
      if (what.added_name) link.alternative_names.push_back(*what.added_name);
      ++link_changes_;
    }
    return Unit{};
  }
  std::string driver() { return host().read_device(device())->driver; }
  static PreparedDevice device(const std::string& original = "igbvf") {
    return {.device = "0000-03-00-2", .pci = kVf, .vfio = VfioBinding{original, ""}};
  }

  std::string tree_text(const std::string& path) { return tree_.view()->read(path, 4096).value_or(""); }

  SysfsTree tree_;
  std::string moved_ = kVf;  // which the writes are about
  std::string root_;
  std::string override_;
  std::map<std::string, std::string> macs_;  // by ifindex and VF
  bool keeps_mac_ = false;
  int mac_writes_ = 0;
  std::vector<std::string> own_macs_;  // that were given to interfaces, by ifindex
  std::set<std::string> nodes_ = {"/dev/vfio/7"}, refuses_;
  std::vector<std::string> writes_, asked_;
  std::optional<DeviceProcess> holder_;  // of the requested device
  std::optional<DeviceProcess> process_;
  bool sees_pods_ = true, sees_processes_ = true;
  GroupUse group_use_ = GroupUse::kFree;  // of each group that is there
  std::map<int, hotplug::VfConfig> vf_settings_;
  std::vector<HostLink> links_;
  std::optional<Error> refused_change_, refused_mtu_;
  std::optional<Error> unread_settings_;
  int setting_writes_ = 0, link_changes_ = 0;
  bool reports_own_mac_ = false;  // the PF, of VF 0
};

// Red when anything of an interface that a pod had outlives it: the kernel gives it back closed, else as the pod left it.
TEST_F(NodeHostTest, RestoresChangedSettingsOnly) {
  vf().netdev("eth2").link("physfn", "../0000:03:00.0");
  tree_.pci("0000:03:00.0").id("8086", "10c9").netdev("ens1f0").link("virtfn1", std::string("../") + kVf);
  hotplug::VfConfig before;
  before.mac = "02:00:00:00:00:01", before.vlan = 0;
  vf_settings_ = {{0, {}}, {1, before}};
  links_ = {{.ifindex = 1, .name = "lo"},
            {.ifindex = 7, .name = "eth2", .mac = "02:00:00:00:00:01", .mtu = 9000, .is_allmulti = true}};
  const std::vector<HostLink> links_before = links_;
  PreparedDevice device = NodeHostTest::device();
  device.vfio.reset();
  device.interface = "eth2";
  const auto kept = host().read_settings(device);
  ASSERT_TRUE(kept.ok()) << kept.error().what;
  EXPECT_EQ(kept->vf, before);
  ASSERT_TRUE(host().restore_settings(*kept).value().is_back);
  EXPECT_EQ(setting_writes_ + link_changes_, 0);

  links_[1] = {.ifindex = 7,
               .name = "net1",
               .mac = "02:00:00:00:06:66",
               .mtu = 1400,
               .is_up = true,
               .is_promisc = true};
  tree_.rename_netdev("eth2", "net1");
  ASSERT_TRUE(host().restore_settings(*kept).value().is_back);
  EXPECT_EQ(links_, links_before);

  links_[1].mtu = 1400;
  refused_change_ = Error{Errc::kIo, "change interface 7: Invalid argument"};
  tree_.rename_netdev("net1", "eth2");
  fixture::expect_golden(host().restore_settings(*kept).error().what);
  refused_change_.reset();

  links_[1].name = "net1";
  tree_.rename_netdev("eth2", "net1");
  links_.push_back({.ifindex = 9, .name = "eth2", .kind = "dummy", .mac = "02:00:00:00:00:09"});
  fixture::expect_golden(host().restore_settings(*kept).value().name_problem);
  links_.pop_back();
  links_[1].name = "eth2";
  tree_.rename_netdev("net1", "eth2");

  vf_settings_.erase(1);
  fixture::expect_golden(host().restore_settings(*kept).error().what);
  vf_settings_[1] = before;
  ASSERT_TRUE(host().restore_settings(*kept).value().is_back);
  EXPECT_EQ(links_[1].mtu, 9000) << "also of one that came back under its own name, which a pod may choose";

  vf().driver("");
  tree_.remove_netdev("eth2");
  links_.pop_back();
  EXPECT_TRUE(host().restore_settings(*kept).value().is_back) << "without a driver there is no interface";
  vf().remove();
  vf_settings_[1].vlan = 666;
  EXPECT_TRUE(host().restore_settings(*kept).value().is_back) << "a VF that is made anew";
  EXPECT_EQ(setting_writes_, 0);
  EXPECT_EQ(host().read_settings(device).error().code, Errc::kNotFound);
}

// A PF that has set no address for a VF reports the VF's own. Red when the PF is written to, which it enforces from then on, before
// the interface has its address back.
TEST_F(NodeHostTest, RestoresAVfsOwnAddressByItsInterface) {
  vf().netdev("eth2").link("physfn", "../0000:03:00.0");
  tree_.pci("0000:03:00.0").id("8086", "10c9").netdev("ens1f0").link("virtfn0", std::string("../") + kVf);
  PreparedDevice device = NodeHostTest::device();
  device.vfio.reset();
  device.interface = "eth2";
  reports_own_mac_ = true;
  links_ = {{.ifindex = 7, .name = "eth2", .mac = "02:00:00:00:00:0a", .mtu = 1500}};
  vf_settings_ = {{0, {.mac = links_[0].mac, .vlan = 0}}};
  const auto kept = host().read_settings(device);
  ASSERT_TRUE(kept.ok()) << kept.error().what;
  EXPECT_EQ(kept->own.mac, "02:00:00:00:00:0a");
  vf_settings_[0].mac = links_[0].mac = "02:00:00:00:06:66";
  ASSERT_TRUE(host().restore_settings(*kept).value().is_back);
  EXPECT_EQ(links_[0].mac, "02:00:00:00:00:0a");
  EXPECT_EQ(setting_writes_, 0);

  vf_settings_ = {{1, {.vlan = 0}}};  // VF 0 is being reset
  fixture::expect_golden(host().read_settings(device).error().what);
  vf_settings_.clear();
  EXPECT_FALSE(host().read_settings(device)->vf) << "a PF that has no settings";
}

// A kernel that cannot put all VFs of an InfiniBand PF into one answer: their settings are GUIDs, which sysfs has too.
TEST_F(NodeHostTest, UsesGuidsOfSysfsIfTheKernelCannotReportThem) {
  vf().netdev("ib1").link("physfn", "../0000:03:00.0");
  const auto pf =
      tree_.pci("0000:03:00.0").id("15b3", "101b").netdev("ib0").link("virtfn0", std::string("../") + kVf);
  PreparedDevice device = NodeHostTest::device();
  device.vfio.reset();
  device.interface = "ib1";
  unread_settings_ = Error{Errc::kTooLarge, "netlink: RTM_GETLINK: EMSGSIZE"};
  const auto refused = host().read_settings(device);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().what.find("EMSGSIZE"), std::string::npos) << refused.error().what;
  tree_.write(pf.path() + "/sriov/0/node", "0c:42:a1:00:00:00:00:01");
  tree_.write(pf.path() + "/sriov/0/port", "0c:42:a1:00:00:00:00:02");
  const auto kept = host().read_settings(device);
  ASSERT_TRUE(kept.ok()) << kept.error().what;
  EXPECT_EQ(kept->vf->node_guid, "0c:42:a1:00:00:00:00:01");
  EXPECT_TRUE(host().restore_settings(*kept).value().is_back);
  tree_.write(pf.path() + "/sriov/0/node", "00:00:00:00:00:00:00:66");
  const auto restored = host().restore_settings(*kept);
  ASSERT_FALSE(restored.ok()) << "the pod's GUID is written over, and this PF does not take it";
  EXPECT_NE(restored.error().what.find("node_guid is 00:00:00:00:00:00:00:66, was 0c:42:a1:00:00:00:00:01"),
            std::string::npos)
      << restored.error().what;
  EXPECT_EQ(setting_writes_, 1);
}

// Who has a PF's interface can change the settings of all its VFs. Red when the claims that get these next have them so.
TEST_F(NodeHostTest, RestoresTheVfsOfAWholePf) {
  constexpr const char *kPf = "0000:03:00.0", *kOther = "0000:03:00.3";
  vf().netdev("eth2").link("physfn", std::string("../") + kPf);
  tree_.pci(kOther)
      .id("8086", "10ca")
      .driver("igbvf")
      .netdev("eth3")
      .link("physfn", std::string("../") + kPf);
  const auto pf = [&] { return tree_.pci(kPf); };
  pf().id("8086", "10c9").driver("igb").netdev("ens1f0");
  pf().link("virtfn0", std::string("../") + kVf).link("virtfn1", std::string("../") + kOther);
  links_ = {{.ifindex = 5, .name = "ens1f0", .mac = "02:00:00:00:01:00", .mtu = 1500},
            {.ifindex = 7, .name = "eth2", .mac = "02:00:00:00:00:01", .mtu = 1500},
            {.ifindex = 8, .name = "eth3", .mac = "02:00:00:00:00:0b", .mtu = 1500}};
  // VF 1 has no address set: it chooses its own.
  vf_settings_ = {{0, {.mac = "02:00:00:00:00:01", .vlan = 10, .trust = false, .spoof_check = true}},
                  {1, {.mac = "00:00:00:00:00:00", .vlan = 0, .trust = false, .spoof_check = true}}};
  const auto before = vf_settings_;
  const auto links_before = links_;
  const PreparedDevice device{.device = "0000-03-00-0", .pci = kPf, .interface = "ens1f0"};
  const auto read = host().read_settings(device);
  ASSERT_TRUE(read.ok()) << read.error().what;
  const auto kept = decode_original_settings(encode_original_settings(*read));
  ASSERT_TRUE(kept.ok()) << kept.error().what;
  EXPECT_EQ(*kept, *read) << "as the next daemon reads it";
  EXPECT_TRUE(host().restore_settings(*kept).value().is_back);
  EXPECT_EQ(setting_writes_ + link_changes_, 0);

  const hotplug::VfConfig pods{.mac = "02:66:66:66:66:66", .vlan = 666, .trust = true, .spoof_check = false};
  const auto change = [&] { vf_settings_ = {{0, pods}, {1, pods}}, links_[2].mac = pods.mac; };
  change();
  EXPECT_TRUE(host().restore_settings(*kept).value().is_back);
  EXPECT_EQ(vf_settings_, before);
  EXPECT_EQ(links_, links_before) << "a VF's driver had taken what the PF enforced";

  change();
  tree_.remove_netdev("ens1f0");
  links_.erase(links_.begin());
  setting_writes_ = 0;
  EXPECT_FALSE(host().restore_settings(*kept).value().is_back) << "the PF is in its pod yet";
  EXPECT_EQ(setting_writes_, 0);
  pf().netdev("ens1f0");
  links_.insert(links_.begin(), links_before[0]);

  vf_settings_.erase(1);
  const auto missing = host().restore_settings(*kept);
  ASSERT_FALSE(missing.ok());
  fixture::expect_golden(missing.error().what);
  EXPECT_EQ(vf_settings_[0], before.at(0)) << "one that fails keeps no other from being restored";
  const auto unread = host().read_settings(device);
  ASSERT_FALSE(unread.ok());
  fixture::expect_golden(unread.error().what);
  tree_.pci(kOther).remove();
  tree_.remove(pf().path() + "/virtfn1");
  EXPECT_TRUE(host().restore_settings(*kept).value().is_back) << "fewer VFs: VF 1 does not exist any more";
  // Created again: the pod could change this one through the PF as well.
  tree_.pci(kOther)
      .id("8086", "10ca")
      .driver("igbvf")
      .netdev("eth3")
      .link("physfn", std::string("../") + kPf);
  pf().link("virtfn1", std::string("../") + kOther);
  change();
  EXPECT_TRUE(host().restore_settings(*kept).value().is_back);
  EXPECT_EQ(vf_settings_, before);
}

// An interface that returned from a pod as net1, with all settings that a pod can change.
class ReturnedInterface : public NodeHostTest {
 protected:
  ReturnedInterface() {
    vf().netdev("eth2");
    links_ = {{.ifindex = 1, .name = "lo"},
              {.ifindex = 7,
               .name = "eth2",
               .mac = "02:00:00:00:00:01",
               .mtu = 9000,
               .alternative_names = {"lan"},
               .alias = "for pods",
               .numbers = {{"txqlen", 1000},
                           {"group", 0},
                           {"gso_max_size", 65536},
                           {"gso_max_segs", 65535},
                           {"arp", 1},
                           {"mode", 0}},
               .broadcast = "ff:ff:ff:ff:ff:ff"}};
    before_ = links_;
    PreparedDevice device = NodeHostTest::device();
    device.vfio.reset();
    device.interface = "eth2";
    kept_ = host().read_settings(device).value();
  }
  void return_as_net1() {
    links_[1] = {.ifindex = 7,
                 .name = "net1",
                 .mac = "02:00:00:00:06:66",
                 .mtu = 68,
                 .is_promisc = true,
                 .is_allmulti = true,
                 .alternative_names = {"cni-podman9", "eth2"},
                 .alias = "eth2",
                 .numbers = {{"txqlen", 1},
                             {"group", 7},
                             {"gso_max_size", 1500},
                             {"gso_max_segs", 1},
                             {"arp", 0},
                             {"mode", 1}},
                 .xdp = {{2, 5}},
                 .broadcast = "02:00:00:00:06:67"};
    tree_.rename_netdev("eth2", "net1");
  }
  RestoredSettings restore() { return host().restore_settings(kept_).value(); }
  std::vector<HostLink> before_;
  OriginalSettings kept_;
};

// Red when udev's alternative name (the path name) keeps an interface from its name, or anything of a pod's stays for the next.
TEST_F(ReturnedInterface, HasItsNameAndNothingOfItsPod) {
  return_as_net1();
  EXPECT_EQ(restore().name_problem, "");
  EXPECT_EQ(links_, before_);
  link_changes_ = 0;
  tree_.rename_netdev("net1", "eth2");
  EXPECT_EQ(restore().name_problem, "");
  EXPECT_EQ(link_changes_, 0);
  kept_.interface->alternative_names.reset();  // a file of an earlier version
  tree_.rename_netdev("eth2", "net1");
  links_[1].name = "net1", links_[1].alternative_names = {"eth2", "lan"};
  EXPECT_EQ(restore().name_problem, "");
  EXPECT_EQ(links_, before_);
}

// Red when a name that a pod's interface has, which it may have chosen, takes a device out of use.
TEST_F(ReturnedInterface, IsRestoredIfItsNameIsTaken) {
  for (const bool is_alternative : {false, true}) {
    links_ = before_;
    return_as_net1();
    links_.push_back({.ifindex = 9, .name = "eth2", .kind = "dummy"});
    if (is_alternative) links_.back().name = "other", links_.back().alternative_names = {"eth2"};
    links_[1].alternative_names = {"cni-podman9"};
    const HostLink other = links_.back();
    const RestoredSettings restored = restore();
    EXPECT_TRUE(restored.is_back);
    fixture::expect_golden(restored.name_problem);
    EXPECT_EQ(links_[2], other);
    HostLink wanted = before_[1];
    wanted.name = "net1";
    EXPECT_EQ(links_[1], wanted) << "everything but the name";
    kept_.interface->is_name_only = true;
    links_[1].is_up = true, links_[1].mtu = 1400;
    const auto as_it_is = links_;
    fixture::expect_golden(restore().name_problem);
    EXPECT_EQ(links_, as_it_is) << "the host uses it";
    links_[1].is_up = false;
    links_.pop_back();
    EXPECT_EQ(restore().name_problem, "");
    EXPECT_EQ(links_[1].name, "eth2");
    EXPECT_EQ(links_[1].mtu, 1400) << "set by the host since";
    kept_.interface->is_name_only = false;
    tree_.rename_netdev("net1", "eth2");
  }
}

TEST_F(ReturnedInterface, HasAllOtherSettingsIfTheKernelRefusesOne) {
  return_as_net1();
  refused_mtu_ = Error{Errc::kIo, "change interface 7: Invalid argument"};
  const auto restored = host().restore_settings(kept_);
  ASSERT_FALSE(restored.ok());
  fixture::expect_golden(restored.error().what);
  HostLink wanted = before_[1];
  wanted.mtu = 68;
  EXPECT_EQ(links_[1], wanted);
}

// Red when a definition may set anything of an interface that is moved, and the next claim gets it so: each field of the tables is
// either of the VF, and restored through its PF, or of the interface, and restored here, or of neither.
TEST_F(ReturnedInterface, HasEachFieldOfTheTables) {
  using Change = void (*)(HostLink&);
  static const std::map<std::string, Change> kOfInterface = {
      {"mac", [](HostLink& link) { link.mac = "02:00:00:00:06:66"; }},
      {"mtu", [](HostLink& link) { link.mtu = 68; }},
      {"promisc", [](HostLink& link) { link.is_promisc = true; }},
      {"allmulti", [](HostLink& link) { link.is_allmulti = true; }},
      {"txQLen", [](HostLink& link) { link.numbers["txqlen"] = 1; }}};
  static const std::set<std::string> kOfVf = {"vlan",  "vlanQoS",    "vlanProto",   "spoofchk",
                                              "trust", "link_state", "min_tx_rate", "max_tx_rate"};
  // Of the pod's network namespace, of the plugin itself, or of the subnet manager (pkey).
  static const std::set<std::string> kOfOthers = {
      "sysctl",     "dataDir",      "logLevel",      "logFile",      "pkey",
      "vrfname",    "table",        "flushroutes",   "flushgateway", "delroutes",
      "addroutes",  "skipcheck",    "rdmaIsolation", "vfioPciMode",  "ibKubernetesEnabled",
      "kubeconfig", "publishPfGuid"};
  for (const cni::PluginFields& plugin : cni::all_plugins()) {
    if (!plugin.takes_whole && plugin.use != cni::Use::kCompanion) continue;
    for (const cni::Field& field : plugin.fields) {
      const std::string name(field.name);
      SCOPED_TRACE(std::string(plugin.type) + "." + name);
      const auto change = kOfInterface.find(name);
      EXPECT_EQ((change != kOfInterface.end()) + kOfVf.count(name) + kOfOthers.count(name), 1u)
          << "a field that is new: which setting does it change?";
      if (change == kOfInterface.end()) continue;
      links_ = before_;
      change->second(links_[1]);
      ASSERT_NE(links_, before_);
      EXPECT_EQ(restore().name_problem, "");
      EXPECT_EQ(links_, before_);
    }
  }
}

TEST_F(NodeHostTest, AnOpenVfKeepsItsSettings) {
  vf().driver("vfio-pci").link("physfn", "../0000:03:00.0");
  tree_.pci("0000:03:00.0").id("8086", "10c9").netdev("ens1f0").link("virtfn0", std::string("../") + kVf);
  hotplug::VfConfig before;
  before.mac = "02:00:00:00:00:01";
  const OriginalSettings kept{.device = kVf, .boot_id = "", .vf = before, .interface = {}};
  vf_settings_ = {{0, before}};
  vf_settings_[0].mac = "02:00:00:00:06:66";
  holder_ = DeviceProcess{7, "qemu"};
  EXPECT_EQ(host().restore_settings(kept).error().code, Errc::kBusy);
  EXPECT_EQ(setting_writes_, 0);
  holder_.reset();
  EXPECT_TRUE(host().restore_settings(kept).value().is_back);
  EXPECT_EQ(vf_settings_[0].mac, "02:00:00:00:00:01");
}

TEST_F(NodeHostTest, RemovesHalfWrittenFiles) {
  const std::string driver = "sriovnetwork.k8snetworkplumbingwg.io";
  const std::vector<std::string> ours = {
      "/cdi/.sriovnetwork.k8snetworkplumbingwg.io-vf_uid-1.yaml.tmp",
      "/cdi/." + cdi::metadata_file(metadata_kind(driver), "ns_claim_vf") + ".tmp",
      "/dp/.intel.com-vf-0000:03:00.2-device.json.tmp", "/plugins/.sliced-checkpoint.json.tmp",
      "/plugins/" + driver + "/dra-device-metadata/ns_claim/vf/.metadata.json.tmp"};
  const std::vector<std::string> theirs = {"/cdi/.nvidia.yaml.tmp", "/plugins/.other.tmp", "/dp/.x.tmp"};
  for (const auto& names : {ours, theirs})
    for (const std::string& name : names) {
      fs::create_directories(fs::path(root_ + name).parent_path());
      std::ofstream(root_ + name) << "half";
    }
  const auto removed = host().remove_temporaries({driver}, root_ + "/dp");
  ASSERT_TRUE(removed) << removed.error().what;
  for (const std::string& name : ours) EXPECT_FALSE(fs::exists(root_ + name)) << name;
  for (const std::string& name : theirs) EXPECT_TRUE(fs::exists(root_ + name)) << name;
}

TEST_F(NodeHostTest, ReadsAFunction) {
  tree_.pci("0000:03:00.0").id("8086", "10c9");
  vf().netdev("eth2").link("physfn", "../0000:03:00.0");
  fs::create_directories(tree_.root() + "/" + vf().path() + "/net/eth2/upper_macvlan0");
  const auto look = host().read_device(device());
  ASSERT_TRUE(look) << look.error().what;
  EXPECT_EQ(look->identity, (Identity{"8086", "10ca", "0000:03:00.0"}));
  EXPECT_EQ(look->driver, "igbvf");
  EXPECT_EQ(look->uppers, std::vector<std::string>{"macvlan0"});
  vf().remove();
  EXPECT_EQ(host().read_device(device()).error().code, Errc::kNotFound);
}

TEST_F(NodeHostTest, ReadsRdma) {
  for (const char* name :
       {"infiniband/mlx5_3", "infiniband_verbs/uverbs3", "infiniband_mad/issm3", "infiniband_mad/umad3"})
    fs::create_directories(tree_.root() + "/" + vf().path() + "/" + name);
  nodes_.insert("/dev/infiniband/rdma_cm");
  const auto look = host().read_device(device());
  EXPECT_EQ(look->rdma_device, "mlx5_3");
  EXPECT_EQ(look->rdma_nodes, (std::vector<std::string>{"/dev/infiniband/uverbs3", "/dev/infiniband/issm3",
                                                        "/dev/infiniband/umad3", "/dev/infiniband/rdma_cm"}));
  EXPECT_FALSE(look->is_rdma_shared) << "not known";
  const fs::path mode = tree_.root() + "/sys/module/ib_core/parameters/netns_mode";
  fs::create_directories(mode.parent_path());
  for (const char* text : {"Y", "N"}) {
    std::ofstream(mode) << text << "\n";
    EXPECT_EQ(host().read_device(device())->is_rdma_shared, text == std::string("Y"));
  }
}

// In exclusive mode the kernel hides infiniband/ of a device that is in a pod's namespace, and not the classes of its nodes.
TEST_F(NodeHostTest, TheNodesOfAnRdmaDeviceInAPodAreItsFunctions) {
  for (const char* name : {"infiniband_verbs/uverbs5", "infiniband_mad/umad5"})
    fs::create_directories(tree_.root() + "/" + vf().path() + "/" + name);
  const auto look = host().read_device(device());
  EXPECT_EQ(look->rdma_device, "");
  EXPECT_EQ(look->rdma_nodes, (std::vector<std::string>{"/dev/infiniband/uverbs5", "/dev/infiniband/umad5"}));
}

TEST_F(NodeHostTest, TheVfioNodesOfABoundFunctionAreThoseThatExist) {
  vf().driver("vfio-pci");
  fs::create_directories(tree_.root() + "/" + vf().path() + "/vfio-dev/vfio4");
  PreparedDevice one = device();
  one.vfio = VfioBinding{};
  nodes_.clear();
  EXPECT_EQ(host().read_device(one)->vfio_group, "");
  nodes_.insert({"/dev/vfio/7", "/dev/vfio/devices/vfio4"});
  EXPECT_EQ(host().read_device(one)->vfio_group, "7");
  EXPECT_EQ(host().read_device(one)->vfio_cdev, "vfio4");
}

// From the look at a VF of an HCA to its way to vfio-pci and back. Red when a 20-byte address or a missing MAC stops any of it.
TEST_F(NodeHostTest, BindsAndReturnsAnInfinibandVf) {
  auto pf = fixture::add_hca(tree_, 1);
  const std::string pci = pf.vf(0).address();
  pf.vf(0).attr("driver_override", "");
  group(pci, "9");
  nodes_.insert({"/dev/vfio/9", "/dev/infiniband/rdma_cm"});
  PreparedDevice one = device("mlx5_core");
  one.pci = pci;
  one.interface = "ib1";
  const auto look = host().read_device(one);
  ASSERT_TRUE(look) << look.error().what;
  EXPECT_EQ(look->identity, (Identity{"15b3", "101c", fixture::kHca}));
  EXPECT_EQ(look->interfaces, std::vector<std::string>{"ib1"});
  EXPECT_EQ(look->rdma_device, "mlx5_1");
  EXPECT_EQ(look->rdma_nodes, (std::vector<std::string>{"/dev/infiniband/uverbs1", "/dev/infiniband/issm1",
                                                        "/dev/infiniband/umad1", "/dev/infiniband/rdma_cm"}));
  EXPECT_EQ(look->mac_holder, "");
  links_ = {{.ifindex = 3,
             .name = "ib1",
             .parent = pci,
             .mac = tree_text("sys/class/net/ib1/address"),
             .mtu = 2044}};
  vf_settings_ = {{0, {.node_guid = fixture::hca_guid(1, false), .port_guid = fixture::hca_guid(1, true)}}};
  const auto kept = host().read_settings(one);
  ASSERT_TRUE(kept.ok()) << kept.error().what;
  EXPECT_EQ(kept->vf->port_guid, fixture::hca_guid(1, true));
  moved_ = pci;
  const auto group = host().bind(one, {one});
  ASSERT_TRUE(group) << group.error().what;
  EXPECT_EQ(VfioNodes::decode(*group).group, "9");
  EXPECT_EQ(host().read_device(one)->driver, "vfio-pci");
  EXPECT_EQ(*host().restore(one), "");
  EXPECT_EQ(host().read_device(one)->driver, "mlx5_core");
  EXPECT_TRUE(host().restore_settings(*kept).value().is_back);
  EXPECT_EQ(setting_writes_, 0) << "nothing differs";
}

TEST_F(NodeHostTest, ReadsAVdpaDeviceAndItsUser) {
  const std::string dir = vf().path() + "/vdpa0";
  tree_.write(dir + "/vhost-vdpa-3/dev", "510:3");
  tree_.symlink("../../../bus/vdpa/drivers/vhost_vdpa", dir + "/driver");
  tree_.symlink("../../../" + dir.substr(4), "sys/bus/vdpa/devices/vdpa0");
  PreparedDevice one = device();
  one.vfio.reset();
  using All = std::vector<hotplug::VdpaDevice>;
  EXPECT_EQ(host().read_device(one)->vdpas, (All{{"vdpa0", "vhost", "/dev/vhost-vdpa-3"}}));
  EXPECT_EQ(host().read_device(one)->in_use, "");
  nodes_.clear();
  holder_ = DeviceProcess{4711, "qemu"};
  EXPECT_NE(host().read_device(one)->in_use.find("process 4711 (qemu) has its vDPA device vdpa0 open"),
            std::string::npos)
      << "without the node in the plugin's container";
  holder_.reset();
  nodes_ = {"/dev/vhost-vdpa-3"};
  EXPECT_EQ(host().read_device(one)->in_use, "") << "nobody has it open";
  group_use_ = GroupUse::kOpen;
  EXPECT_EQ(
      host().read_device(one)->in_use,
      "device 0000:03:00.2 is in use: a process outside this PID namespace has its vDPA device vdpa0 open "
      "(/dev/vhost-vdpa-3), and it is released when that process ends");
  holder_ = DeviceProcess{4711, "qemu"};
  EXPECT_NE(host().read_device(one)->in_use.find("process 4711 (qemu) has its vDPA device vdpa0 open"),
            std::string::npos);
  EXPECT_EQ(asked_, std::vector<std::string>{"/dev/vhost-vdpa-3"});

  // Another device node of the function: the function is in use if either is open.
  holder_.reset();
  nodes_.clear();
  const std::string other = vf().path() + "/vdpa1";
  tree_.write(other + "/vhost-vdpa-4/dev", "510:4");
  tree_.symlink("../../../bus/vdpa/drivers/vhost_vdpa", other + "/driver");
  tree_.symlink("../../../" + other.substr(4), "sys/bus/vdpa/devices/vdpa1");
  EXPECT_EQ(host().read_device(one)->vdpas.size(), 2u);
  EXPECT_EQ(host().read_device(one)->in_use, "");
  nodes_ = {"/dev/vhost-vdpa-4"};
  EXPECT_NE(host().read_device(one)->in_use.find("has its vDPA device vdpa1 open"), std::string::npos);
}

// Red when a pod gets its PF's RDMA device, or none, or another PF's scalable function of the same name.
TEST_F(NodeHostTest, ReadsAScalableFunction) {
  constexpr const char* kPf = "0000:03:00.0";
  auto pf = tree_.pci(kPf).id("15b3", "101d").netdev("ens1f0np0").netdev("enp3s0f0s88", "mlx5_core.sf.4/");
  pf.rdma("mlx5_0");
  for (const char* name : {"infiniband_verbs/uverbs0", "mlx5_core.sf.4/infiniband/mlx5_12",
                           "mlx5_core.sf.4/infiniband_verbs/uverbs12"})
    fs::create_directories(tree_.root() + "/" + pf.path() + "/" + name);
  PreparedDevice sf{.pool = "node-a/0000-03-00-0", .device = "enp3s0f0s88", .interface = "enp3s0f0s88"};
  sf.identity.pf = kPf;
  tree_.write(pf.path() + "/mlx5_core.sf.4/sfnum", "88");
  sf.identity.product = "sf88", sf.identity.vendor = "15b3";
  const auto look = host().read_device(sf);
  ASSERT_TRUE(look) << look.error().what;
  EXPECT_EQ(look->rdma_device, "mlx5_12");
  EXPECT_EQ(look->rdma_nodes, std::vector<std::string>{"/dev/infiniband/uverbs12"});
  EXPECT_EQ(look->identity.pf, kPf);
  EXPECT_EQ(look->lower_pfs, std::vector<std::string>{kPf});
  EXPECT_EQ(refusal(sf, KnownEntry(), *look), "");
  EXPECT_EQ(look->interface, "enp3s0f0s88");

  // Renamed by udev, while another link has its name.
  tree_.rename_netdev("enp3s0f0s88", "net7");
  tree_.virtual_link("enp3s0f0s88");
  EXPECT_EQ(host().read_device(sf)->interface, "net7");
  EXPECT_EQ(host().read_device(sf)->rdma_device, "mlx5_12");
  sf.identity.product = "sf99";
  EXPECT_NE(refusal(sf, KnownEntry(), *look), "") << "another one has its name";
  EXPECT_EQ(host().read_device(sf).error().code, Errc::kNotFound)
      << "it is gone, and made again as another one";
  sf.identity.product = "sf88";
  sf.identity.pf = "0000:3b:00.0";
  EXPECT_NE(refusal(sf, KnownEntry(), *look), "");
  // One for vDPA alone.
  const std::string dir = pf.path() + "/mlx5_core.sf.6";
  tree_.write(dir + "/sfnum", "5");
  tree_.write(dir + "/vdpa5/vhost-vdpa-0/dev", "510:0");
  tree_.symlink("../../../bus/vdpa/drivers/vhost_vdpa", dir + "/vdpa5/driver");
  tree_.symlink("../../../" + dir.substr(4) + "/vdpa5", "sys/bus/vdpa/devices/vdpa5");
  PreparedDevice alone{.pool = "node-a/0000-03-00-0", .device = "sf5-0000-03-00-0"};
  alone.identity = {"15b3", "sf5", kPf};
  const auto seen = host().read_device(alone);
  ASSERT_TRUE(seen) << seen.error().what;
  EXPECT_EQ(seen->vdpas.at(0).node, "/dev/vhost-vdpa-0");
  EXPECT_EQ(seen->identity, alone.identity);
  EXPECT_EQ(refusal_of_interface(alone, *seen), "");
  alone.network = R"({"type":"host-device"})";
  EXPECT_NE(refusal_of_interface(alone, *seen).find("has no interface"), std::string::npos);
}

// RoCE can be off on the PF and on in its scalable function, and the reverse. A GID table names interfaces of
// others: of a LAG, or of representors. Red when either of both gets the RDMA device of the other one.
TEST_F(NodeHostTest, AssignsAnRdmaDeviceToItsFunctionOnly) {
  constexpr const char* kPf = "0000:03:00.0";
  auto pf = tree_.pci(kPf).id("15b3", "101d").netdev("ens1f0np0").netdev("enp3s0f0s88", "mlx5_core.sf.4/");
  tree_.write(pf.path() + "/mlx5_core.sf.4/sfnum", "88");
  const std::string dir = pf.path() + "/mlx5_core.sf.4/infiniband/mlx5_12";
  fs::create_directories(tree_.root() + "/" + pf.path() + "/mlx5_core.sf.4/infiniband_verbs/uverbs12");
  tree_.write(dir + "/ports/1/gid_attrs/ndevs/0", "ens1f0np0");
  tree_.symlink("../../" + dir.substr(4), "sys/class/infiniband/mlx5_12");
  PreparedDevice of_pf{.pci = kPf, .interface = "ens1f0np0"}, sf{.interface = "enp3s0f0s88"};
  sf.identity = {"15b3", "sf88", kPf};
  EXPECT_EQ(host().read_device(of_pf)->rdma_device, "");
  EXPECT_TRUE(host().read_device(of_pf)->rdma_nodes.empty());
  EXPECT_EQ(host().read_device(sf)->rdma_device, "mlx5_12");
  EXPECT_EQ(host().read_device(sf)->rdma_nodes, std::vector<std::string>{"/dev/infiniband/uverbs12"});

  for (const char* name : {"infiniband", "infiniband_verbs"})
    fs::remove_all(tree_.root() + "/" + pf.path() + "/mlx5_core.sf.4/" + name);
  fs::remove(tree_.root() + "/sys/class/infiniband/mlx5_12");
  pf.rdma("mlx5_0");
  tree_.write(pf.path() + "/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0", "enp3s0f0s88");
  EXPECT_EQ(host().read_device(sf)->rdma_device, "");
  EXPECT_TRUE(host().read_device(sf)->rdma_nodes.empty());
  EXPECT_EQ(host().read_device(of_pf)->rdma_device, "mlx5_0");
}

// The names of the plan are those of the last inventory.
TEST_F(NodeHostTest, ReadsTheCurrentInterface) {
  PreparedDevice one = device();
  one.vfio.reset();
  vf().netdev("net7");
  tree_.pci("0000:03:00.3").id("8086", "10ca").netdev("ens1f0v0");
  one.interface = "ens1f0v0";
  EXPECT_EQ(host().read_device(one)->interface, "net7");
  tree_.remove_netdev("net7");
  EXPECT_EQ(host().read_device(one)->interface, "");
}

// The rule is that of discovery: devlink's flavour counts if phys_port_name is ambiguous.
TEST_F(NodeHostTest, FindsTheUplinkByDevlink) {
  class WithDevlink final : public hotplug::HostView {
   public:
    WithDevlink(std::shared_ptr<const hotplug::HostView> host, std::map<int, std::string> ports)
        : host_(std::move(host)), ports_(std::move(ports)) {}
    Result<std::string> read(std::string_view path, size_t size_max) const override {
      return host_->read(path, size_max);
    }
    Result<std::vector<std::string>> list(std::string_view path) const override { return host_->list(path); }
    Result<std::string> readlink(std::string_view path) const override { return host_->readlink(path); }
    Result<std::string> devlink_port(int ifindex) const override {
      const auto at = ports_.find(ifindex);
      return at == ports_.end() ? std::string() : at->second;
    }
    bool is_live() const override { return false; }

   private:
    const std::shared_ptr<const hotplug::HostView> host_;
    const std::map<int, std::string> ports_;
  };
  auto pf = tree_.pci("0000:03:00.0").id("15b3", "101d").netdev("a_rep").netdev("eth9");
  for (const char* name : {"a_rep", "eth9"}) tree_.netdev_attr(name, "phys_switch_id", "0a0b");
  tree_.netdev_attr("a_rep", "ifindex", "40");
  tree_.netdev_attr("eth9", "ifindex", "41");
  const auto uplink = [&](std::map<int, std::string> ports) {
    return uplink_of_pf(WithDevlink(tree_.view(), std::move(ports)), "0000:03:00.0");
  };
  EXPECT_EQ(uplink({{40, "pf0vf0"}, {41, "p0"}}), "eth9");
  EXPECT_EQ(uplink({{40, "p0"}, {41, "pf0sf88"}}), "a_rep");
  EXPECT_EQ(uplink({{40, "pf0vf0"}, {41, "pf0"}}), "") << "representors alone";
  tree_.netdev_attr("eth9", "phys_port_name", "7");
  EXPECT_EQ(uplink({{40, "pf0vf0"}, {41, "p0"}}), "eth9") << "a number alone";
}

// A software RDMA device is below no function: it names its interface, and its nodes name it.
TEST_F(NodeHostTest, FindsTheNodesOfASoftwareRdmaDevice) {
  vf().netdev("eth2");
  for (const auto& [device, netdev, node] :
       {std::array{"rxe1", "eth2", "uverbs1"}, std::array{"rxe0", "eth0", "uverbs0"}}) {
    const std::string classes = tree_.root() + "/sys/class/";
    for (const auto& [path, text] : {std::pair(std::string("infiniband/") + device + "/parent", netdev),
                                     std::pair(std::string("infiniband_verbs/") + node + "/ibdev", device)}) {
      fs::create_directories(fs::path(classes + path).parent_path());
      std::ofstream(classes + path) << text << "\n";
    }
  }
  nodes_.insert("/dev/infiniband/rdma_cm");
  const std::vector<std::string> nodes = {"/dev/infiniband/uverbs1", "/dev/infiniband/rdma_cm"};
  const auto look = host().read_device(device());
  ASSERT_TRUE(look) << look.error().what;
  EXPECT_EQ(look->rdma_device, "rxe1");
  EXPECT_EQ(look->rdma_nodes, nodes);
  PreparedDevice link{.device = "eth2", .interface = "eth2"};
  EXPECT_EQ(host().read_device(link)->rdma_nodes, nodes);
  link.interface = "eth3";
  fs::create_directories(tree_.root() + "/sys/class/net/eth3");
  EXPECT_EQ(host().read_device(link)->rdma_device, "");
}

TEST_F(NodeHostTest, BindsByOverrideAndRestores) {
  EXPECT_EQ(host().bind(device(), {}).value(), "7");
  EXPECT_EQ(writes_, (std::vector<std::string>{"driver_override=vfio-pci", std::string("unbind=") + kVf,
                                               std::string("drivers_probe=") + kVf}));
  EXPECT_EQ(driver(), "vfio-pci");
  EXPECT_EQ(host().bind(device(), {}).value(), "7") << "again";
  EXPECT_EQ(driver(), "vfio-pci");
  ASSERT_TRUE(host().restore(device()));
  EXPECT_EQ(driver(), "igbvf");
  EXPECT_EQ(override_, "") << "the next probe is the kernel's own";
}

TEST_F(NodeHostTest, DoesNotWriteToABoundFunction) {
  vf().driver("vfio-pci");
  EXPECT_EQ(host().bind(device("vfio-pci"), {}).value(), "7");
  EXPECT_TRUE(writes_.empty()) << "an override that nobody takes back";
}

TEST_F(NodeHostTest, RestoresTheDriver) {
  struct Case {
    std::string original, before, after;
  };
  const std::string none(kNoDriver);
  for (const Case& one : {Case{"igbvf", "vfio-pci", "igbvf"},
                          {"other", "vfio-pci", "other"},
                          {none, "vfio-pci", ""},
                          {"", "vfio-pci", "igbvf"},
                          {"vfio-pci", "vfio-pci", "vfio-pci"},
                          {"other", "igbvf", "igbvf"},
                          {"igbvf", "", "igbvf"}}) {
    fs::create_directories(tree_.root() + "/sys/bus/pci/drivers/other");
    vf().driver(one.before);
    override_ = "vfio-pci";
    ASSERT_TRUE(host().restore(device(one.original))) << one.original;
    EXPECT_EQ(driver(), one.after) << one.original << " after " << one.before;
  }
  vf().remove();
  EXPECT_TRUE(host().restore(device())) << "what is gone needs nothing";
}

// Red when a pod waits for a driver that its device had: the driver is not loaded for that.
TEST_F(NodeHostTest, ReportsAFunctionWithoutItsDriver) {
  for (const bool is_loaded : {true, false}) {
    vf().driver("vfio-pci");
    override_ = "vfio-pci", refuses_ = {"igbvf"};
    if (!is_loaded) fs::remove_all(tree_.root() + "/sys/bus/pci/drivers/igbvf");
    const auto left = host().restore(device());
    ASSERT_TRUE(left) << left.error().what;
    EXPECT_EQ(*left, is_loaded
                         ? "device 0000:03:00.2 is not bound by driver igbvf, which it had, and has none"
                         : "device 0000:03:00.2 has no driver: igbvf, which it had, is not loaded");
    EXPECT_EQ(driver(), "");
    EXPECT_EQ(override_, "") << "a module that is loaded later may have it";
    EXPECT_EQ(*host().restore(device()), *left) << "again";
  }
  // The function is bound when it appears. A binding by another program stays unchanged.
  const auto take_again = [this] { return bind_or_restore(host(), Binding::kRebind, device(), {}); };
  EXPECT_NE(take_again().value(), "");
  refuses_.clear();
  fs::create_directories(tree_.root() + "/sys/bus/pci/drivers/igbvf");
  EXPECT_EQ(take_again().value(), "");
  EXPECT_EQ(driver(), "igbvf");
  vf().driver("vfio-pci");
  writes_.clear();
  EXPECT_EQ(take_again().value(), "");
  EXPECT_TRUE(writes_.empty());
}

// Red when a VF that chooses its address comes back with another one: that is published, and a write of a slice.
TEST_F(NodeHostTest, RestoresTheAddressAfterRebinding) {
  PreparedDevice one = device();
  one.held.emplace().netdev = hotplug::Netdev{.name = "eth2", .mac = "02:00:00:00:00:77"};
  for (const char* now : {"02:00:00:00:00:99", "02:00:00:00:00:77"}) {
    vf().driver("vfio-pci").netdev("eth2");
    tree_.netdev_attr("eth2", "ifindex", "12");
    tree_.netdev_attr("eth2", "address", now);
    ASSERT_TRUE(host().restore(one));
    EXPECT_EQ(own_macs_, std::vector<std::string>{"12 02:00:00:00:00:77"}) << "once, from " << now;
  }
  // As after a bind that failed, or whose program was killed: the driver has it already.
  vf().driver("igbvf").netdev("eth2");
  tree_.netdev_attr("eth2", "address", "02:00:00:00:00:99");
  ASSERT_TRUE(host().restore(one));
  EXPECT_EQ(own_macs_.size(), 2u);
}

// Red when a driver is unbound under a process that has the device: the write would wait for that in the kernel.
TEST_F(NodeHostTest, NamesTheProcessThatHasADeviceOpen) {
  ASSERT_TRUE(host().bind(device(), {}));
  fs::create_directories(tree_.root() + "/" + vf().path() + "/vfio-dev/vfio3");
  writes_.clear();
  holder_ = DeviceProcess{4711, "qemu-system-x86"};
  const auto restored = host().restore(device());
  EXPECT_EQ(restored.error(),
            (Error{Errc::kBusy,
                   "device 0000:03:00.2 is in use: process 4711 (qemu-system-x86) has its VFIO "
                   "group open, and it is released when that process ends"}));
  EXPECT_TRUE(writes_.empty());
  EXPECT_EQ(asked_,
            (std::vector<std::string>{"/dev/vfio/7", "/dev/vfio/noiommu-7", "/dev/vfio/devices/vfio3"}));
  EXPECT_EQ(driver(), "vfio-pci");
  holder_.reset();
  EXPECT_TRUE(host().restore(device()));
  EXPECT_EQ(driver(), "igbvf");
}

// The chart's pod may have a PID namespace of its own. Red when a function is unbound below a machine that is not seen.
TEST_F(NodeHostTest, DoesNotTakeADeviceThatTheKernelReportsAsOpen) {
  ASSERT_TRUE(host().bind(device(), {}));
  sees_processes_ = false;
  writes_.clear();
  for (const GroupUse use : {GroupUse::kOpen, GroupUse::kUnknown}) {
    group_use_ = use;
    const auto restored = host().restore(device());
    EXPECT_EQ(restored.error().code, Errc::kBusy);
    const char* why =
        use == GroupUse::kOpen
            ? "device 0000:03:00.2 is in use: a process outside this PID namespace has its VFIO group open"
            : "device 0000:03:00.2 may be in use: it is unknown whether a process has its VFIO group or UIO device "
              "open: not all processes can be seen; run in the host's PID namespace (chart: "
              "kubeletPlugin.hostPID)";
    EXPECT_TRUE(restored.error().what.starts_with(why)) << restored.error().what;
    EXPECT_FALSE(host().set_mac(device(), "02:00:00:00:00:77"));
    EXPECT_EQ(host().read_device(device())->in_use, restored.error().what)
        << "nor is it given to another claim";
  }
  EXPECT_TRUE(writes_.empty());
  group_use_ = GroupUse::kFree;
  EXPECT_TRUE(host().restore(device())) << "the kernel's word is enough";
  EXPECT_EQ(driver(), "igbvf");
  sees_processes_ = true;
  ASSERT_TRUE(host().bind(device(), {}));
  group_use_ = GroupUse::kUnknown;
  EXPECT_TRUE(host().restore(device())) << "and so is all of /proc";
}

// The tree of siderolabs/pkgs#1654: VFs that the administrator has bound to mlx5_vfio_pci for live migration. Red when prepare moves
// them to vfio-pci, or the return clears the administrator's override: machines could not be migrated any more.
TEST_F(NodeHostTest, AVariantVfioDriverKeepsTheFunction) {
  for (const char* variant : {"mlx5_vfio_pci", "nvgrace-gpu-vfio-pci", "acme_migrate"}) {
    vf().driver(variant);
    const bool has_usual_name = variant != std::string("acme_migrate");
    const std::string registered = tree_.root() + "/" + vf().path() + "/vfio-dev";
    if (!has_usual_name) fs::create_directories(registered + "/vfio3");
    writes_.clear();
    EXPECT_TRUE(host().read_device(device(variant))->is_on_vfio) << variant;
    EXPECT_EQ(host().bind(device(variant), {}).value(), "7") << variant;
    sees_processes_ = false;
    group_use_ = GroupUse::kOpen;
    EXPECT_NE(host().read_device(device(variant))->in_use, "") << "another claim does not get what is open";
    group_use_ = GroupUse::kFree;
    sees_processes_ = true;
    for (const std::string& original : {std::string(variant), std::string()})
      EXPECT_EQ(host().restore(device(original)).value(), "") << variant;
    EXPECT_TRUE(writes_.empty()) << variant;
    EXPECT_EQ(driver(), variant);
    EXPECT_TRUE(is_back(**hotplug::open_host_view(tree_.root()), kVf)) << "it makes no interface";
    fs::remove_all(registered);
  }
  // A kernel before 6.1 has no class vfio-dev: the module shows that the driver is one of VFIO.
  EXPECT_FALSE(host().read_device(device())->is_on_vfio);
  fs::create_directories(tree_.root() + "/sys/module/vfio_pci_core/holders/acme");
  fs::create_directory_symlink("../../../../module/acme",
                               tree_.root() + "/sys/bus/pci/drivers/acme_migrate/module");
  EXPECT_TRUE(host().read_device(device())->is_on_vfio);
  // What an earlier version took from a variant driver goes back to it.
  vf().driver("vfio-pci");
  fs::create_directories(tree_.root() + "/sys/bus/pci/drivers/mlx5_vfio_pci");
  EXPECT_EQ(host().restore(device("mlx5_vfio_pci")).value(), "");
  EXPECT_EQ(driver(), "mlx5_vfio_pci");
}

// The trees of kubevirt/kubevirt#18300: a kernel without VFIO groups (NVIDIA Grace), and one with both forms. Red when the pod of a
// machine that uses IOMMUFD gets no nodes of it, or prepare waits for a group that never comes.
TEST_F(NodeHostTest, ReadsTheKernelsVfioNodes) {
  struct Case {
    std::set<std::string> nodes;
    bool is_numbered;
    const char* found;
  };
  const std::string cdev = tree_.root() + "/" + vf().path() + "/vfio-dev/vfio3";
  fs::create_directories(cdev);
  for (const Case& one : {Case{{"/dev/vfio/devices/vfio3", "/dev/iommu"}, false, "vfio3"},
                          {{"/dev/vfio/devices/vfio3", "/dev/iommu"}, true, "vfio3"},
                          {{"/dev/vfio/7", "/dev/vfio/devices/vfio3"}, true, "7 vfio3"},
                          {{"/dev/vfio/7"}, false, "7"}}) {
    if (one.is_numbered)
      std::ofstream(cdev + "/dev") << "243:3\n";
    else
      fs::remove(cdev + "/dev");
    nodes_ = one.nodes;
    vf().driver("igbvf");
    fs::create_directories(tree_.root() + "/sys/bus/pci/drivers/vfio-pci");
    EXPECT_EQ(host().bind(device(), {}).value(), one.found);
  }
}

// Red when prepare unbinds a function that a program in user space has open through UIO.
TEST_F(NodeHostTest, DoesNotBindADeviceOpenThroughAnotherDriver) {
  sees_processes_ = false;
  // Any number of processes may have a UIO device open: the kernel does not say whether one has.
  nodes_.clear();
  vf().driver("igb_uio");
  fs::create_directories(tree_.root() + "/" + vf().path() + "/uio/uio0");
  writes_.clear();
  EXPECT_EQ(host().bind(device("igb_uio"), {}).error().code, Errc::kBusy);
  sees_processes_ = true;
  holder_ = DeviceProcess{12, "testpmd"};
  EXPECT_NE(host().bind(device("igb_uio"), {}).error().what.find("process 12 (testpmd)"), std::string::npos);
  EXPECT_EQ(asked_.back(), "/dev/uio0");
  EXPECT_TRUE(writes_.empty());
  holder_.reset();
  nodes_ = {"/dev/vfio/7"};
  EXPECT_TRUE(host().bind(device("igb_uio"), {}));
}

TEST_F(NodeHostTest, WaitsForTheInterfaceUnlessTheDriverHasNone) {
  const auto back = [&] { return is_back(**hotplug::open_host_view(tree_.root()), kVf); };
  EXPECT_FALSE(back()) << "igbvf has it, and its interface is elsewhere";
  vf().netdev("eth2");
  EXPECT_TRUE(back());
  EXPECT_TRUE(is_back(**hotplug::open_host_view(tree_.root()), "0000:99:00.0")) << "gone";
  tree_.pci("0000:03:00.5").id("8086", "10ca");
  for (const char* driver : {"", "vfio-pci", "mlx5_vfio_pci", "igb_uio"}) {
    tree_.pci("0000:03:00.5").driver(driver);
    EXPECT_TRUE(is_back(**hotplug::open_host_view(tree_.root()), "0000:03:00.5")) << driver;
  }
  tree_.pci("0000:03:00.5").driver("iavf");
  EXPECT_FALSE(is_back(**hotplug::open_host_view(tree_.root()), "0000:03:00.5"));
}

TEST_F(NodeHostTest, NamesUsersOfAClaimsDevicesOrUnknown) {
  PreparedClaim claim{.pods = {{"pod", "pod-1"}}, .devices = {device()}};
  EXPECT_EQ(host().user_of(claim).value(), "");
  process_ = DeviceProcess{7, "pause"};
  EXPECT_EQ(host().user_of(claim).value(), "process 7 (pause)");
  process_.reset();
  ASSERT_TRUE(host().bind(device(), {}));
  holder_ = DeviceProcess{8, "qemu"};
  EXPECT_EQ(host().user_of(claim).value(), "process 8 (qemu)");
  holder_.reset();
  claim.devices[0] = {.pci = kVf, .interface = "eth2"};
  claim.devices[0].held.emplace().netdev = hotplug::Netdev{.name = "eth2"};
  EXPECT_EQ(host().user_of(claim).value(), "the network namespace that has eth2");
  vf().netdev("eth7");
  EXPECT_EQ(host().user_of(claim).value(), "") << "it is back, under whichever name";
  sees_pods_ = false;
  EXPECT_FALSE(host().user_of(claim));
}

// Of a virtual machine. Its interface is below the device virtioN on the function. Red when it is looked for on the function alone: then a
// claim with a network is refused, the VLANs above it are not seen, and it counts as in use for ever.
TEST_F(NodeHostTest, FindsTheInterfaceOfAVirtioFunction) {
  tree_.pci("0000:00:03.0", "pci0000:00").id("1af4", "1041").driver("virtio-pci").netdev("eth1", "virtio2/");
  tree_.vlan("eth1.5", 5, "eth1");
  links_ = {{.ifindex = 4, .name = "eth1", .mac = "02:00:00:00:00:0b", .mtu = 9000}};
  PreparedDevice virtio{.device = "0000-00-03-0", .pci = "0000:00:03.0", .interface = "eth1"};
  const auto look = host().read_device(virtio);
  ASSERT_TRUE(look) << look.error().what;
  EXPECT_EQ(look->interfaces, std::vector<std::string>{"eth1"});
  EXPECT_EQ(look->uppers, std::vector<std::string>{"eth1.5"});
  const auto kept = host().read_settings(virtio);
  ASSERT_TRUE(kept) << kept.error().what;
  EXPECT_EQ(kept->interface->mtu, 9000);
  PreparedDevice other = NodeHostTest::device();
  other.vfio.reset();
  other.config.if_name = "eth1";
  EXPECT_EQ(host().read_device(other)->name_holder, "0000:00:03.0");
  links_[0].mtu = 1400, links_[0].name = "net1";
  tree_.remove_netdev("eth1.5");
  tree_.rename_netdev("eth1", "net1");
  EXPECT_TRUE(host().restore_settings(*kept).value().is_back);
  EXPECT_EQ(links_[0].mtu, 9000);
  EXPECT_EQ(links_[0].name, "eth1");

  PreparedClaim claim{.pods = {{"pod", "pod-1"}}, .devices = {virtio}};
  claim.devices[0].held.emplace().netdev = hotplug::Netdev{.name = "eth1"};
  EXPECT_EQ(host().user_of(claim).value(), "");
  tree_.remove_netdev("net1");
  links_.clear();
  EXPECT_EQ(host().user_of(claim).value(), "the network namespace that has eth1");
  EXPECT_FALSE(host().restore_settings(*kept).value().is_back);
}

TEST_F(NodeHostTest, RefusesASharedGroupAndChangesNothing) {
  tree_.pci("0000:03:00.3").id("8086", "10ca").attr("class", "0x020000");
  fs::create_directory_symlink("x", tree_.root() + "/sys/kernel/iommu_groups/7/devices/0000:03:00.3");
  const auto bound = host().bind(device(), {});
  EXPECT_EQ(bound.error().code, Errc::kBusy);
  EXPECT_NE(bound.error().what.find("0000:03:00.3"), std::string::npos);
  PreparedDevice other = device();
  other.pci = "0000:03:00.4";
  EXPECT_FALSE(host().bind(device(), {device(), other})) << "not with any other";
  EXPECT_TRUE(writes_.empty());
  tree_.pci("0000:03:00.3").attr("class", "0x060400");
  EXPECT_TRUE(host().bind(device(), {})) << "a bridge takes no part";
}

// Red when a claim gets only a part of a group: the group could not be used.
TEST_F(NodeHostTest, FunctionsOfOneGroupAreBoundForOneClaim) {
  PreparedDevice other = device();
  other.pci = "0000:03:00.3";
  tree_.pci(other.pci).id("8086", "10ca").driver("igbvf").attr("class", "0x020000");
  group(other.pci, "7");
  const auto bound = host().bind(device(), {device(), other});
  ASSERT_TRUE(bound) << bound.error().what;
  EXPECT_EQ(*bound, "7");
  EXPECT_EQ(driver(), "vfio-pci");
}

TEST_F(NodeHostTest, RestoresTheDriverAfterAFailedBind) {
  refuses_ = {"vfio-pci"};
  fixture::expect_golden(host().bind(device(), {}).error().what);
  EXPECT_EQ(driver(), "igbvf");
  refuses_.clear();
  fs::remove_all(tree_.root() + "/sys/bus/pci/drivers/vfio-pci");
  fixture::expect_golden(host().bind(device(), {}).error().what);
}

TEST_F(NodeHostTest, NamesAMissingIommu) {
  std::ofstream(tree_.root() + "/sys/kernel/iommu_groups/7/name") << "vfio-noiommu\n";
  nodes_ = {"/dev/vfio/noiommu-7"};
  EXPECT_EQ(host().bind(device(), {}).value(), "noiommu-7");
}

TEST_F(NodeHostTest, WritesAndRemovesFiles) {
  const cdi::Spec spec{.kind = "a.b/vf", .devices = {{"d", {.env = {"A=1"}}}}};
  ASSERT_TRUE(apply({.specs = {{spec, "uid"}}, .infos = {{root_ + "/dp/x.json", "{}"}}}));
  EXPECT_EQ(host().spec_ids("a.b/vf").value(), std::vector<std::string>{"uid"});
  EXPECT_EQ(host().read_spec("a.b/vf", "uid").value(), spec);
  EXPECT_TRUE(fs::exists(root_ + "/dp/x.json"));
  ASSERT_TRUE(apply({.removed_specs = {{"a.b/vf", "uid"}}, .removed_infos = {root_ + "/dp/x.json"}}));
  EXPECT_TRUE(host().spec_ids("a.b/vf")->empty());
  EXPECT_FALSE(fs::exists(root_ + "/dp/x.json"));

  // The error of a directory that is not writable names the directory, for each caller.
  fs::remove_all(root_ + "/cdi");
  std::ofstream(root_ + "/cdi") << "no directory";
  const auto written = apply({.specs = {{spec, "uid"}}});
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().what.find(root_ + "/cdi"), std::string::npos) << written.error().what;

  EXPECT_EQ(host().read_checkpoint().error().code, Errc::kNotFound);
  ASSERT_TRUE(host().write_checkpoint("text"));
  EXPECT_EQ(host().read_checkpoint().value(), "text");
  EXPECT_EQ(fs::status(root_ + "/plugins/sliced-checkpoint.json").permissions(), fs::perms(0600));
  const std::string aside = host().set_checkpoint_aside().value();
  EXPECT_TRUE(fs::exists(aside));
  EXPECT_EQ(host().read_checkpoint().error().code, Errc::kNotFound);
}

// Red when each claim's files are written for themselves: 6 syncs for each.
TEST_F(NodeHostTest, SyncsEachDirectoryOnceForAllChanges) {
  std::vector<FileChange> changes;
  for (const int i : {2, 3, 4, 5}) changes.push_back(change_of(i));
  const int before = fixture::syncs();
  for (const auto& applied : host().apply(changes)) EXPECT_TRUE(applied);
  EXPECT_EQ(fixture::syncs() - before, 4 * 3 + 3) << "each file, and originals, cdi and dp";
  EXPECT_EQ(host().spec_ids("a.b/vf")->size(), 4u);
  EXPECT_EQ(host().read_original_macs()->size(), 4u);
}

TEST_F(NodeHostTest, AFailedChangeDoesNotAffectTheOthers) {
  std::vector<FileChange> changes = {change_of(2), change_of(3), change_of(4), change_of(5)};
  changes[1].original_macs[0].pci = "no address";
  changes[2].infos[0].path = root_ + "/cdi/dp/x.json";  // below a file
  fs::create_directories(root_ + "/cdi");
  std::ofstream(root_ + "/cdi/dp") << "no directory";
  const auto applied = host().apply(changes);
  EXPECT_TRUE(applied[0]);
  EXPECT_FALSE(applied[1]);
  EXPECT_FALSE(applied[2]);
  EXPECT_TRUE(applied[3]);
  EXPECT_EQ(host().spec_ids("a.b/vf").value(), (std::vector<std::string>{"uid-2", "uid-5"}));
  for (const auto& entry : fs::recursive_directory_iterator(root_))
    EXPECT_NE(entry.path().extension(), ".tmp") << entry.path();
}

// Red when all removals come after all writes: the last state of each file would be that of the removal.
TEST_F(NodeHostTest, AppliesChangesAsIfOneAfterTheOther) {
  const FileChange wanted = change_of(2);
  const FileChange removal{.removed_specs = {{"a.b/vf", "uid-2"}},
                           .removed_infos = {wanted.infos[0].path},
                           .removed_original_macs = {wanted.original_macs[0].pci}};
  const auto is_there = [&] {
    const bool has_spec = !host().spec_ids("a.b/vf")->empty();
    EXPECT_EQ(fs::exists(wanted.infos[0].path), has_spec);
    EXPECT_EQ(!host().read_original_macs()->empty(), has_spec);
    return has_spec;
  };
  for (const auto& applied : host().apply({wanted, removal})) ASSERT_TRUE(applied);
  EXPECT_FALSE(is_there());
  for (const auto& applied : host().apply({wanted, removal, wanted})) ASSERT_TRUE(applied);
  EXPECT_TRUE(is_there());
  for (const auto& applied : host().apply({removal, wanted, removal})) ASSERT_TRUE(applied);
  EXPECT_FALSE(is_there());
}

// A claim may be taken back while its machine runs on, as after a forced deletion. Red when the machine's address changes
// before it is found that the function cannot be had.
TEST_F(NodeHostTest, ARunningMachineKeepsItsAddress) {
  vf().link("physfn", "../0000:03:00.0");
  tree_.pci("0000:03:00.0").id("8086", "10c9").netdev("ens1f0").link("virtfn1", std::string("../") + kVf);
  tree_.netdev_attr("ens1f0", "ifindex", "7");
  PreparedDevice one = device();
  one.mac = "02:00:00:00:00:0a";
  ASSERT_TRUE(host().bind(one, {}));
  ASSERT_TRUE(host().set_mac(one, one.mac));
  holder_ = DeviceProcess{4711, "qemu-system-x86"};
  EXPECT_EQ(host().set_mac(one, "02:00:00:00:00:99").error().code, Errc::kBusy);
  EXPECT_EQ(macs_["7-1"], one.mac);
  EXPECT_TRUE(host().set_mac(one, one.mac)) << "it has it already";
}

// The request goes to the PF's own interface, not to a representor beside it. Settings that are right already
// are not written.
TEST_F(NodeHostTest, SetsAnAddressThroughThePf) {
  vf().link("physfn", "../0000:03:00.0");
  tree_.pci("0000:03:00.0").id("8086", "10c9").netdev("ens1f0").netdev("a_representor");
  tree_.pci("0000:03:00.0").link("virtfn0", "../0000:03:00.1").link("virtfn1", std::string("../") + kVf);
  tree_.netdev_attr("a_representor", "phys_port_name", "pf0vf1");
  tree_.netdev_attr("a_representor", "ifindex", "8");
  tree_.netdev_attr("ens1f0", "ifindex", "7");
  macs_["7-1"] = "02:00:00:00:00:99";
  PreparedDevice one = device();
  one.mac = "02:00:00:00:00:0a";
  EXPECT_EQ(host().read_device(one)->admin_mac, "02:00:00:00:00:99");
  ASSERT_TRUE(host().set_mac(one, one.mac));
  EXPECT_EQ(macs_["7-1"], one.mac);
  ASSERT_TRUE(host().set_mac(one, one.mac));
  EXPECT_EQ(mac_writes_, 1);
  keeps_mac_ = true;
  EXPECT_NE(host().set_mac(one, "02:00:00:00:00:99").error().what.find("and the PF has 02:00:00:00:00:0a"),
            std::string::npos)
      << "read back";
  vf().remove();
  EXPECT_EQ(host().set_mac(one, one.mac).error().code, Errc::kNotFound);
}

// Other interfaces below the PF's function come before it by name: representors of scalable functions, of
// VFs, of another host's PF. Of two uplinks the first port's is used, as in discovery.
TEST_F(NodeHostTest, SetsAnAddressThroughTheUplinkAndNoRepresentor) {
  vf().link("physfn", "../0000:03:00.0");
  auto pf = tree_.pci("0000:03:00.0").id("15b3", "101d").link("virtfn1", std::string("../") + kVf);
  struct Port {
    const char *name, *port, *ifindex, *switch_id;
  };
  const std::vector<Port> others = {{"a_sf", "pf0sf88", "40", ""},     {"eth7", "pf0vf0", "41", "0a0b"},
                                    {"a_host", "c1pf0", "42", "0a0b"}, {"b_host", "c1pf0vf1", "43", ""},
                                    {"c_odd", "pf0hpf", "44", "0a0b"}, {"d_number", "1", "45", "0a0b"}};
  const auto add = [&](const Port& one) {
    pf.netdev(one.name);
    tree_.netdev_attr(one.name, "ifindex", one.ifindex);
    tree_.netdev_attr(one.name, "phys_port_name", one.port);
    if (*one.switch_id != '\0') tree_.netdev_attr(one.name, "phys_switch_id", one.switch_id);
  };
  for (const Port& one : others) add(one);
  PreparedDevice one = device();
  one.mac = "02:00:00:00:00:0a";
  const auto none = host().set_mac(one, one.mac);
  EXPECT_EQ(none.error().code, Errc::kIo);
  fixture::expect_golden(none.error().what);
  EXPECT_EQ(mac_writes_, 0);
  add({"enp3s0f1np1", "p1", "6", "0a0b"});
  ASSERT_TRUE(host().set_mac(one, one.mac));
  EXPECT_EQ(macs_, (std::map<std::string, std::string>{{"6-1", one.mac}}));
  add({"enp3s0f0np0", "p0", "5", "0a0b"});
  ASSERT_TRUE(host().set_mac(one, one.mac));
  EXPECT_EQ(macs_["5-1"], one.mac);
  EXPECT_EQ(host().read_device(one)->admin_mac, one.mac);
}

TEST_F(NodeHostTest, FindsTheFunctionOfThePfWithAnAddress) {
  constexpr const char *kMac = "02:00:00:00:00:0a", *kOther = "0000:03:00.3";
  vf().link("physfn", "../0000:03:00.0");
  auto pf = tree_.pci("0000:03:00.0").id("8086", "10c9").netdev("ens1f0");
  pf.link("virtfn1", std::string("../") + kVf).link("virtfn2", std::string("../") + kOther);
  tree_.pci(kOther).id("8086", "10ca").link("physfn", "../0000:03:00.0");
  tree_.netdev_attr("ens1f0", "ifindex", "7");
  tree_.netdev_attr("ens1f0", "address", "02:00:00:00:00:99");
  macs_ = {{"7-1", kMac}, {"7-2", std::string(kNoMac)}};
  PreparedDevice one = device();
  one.mac = kMac;
  for (const bool is_on_vfio : {true, false}) {
    if (!is_on_vfio) one.vfio.reset();
    EXPECT_EQ(host().read_device(one)->mac_holder, "") << "its own";
    macs_["7-2"] = kMac;
    EXPECT_EQ(host().read_device(one)->mac_holder, "VF 2 (0000:03:00.3) of its PF");
    macs_["7-2"] = kNoMac;
  }
  tree_.netdev_attr("ens1f0", "address", "02:00:00:00:00:0A");
  EXPECT_EQ(host().read_device(one)->mac_holder, "its PF 0000:03:00.0");
  tree_.netdev_attr("ens1f0", "address", "02:00:00:00:00:99");
  tree_.pci(kOther).netdev("eth3");
  tree_.netdev_attr("eth3", "address", kMac);
  EXPECT_EQ(host().read_device(one)->mac_holder, "VF 2 (0000:03:00.3) of its PF") << "its interface has it";
  // A network's configuration gives an address as well.
  one.mac.clear();
  for (const std::string network :
       {R"({"type":"sriov","mac":"02:00:00:00:00:99"})",
        R"({"plugins":[{"type":"host-device"},{"type":"tuning","mac":"02:00:00:00:00:99"}]})"}) {
    one.network = network;
    EXPECT_EQ(host().read_device(one)->mac_holder, "its PF 0000:03:00.0") << network;
    EXPECT_EQ(host().read_device(one)->mac_held, "02:00:00:00:00:99");
  }
  one.network = R"({"type":"sriov","mac":"02:00:00:00:00:0b"})";
  one.mac = "02:00:00:00:00:0c";
  EXPECT_EQ(host().read_device(one)->mac_holder, "");
}

// The PF's switch sends frames for the address to the VF. Red when a claim takes the frames of the host's bridge, VLAN or macvlan.
TEST_F(NodeHostTest, FindsAnInterfaceOnThePfWithTheAddress) {
  constexpr const char *kPf = "0000:03:00.0", *kMac = "02:00:00:00:00:0a";
  vf().link("physfn", std::string("../") + kPf).netdev("eth2");
  tree_.pci(kPf).id("8086", "10c9").netdev("ens1f0").link("virtfn1", std::string("../") + kVf);
  tree_.netdev_attr("ens1f0", "ifindex", "7");
  tree_.netdev_attr("ens1f0", "address", "02:00:00:00:00:99");
  tree_.vlan("v10", 10, "ens1f0");
  tree_.bridge("br0");
  tree_.enslave("v10", "br0");
  tree_.bridge("br1");
  PreparedDevice one = device();
  one.vfio.reset();
  one.mac = kMac;
  for (const std::string link : {"v10", "br0", "br1"}) {
    EXPECT_EQ(host().read_device(one)->mac_holder, "") << link;
    tree_.netdev_attr(link, "address", "02:00:00:00:00:0A");
    const auto look = host().read_device(one);
    ASSERT_TRUE(look.ok()) << look.error().what;
    EXPECT_EQ(look->mac_holder,
              link == "br1" ? "" : "interface " + link + " of the host on its PF 0000:03:00.0");
    tree_.netdev_attr(link, "address", "02:00:00:00:00:77");
  }
  tree_.netdev_attr("br0", "address", kMac);
  one.pci = kPf;
  EXPECT_EQ(host().read_device(one)->mac_holder, "")
      << "the whole PF: the host has nothing on it after the move";
}

// A macvlan on a VLAN of a PF has its address in the PF's filter. Red when it gets that of one of the PF's VFs.
TEST_F(NodeHostTest, FindsAFunctionBelowALinkWithTheAddress) {
  constexpr const char *kPf = "0000:03:00.0", *kMac = "02:00:00:00:00:0a";
  vf().link("physfn", std::string("../") + kPf).netdev("eth2");
  tree_.pci(kPf).id("8086", "10c9").netdev("ens1f0").link("virtfn1", std::string("../") + kVf);
  tree_.netdev_attr("ens1f0", "ifindex", "7");
  tree_.netdev_attr("ens1f0", "address", "02:00:00:00:00:99");
  tree_.vlan("v10", 10, "ens1f0");
  tree_.bond("bond0");
  tree_.enslave("v10", "bond0");
  tree_.bridge("br0");
  tree_.enslave("bond0", "br0");
  tree_.bridge("br1");
  for (const std::string link : {"v10", "bond0", "br0", "br1"}) {
    PreparedDevice one{.device = link, .interface = link};
    one.network = R"({"type":"macvlan","mac":"02:00:00:00:00:0a"})";
    macs_ = {{"7-1", std::string(kNoMac)}};
    EXPECT_EQ(host().read_device(one)->mac_holder, "") << link;
    macs_ = {{"7-1", kMac}};
    const auto look = host().read_device(one);
    ASSERT_TRUE(look.ok()) << look.error().what;
    EXPECT_EQ(look->mac_holder, link == "br1" ? "" : "VF 1 (0000:03:00.2) of its PF below " + link);
    EXPECT_EQ(look->lower_pfs, link == "br1" ? std::vector<std::string>() : std::vector<std::string>{kPf});
  }
}

TEST_F(NodeHostTest, FindsTheHolderOfThePodsInterfaceName) {
  constexpr const char* kOther = "0000:03:00.3";
  vf();
  tree_.pci(kOther).id("8086", "10ca").netdev("eth3");
  tree_.bridge("docker0");
  PreparedDevice one = device();
  EXPECT_EQ(host().read_device(one)->name_holder, std::nullopt) << "no name is wanted";
  for (const auto& [name, holder] :
       {std::pair("net1", std::optional<std::string>()), std::pair("docker0", std::optional<std::string>("")),
        std::pair("eth3", std::optional<std::string>(kOther))}) {
    one.config.if_name = name;
    EXPECT_EQ(host().read_device(one)->name_holder, holder) << name;
  }
  // The kernel refuses a name that is another interface's alternative one, too.
  links_ = {{.ifindex = 3, .name = "eth3", .parent = kOther, .alternative_names = {"net1"}},
            {.ifindex = 4, .name = "docker0", .alternative_names = {"net2"}}};
  for (const auto& [name, holder] :
       {std::pair("net1", std::optional<std::string>(kOther)),
        std::pair("net2", std::optional<std::string>("")), std::pair("net3", std::optional<std::string>())}) {
    one.config.if_name = name;
    EXPECT_EQ(host().read_device(one)->name_holder, holder) << name;
  }
  links_ = {{.ifindex = 2, .name = "eth2", .parent = kVf, .alternative_names = {"net1"}}};
  one.config.if_name = "net1";
  EXPECT_EQ(host().read_device(one)->name_holder, std::nullopt) << "it is its own";
}

TEST_F(NodeHostTest, FindsImmovableInterfaces) {
  vf().netdev("eth2");
  tree_.bridge("br0");
  links_ = {{.ifindex = 2, .name = "eth2"},
            {.ifindex = 3, .name = "br0", .is_netns_immutable = true},
            {.ifindex = 4, .name = "eth9", .is_netns_immutable = true}};
  EXPECT_TRUE(host().read_device(device())->immovable_interfaces.empty()) << "others are";
  links_[0].is_netns_immutable = true;
  EXPECT_EQ(host().read_device(device())->immovable_interfaces, std::vector<std::string>{"eth2"});
  const PreparedDevice bridge{.pool = "node-a/net", .device = "br0", .interface = "br0"};
  EXPECT_EQ(host().read_device(bridge)->immovable_interfaces, std::vector<std::string>{"br0"});
}

TEST_F(NodeHostTest, RefusesAnAddressThatThePfDoesNotReport) {
  vf().link("physfn", "../0000:03:00.0");
  tree_.pci("0000:03:00.0").id("8086", "10c9").netdev("ens1f0").link("virtfn1", std::string("../") + kVf);
  tree_.netdev_attr("ens1f0", "ifindex", "7");
  PreparedDevice one = device();
  one.mac = "02:00:00:00:00:0a";
  const auto look = host().read_device(one);
  ASSERT_FALSE(look) << "which address to give back is unknown";
  fixture::expect_golden(look.error().what);
  keeps_mac_ = true;
  const auto set = host().set_mac(one, one.mac);
  ASSERT_FALSE(set);
  fixture::expect_golden(set.error().what);
  EXPECT_FALSE(host().set_mac(one, std::string(kNoMac))) << "what is not reported is not none";
}

// 20 bytes of IPoIB, all zeros, and text that is not an address: the driver chooses.
TEST_F(NodeHostTest, LeavesAnAddressToTheDriverWithoutAnInterface) {
  for (const char* mac : {"00:00:10:49:fe:80:00:00:00:00:00:00:00:11:22:33:44:55:66:77", "00:00:00:00:00:00",
                          "01:00:5e:00:00:01", "", "x=y"}) {
    PreparedDevice one = device();
    one.held.emplace().netdev = hotplug::Netdev{.name = "eth2", .mac = mac};
    vf().driver("vfio-pci").netdev("eth2");
    tree_.netdev_attr("eth2", "ifindex", "12");
    tree_.netdev_attr("eth2", "address", "02:00:00:00:00:99");
    const auto restored = host().restore(one);
    ASSERT_TRUE(restored) << restored.error().what;
    EXPECT_EQ(*restored, "");
    EXPECT_EQ(driver(), "igbvf");
    EXPECT_TRUE(own_macs_.empty()) << mac;
  }
}

}  // namespace
}  // namespace node_host_test
}  // namespace sliced::kubelet
