// Commands print the same for a node and for its snapshot on another machine.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "cli/commands.h"
#include "cli/recorded_process.h"
#include "cli/snapshot_host.h"
#include "cli/with_snapshot.h"
#include "daemon/host_process.h"
#include "kube/objects/json.h"
#include "t/fixture/golden.h"
#include "t/fixture/sysfs_tree.h"

namespace sliced::cli {
namespace snapshot_test {
namespace {

const std::string kExample = std::string(SLICED_EXAMPLES) + "/reference-node";

struct Answer {
  int status = -1;
  std::string text;
};

struct SnapshotOfNode : testing::Test {
  SnapshotOfNode() {
    host.load(kExample + "/host.txt");
    std::stringstream policies;
    policies << std::ifstream(kExample + "/policies.yaml").rdbuf();
    host.write("cluster/policies.yaml", policies.str());
    host.write(
        "cluster/by-mac.yaml",
        "apiVersion: networking.dra.io/v1alpha1\nkind: DeviceExposurePolicy\nmetadata: {name: by-mac}\nspec:\n"
        "  nodeSelector: {matchLabels: {kubernetes.io/hostname: reference-node}}\n"
        "  selector: {cel: 'device.attributes[\"dra.networking\"].mac == \"00:00:5e:00:53:01\"'}\n"
        "  exposure: {deviceNameSuffix: -by-mac}\n");
    host.write(
        "cluster/node.yaml",
        "apiVersion: v1\nkind: Node\nmetadata: {name: reference-node, uid: u, labels: {kubernetes.io/hostname: "
        "reference-node}}\n");
    there.cluster = config::ClusterDirectory{host.root() + "/cluster"};
    there.node_name = "reference-node";
    there.host_root = host.root();
    there.log_level = Level::kError;
  }

  Answer asked(config::Options options, config::Command command, int (*work)(const config::Options&),
               config::OutputFormat format = config::OutputFormat::kJson) {
    options.command = command;
    options.output = format;
    testing::internal::CaptureStdout();
    const int status = with_snapshot(options, work);
    return {status, testing::internal::GetCapturedStdout()};
  }
  Answer planned(const config::Options& options) { return asked(options, config::Command::kPlan, plan); }

  // Who looks at the file from elsewhere.
  config::Options taken(bool raw) {
    config::Options options = there;
    options.command = config::Command::kSnapshot;
    options.raw = raw;
    options.arguments = {host.root() + "/report.tar.zst"};
    EXPECT_EQ(snapshot(options), daemon::kExitSame);
    config::Options elsewhere;
    elsewhere.host_root = options.arguments[0];
    elsewhere.node_name = "another-machine";
    elsewhere.log_level = Level::kError;
    return elsewhere;
  }

  // The planned slices become the published ones.
  void publish() {
    const Answer slices = planned(there);
    ASSERT_EQ(slices.status, daemon::kExitChanges);
    const auto list = kube::decode_json(slices.text);
    ASSERT_TRUE(list);
    int number = 0;
    for (const kube::Json& slice : *list->find("items")->array())
      host.write("cluster/resourceslices/" + std::to_string(++number) + ".json", kube::encode_json(slice));
    ASSERT_GE(number, 3);
    ASSERT_EQ(planned(there).status, daemon::kExitSame);
  }

