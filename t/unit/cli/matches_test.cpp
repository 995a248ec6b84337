#include "cli/matches.h"

#include <gtest/gtest.h>

#include "policy/exposure/policy.h"
#include "policy/exposure/selector.h"
#include "t/fixture/golden.h"

namespace sliced::cli {
namespace {

using Is = cel::Answer::Is;

const std::string kExposure(policy::kExposureDriver);

hotplug::Inventory a_host() {
  hotplug::Inventory host;
  hotplug::HostDevice nic{.id = {"0000:03:00.0"}, .type = hotplug::DeviceType::kNic};
  nic.netdev = hotplug::Netdev{.name = "eth\x1b[31m", .mtu = 9000, .master = "br0"};
  hotplug::HostDevice bridge{.id = {"br0"}, .type = hotplug::DeviceType::kBridge};
  bridge.netdev = hotplug::Netdev{.name = "br0"};
  for (const auto& device : {nic, bridge, hotplug::HostDevice{.id = {"0000:04:00.0"}}})
    host.devices[device.id.text] = device;
  return host;
}

Matches on_host(const std::string& expression) {
  const auto program = policy::compile_selector(expression, kExposure);
  EXPECT_TRUE(program) << program.error().what;
  return match_host(*program, a_host(), kExposure);
}

kube::ResourceSlice a_slice(const std::string& driver, const std::string& pool,
                            std::vector<kube::Device> entries) {
  kube::ResourceSlice slice{.driver = driver, .pool = {pool, 1, 1}};
  for (kube::Device& entry : entries) slice.devices.push_back(std::move(entry));
  return slice;
}

Matches on_slices(const std::string& expression) {
  const auto program = cel::Program::compile(expression, cel::selector_environment());
  EXPECT_TRUE(program) << program.error().what;
  return match_entries(*program, {a_slice("b.example", "n1", {{.name = "z"}}),
                                  a_slice("a.example", "n1",
                                          {{.name = "y", .attributes = {{"a.example/speed", int64_t{25}}}},
                                           {.name = "x", .attributes = {{"speed", int64_t{10}}}}})});
}

std::string said(const Matches& matches) {
  std::string out;
  for (const Match& match : matches.rows) {
    for (const std::string& text : match.subject) out += text + " ";
    out += match.answer.is == Is::kTrue    ? "true"
           : match.answer.is == Is::kFalse ? "false"
                                           : match.answer.error;
    out += "\n";
  }
  return out;
}

// Red when a device is left out, when an absent fact is an error as for a DeviceClass, or when a device's
// neighbours (here its bridge) are not seen.
TEST(MatchHost, EvaluatesASelectorOnEveryDevice) {
  EXPECT_EQ(said(on_host("device.attributes[\"dra.networking\"].masterBridge == \"br0\"")),
            "0000:03:00.0 nic eth\x1b[31m true\n"
            "0000:04:00.0 virtual  false\n"
            "br0 bridge br0 false\n");
  EXPECT_EQ(on_host("device.attributes[\"dra.networking\"].vfIndex == -1").count(Is::kTrue), 3u);
}

// Red when one device's error hides another's answer, or does not say where.
TEST(MatchHost, AnErrorConcernsOneDevice) {
  EXPECT_EQ(said(on_host("9000 / device.attributes[\"dra.networking\"].mtu == 1")),
            "0000:03:00.0 nic eth\x1b[31m true\n"
            "0000:04:00.0 virtual  division by zero (column 6)\n"
            "br0 bridge br0 division by zero (column 6)\n");
}

TEST(MatchHost, CostsAreReported) {
  const Matches matches = on_host("device.attributes[\"dra.networking\"].type == \"nic\"");
  for (const Match& match : matches.rows) EXPECT_GT(match.answer.cost, 0u) << match.subject[0];
  const Matches dear = on_host("lists.range(2000).all(x, lists.range(2000).all(y, x + y >= 0))");
  EXPECT_GT(dear.rows[0].answer.cost, cel::kCostMax);
  EXPECT_EQ(dear.rows[0].answer.is, Is::kError);
}

// Red when absent attributes read as zero values, as in a DeviceExposurePolicy, when a name without a domain
// is not the driver's, or when rows come in the order of slices.
TEST(MatchEntries, EvaluatesEntriesLikeTheScheduler) {
  EXPECT_EQ(said(on_slices("device.attributes[\"a.example\"].speed > 20")),
            "a.example n1 x false\n"
            "a.example n1 y true\n"
            "b.example n1 z no such key: speed (column 31)\n");
  EXPECT_EQ(on_slices("device.attributes[\"a.example\"].?speed.orValue(0) == 0").count(Is::kTrue), 1u);
  EXPECT_EQ(on_slices("device.driver == \"b.example\"").count(Is::kTrue), 1u);
}

// Red when an expression may use its limit again for each device: ten thousand of them take minutes.
TEST(Matches, ShareABudgetOverAllDevices) {
  hotplug::Inventory host;
  for (int i = 0; i < 10'000; ++i) {
    const std::string id = "link" + std::to_string(10'000 + i);
    host.devices[id] = {.id = {id}, .type = hotplug::DeviceType::kBridge};
  }
  const std::string dear = "lists.range(100).all(x, lists.range(100).all(y, x + y >= 0))";
  const auto program = policy::compile_selector(dear, kExposure);
  const Matches some = match_host(*program, host, kExposure, 1'000'000);
  uint64_t steps = 0;
  for (const Match& row : some.rows) steps += std::max(row.answer.cost, row.answer.steps);
  EXPECT_LE(steps, 1'000'000u);
  EXPECT_GE(some.rows.size(), 3u);
  EXPECT_LE(some.rows.size(), 100u);
  EXPECT_EQ(some.rows.front().subject[0], "link10000");
  const std::string left = std::to_string(10'000 - some.rows.size()) +
                           " of 10000 devices were not asked, the first "
                           "of them link" +
                           std::to_string(10'000 + some.rows.size()) + " bridge";
  EXPECT_EQ(some.left_out.substr(0, left.size()), left);
  fixture::expect_golden(some.left_out);
  const auto cheap = policy::compile_selector("true", kExposure);
  EXPECT_EQ(match_host(*cheap, host, kExposure).rows.size(), 10'000u);
  EXPECT_EQ(match_host(*cheap, host, kExposure).left_out, "");
}

TEST(Matches, AllEntriesShareABudget) {
  const auto program = cel::Program::compile("lists.range(100).all(x, x >= 0)", cel::selector_environment());
  std::vector<kube::Device> entries;
  for (int i = 0; i < 128; ++i) entries.push_back({.name = "e" + std::to_string(100 + i)});
  const Matches some = match_entries(
      *program, {a_slice("b.example", "n1", entries), a_slice("a.example", "n1", entries)}, 20'000);
  EXPECT_GE(some.rows.size(), 5u);
  EXPECT_LT(some.rows.size(), 128u);
  EXPECT_EQ(some.rows.front().subject, (std::vector<std::string>{"a.example", "n1", "e100"}));
  fixture::expect_golden(some.left_out);
}

// Red when a name from the kernel reaches the terminal as it is, or a device without interface loses its
// cell.
TEST(MatchesTable, HasARowForEachDeviceAndCounts) {
  const Matches matches{{"device", "interface"},
                        {{{"0000:03:00.0", "eth\x1b[31m"}, {Is::kTrue, 5, 30, ""}},
                         {{"0000:04:00.0", ""}, {Is::kFalse, 12, 8, ""}},
                         {{"br0", "br0"}, {Is::kError, 7, 9, "no such key: \"x\" (column 4)"}}},
                        ""};
  EXPECT_EQ(
      matches_table(matches),
      "DEVICE        INTERFACE    COST  STEPS  RESULT\n"
      "0000:03:00.0  eth\\x1b[31m  5     30     true\n"
      "0000:04:00.0  -            12    8      false\n"
      "br0           br0          7     9      error: no such key: \"x\" (column 4)\n"
      "1 of 3 devices match, 1 error; the most expensive evaluation costs 12 of 1000000, and takes 30 of 1000000 work "
      "steps\n");
}

// Red when an expression that is about to fail on the next device looks like any other.
TEST(MatchesTable, WarnsAboveHalfOfALimit) {
  const auto table = [](uint64_t cost, uint64_t steps) {
    return matches_table({{"device"}, {{{"a"}, {Is::kTrue, cost, steps, ""}}}, ""});
  };
  EXPECT_EQ(table(500'000, 500'000).find("warning"), std::string::npos);
  EXPECT_NE(table(500'001, 1).find("warning: that is more than half"), std::string::npos);
  EXPECT_NE(table(1, 500'001).find("warning: that is more than half"), std::string::npos);
}

TEST(MatchesJson, IsAListOfAnswers) {
  const Matches matches{{"device", "interface"},
                        {{{"a", "eth\xff"}, {Is::kTrue, 5, 6, ""}}, {{"b", ""}, {Is::kError, 7, 8, "why"}}}};
  EXPECT_EQ(kube::encode_json(json_of(matches)),
            R"({"apiVersion":"v1","kind":"List","items":[)"
            R"({"device":"a","interface":"eth\\xff","matches":true,"cost":5,"steps":6},)"
            R"({"device":"b","matches":false,"cost":7,"steps":8,"error":"why"}]})");
}

}  // namespace
}  // namespace sliced::cli
