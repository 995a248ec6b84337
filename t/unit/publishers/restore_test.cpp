#include "publishers/restore.h"

#include <gtest/gtest.h>

#include "policy/exposure/decide_exposure.h"
#include "policy/exposure/exclude_record.h"
#include "t/fixture/pools.h"

namespace sliced::publishers {
namespace {

using fixture::kDriver;
using fixture::kNode;

constexpr const char* kExposure = "dra.networking";
constexpr const char *kPf = "0000:3b:00.0", *kVf = "0000:3b:02.0";

struct RestoreTest : testing::Test {
  RestoreTest() {
    inventory.boot_id = kNode.boot_id;
    add(kPf, hotplug::DeviceType::kPf);
    // Its interface is in a pod, so the facts that excludes read are unknown.
    auto& vf = add(kVf, hotplug::DeviceType::kVf);
    vf.pf = hotplug::PciAddress::decode(kPf);
    vf.driver = "iavf";
    vf.misses_ports = true;
  }
  hotplug::HostDevice& add(const std::string& address, hotplug::DeviceType type) {
    hotplug::HostDevice device;
    device.id.text = address;
    device.pci = hotplug::PciAddress::decode(address);
    device.type = type;
    return inventory.devices[address] = std::move(device);
  }
  // A slice of ours, of this boot.
  kube::ResourceSlice& put(size_t index, const std::string& pool, std::vector<std::string> entries,
                           const std::string& excludes = "") {
    kube::ResourceSlice slice;
    slice.meta.name = slice_name(index, kExposure, kNode.name, pool, 0);
    slice.meta.annotations[std::string(kBootIdAnnotation)] = kNode.boot_id;
    if (!excludes.empty()) slice.meta.annotations[std::string(policy::kExcludesAnnotation)] = excludes;
    slice.driver = kExposure;
    slice.node_name = kNode.name;
    slice.pool = {pool, 1, 1};
    for (std::string& name : entries) slice.devices.push_back(kube::Device{.name = std::move(name)});
    return exposure[slice.meta.name] = std::move(slice);
  }
  OwnSlices own() const { return {sriov, exposure, kDriver, exposure_driver, kNode.name}; }
  policy::Published recalled() const { return published(own(), inventory, {}); }

