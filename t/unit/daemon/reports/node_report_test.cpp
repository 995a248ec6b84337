#include "daemon/reports/node_report.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "kube/objects/yaml.h"

namespace sliced::reports {
namespace node_report_test {

DeviceGroup vfs(const std::string& ranges) {
  return {.type = "vf",
          .pf = "0000:3b:00.0",
          .pf_name = "ens1f0",
          .vfs = *vf_ranges_of(ranges),
          .pci_address = "0000:3b:02.0",
          .interface_base = "ens1f0v",
          .vendor = "8086",
          .product = "1889",
          .driver = "iavf",
          .link_type = "ethernet",
          .pf_product = "1592",
          .numa_node = 0,
          .mtu = 1'500,
          .rdma = true,
          .disposition = "held-back",
          .verdicts = {{{"SriovResourcePolicy", "ns", "p"}, "not-ready", "mtu: is 1500"}}};
}

// Every member has another value than its default.
NodeReport whole_report() {
  NodeReport out{.node = "worker-1", .node_uid = "uid-1", .daemon_version = "0.1.0", .boot_id = "boot"};
  out.kubelet_plugin = "waiting";
  out.waits_for = "configuration: the file is not there";
  out.dropped_fields = "SriovResourcePolicy: spec.allow";
  out.last_change = {"2026-11-21T00:17:41.296Z", "withdrawn", 3, "policy ns/p", "policy ns/p changed"};
  out.devices = 9, out.offered = 4, out.held_back = 2, out.hidden = 1, out.unmatched = 2;
  out.sriov = {{"offered", 4}, {"no-match", 5}};
  out.exposure = {{"conflict", 1}};
  out.pools = {{"d.example", "worker-1", 7, 4, 1}};
  out.policies = {{{"SriovResourcePolicy", "ns", "p"},
                   3,
                   "expose",
                   6,
                   4,
                   {{"not-ready", 2}},
                   "spec.x: bad",
                   1,
                   2,
                   "ns/o"},
                  {{"DeviceExposurePolicy", "", "e"}, 1, "exclude", 1, 0, {{"excluded", 1}}, "", 0}};
  out.problems = {"policy ns/p: spec.x: bad"};
  DeviceGroup odd = vfs("0-3,5");
  odd.stride = 2, odd.interface_base = "", odd.named_otherwise = true;
  out.groups = {vfs("0-15,17"),
                odd,
                {.type = "pf",
                 .pci_address = "0000:3b:00.0",
                 .interface = "ens1f0",
                 .subsystem_vendor = "1028",
                 .subsystem_product = "0001",
                 .eswitch_mode = "legacy",
                 .total_vfs = 64,
                 .num_vfs = 18,
                 .master = "br0",
                 .host_use = "enslaved to br0",
                 .disposition = "unmatched"}};
  out.left_out = {1, 2, 3, 4, 5};
  return out;
}

TEST(NodeReport, RoundTrips) {
  const NodeReport report = whole_report();
  const auto back =
      decode_node_report(*kube::decode_json(kube::encode_json(json_of(report, {.resource_version = "17"}))));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, report);
  EXPECT_EQ(json_of(report, {.resource_version = "17"}).find("metadata")->text("resourceVersion"), "17");
  EXPECT_EQ(json_of(report).find({"metadata", "resourceVersion"}), nullptr);
}

// The schema would drop it, and every comparison with what the server holds find a difference.
void expect_known(const kube::Json& value, const kube::Json& schema, const std::string& path) {
  if (const auto* members = value.object()) {
    if (schema.find("additionalProperties") != nullptr || path == ".metadata") return;
    for (const auto& [key, member] : *members) {
      const kube::Json* known = schema.find({"properties", key});
      ASSERT_NE(known, nullptr) << path << "." << key;
      expect_known(member, *known, path + "." + key);
    }
  } else if (const auto* items = value.array()) {
    EXPECT_EQ(schema.text("x-kubernetes-list-type"), "atomic") << path;
    for (const kube::Json& item : *items) expect_known(item, *schema.find("items"), path + "[]");
  } else {
    EXPECT_EQ(schema.text("type"), value.string()    ? "string"
                                   : value.boolean() ? "boolean"
                                                     : "integer")
        << path;
  }
}

TEST(NodeReport, MatchesTheSchema) {
  std::ifstream file(SLICED_CRDS "/nodedevicereports.yaml");
  std::stringstream text;
  text << file.rdbuf();
  const auto crd = kube::decode_yaml(text.str());
  ASSERT_TRUE(crd.problems.empty());
  const kube::Json& version = (*crd.documents.at(0).find({"spec", "versions"})->array())[0];
  expect_known(json_of(whole_report(), {.resource_version = "1"}),
               *version.find({"schema", "openAPIV3Schema"}), "");
}

TEST(NodeReport, RoundTripsRanges) {
  for (const char* text : {"0", "0-15,17", "1-2,4-5,4095"}) EXPECT_EQ(text_of(*vf_ranges_of(text)), text);
  for (const char* text : {"", "a", "3-1", "-1", "0,0", "5,3", "0-4096", "1,"})
    EXPECT_FALSE(vf_ranges_of(text)) << text;
  EXPECT_EQ(device_count(vfs("0-15,17")), 17u);
}

TEST(NodeReport, ExpandsAGroupOfVfs) {
  const auto devices = devices_of(vfs("6-8,300"));
  ASSERT_EQ(devices.size(), 4u);
  EXPECT_EQ(devices[1].id.text, "0000:3b:02.1");
  EXPECT_EQ(devices[1].vf_index, 7);
  EXPECT_EQ(devices[1].netdev->name, "ens1f0v7");
  EXPECT_EQ(devices[3].id.text, "0000:3c:06.6") << "294 routing ids further";
  EXPECT_EQ(devices[0].pf->text(), "0000:3b:00.0");
  EXPECT_EQ(devices[0].pf_link_type, 1);
  EXPECT_FALSE(devices[0].rdma_device.empty());
  EXPECT_TRUE(devices_of({.type = "vf"}).empty());
  EXPECT_TRUE(devices_of({.type = "none", .interface = "a"}).empty());
  EXPECT_EQ(devices_of({.type = "bridge", .interface = "br0"}).at(0).id.text, "br0");
}

NodeReport large_report() {
  NodeReport out = whole_report();
  out.left_out = {};
  for (int i = 0; i < 500; ++i) {
    out.problems.push_back("policy ns/p" + std::to_string(i) + ": " + std::string(300, 'x'));
    out.policies.push_back(out.policies[0]);
    out.pools.push_back(out.pools[0]);
    out.groups.push_back(out.groups[0]);
  }
  return out;
}

// Red when something is cut without being counted, or when one list takes the room of all others.
TEST(NodeReport, FitsAndCountsOmittedGroups) {
  const NodeReport large = large_report(), fitted = fit(large);
  const size_t bytes = kube::encode_json(json_of(fitted, {.resource_version = "9999999999999999999"})).size();
  EXPECT_LE(bytes, kReportBytesMax);
  EXPECT_GE(bytes, kReportBytesMax * 8 / 10) << "and what there is room for is there";
  const auto expect_all = [](const auto& kept, int64_t left_out, const auto& all) {
    EXPECT_GT(kept.size(), 10u);
    EXPECT_EQ(static_cast<int64_t>(kept.size()) + left_out, static_cast<int64_t>(all.size()));
  };
  expect_all(fitted.problems, fitted.left_out.problems, large.problems);
  expect_all(fitted.policies, fitted.left_out.policies, large.policies);
  expect_all(fitted.pools, fitted.left_out.pools, large.pools);
  expect_all(fitted.groups, fitted.left_out.groups, large.groups);
  EXPECT_EQ(fitted.left_out.devices, fitted.left_out.groups * 17);
  EXPECT_EQ(fit(fitted), fitted) << "what fits stays";
  EXPECT_EQ(fit(whole_report()), whole_report());
}

// Foreign bytes are escaped, which makes them longer.
TEST(NodeReport, FitsWithAnyTexts) {
  std::minstd_rand random(7);
  NodeReport report = large_report();
  for (std::string& problem : report.problems)
    for (char& c : problem) c = static_cast<char>(random() % 256);
  const NodeReport fitted = fit(report);
  const std::string text = kube::encode_json(json_of(fitted, {.resource_version = "1"}));
  EXPECT_LE(text.size(), kReportBytesMax);
  const auto back = decode_node_report(*kube::decode_json(text));
  ASSERT_TRUE(back.ok());
  const auto again = decode_node_report(json_of(*back));
  EXPECT_EQ(again->problems, back->problems) << "read and written again it is the same";
  EXPECT_EQ(*again, *back);
}

// Red when fields or outcomes that an older daemon wrote are lost in a rolling update.
TEST(NodeReport, ReadsOldNamesOfFieldsAndOutcomes) {
  const auto report = decode_node_report(*kube::decode_json(
      R"({"metadata":{"name":"a"},"status":{"outcomes":{"exposure":{"charged":2}},
      "policies":[{"name":"p","hidden":{"charged":1}}],
      "groups":[{"type":"vf","standing":"held-back","said":[{"name":"p","outcome":"charged"}]},
                {"type":"vf","disposition":"hidden","standing":"offered","verdicts":[{"outcome":"excluded"}],"said":[]}]}})"));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->exposure, (Counts{{"reserved", 2}}));
  EXPECT_EQ(report->policies.at(0).hidden, (Counts{{"reserved", 1}}));
  EXPECT_EQ(report->groups.at(0).disposition, "held-back");
  EXPECT_EQ(report->groups.at(0).verdicts.at(0).outcome, "reserved");
  EXPECT_EQ(report->groups.at(1).disposition, "hidden");
  EXPECT_EQ(report->groups.at(1).verdicts.at(0).outcome, "excluded");
}

