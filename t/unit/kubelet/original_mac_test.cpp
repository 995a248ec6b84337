#include "kubelet/original_mac.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "kubelet/prepared.h"

namespace sliced::kubelet {
namespace original_mac_test {
namespace {

namespace fs = std::filesystem;

const OriginalMac kOne{"0000:03:00.2", "0000:03:00.0", "boot-1", "02:00:00:00:00:99"};

class OriginalMacFilesTest : public testing::Test {
 protected:
  OriginalMacFilesTest() {
    std::string name = testing::TempDir() + "macs-XXXXXX";
    root_ = ::mkdtemp(name.data());
  }
  ~OriginalMacFilesTest() override { fs::remove_all(root_); }
  OriginalMacFiles files() const { return OriginalMacFiles(root_ + "/macs"); }
  std::string path() const { return root_ + "/macs/0000:03:00.2.json"; }

  std::string root_;
};

TEST_F(OriginalMacFilesTest, RoundTripsAndRemoves) {
  EXPECT_TRUE(files().read().value().empty());
  EXPECT_TRUE(files().remove(kOne.pci).ok());
  const OriginalMac unknown{"0000:03:00.3", "", "", "", "02:00:00:00:00:0a"};
  ASSERT_TRUE(files().write(kOne).ok());
  ASSERT_TRUE(files().write(unknown).ok());
  EXPECT_EQ(files().read().value(), (std::vector<OriginalMac>{kOne, unknown}));
  EXPECT_EQ(fs::status(path()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  ASSERT_TRUE(files().remove(kOne.pci).ok());
  EXPECT_EQ(files().read().value(), std::vector<OriginalMac>{unknown});
}

TEST_F(OriginalMacFilesTest, ADamagedFileMeansAnUnknownAddress) {
  ASSERT_TRUE(files().write(kOne).ok());
  const std::string whole = encode_original_mac(kOne);
  std::string edited = whole;
  edited.replace(edited.find("00:99"), 5, "00:98");
  for (const std::string& text :
       {std::string(), whole.substr(0, whole.size() / 2), edited, std::string(9'000, 'x')}) {
    std::ofstream(path()) << text;
    EXPECT_EQ(files().read().value(), std::vector<OriginalMac>{{.pci = kOne.pci}}) << text;
  }
  fs::rename(path(), root_ + "/macs/0000:03:00.3.json");
  std::ofstream(root_ + "/macs/0000:03:00.3.json") << whole;
  EXPECT_EQ(files().read().value(), std::vector<OriginalMac>{{.pci = "0000:03:00.3"}}) << "another VF's";
}

TEST_F(OriginalMacFilesTest, NamesStayInTheDirectory) {
  EXPECT_EQ(files().write({.pci = "../x"}).error().code, Errc::kInvalid);
  EXPECT_EQ(files().remove("../x").error().code, Errc::kInvalid);
  fs::create_directories(root_ + "/macs");
  for (const char* name : {"notes.json", ".0000:03:00.2.json.tmp", "0000:03:00.2"})
    std::ofstream(root_ + "/macs/" + name) << "x";
  EXPECT_TRUE(files().read().value().empty());
  EXPECT_TRUE(files().remove_temporaries().ok());
  EXPECT_FALSE(fs::exists(root_ + "/macs/.0000:03:00.2.json.tmp"));
}

TEST(OriginalMac, AnUnknownOneIsReplacedOnlyByTheHostsSetting) {
  EXPECT_EQ(original_mac(nullptr, "02:00:00:00:00:01"), "02:00:00:00:00:01");
  EXPECT_EQ(original_mac(&kOne, "02:00:00:00:00:01"), kOne.mac);
  EXPECT_EQ(original_mac(nullptr, std::string(kNoMac)), kNoMac);
  EXPECT_EQ(original_mac(nullptr, "01:00:5e:00:00:01"), "") << "it could not be restored";
  const auto text_of_unknown = [](const OriginalMac& one, const std::string& now) {
    const auto all = unknown_macs({{one.pci, one}}, [&](const std::string&) { return now; });
    return all.empty() ? std::string() : all.at(one.pci);
  };
  EXPECT_EQ(text_of_unknown(kOne, ""), "");
  EXPECT_EQ(
      text_of_unknown({.pci = "0000:03:00.3"}, "02:00:00:00:00:01"),
      "0000:03:00.3: original MAC address unknown: the VF keeps its pod's address when the pod ends. Once it has "
      "ended: ip link set PF vf NUMBER mac ADDRESS");
  const OriginalMac left{.pci = "0000:03:00.3", .pf = "0000:03:00.0", .left = "02:00:00:00:00:0a"};
  EXPECT_EQ(
      text_of_unknown(left, ""),
      "0000:03:00.3: original MAC address unknown: the VF keeps 02:00:00:00:00:0a, which may be a pod's. ip link "
      "set PF vf NUMBER mac ADDRESS (PF: 0000:03:00.0)");
  EXPECT_EQ(text_of_unknown(left, "02:00:00:00:00:0a"), text_of_unknown(left, ""));
  EXPECT_EQ(text_of_unknown(left, "02:00:00:00:00:0b"), "") << "the host has set it since";
  OriginalMac unknown{.pci = kOne.pci};
  EXPECT_EQ(original_mac(&unknown, "02:00:00:00:00:01"), "");
  unknown.left = "02:00:00:00:00:01";
  EXPECT_EQ(original_mac(&unknown, "02:00:00:00:00:01"), "");
  EXPECT_EQ(original_mac(&unknown, ""), "");
  EXPECT_EQ(original_mac(&unknown, "02:00:00:00:00:02"), "02:00:00:00:00:02");
}

}  // namespace
}  // namespace original_mac_test
}  // namespace sliced::kubelet
