#include "hotplug/host_view.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "t/fixture/sysfs_tree.h"

namespace sliced::hotplug {
namespace {

struct HostViewTest : testing::Test {
  fixture::SysfsTree tree;
  std::unique_ptr<HostView> host = tree.view();
};

TEST_F(HostViewTest, ReadsAnAttributeWithoutItsNewline) {
  tree.write("sys/a/value", "12 \t");
  EXPECT_EQ(*host->read("sys/a/value"), "12");
}

TEST_F(HostViewTest, ReportsTheKindOfAMissingFile) {
  const auto missing = host->read("sys/nothing");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error(), (Error{Errc::kNotFound, "sys/nothing: ENOENT"}));
  EXPECT_EQ(host->list("sys/nothing").error().code, Errc::kNotFound);
  EXPECT_EQ(host->open_dir("sys/nothing").error().code, Errc::kNotFound);
  EXPECT_EQ(host->readlink("sys/nothing").error().code, Errc::kNotFound);
}

TEST_F(HostViewTest, BoundsReads) {
  tree.write("sys/long", std::string(4096, 'x'));
  EXPECT_EQ(host->read("sys/long").error().code, Errc::kTooLarge) << "4096 and a newline";
  EXPECT_EQ(host->read("sys/long", 4097)->size(), 4096u);
  tree.write("proc/long", std::string(300'000, 'x'));
  EXPECT_EQ(host->read("proc/long", 1 << 20)->size(), 300'000u) << "read in several pieces";
  EXPECT_EQ(host->read("proc/long", 100'000).error().code, Errc::kTooLarge);
}

// Red when an entry that cannot be opened counts as missing.
TEST_F(HostViewTest, CountsFailuresForLackOfDescriptors) {
  tree.write("sys/d/value", "1");
  const auto dir = host->open_dir("sys/d");
  EXPECT_EQ((*dir)->read("nothing").error().code, Errc::kNotFound);
  EXPECT_EQ(host->shortages(), 0u);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = ::dup(0);
  ::close(next);
  const rlimit none{static_cast<rlim_t>(next), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto read = (*dir)->read("value");
  const auto other = host->read("sys/d/value");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_FALSE(read);
  EXPECT_FALSE(other);
  EXPECT_EQ(host->shortages(), 2u);
  EXPECT_TRUE((*dir)->read("value"));
}

TEST_F(HostViewTest, ListsSorted) {
  for (const char* name : {"c", "a", "b"}) tree.write(std::string("sys/d/") + name, "");
  EXPECT_EQ(*host->list("sys/d"), (std::vector<std::string>{"a", "b", "c"}));
  const auto dir = host->open_dir("sys/d");
  EXPECT_EQ(*(*dir)->list(), *(*dir)->list()) << "a second listing starts over";
  tree.remove("sys/d");
  EXPECT_TRUE((*dir)->list().value_or({}).empty()) << "an open directory outlives its removal";
}

TEST_F(HostViewTest, LinksNeverLeaveAnotherRoot) {
  const std::string outside = "../../../../../../../../../../../../../../../../etc/hostname";
  tree.write("etc/hostname", "inside");
  tree.symlink(outside, "sys/up");
  tree.symlink("/etc/hostname", "sys/absolute");
  tree.symlink("/proc/self/root", "sys/magic");
  EXPECT_EQ(*host->read("sys/up"), "inside");
  EXPECT_EQ(*host->read("sys/absolute"), "inside");
  EXPECT_EQ(host->read("sys/magic/etc/hostname").error().code, Errc::kNotFound);
  EXPECT_EQ(*host->readlink("sys/up"), outside) << "a link's own text is shown as it stands";
  EXPECT_FALSE(host->read("/etc/hostname")) << "paths are relative";
  EXPECT_FALSE(host->read("")) << "and name something";
}

TEST_F(HostViewTest, ADirectoryReaderStaysInIt) {
  tree.write("sys/d/value", "1");
  tree.symlink("../../proc/sys/kernel/random/boot_id", "sys/d/link");
  const auto opened = host->open_dir("sys/d");
  ASSERT_TRUE(opened);
  const HostDir& dir = **opened;
  EXPECT_EQ(*dir.read("value"), "1");
  EXPECT_FALSE(dir.read("link")) << "links are not followed";
  EXPECT_FALSE(dir.read("../d/value"));
  EXPECT_FALSE(dir.read(".."));
  EXPECT_EQ(*dir.readlink("link"), "../../proc/sys/kernel/random/boot_id");
  EXPECT_EQ(dir.readlink("value").error().code, Errc::kInvalid);
}

TEST_F(HostViewTest, DoesNotReadALinkAsAFile) {
  tree.write("sys/value", "1");
  EXPECT_EQ(host->readlink("sys/value").error().code, Errc::kInvalid);
}

TEST_F(HostViewTest, APipeInASnapshotDoesNotBlock) {
  ASSERT_EQ(::mkfifo((tree.root() + "/sys/pipe").c_str(), 0600), 0);
  EXPECT_EQ(*host->read("sys/pipe"), "");
}

TEST_F(HostViewTest, EscapesForeignNamesInErrors) {
  EXPECT_EQ(host->read("sys/\x1b[31m").error().what, "sys/\\x1b[31m: ENOENT");
}

TEST_F(HostViewTest, OnlyTheSlashIsTheLiveHost) {
  EXPECT_FALSE(host->is_live());
  EXPECT_TRUE((*open_host_view("/"))->is_live());
  EXPECT_TRUE((*open_host_view("//"))->is_live());
  EXPECT_EQ((*open_host_view("/"))->read("proc/sys/kernel/random/boot_id")->size(), 36u);
  EXPECT_EQ(open_host_view(tree.root() + "/no").error().code, Errc::kNotFound);
}

// A view that is not made of files gets open_dir from its whole-path calls.
class TableView final : public HostView {
 public:
  Result<std::string> read(std::string_view path, size_t) const override { return std::string(path) + "!"; }
  Result<std::vector<std::string>> list(std::string_view path) const override {
    if (path == "sys/gone") return Error{Errc::kNotFound, "gone"};
    return std::vector<std::string>{std::string(path)};
  }
  Result<std::string> readlink(std::string_view path) const override { return std::string(path) + "@"; }
  bool is_live() const override { return false; }
};

TEST(HostView, OpensDirectoriesByPathWithoutOpenat2) {
  const TableView host;
  const auto dir = host.open_dir("sys/d");
  EXPECT_EQ(*(*dir)->read("value"), "sys/d/value!");
  EXPECT_EQ(*(*dir)->list(), std::vector<std::string>{"sys/d"});
  EXPECT_EQ(*(*dir)->readlink("value"), "sys/d/value@");
  EXPECT_EQ(host.open_dir("sys/gone").error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace sliced::hotplug