TEST(NodeReport, BoundsForeignContent) {
  EXPECT_FALSE(decode_node_report(*kube::decode_json("{}")).ok());
  const auto none = decode_node_report(*kube::decode_json(R"({"metadata":{"name":"a"},"status":[]})"));
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(*none, NodeReport{.node = "a"});
  const auto odd = decode_node_report(*kube::decode_json(
      R"({"metadata":{"name":"a"},"status":{"daemonVersion":7,"problems":[1,"x",null],"pools":{"a":1},
      "policies":[7],"counts":{"offered":-3,"devices":"9"},"lastChange":[],
      "groups":[{"type":"vf","vfs":"0-4095"},{"vfs":"9-1"},{"said":[{"why":1}]}]}})"));
  ASSERT_TRUE(odd.ok());
  EXPECT_EQ(odd->problems, std::vector<std::string>{"x"});
  EXPECT_EQ(odd->offered, 0);
  EXPECT_EQ(odd->policies.size(), 1u);
  EXPECT_EQ(odd->groups.size(), 3u);
  std::string many = R"({"metadata":{"name":"a"},"status":{"groups":[)";
  for (int i = 0; i < 40; ++i) many += std::string(i == 0 ? "" : ",") + R"({"vfs":"0-4095"})";
  const auto bounded = decode_node_report(*kube::decode_json(many + "]}}"));
  EXPECT_EQ(bounded->groups.size(), 16u) << "65,536 devices";
  EXPECT_EQ(bounded->left_out.groups, 24);
}

