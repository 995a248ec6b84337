#include "kubelet/cni/record.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "t/fixture/syncs.h"

namespace sliced::cni {
namespace {

struct RecordsTest : testing::Test {
  static std::string made() {
    std::string pattern = testing::TempDir() + "records.XXXXXX";
    return mkdtemp(pattern.data());
  }
  ~RecordsTest() override { std::filesystem::remove_all(directory); }

  static Record record(const std::string& container, const std::string& interface = "net1") {
    return {.config = R"({"cniVersion":"1.0.0","type":"sriov"})",
            .network = "nad",
            .attachment = {.container_id = container,
                           .network_namespace = "/run/netns/a",
                           .interface = interface,
                           .arguments = {{"K8S_POD_NAME", "p"}},
                           .device = "0000:3b:01.0",
                           .capabilities = *kube::decode_json(R"({"mac":"02:00:00:00:00:01"})")},
            .result = Attached{.cni_version = "1.0.0", .interfaces = {{.name = "net1"}}},
            .owner = "claim \"a\"",
            .users_definition = "NetworkAttachmentDefinition red/net",
            .host_interface = HostInterface{.name = "bond0", .kind = "bond"},
            .host_sysctls = {{"net/ipv6/conf/br0/accept_ra", "1"}},
            .hardware = "0000:03:00.0/sf88"};
  }

  const std::string directory = made();
  const Records records{directory + "/cni"};
};

TEST_F(RecordsTest, RoundTripsAndRemovesARecord) {
  EXPECT_TRUE(records.read("")->records.empty());
  Record begun = record("a");
  begun.result.reset();
  ASSERT_TRUE(records.write(begun).ok());
  EXPECT_EQ(records.read("a")->records, std::vector<Record>{begun});
  ASSERT_TRUE(records.write(record("a")).ok());
  ASSERT_TRUE(records.write(record("a", "net2")).ok());
  ASSERT_TRUE(records.write(record("ab")).ok());
  EXPECT_EQ(records.read("a")->records, (std::vector<Record>{record("a"), record("a", "net2")}));
  EXPECT_EQ(records.read("")->records.size(), 3u);
  ASSERT_TRUE(records.remove(record("a").attachment).ok());
  ASSERT_TRUE(records.remove(record("a").attachment).ok()) << "once more";
  EXPECT_EQ(records.read("a")->records, std::vector<Record>{record("a", "net2")});
  struct stat file{};
  ASSERT_EQ(stat((directory + "/cni/" + record_name(record("ab").attachment)).c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
}

TEST_F(RecordsTest, ReportsABrokenFileAndReadsTheOthers) {
  ASSERT_TRUE(records.write(record("a")).ok());
  ASSERT_TRUE(records.write(record("b")).ok());
  const std::string path = directory + "/cni/" + record_name(record("a").attachment);
  std::string text = encode_record(record("a"));
  text.replace(text.find("0000:3b:01.0"), 12, "0000:3b:01.1");
  std::ofstream(path) << text;
  std::ofstream(directory + "/cni/c@net1.json") << encode_record(record("d"));
  const auto all = *records.read("");
  EXPECT_EQ(all.records, std::vector<Record>{record("b")});
  EXPECT_EQ(all.broken,
            (std::vector<std::string>{path + ": the checksum is another",
                                      directory + "/cni/c@net1.json: it is the record d@net1.json"}));
}

TEST_F(RecordsTest, RemovesFilesOfADeadWriter) {
  ASSERT_TRUE(records.write(record("a")).ok());
  const std::string left = directory + "/cni/.b@net1.json.tmp";
  std::ofstream(left) << "half";
  EXPECT_TRUE(records.remove_temporaries().ok());
  EXPECT_NE(access(left.c_str(), F_OK), 0);
  EXPECT_EQ(records.read("")->records.size(), 1u);
}

// A disk may take longer than all the rest of a native attachment.
TEST_F(RecordsTest, SyncsOnlyRecordsOfStartedPlugins) {
  const auto syncs_of = [&](const std::string& config) {
    Record one = record("a");
    one.config = config;
    const int before = fixture::syncs();
    EXPECT_TRUE(records.write(one).ok()) << config;
    EXPECT_EQ(records.read("a")->records, std::vector<Record>{one}) << config;
    return fixture::syncs() - before;
  };
  EXPECT_EQ(syncs_of(R"({"cniVersion":"1.1.0","type":"sliced-native","ipam":{"type":"static"}})"), 0);
  EXPECT_EQ(syncs_of(R"({"cniVersion":"1.1.0","type":"sliced-native"})"), 0);
  EXPECT_EQ(syncs_of(R"({"cniVersion":"1.1.0","type":"sliced-native","ipam":{"type":"host-local"}})"), 2);
  EXPECT_EQ(syncs_of(R"({"cniVersion":"1.1.0","type":"host-device","ipam":{"type":"static"}})"), 2);
}

TEST_F(RecordsTest, IgnoresAnEmptyFile) {
  ASSERT_TRUE(records.write(record("a")).ok());
  const std::string left = directory + "/cni/" + record_name(record("b").attachment);
  std::ofstream(left).flush();
  EXPECT_TRUE(records.read("")->broken.empty());
  EXPECT_TRUE(records.remove_temporaries().ok());
  EXPECT_NE(access(left.c_str(), F_OK), 0);
  EXPECT_EQ(records.read("")->records.size(), 1u);
}

TEST_F(RecordsTest, NamesStayInTheDirectory) {
  EXPECT_FALSE(records.write(record("../a")).ok());
  EXPECT_FALSE(records.write(record("a", "../b")).ok());
  EXPECT_FALSE(records.remove(record("a", "../b").attachment).ok());
}

TEST(DecodeRecord, RefusesOtherTexts) {
  for (const std::string_view text :
       {"", "{}", "[]", R"({"kind":"sliced-cni-2"})", R"({"kind":"sliced-cni-1"})"})
    EXPECT_FALSE(decode_record(text).ok()) << text;
}

}  // namespace
}  // namespace sliced::cni
