#include "kubelet/cni/host_local.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace sliced::cni {
namespace {

namespace fs = std::filesystem;

class HostLocalTest : public testing::Test {
 protected:
  HostLocalTest() {
    std::string pattern = testing::TempDir() + "networks.XXXXXX";
    base = mkdtemp(pattern.data());
  }
  ~HostLocalTest() override { fs::remove_all(base); }
  std::string make(const std::string& name, const std::initializer_list<const char*> files) const {
    const std::string directory = base + "/ns/" + name;
    fs::create_directories(directory);
    for (const char* file : files) std::ofstream(directory + "/" + file) << "x";
    return directory;
  }
  std::string base;
};

TEST_F(HostLocalTest, RemovesADirectoryWithItsLastAddressUnderTheLock) {
  const std::string used = make("used", {"lock", "last_reserved_ip.0", "192.0.2.7"});
  EXPECT_FALSE(remove_unused_network(used).value());
  EXPECT_TRUE(fs::exists(used + "/last_reserved_ip.0"));
  const std::string left = make("left", {"lock", "last_reserved_ip.0", "last_reserved_ip.1"});
  const int lock = open((left + "/lock").c_str(), O_RDWR);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  EXPECT_FALSE(remove_unused_network(left).value()) << "host-local runs";
  EXPECT_TRUE(fs::exists(left + "/last_reserved_ip.1"));
  close(lock);
  EXPECT_TRUE(remove_unused_network(left).value());
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(remove_unused_network(left).value()) << "it is gone";
  EXPECT_FALSE(remove_unused_network(make("others", {"notes.txt"})).value());
}

TEST_F(HostLocalTest, RemovesAllUnusedDirectories) {
  const std::string a = make("a", {"lock"}), b = make("b", {"lock"}), c = make("c", {"lock", "2001:db8::7"});
  remove_unused_networks(base, {b});
  EXPECT_FALSE(fs::exists(a));
  EXPECT_TRUE(fs::exists(b));
  EXPECT_TRUE(fs::exists(c));
  fs::remove_all(b), fs::remove_all(c);
  remove_unused_networks(base, {});
  EXPECT_FALSE(fs::exists(base + "/ns")) << "a namespace without networks";
  remove_unused_networks(base + "/none", {});
}

TEST_F(HostLocalTest, NamesOnlyDirectoriesBelowTheBase) {
  const auto of = [&](const std::string& ipam, const std::string& name = "net") {
    return host_local_directory(
        R"({"cniVersion":"1.0.0","name":")" + name + R"(","type":"macvlan","ipam":)" + ipam + "}", "nad",
        "/base");
  };
  EXPECT_EQ(of(R"({"type":"host-local","dataDir":"/base/ns"})"), "/base/ns/net");
  for (const char* ipam :
       {R"({"type":"host-local"})", R"({"type":"host-local","dataDir":"/var/lib/cni/networks"})",
        R"({"type":"host-local","dataDir":"/base/../etc"})",
        R"({"type":"host-local","dataDir":"/basement/ns"})", R"({"type":"static","dataDir":"/base/ns"})",
        "{}"})
    EXPECT_EQ(of(ipam), "") << ipam;
  EXPECT_EQ(of(R"({"type":"host-local","dataDir":"/base/ns"})", "../x"), "");
  EXPECT_EQ(host_local_directory("{", "nad", "/base"), "");
}

}  // namespace
}  // namespace sliced::cni
