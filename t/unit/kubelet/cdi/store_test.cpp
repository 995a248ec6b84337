#include "kubelet/cdi/store.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace sliced::cdi {
namespace store_test {
namespace {

namespace fs = std::filesystem;

class CdiStore : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "cdi-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { fs::remove_all(root_); }
  Store store() const { return Store(root_ + "/cdi"); }
  static Spec spec(const std::string& value) {
    return {.kind = "example.com/vf", .devices = {{.name = "d", .edits = {.env = {"A=" + value}}}}};
  }

  std::string root_;
};

TEST_F(CdiStore, ReplacesAndRemovesASpec) {
  ASSERT_TRUE(store().write(spec("1"), "uid-1"));
  ASSERT_TRUE(store().write(spec("2"), "uid-1"));
  ASSERT_TRUE(store().write(spec("3"), "uid-2"));
  EXPECT_EQ(store().read("example.com/vf", "uid-1").value(), spec("2"));
  EXPECT_EQ(store().ids("example.com/vf").value(), (std::vector<std::string>{"uid-1", "uid-2"}));
  ASSERT_TRUE(store().remove("example.com/vf", "uid-1"));
  ASSERT_TRUE(store().remove("example.com/vf", "uid-1"));
  EXPECT_EQ(store().read("example.com/vf", "uid-1").error().code, Errc::kNotFound);
  EXPECT_EQ(store().ids("example.com/vf").value(), (std::vector<std::string>{"uid-2"}));
}

TEST_F(CdiStore, IgnoresFilesOfOtherPrograms) {
  ASSERT_TRUE(store().write(spec("1"), "uid-1"));
  for (const char* name : {"example.com-vf_uid-2.json", "example.com-vf_.yaml", "example.com-gpu_uid.yaml",
                           "example.com-vf_a b.yaml", ".example.com-vf_uid-3.yaml.tmp", "nvidia.yaml"})
    std::ofstream(root_ + "/cdi/" + name) << "{}";
  EXPECT_EQ(store().ids("example.com/vf").value(), (std::vector<std::string>{"uid-1"}));
}

TEST_F(CdiStore, RemovesFilesOfADeadWriterOnly) {
  ASSERT_TRUE(store().write(spec("1"), "uid-1"));
  const std::vector<std::string> ours = {".example.com-vf_uid-1.yaml.tmp", ".example.com-vf_uid-3.yaml.tmp"};
  const std::vector<std::string> theirs = {".example.com-gpu_uid.yaml.tmp", ".nvidia.yaml.tmp", "x.tmp"};
  for (const auto& names : {ours, theirs})
    for (const std::string& name : names) std::ofstream(root_ + "/cdi/" + name) << "{";
  EXPECT_EQ(store().remove_temporaries("example.com/vf").value(), 2u);
  for (const std::string& name : ours) EXPECT_FALSE(fs::exists(root_ + "/cdi/" + name)) << name;
  for (const std::string& name : theirs) EXPECT_TRUE(fs::exists(root_ + "/cdi/" + name)) << name;
  EXPECT_TRUE(store().read("example.com/vf", "uid-1"));
}

TEST_F(CdiStore, RefusesAnIdThatIsAPath) {
  for (const char* id : {"", "../x", "a/b", ".", "..", "a\nb"}) {
    EXPECT_EQ(store().write(spec("1"), id).error().code, Errc::kInvalid) << id;
    EXPECT_EQ(store().remove("example.com/vf", id).error().code, Errc::kInvalid) << id;
    EXPECT_EQ(store().read("example.com/vf", id).error().code, Errc::kInvalid) << id;
  }
  EXPECT_FALSE(fs::exists(root_ + "/cdi"));
}

TEST_F(CdiStore, HandlesAMissingDirectory) {
  EXPECT_TRUE(store().ids("example.com/vf").value().empty());
  EXPECT_TRUE(store().remove("example.com/vf", "uid"));
}

TEST_F(CdiStore, NamesAnInvalidFile) {
  fs::create_directory(root_ + "/cdi");
  std::ofstream(root_ + "/cdi/example.com-vf_uid.yaml") << "{";
  const auto read = store().read("example.com/vf", "uid");
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().what.find("example.com-vf_uid.yaml"), std::string::npos) << read.error().what;
}

}  // namespace
}  // namespace store_test
}  // namespace sliced::cdi
