#include "daemon/reports/reported_event.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "t/fixture/golden.h"

namespace sliced::reports {
namespace reported_event_test {

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
          .disposition = "held-back",
          .verdicts = {{policy, outcome, why}}};
}
NodeReport with(std::vector<DeviceGroup> groups) {
  NodeReport out{.node = "a"};
  out.groups = std::move(groups);
  return out;
}
// A line for each Event, as kubectl describe shows it: reason, subject, note.
std::string text_of(const ReportedEvents& all) {
  std::string out;
  for (const ReportedEvent& one : all)
    out += one.reason + " of " +
           (one.policy.kind.empty() ? "the Node" : one.policy.kind + " " + one.policy.name) + ": " +
           one.note + "\n";
  return out;
}

TEST(ReportedEvent, FindsEachConditionWithItsText) {
  ReportedEventFinder finder;
  NodeReport report = with({vfs("0-3,7", "refused", "attribute x: too long"),
                            vfs("9", "conflict", "", kOther), vfs("12", "in-use-by-host")});
  report.policies = {{kPolicy, 1, "expose", 0, 0, {}, "spec.x: bad", 2},
                     {kOther, 1, "expose", 0, 0, {}, "", 0}};
  fixture::expect_golden(
      text_of(finder.look(report, {{"0000:3b:02.1", "X excludes it; claim ns/c holds it"}}, TimePoint{})));
}

// Red when a contradiction is reported twice, or without its policies.
TEST(ReportedEvent, NamesTheOtherPolicyOfAConflictOnce) {
  ReportedEventFinder finder;
  DeviceGroup group = vfs("2-3", "conflict", "a SriovResourcePolicy offers it", kOther);
  group.verdicts.push_back({kPolicy, "offered", ""});
  fixture::expect_golden(text_of(finder.look(with({group}), {}, TimePoint{})));
}

// Red when devices that come and go are taken for one that waits.
TEST(ReportedEvent, ReportsADeviceHeldBackForFiveMinutes) {
  ReportedEventFinder finder;
  const auto at = [](Millis after) { return TimePoint{} + after; };
  EXPECT_TRUE(finder.look(with({vfs("0-1", "not-ready")}), {}, at(0s)).empty());
  EXPECT_TRUE(finder.look(with({vfs("1-2", "not-ready")}), {}, at(4min)).empty());
  fixture::expect_golden(text_of(finder.look(with({vfs("1-2", "not-ready", "mtu is 1500")}), {}, at(8min))));
  fixture::expect_golden(text_of(finder.look(with({vfs("1-2", "not-ready", "mtu is 1500")}), {}, at(9min))));
  EXPECT_TRUE(finder.look(with({}), {}, at(10min)).empty());
  EXPECT_TRUE(finder.look(with({vfs("1-2", "not-ready")}), {}, at(11min)).empty()) << "it begins anew";
  EXPECT_TRUE(finder.look(with({vfs("1-2", "settling")}), {}, at(17min)).empty()) << "for another reason";
}

// Red when many invalid policies leave no room for the events of devices.
TEST(ReportedEvent, IsBoundedByReason) {
  ReportedEventFinder finder;
  NodeReport report = with({});
  WithdrawnInUse in_use;
  for (int i = 0; i < 1'000; ++i) {
    report.policies.push_back(
        {{"SriovResourcePolicy", "ns", std::to_string(i)}, 1, "expose", 0, 0, {}, "bad", 0});
    in_use["br" + std::to_string(i)] = "a claim; excluded";
  }
  const ReportedEvents all = finder.look(report, in_use, TimePoint{});
  EXPECT_EQ(all.size(), 2 * ReportedEventFinder::kOfOneReasonMax);
  EXPECT_EQ(std::ranges::count(all, "DeviceWithdrawnInUse", &ReportedEvent::reason),
            static_cast<std::ptrdiff_t>(ReportedEventFinder::kOfOneReasonMax));
}

// Red when a second edit that cannot be used either is taken for the first.
TEST(ReportedEvent, AGenerationOfAPolicyIsOneConditionOnAllNodes) {
  ReportedEventFinder finder, of_another_node;
  NodeReport report = with({});
  report.policies = {{kPolicy, 3, "expose", 0, 0, {}, "spec.x: bad", 0}};
  const ReportedEvents third = finder.look(report, {}, TimePoint{});
  EXPECT_EQ(third.at(0).key(), of_another_node.look(report, {}, TimePoint{}).at(0).key());
  EXPECT_TRUE(third.at(0).is_of_fleet);
  report.policies[0].generation = 4;
  EXPECT_NE(third.at(0).key(), finder.look(report, {}, TimePoint{}).at(0).key());
}

}  // namespace reported_event_test
}  // namespace sliced::reports
