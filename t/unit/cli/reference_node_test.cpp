// The reference node from its files to the slices: host, policies and slices are those of
// config/examples/reference-node/ and docs/, so that the documented output is the real one.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "cli/commands.h"
#include "daemon/process.h"
#include "kube/objects/resource_slice.h"
#include "kube/objects/yaml.h"
#include "t/fixture/sysfs_tree.h"

namespace sliced::cli {
namespace {

const std::string kExample = std::string(SLICED_EXAMPLES) + "/reference-node";

std::string content(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

struct ReferenceNode : testing::Test {
  ReferenceNode() {
    host.load(kExample + "/host.txt");
    host.write("cluster/policies.yaml", content(kExample + "/policies.yaml"));
    options.cluster = config::ClusterDirectory{host.root() + "/cluster"};
    options.node_name = "reference-node";
    options.host_root = host.root();
  }

  std::string planned() {
    options.command = config::Command::kPlan;
    options.output = config::OutputFormat::kYaml;
    testing::internal::CaptureStdout();
    const int status = plan(options);
    std::string out = testing::internal::GetCapturedStdout();
    EXPECT_EQ(status, daemon::kExitChanges);
    return out;
  }
  kube::Json explained(const std::string& device) {
    options.command = config::Command::kExplain;
    options.output = config::OutputFormat::kJson;
    options.arguments = {device};
    testing::internal::CaptureStdout();
    const int status = explain(options);
    const std::string out = testing::internal::GetCapturedStdout();
    EXPECT_EQ(status, daemon::kExitSame) << device;
    const auto json = kube::decode_json(out);
    EXPECT_TRUE(json) << out;
    return json ? *json : kube::Json();
  }

  fixture::SysfsTree host;
  config::Options options;
};

kube::Json::Array items_of(const kube::Json& object, const char* key) {
  const kube::Json* items = object.find(key);
  EXPECT_TRUE(items && items->array()) << key;
  return items && items->array() ? *items->array() : kube::Json::Array{};
}

std::vector<kube::ResourceSlice> slices_of(const std::string& yaml) {
  std::vector<kube::ResourceSlice> out;
  const auto documents = kube::decode_yaml(yaml).documents;
  if (documents.size() != 1) return out;
  for (const kube::Json& item : items_of(documents[0], "items")) {
    auto slice = kube::decode_resource_slice(item);
    EXPECT_TRUE(slice) << slice.error().what;
    if (slice) out.push_back(std::move(*slice));
  }
  return out;
}

// Red when anything that is published of this node changes: then look whether the change is meant, and write
// the file anew with `sliced plan -o yaml`, as its first lines say.
TEST_F(ReferenceNode, PublishesTheSlicesOfTheExample) {
  std::string expected;
  std::istringstream lines(content(SLICED_DOCS "/reference-node-slices.yaml"));
  for (std::string line; std::getline(lines, line);)
    if (line.empty() || line[0] != '#') expected += line + "\n";
  EXPECT_EQ(planned(), expected);
}

// Red when entries are lost or too many, when a pool is one that no scheduler would take as whole, or when
// the API server would refuse a slice.
TEST_F(ReferenceNode, PublishesSixteenEntriesInFiveSlices) {
  size_t slices = 0, counters = 0;
  std::set<std::string> entries;
  std::map<std::string, std::pair<int64_t, int64_t>> pools;  // slices there, slices said
  for (const kube::ResourceSlice& slice : slices_of(planned())) {
    EXPECT_EQ(kube::validate_slice(slice), std::vector<std::string>{}) << slice.meta.name;
    if (slice.driver != "dra.networking") {
      EXPECT_TRUE(slice.devices.empty()) << slice.driver << ": there is no SriovResourcePolicy";
      continue;
    }
    ++slices;
    counters += !slice.shared_counters.empty();
    ++pools[slice.pool.name].first;
    pools[slice.pool.name].second = slice.pool.slice_count;
    for (const kube::Device& device : slice.devices) {
      EXPECT_TRUE(kube::validate_device(device).empty()) << device.name;
      EXPECT_TRUE(entries.insert(device.name).second) << device.name << " twice";
    }
  }
  EXPECT_EQ(slices, 5u);
  EXPECT_EQ(counters, 2u);
  EXPECT_EQ(entries.size(), 16u);
  const std::map<std::string, std::pair<int64_t, int64_t>> whole = {{"reference-node/0000-03-00-0", {2, 2}},
                                                                    {"reference-node/0000-03-00-1", {2, 2}},
                                                                    {"reference-node/net", {1, 1}}};
  EXPECT_EQ(pools, whole);
}

// Red when a device that must not be used is offered, or no output has the reason that it is not offered.
TEST_F(ReferenceNode, EveryHiddenDeviceNamesItsRule) {
  const std::map<std::string, std::string> rules = {{"eno1", "exclude-management"},
                                                    {"br-int", "exclude-cluster-cni"},
                                                    {"ovn-k8s-mp0", "exclude-cluster-cni"}};
  for (const auto& [device, rule] : rules) {
    const kube::Json why = explained(device);
    EXPECT_EQ(why.text("outcome"), "excluded") << device;
    EXPECT_NE(std::string(why.text("summary")).find(rule), std::string::npos) << why.text("summary");
    std::set<std::string> excluding;
    for (const kube::Json& said : items_of(why, "rules"))
      if (said.text("said") == "exclude") excluding.insert(std::string(said.text("policy")));
    EXPECT_EQ(excluding, std::set<std::string>{rule}) << device;
  }
}

}  // namespace
}  // namespace sliced::cli