  const std::string exposure_driver = kExposure;
  hotplug::Inventory inventory;
  ObservedSlices sriov, exposure;
};

// Slices of a pool are written one after the other, and the daemon may die in between. Red when what one of
// them says of a device hides what another does: an exclude that said no would hide the device.
TEST_F(RestoreTest, CountsExcludesOfAnySlice) {
  const std::string first = policy::exclude_record({"a"}), second = policy::exclude_record({"a", "b"});
  for (const bool is_swapped : {false, true}) {
    put(is_swapped ? 1 : 0, "node-a/0000-3b-00-0", {"0000-3b-02-0-m"}, first);
    put(is_swapped ? 0 : 1, "node-a/0000-3b-00-0", {"0000-3b-02-0-i"}, second);
    const policy::Published told = recalled();
    ASSERT_EQ(told.exclude_records.size(), 1u);
    EXPECT_EQ(told.exclude_records.at(kVf), (std::set<std::string>{first, second}));
  }
}

// Of another boot, or of who knows whom, nothing is believed.
TEST_F(RestoreTest, AcceptsExcludesOnlyOfOwnSlicesOfThisBoot) {
  const std::string record = policy::exclude_record({"a"});
  put(0, "node-a/0000-3b-00-0", {"0000-3b-02-0"}, record).meta.annotations[std::string(kBootIdAnnotation)] =
      "boot-0";
  EXPECT_TRUE(recalled().exclude_records.empty());
  EXPECT_TRUE(recalled().exposure.empty()) << "nor that it stands there";
  auto& slice = put(0, "node-a/0000-3b-00-0", {"0000-3b-02-0"}, record);
  slice.meta.annotations.erase(std::string(kBootIdAnnotation));
  EXPECT_TRUE(recalled().exclude_records.empty()) << "no boot is named";
  EXPECT_EQ(recalled().exposure, std::set<std::string>{"0000-3b-02-0"});
  put(0, "node-a/0000-3b-00-0", {"0000-3b-02-0"}, record);
  EXPECT_EQ(recalled().exclude_records.size(), 1u);
}

TEST_F(RestoreTest, RestoresLinksOfSlicesAndReservations) {
  auto& slice = put(0, "node-a/net", {"br-a"});
  kube::Device device{.name = "br-a"};
  device.attributes["dra.networking/ifName"] = std::string("br.a");
  slice.devices = {device};
  const policy::Published told =
      published(own(), inventory,
                {{"node-a/net",
                  {{.entry = "br-b-x", .device = "br.b", .base = "br-b"},
                   {.entry = "0000-3b-02-0", .device = kVf, .base = "0000-3b-02-0"}}}});
  EXPECT_EQ(told.links, (std::map<std::string, std::string>{{"br-a", "br.a"}, {"br-b-x", "br.b"}}));
}

// Red when an entry counts as offered in this boot that another boot, another driver or nobody known has written.
TEST_F(RestoreTest, UsesOwnSlicesForThisBoot) {
  put(0, "node-a/net", {"ours"});
  put(1, "node-a/old", {"of-another-boot"}).meta.annotations[std::string(kBootIdAnnotation)] = "boot-0";
  put(2, "node-a/bare", {"of-no-boot"}).meta.annotations.clear();
  kube::ResourceSlice theirs = put(3, "node-a/theirs", {"theirs"});
  exposure.erase(theirs.meta.name);
  theirs.meta.name = "x";
  exposure["x"] = theirs;
  const policy::Unconfigured found = unconfigured(own(), kNode.boot_id, "why");
  EXPECT_EQ(found.why, "why");
  EXPECT_EQ(found.exposure, std::set<std::string>{"ours"});
  EXPECT_TRUE(found.sriov.empty());
  EXPECT_TRUE(unconfigured(own(), "", "why").exposure.empty()) << "nobody knows which boot this is";
}

struct DoubtRow {
  const char* what;
  std::function<void(RestoreTest&)> make;
  std::set<std::string> whole;  // pools of the exposure driver that are in no unverified
  bool is_of_sriov = true;
};

TEST_F(RestoreTest, IncompletePoolsAreUnverified) {
  const std::string links = "node-a/net", pf = "node-a/0000-3b-00-0";
  const std::vector<DoubtRow> rows = {
      {"no slices", [](RestoreTest&) {}, {}},
      {"whole", [&](RestoreTest& test) { test.put(0, pf, {}), test.put(0, links, {}); }, {links, pf}},
      {"fewer than they say", [&](RestoreTest& test) { test.put(0, pf, {}).pool.slice_count = 2; }, {}},
      {"held by a finalizer after its pool was given up",
       [&](RestoreTest& test) {
         test.put(0, links, {}), test.put(0, pf, {}).pool.generation = kEmptiedGeneration;
       },
       {links}},
      {"fewer than they say, beside one that a finalizer holds",
       [&](RestoreTest& test) {
         test.put(0, pf, {}).pool.slice_count = 2;
         test.put(1, pf, {}).pool.generation = kEmptiedGeneration;
       },
       {}},
      {"under a name that is not ours",
       [&](RestoreTest& test) {
         kube::ResourceSlice slice = test.put(0, pf, {});
         test.exposure.clear();
         slice.meta.name = "theirs";
         test.exposure["theirs"] = slice;
       },
       {}},
      {"one that cannot be read",
       [&](RestoreTest& test) {
         test.put(0, links, {});
         test.put(0, pf, {}).unknown_fields = {std::string(kube::kUnreadable)};
       },
       {links}},
      {"one that does not even tell its pool",
       [&](RestoreTest& test) {
         test.put(0, links, {});
         test.exposure["x"] = unread_slice("x", "u", "1");
       },
       {}}};
  for (const DoubtRow& row : rows) {
    SCOPED_TRACE(row.what);
    exposure.clear();
    row.make(*this);
    const policy::UnverifiedRecords unverified = find_unverified(own());
    EXPECT_TRUE(unverified.exposure.is_any);
    EXPECT_EQ(unverified.exposure.except, row.whole);
    EXPECT_TRUE(unverified.is_of_sriov) << "the other driver has no slices";
  }
  exposure.clear();
  put(0, links, {});
  kube::ResourceSlice slice = exposure.begin()->second;
  slice.driver = kDriver;
  slice.pool.name = kNode.name;
  slice.meta.name = slice_name(0, kDriver, kNode.name, kNode.name, 0);
  sriov[slice.meta.name] = slice;
  EXPECT_FALSE(find_unverified(own()).is_of_sriov);
  exposure.clear();
  EXPECT_TRUE(find_unverified(own()).is_of_sriov) << "nobody has looked after its record either";
}

}  // namespace
}  // namespace sliced::publishers
