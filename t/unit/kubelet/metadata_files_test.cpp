#include "kubelet/metadata_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "t/unit/kubelet/sample_claims.h"

namespace sliced::kubelet {
namespace metadata_files_test {
namespace {

namespace fs = std::filesystem;
using sample::kSriov;

class MetadataFilesTest : public testing::Test {
 protected:
  MetadataFilesTest() {
    std::string name = testing::TempDir() + "metadata-XXXXXX";
    root_ = ::mkdtemp(name.data());
    fs::create_directories(root_ + "/" + kSriov);
  }
  ~MetadataFilesTest() override { fs::remove_all(root_); }

  MetadataFiles files() const { return MetadataFiles(root_); }
  std::string path(const RequestMetadata& one) const { return files().path_of(file_of(one)); }
  static RequestMetadata metadata(const std::string& uid = "uid-1", const std::string& request = "vf") {
    return {.driver = kSriov,
            .namespace_ = "ns",
            .claim = "claim-1",
            .uid = uid,
            .request = request,
            .devices = {{.pool = "node-a", .device = "a"}}};
  }
  static std::string read(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  static struct stat status(const std::string& path) {
    struct stat found{};
    EXPECT_EQ(::lstat(path.c_str(), &found), 0) << path;
    return found;
  }
  static unsigned mode(const std::string& path) { return status(path).st_mode & 07777; }

  std::string root_;
};

TEST_F(MetadataFilesTest, EveryUserMayReadThem) {
  const mode_t before = ::umask(0077);
  ASSERT_TRUE(files().write(metadata()));
  ::umask(before);
  EXPECT_EQ(path(metadata()), root_ + "/" + kSriov + "/dra-device-metadata/ns_claim-1/vf/metadata.json");
  EXPECT_EQ(read(path(metadata())), encode_metadata(metadata(), 1).value());
  EXPECT_EQ(mode(path(metadata())), 0644u);
  for (const char* folder :
       {"/dra-device-metadata", "/dra-device-metadata/ns_claim-1", "/dra-device-metadata/ns_claim-1/vf"})
    EXPECT_EQ(mode(root_ + "/" + kSriov + folder), 0755u) << folder;
}

TEST_F(MetadataFilesTest, AnOpenFileShowsUpdates) {
  ASSERT_TRUE(files().write(metadata()));
  const auto inode = status(path(metadata())).st_ino;
  std::ifstream mounted(path(metadata()));
  RequestMetadata later = metadata();
  later.devices[0].network = NetworkData{.interface = "net1"};
  ASSERT_TRUE(files().write(later));
  EXPECT_EQ(status(path(metadata())).st_ino, inode);
  std::stringstream seen;
  seen << mounted.rdbuf();
  EXPECT_EQ(seen.str(), encode_metadata(later, 2).value());
  later.devices[0].network = NetworkData{};  // shorter: nothing of before is left behind it
  ASSERT_TRUE(files().write(later));
  EXPECT_EQ(status(path(metadata())).st_ino, inode);
  EXPECT_EQ(read(path(metadata())), encode_metadata(later, 3).value());
}

TEST_F(MetadataFilesTest, AnotherClaimOfTheNameHasItsOwnFile) {
  ASSERT_TRUE(files().write(metadata("uid-1")));
  std::ifstream mounted(path(metadata()));
  ASSERT_TRUE(files().write(metadata("uid-2")));
  std::stringstream seen;
  seen << mounted.rdbuf();
  EXPECT_EQ(metadata_uid(seen.str()), "uid-1") << "what a container has mounted stays its own";
  EXPECT_EQ(metadata_uid(read(path(metadata()))), "uid-2");
  ASSERT_TRUE(files().remove(file_of(metadata("uid-1"))));
  EXPECT_EQ(metadata_uid(read(path(metadata()))), "uid-2")
      << "the first one's end takes nothing of the second";
}

TEST_F(MetadataFilesTest, RemovesFilesWithEmptyFolders) {
  ASSERT_TRUE(files().write(metadata("uid-1", "vf")));
  ASSERT_TRUE(files().write(metadata("uid-1", "other")));
  ASSERT_TRUE(files().remove(file_of(metadata("uid-1", "vf"))));
  ASSERT_TRUE(files().remove(file_of(metadata("uid-1", "vf")))) << "twice";
  EXPECT_EQ(files().list(kSriov).value(), std::vector<MetadataFile>{file_of(metadata("uid-1", "other"))});
  ASSERT_TRUE(files().remove(file_of(metadata("uid-1", "other"))));
  EXPECT_TRUE(fs::is_empty(root_ + "/" + kSriov + "/dra-device-metadata"));
  EXPECT_TRUE(files().list("no.such.driver").value().empty());
}

TEST_F(MetadataFilesTest, FollowsNoLink) {
  const std::string elsewhere = root_ + "/elsewhere", all = root_ + "/" + kSriov + "/dra-device-metadata";
  fs::create_directories(elsewhere + "/vf");
  std::ofstream(elsewhere + "/vf/metadata.json") << "precious";
  fs::create_directories(all);
  fs::create_directory_symlink(elsewhere, all + "/ns_claim-1");
  EXPECT_FALSE(files().write(metadata()));
  EXPECT_FALSE(files().remove({kSriov, "ns_claim-1", "vf", ""}));
  EXPECT_TRUE(files().list(kSriov).value().empty());
  EXPECT_EQ(read(elsewhere + "/vf/metadata.json"), "precious");

  fs::remove(all + "/ns_claim-1");
  fs::create_directories(all + "/ns_claim-1/vf");
  fs::create_symlink(elsewhere + "/vf/metadata.json", path(metadata()));
  EXPECT_TRUE(files().write(metadata())) << "the link itself is replaced";
  EXPECT_EQ(read(elsewhere + "/vf/metadata.json"), "precious");
  EXPECT_TRUE(S_ISREG(status(path(metadata())).st_mode));
}

TEST_F(MetadataFilesTest, RewritesATornFile) {
  ASSERT_TRUE(files().write(metadata()));
  std::ofstream(path(metadata())) << R"({"kind":)";
  const MetadataFile nobodys{kSriov, "ns_claim-1", "vf", ""};
  EXPECT_EQ(files().list(kSriov).value(), std::vector<MetadataFile>{nobodys});
  ASSERT_TRUE(files().write(metadata()));
  EXPECT_EQ(read(path(metadata())), encode_metadata(metadata(), 1).value());
  std::ofstream(path(metadata())) << "{}";
  ASSERT_TRUE(files().remove(nobodys));
  EXPECT_TRUE(files().list(kSriov).value().empty());
}

}  // namespace
}  // namespace metadata_files_test
}  // namespace sliced::kubelet
