// What is made of a configuration offers the devices that the device plugin offers, under the same names.
#include <gtest/gtest.h>

#include <map>

#include "kubectl/migrate/comparing.h"
#include "kubectl/migrate/plugin_config.h"
#include "kubectl/migrate/plugin_rules.h"
#include "t/unit/kubectl/migrate/random_plugin.h"

namespace sliced::migrate {
namespace same_devices_test {
namespace {

namespace rp = random_plugin;

std::string texts_of(const Complaints& complaints) {
  std::string out;
  for (const Complaint& complaint : complaints.all())
    if (complaint.is_error) out += text_of(complaint) + "\n";
  return out;
}

struct Counts {
  size_t offered = 0, devices = 0, exposures = 0;
};

void look_at(uint32_t seed, Form form, bool with_rdma, Counts& counts) {
  rp::Dice dice(seed);
  const auto resources = rp::config(dice, with_rdma);
  const std::string json = rp::json_of(dice, resources);
  SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + json);
  std::vector<Config> configs;
  Complaints complaints;
  read_plugin_config("c.json", json, {}, configs, complaints);
  const Target target{.form = form};
  const auto objects = objects_of(configs, target, complaints);
  ASSERT_EQ(texts_of(complaints), "");
  ASSERT_EQ(configs.size(), 1u);
  const bool is_exposure = objects.front().object.text("kind") == "DeviceExposurePolicy";
  counts.exposures += is_exposure;
  const kube::NodeView node{"node-a", {}};
  for (int h = 0; h < 3; ++h) {
    const auto inventory = rp::host(dice);
    std::map<std::string, ComparedDevice> rows;
    for (ComparedDevice& row : compare(by_plugin(configs, node), objects, inventory, node, target))
      rows.emplace(row.device, row);
    for (const auto& [id, device] : inventory->devices) {
      const std::string wanted = rp::expected(resources, device);
      ++counts.devices;
      counts.offered += !wanted.empty();
      EXPECT_EQ(rows[id].before, wanted) << id;
      // A SriovResourcePolicy offers VFs alone, and cannot ask for a driver of any name.
      const bool can_be_said =
          is_exposure || (device.type == hotplug::DeviceType::kVf && !device.driver.empty());
      // The plugin finds no default route; devices that the host uses are not offered.
      const bool is_left_out =
          !device.host_use.empty() || (!is_exposure && device.type != hotplug::DeviceType::kVf);
      if (can_be_said || is_left_out) {
        EXPECT_EQ(rows[id].after, is_left_out ? "" : wanted) << id << " " << rows[id].why;
      }
    }
  }
}

TEST(SameDevices, AsSriovResourcePolicies) {
  Counts counts;
  for (uint32_t seed = 1; seed <= 400 && !HasFailure(); ++seed) look_at(seed, Form::kSriov, false, counts);
  EXPECT_EQ(counts.exposures, 0u);
  EXPECT_GT(counts.offered * 5, counts.devices);       // the test looks at devices that are offered
  EXPECT_LT(counts.offered * 10, counts.devices * 9);  // and at others
}

TEST(SameDevices, AsDeviceExposurePolicies) {
  Counts counts;
  for (uint32_t seed = 1; seed <= 150 && !HasFailure(); ++seed) look_at(seed, Form::kExposure, true, counts);
  EXPECT_EQ(counts.exposures, 150u);
}

TEST(SameDevices, AreSelectedByASelectorOfRdmaAlone) {
  Counts counts;
  for (uint32_t seed = 1000; seed < 1100 && !HasFailure(); ++seed) look_at(seed, Form::kAuto, true, counts);
  EXPECT_GT(counts.exposures, 10u);
}

}  // namespace
}  // namespace same_devices_test
}  // namespace sliced::migrate
