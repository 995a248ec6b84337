#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cli/status_sockets.h"

namespace sliced::cli {
namespace local_door_test {
namespace {

namespace fs = std::filesystem;

struct LocalDoor : testing::Test {
  LocalDoor() {
    char name[] = "/tmp/local-door-XXXXXX";
    root = ::mkdtemp(name);
    options.runtime_directory = root;
  }
  ~LocalDoor() override { fs::remove_all(root); }

  config::Options options;
  std::string root;
};

// As in the directory of a machine on which daemons of thousands of nodes have run: locks are never removed.
TEST_F(LocalDoor, FindsTheSocketAmongThousandsOfLocks) {
  for (int i = 0; i < 5'000; ++i) std::ofstream(root + "/d.example_node-" + std::to_string(i) + ".lock");
  for (const char* name : {"/status.sock", "/status-uid.sock"}) std::ofstream(root + name);
  FoundSockets found = find_sockets(options);
  EXPECT_EQ(found.sockets, (std::vector<std::string>{root + "/status.sock", root + "/status-uid.sock"}));
  EXPECT_EQ(found.denied, "");
  options.pod_uid = "uid";
  found = find_sockets(options);
  EXPECT_EQ(found.sockets, std::vector<std::string>{root + "/status-uid.sock"});
}

TEST_F(LocalDoor, MoreSocketsThanDaemonsCanHaveAreNotListed) {
  for (int i = 0; i < 4'097; ++i) std::ofstream(root + "/status-" + std::to_string(i) + ".sock");
  EXPECT_NE(find_sockets(options).denied.find("more than 4096 entries"), std::string::npos);
}

}  // namespace
}  // namespace local_door_test
}  // namespace sliced::cli
