#include "reports/happening.h"

#include <gtest/gtest.h>

namespace sliced::reports {
namespace happening_test {

using namespace std::chrono_literals;

const PolicyRef kPolicy{"SriovResourcePolicy", "ns", "p"}, kOther{"DeviceExposurePolicy", "", "e"};

DeviceGroup vfs(const std::string& ranges, const std::string& outcome, const std::string& why = "",
                const PolicyRef& policy = kPolicy) {
  const auto numbers = *vf_ranges_of(ranges);
  return {.type = "vf",
          .pf = "0000:3b:00.0",
          .pf_name = "ens1f0",
          .vfs = numbers,
          .pci_address = "0000:3b:02." + std::to_string(numbers.front().first % 8),
          .standing = "held-back",
          .said = {{policy, outcome, why}}};
}
NodeReport with(std::vector<DeviceGroup> groups) {
  NodeReport out{.node = "a"};
  out.groups = std::move(groups);
  return out;
}
std::vector<std::string> notes(const Happenings& all) {
  std::vector<std::string> out;
  for (const Happening& one : all) out.push_back(one.reason + " " + one.policy.name + ": " + one.note);
  return out;
}
using Notes = std::vector<std::string>;

TEST(Happening, EachIsFoundAndSaysWhich) {
  HappeningFinder finder;
  NodeReport report = with({vfs("0-3,7", "refused", "attribute x: too long"),
                            vfs("9", "conflict", "", kOther), vfs("12", "in-use-by-host")});
  report.policies = {{kPolicy, 1, "expose", 0, 0, {}, "spec.x: bad", 2},
                     {kOther, 1, "expose", 0, 0, {}, "", 0}};
  EXPECT_EQ(notes(finder.look(report, {{"0000:3b:02.1", "claim ns/c; excluded"}}, TimePoint{})),
            (Notes{"PolicyNotUsedAsWritten p: spec.x: bad; and 2 more",
                   "EntryRefused p: 5 devices (VFs 0-3,7 of ens1f0) would be refused "
                   "by the API server, or were: attribute x: too long",
                   "PoliciesContradict e: 1 device (VF 9 of ens1f0) are offered by a "
                   "SriovResourcePolicy, whole or in part",
                   "DeviceWithdrawnInUse : 0000:3b:02.1 is not offered any more, and "
                   "a pod has it: claim ns/c; excluded"}));
}

// Red when devices that come and go are taken for one that waits.
TEST(Happening, HeldBackIsADeviceThatWaitsForFiveMinutes) {
  HappeningFinder finder;
  const auto at = [](Millis after) { return TimePoint{} + after; };
  EXPECT_TRUE(finder.look(with({vfs("0-1", "not-ready")}), {}, at(0s)).empty());
  EXPECT_TRUE(finder.look(with({vfs("1-2", "not-ready")}), {}, at(4min)).empty());
  EXPECT_EQ(notes(finder.look(with({vfs("1-2", "not-ready", "mtu is 1500")}), {}, at(8min))),
            Notes{"DevicesHeldBack p: 1 device (VFs 1-2 of ens1f0) held back "
                  "for 5 minutes or longer, not-ready: mtu is 1500"})
      << "VF 1 alone";
  EXPECT_EQ(notes(finder.look(with({vfs("1-2", "not-ready", "mtu is 1500")}), {}, at(9min))),
            Notes{"DevicesHeldBack p: 2 devices (VFs 1-2 of ens1f0) held back "
                  "for 5 minutes or longer, not-ready: mtu is 1500"});
  EXPECT_TRUE(finder.look(with({}), {}, at(10min)).empty());
  EXPECT_TRUE(finder.look(with({vfs("1-2", "not-ready")}), {}, at(11min)).empty()) << "it begins anew";
  EXPECT_TRUE(finder.look(with({vfs("1-2", "settling")}), {}, at(17min)).empty()) << "for another reason";
}

TEST(Happening, IsBounded) {
  HappeningFinder finder;
  NodeReport report = with({});
  for (int i = 0; i < 1'000; ++i)
    report.policies.push_back(
        {{"SriovResourcePolicy", "ns", std::to_string(i)}, 1, "expose", 0, 0, {}, "bad", 0});
  EXPECT_EQ(finder.look(report, {}, TimePoint{}).size(), HappeningFinder::kHappeningsMax);
}

}  // namespace happening_test
}  // namespace sliced::reports
