#include "cli/snapshot/snapshot.h"

#include <gtest/gtest.h>

#include "cli/snapshot/archive.h"
#include "hotplug/scan.h"
#include "t/fixture/scan_host.h"
#include "t/fixture/sysfs_tree.h"

namespace sliced::snapshot {
namespace snapshot_test {
namespace {

using fixture::SysfsTree;
using kube::Json;

Snapshot sample() {
  Snapshot out{.version = "0.1.0", .node = "worker-1.example.com", .server = "v1.37.0"};
  out.host.reads.insert_or_assign("sys/class/net/ens1f0/address", std::string("00:00:5e:00:53:01"));
  out.host.reads.insert_or_assign("sys/class/net/ens1f0/phys_switch_id", std::string("f86d3e0003a1b2c3"));
  out.host.reads.insert_or_assign("proc/sys/kernel/random/boot_id",
                                  std::string("0b1d3c5e-7777-4f4f-8e8e-123456789abc"));
  out.objects.push_back(*kube::decode_json(
      R"({"kind":"DeviceExposurePolicy","spec":{"nodeSelector":{"kubernetes.io/hostname":"worker-1.example.com"},)"
      R"("selector":{"cel":"device.attributes[\"dra.networking\"].mac == \"00:00:5e:00:53:01\""}}})"));
  return out;
}

TEST(Snapshot, PrivateTextsAreReplacedEverywhereByTheSameAlias) {
  const auto read = decode(encode(sample(), {}));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->node, "node-1");
  EXPECT_EQ(*read->host.reads.at("sys/class/net/ens1f0/address"), "00:00:5e:11:11:11");
  EXPECT_EQ(*read->host.reads.at("sys/class/net/ens1f0/phys_switch_id"), "0000000000000001");
  const std::string object = kube::encode_json(read->objects.at(0));
  EXPECT_NE(object.find(R"("kubernetes.io/hostname":"node-1")"), std::string::npos);
  EXPECT_NE(object.find(R"(mac == \"00:00:5e:11:11:11\")"), std::string::npos);
  const auto members = unpack(encode(sample(), {}));
  ASSERT_TRUE(members);
  for (const auto& [name, text] : *members)
    for (const char* secret : {"53:01", "worker", "f86d3e", "0b1d3c5e"})
      EXPECT_EQ(text.find(secret), std::string::npos) << name << " has " << secret;
}

// Secrets behind JSON escapes, in keys, in upper case, as digits alone: the file must contain none of them.
TEST(Snapshot, ContainsNoPrivateText) {
  Snapshot out = sample();
  out.host.reads.insert_or_assign("sys/class/net/enx00005e005301/address", std::string("00:00:5e:00:53:01"));
  out.objects.push_back(*kube::decode_json(
      R"({"kind":"Node","metadata":{"labels":{"kubernetes.io/hostname":"rack9","example.com/rack9":"a","rack9":"b"}}})"));
  out.objects.push_back(*kube::decode_json(
      R"({"metadata":{"annotations":{"note":"a\nworker-1\t00:00:5e:00:53:01\r\nmac:00:00:5e:00:53:01",)"
      R"("last":"{\"cel\":\"x\\n00:00:5e:00:53:01\\tworker-1 || r'\\b00:00:5e:00:53:01'\"}"}},"spec":{"cel":)"
      R"("mac ==\n'00-00-5E-00-53-01' || mac.startsWith('00:00:5e:00:53') || n == 'WORKER-1' || m == '00005e005301'"}})"));
  const auto members = unpack(encode(out, {"Rack9.corp"}));
  ASSERT_TRUE(members);
  for (const auto& [name, text] : *members)
    for (const char* secret : {"53:01", "00:53", "0053", "00-53", "worker", "WORKER", "ack9"})
      EXPECT_EQ(text.find(secret), std::string::npos) << name << " has " << secret << "\n" << text;
}