  fixture::SysfsTree host;
  config::Options there;
};

TEST_F(SnapshotOfNode, RawReplaysByteForByte) {
  const config::Options elsewhere = taken(/*raw=*/true);
  const std::pair<config::Command, int (*)(const config::Options&)> commands[] = {
      {config::Command::kDiscover, discover},
      {config::Command::kExplain, explain},
      {config::Command::kPlan, plan}};
  for (const auto& [command, work] : commands) {
    const Answer on_it = asked(there, command, work), of_it = asked(elsewhere, command, work);
    EXPECT_EQ(on_it.status, of_it.status);
    EXPECT_EQ(on_it.text, of_it.text);
    EXPECT_GT(of_it.text.size(), 1000u);
  }
}

// What is published stands under other names in it, made of the alias as the node's own are of its name: else everything would
// seem to be new.
TEST_F(SnapshotOfNode, AliasesAddNothingToThePlan) {
  publish();
  const config::Options elsewhere = taken(/*raw=*/false);
  const Answer of_it = planned(elsewhere);
  EXPECT_EQ(of_it.status, daemon::kExitSame)
      << asked(elsewhere, config::Command::kPlan, plan, config::OutputFormat::kDiff).text;
  EXPECT_EQ(of_it.text.find("reference-node"), std::string::npos);
  EXPECT_EQ(of_it.text.find("00:00:5e:00:53"), std::string::npos);
}

// Also where a policy asks for a MAC, which is another one there.
TEST_F(SnapshotOfNode, AliasesKeepEveryVerdict) {
  const auto outcomes = [&](const config::Options& options) {
    std::string out;
    const auto list = kube::decode_json(asked(options, config::Command::kExplain, explain).text);
    for (const kube::Json& item : *list->find("items")->array())
      out += std::string(item.text("device")) + " " + std::string(item.text("outcome")) + " " +
             std::string(item.text("entry")) + "\n";
    return out;
  };
  const std::string there_said = outcomes(there);
  EXPECT_NE(there_said.find("-by-mac"), std::string::npos) << there_said;
  EXPECT_EQ(outcomes(taken(/*raw=*/false)), there_said);
}

// Red when the beginning of the node's name is left in names that the API server cut (generateName).
TEST_F(SnapshotOfNode, HidesNamesInForeignSlices) {
  const std::string cut = "00000-sriovnetwork.k8snetworkplumbingwg.io-reference-nox7k2p";
  host.write("cluster/other.yaml",
             "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: " + cut +
                 ", generateName: 00000-sriovnetwork.k8snetworkplumbingwg.io-reference-no}\nspec:\n"
                 "  driver: sriovnetwork.k8snetworkplumbingwg.io\n  nodeName: reference-node\n"
                 "  pool: {name: reference-node, generation: 1, resourceSliceCount: 1}\n  devices: []\n");
  const Answer of_it = asked(taken(/*raw=*/false), config::Command::kPlan, plan, config::OutputFormat::kDiff);
  EXPECT_NE(of_it.text.find("delete slice-1"), std::string::npos) << of_it.text;
  EXPECT_EQ(of_it.text.find("reference-no"), std::string::npos);
}

// Red when the others go with an object that JSON can say and YAML cannot.
TEST_F(SnapshotOfNode, InvalidYamlDoesNotAffectOtherObjects) {
  host.write(
      "cluster/odd.json",
      R"({"apiVersion":"networking.dra.io/v1alpha1","kind":"DeviceExposurePolicy","metadata":{"name":"odd",)"
      "\"annotations\":{\"note\":\"a \x7f b\"}},"
      R"("spec":{"priority":1,"action":"exclude","selector":{"cel":"false"}}})");
  const Answer on_it = planned(there), of_it = planned(taken(/*raw=*/true));
  EXPECT_EQ(on_it.text, of_it.text);
  EXPECT_GT(of_it.text.size(), 1000u);
}

// Red when a snapshot's objects are put where others must be able to read, or a signal leaves them.
TEST_F(SnapshotOfNode, IsNeverReadable) {
  const config::Options elsewhere = taken(/*raw=*/true);
  const Answer before = planned(elsewhere);
  ASSERT_EQ(::setenv("TMPDIR", "/nowhere", 1), 0);
  const Answer of_it = planned(elsewhere);
  ::unsetenv("TMPDIR");
  EXPECT_GT(of_it.text.size(), 1000u);
  EXPECT_EQ(of_it.text, before.text);
}

// Red when an unreadable object causes the loss of its neighbours.
TEST_F(SnapshotOfNode, AnObjectThatIsTooDeepOrTooLongDoesNotAffectOthers) {
  const config::Options elsewhere = taken(/*raw=*/true);
  const Answer before = planned(elsewhere);
  auto read = read_snapshot(elsewhere.host_root);
  ASSERT_TRUE(read);
  kube::Json deep = 1;
  for (int level = 0; level < 59; ++level) deep = kube::Json(kube::Json::Array{std::move(deep)});
  for (const kube::Json& odd : {deep, kube::Json(std::string(8u << 20, 'x'))}) {
    kube::Json policy = *kube::decode_json(
        R"({"apiVersion":"sriovnetwork.k8snetworkplumbingwg.io/v1alpha1","kind":"SriovResourcePolicy",)"
        R"("metadata":{"name":"odd","namespace":"dra-driver-sriov"},"spec":{"configs":[]}})");
    policy.set("more", odd);
    read->objects.insert(read->objects.begin(), std::move(policy));
  }
  std::ofstream(elsewhere.host_root) << encode(*read, {});
  const Answer of_it = planned(elsewhere);
  EXPECT_GT(of_it.text.size(), 1000u);
  EXPECT_EQ(of_it.text, before.text);
}

// Red when the host is lost with more objects than there is room for.
TEST_F(SnapshotOfNode, OmitsAndReportsObjectsBeyondTheLimit) {
  const std::string padding(100'000, 'x');
  for (int file = 0; file < 5; ++file) {
    std::string many;
    for (int i = 0; i < 25; ++i)
      many += "apiVersion: networking.dra.io/v1alpha1\nkind: DeviceExposurePolicy\nmetadata: {name: p" +
              std::to_string(file * 25 + i) + ", annotations: {note: " + padding +
              "}}\nspec: {priority: 1, action: exclude, selector: {cel: 'false'}}\n---\n";
    host.write("cluster/many" + std::to_string(file) + ".yaml", many);
  }
  testing::internal::CaptureStderr();
  const config::Options elsewhere = taken(/*raw=*/false);
  const std::string said = testing::internal::GetCapturedStderr();
  fixture::expect_golden(said);
  EXPECT_GT(asked(elsewhere, config::Command::kDiscover, discover).text.size(), 1000u);
}

// Red when a snapshot may have more objects than the directory into which they are read has room for files.
TEST_F(SnapshotOfNode, TheLastOfThousandsOfPoliciesCounts) {
  std::string many;
  for (int i = 0; i < 1'900; ++i)
    many +=
        "apiVersion: networking.dra.io/v1alpha1\nkind: DeviceExposurePolicy\nmetadata: {name: p" +
        std::to_string(i) +
        "}\nspec: {priority: 1, action: exclude, selector: {cel: 'false'}}\n---\n"
        "apiVersion: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1\nkind: SriovResourcePolicy\nmetadata: {name: p" +
        std::to_string(i) +
        ", namespace: dra-driver-sriov}\nspec: {configs: []}\n---\n"
        "apiVersion: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1\nkind: DeviceAttributes\nmetadata: {name: p" +
        std::to_string(i) + ", namespace: dra-driver-sriov}\nspec: {attributes: {}}\n---\n";
  host.write("cluster/many.yaml", many);
  const Answer on_it = planned(there), of_it = planned(taken(/*raw=*/true));
  EXPECT_EQ(on_it.text, of_it.text);
  EXPECT_GT(of_it.text.size(), 1000u);
}

TEST_F(SnapshotOfNode, RefusesCommandsThatFollowAHost) {
  config::Options elsewhere = taken(/*raw=*/true);
  for (const config::Command command : {config::Command::kRun, config::Command::kSnapshot}) {
    elsewhere.command = command;
    const auto process = open_host_process(elsewhere);
    ASSERT_FALSE(process);
    EXPECT_EQ(process.error().code, Errc::kInvalid);
  }
}

}  // namespace
}  // namespace snapshot_test
}  // namespace sliced::cli
