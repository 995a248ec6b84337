#include "daemon/node_locks.h"

#include <gtest/gtest.h>

#include <map>

namespace sliced::daemon {
namespace {

// Red when it is in /tmp: any local user may have made it before.
TEST(RuntimeDirectory, ReturnsTheFirstExistingDirectory) {
  const struct {
    const char* why;
    const char* option;
    std::map<std::string, std::string> env;
    uid_t user;
    bool has_run;
    const char* wanted;
  } rows[] = {
      {"the option", "/x", {{"RUNTIME_DIRECTORY", "/run/sliced"}}, 0, true, "/x"},
      {"systemd's", "", {{"RUNTIME_DIRECTORY", "/run/a:/run/b"}}, 0, true, "/run/a"},
      {"systemd's for a user",
       "",
       {{"RUNTIME_DIRECTORY", "/run/a"}, {"XDG_RUNTIME_DIR", "/run/user/7"}},
       7,
       false,
       "/run/a"},
      {"root, also in a pod", "", {{"XDG_RUNTIME_DIR", "/run/user/0"}}, 0, false, "/run/sliced"},
      {"a laptop", "", {{"XDG_RUNTIME_DIR", "/run/user/7"}}, 7, false, "/run/user/7/sliced"},
      {"a login of the service's user", "", {{"XDG_RUNTIME_DIR", "/run/user/7"}}, 7, true, "/run/sliced"},
      {"a relative one counts as unset", "", {{"XDG_RUNTIME_DIR", "run"}}, 7, false, ""},
      {"a pod of a user", "", {}, 7, true, "/run/sliced"},
      {"a su without a login", "", {{"HOME", "/home/seven"}}, 7, false, "/home/seven/.sliced"},
      {"a login without its environment", "", {{"HOME", "/home/eight"}}, 8, false, "/run/user/8/sliced"},
      {"somebody else's home", "", {{"HOME", "/home/eight"}}, 7, false, ""},
      {"nothing", "", {}, 7, false, ""},
  };
  for (const auto& row : rows) {
    const RuntimePorts ports{[&](const char* name) -> std::optional<std::string> {
                               const auto at = row.env.find(name);
                               return at == row.env.end() ? std::nullopt : std::optional(at->second);
                             },
                             [&](const std::string& path) {
                               if (path == "/run/sliced") return row.has_run;
                               return (path == "/home/seven" && row.user == 7) ||
                                      (path == "/run/user/8" && row.user == 8);
                             },
                             row.user};
    EXPECT_EQ(find_runtime_directory(row.option, ports), row.wanted) << row.why;
  }
}

// Red when a legal node name makes a lock that cannot be taken, or two nodes one lock.
TEST(LockFileName, FitsAFileNameAndIsUnique) {
  EXPECT_EQ(lock_file_name("sriov.example.com", "node-a"), "sriov.example.com_node-a.lock");
  const std::string driver(63, 'd');
  for (size_t size = 1; size <= 253; ++size) {
    const std::string node(size, 'n');
    EXPECT_LE(lock_file_name(driver, node).size(), 255u);
    EXPECT_NE(lock_file_name(driver, node), lock_file_name(driver, node.substr(1) + "m"));
    EXPECT_NE(lock_file_name(driver, node), lock_file_name("e" + driver.substr(1), node));
  }
}

}  // namespace
}  // namespace sliced::daemon