// Policies name other nodes, each of which has an alias of its own.
TEST(Snapshot, OtherNodesThatPoliciesSelectHaveAliases) {
  Snapshot out = sample();
  out.objects.push_back(*kube::decode_json(
      R"({"spec":{"nodeSelector":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In",)"
      R"("values":["rack7.corp","worker-1.example.com","10"]}],"matchFields":[{"key":"metadata.name","operator":"In",)"
      R"("values":["rack8"]}]}]},"cel":"'rack7' == 'RACK8'"}})"));
  const auto read = decode(encode(out, {}));
  ASSERT_TRUE(read);
  EXPECT_EQ(
      kube::encode_json(read->objects.back()),
      R"({"spec":{"nodeSelector":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In",)"
      R"("values":["node-3","node-1","node-2"]}],"matchFields":[{"key":"metadata.name","operator":"In",)"
      R"("values":["node-4"]}]}]},"cel":"'node-3' == 'node-4'"}})");
}

// Nodes may have any name: a node that is called like a word of the kernel or of the API changes neither.
TEST(Snapshot, ANodeMayHaveAnyName) {
  for (const char* name : {"node", "raw", "sys", "net", "class", "metadata", "spec", "name", "cel", "kind",
                           "10", "ac1f6b123456", "labels"}) {
    Snapshot out = sample();
    out.node = name;
    out.objects.push_back(
        Json(Json::Object{{"kind", "ResourceSlice"}, {"spec", Json::Object{{"nodeName", name}}}}));
    const auto read = decode(encode(out, {}));
    ASSERT_TRUE(read) << name << ": " << read.error().what;
    EXPECT_EQ(read->node, "node-1");
    EXPECT_EQ(read->objects[1],
              Json(Json::Object{{"kind", "ResourceSlice"}, {"spec", Json::Object{{"nodeName", "node-1"}}}}));
    EXPECT_TRUE(read->host.reads.contains("sys/class/net/ens1f0/address")) << name;
    EXPECT_NE(read->objects[0].find({"spec", "selector", "cel"}), nullptr) << name;
  }
}

TEST(Snapshot, RawKeepsAll) {
  Snapshot raw = sample();
  raw.is_raw = true;
  const auto read = decode(encode(raw, {"worker-1"}));
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->is_raw);
  EXPECT_EQ(read->node, "worker-1.example.com");
  EXPECT_EQ(read->objects, raw.objects);
  EXPECT_EQ(*read->host.reads.at("sys/class/net/ens1f0/address"), "00:00:5e:00:53:01");
  EXPECT_EQ(read->server, "v1.37.0");
}

TEST(Snapshot, RefusesOtherFilesWithAReason) {
  EXPECT_EQ(decode("hello").error().what, "is not a snapshot: its bytes are not zstd's");
  EXPECT_EQ(decode(pack({{"about.json", "{}"}})).error().what, "is not a snapshot: it has no host.json");
  EXPECT_EQ(decode(pack({{"about.json", R"({"format": 2})"}, {"host.json", "{}"}, {"objects.json", "[]"}}))
                .error()
                .what,
            "is of another version of sliced, which is needed to read it");
  EXPECT_EQ(decode(pack({{"about.json", R"({"format": 1, "node": "../x"})"},
                         {"host.json", "{}"},
                         {"objects.json", "[]"}}))
                .error()
                .what,
            "names no node");
}

// 256 VFs with interfaces: a bug report that a mail takes.
TEST(Snapshot, OfALargeHostIsSmall) {
  SysfsTree host;
  auto pf = host.pci("0000:3b:00.0").id("8086", "1592").driver("ice").numa(0).netdev("ens1f0");
  pf.sriov(256).vfs(256, [](SysfsTree::Pci vf, int index) {
    vf.id("8086", "1889").driver("iavf").netdev("ens1f0v" + std::to_string(index));
  });
  const RecordingHost recorder{std::shared_ptr<const hotplug::HostView>(host.view())};
  fixture::scan_host(recorder);
  Snapshot out{.node = "n-1"};
  out.host = recorder.recording();
  const std::string bytes = encode(out, {});
  EXPECT_LT(bytes.size(), 5u << 20);
  EXPECT_GT(out.host.reads.size(), 2'000u);
  const auto read = decode(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(fixture::scan_host(RecordedHost(read->host)).devices.size(), 257u);
}

}  // namespace
}  // namespace snapshot_test
}  // namespace sliced::snapshot