// Red when a node can say numbers whose sum is none.
TEST(NodeReport, SumsUpNumbers) {
  const auto report = decode_node_report(*kube::decode_json(
      R"({"metadata":{"name":"a"},"status":{"counts":{"offered":9223372036854775807},
      "outcomes":{"sriov":{"offered":9223372036854775807}},"leftOut":{"devices":9223372036854775807},
      "policies":[{"matched":9223372036854775807,"generation":9223372036854775807,"hidden":{"conflict":9223372036854775807}}],
      "groups":[{"vfs":"0-4095"},{"mtu":9223372036854775807,"stride":-9223372036854775808}]}})"));
  ASSERT_TRUE(report.ok());
  constexpr int64_t kMost = 1'000'000'000'000;
  EXPECT_EQ(report->offered, kMost);
  EXPECT_EQ(report->sriov.at("offered"), kMost);
  EXPECT_EQ(report->left_out.devices, kMost);
  EXPECT_EQ(report->policies.at(0).matched, kMost);
  EXPECT_EQ(report->policies.at(0).generation, kMost);
  EXPECT_EQ(report->policies.at(0).hidden.at("conflict"), kMost);
  EXPECT_EQ(report->groups.at(1).mtu, 65'536);
}

}  // namespace node_report_test
}  // namespace sliced::reports
