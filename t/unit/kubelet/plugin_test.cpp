#include "kubelet/plugin.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "reactor/net/listener.h"
#include "t/fake/memory_log.h"
#include "t/fixture/loop_fixture.h"
#include "t/unit/kubelet/plugin_world.h"

namespace sliced::kubelet {
namespace {

namespace fs = std::filesystem;

struct KubeletPlugin : fixture::LoopTest {
  KubeletPlugin() {
    char name[] = "/tmp/plugin-test-XXXXXX";
    root = ::mkdtemp(name);
    fs::create_directory(root + "/reg");
  }
  ~KubeletPlugin() override { fs::remove_all(root); }
  std::unique_ptr<Plugin> make(const std::string& pod_uid = "") {
    return std::make_unique<Plugin>(
        PluginPorts{.loop = loop,
                    .log = log,
                    .preparer = preparer,
                    .clock = [] { return int64_t{0}; },
                    .on_other_program = [this] { ++others_told; }},
        Plugin::Settings{.directories = {.plugins = root + "/plugins", .registrar = root + "/reg"},
                         .pod_uid = pod_uid},
        std::vector<Plugin::Driver>{{"a.example", [] { return std::vector<DeviceHealth>(); }},
                                    {"b.example", [] { return std::vector<DeviceHealth>(); }}});
  }
  bool is_there(const std::string& path) const { return fs::is_socket(root + "/" + path); }
  bool are_there() const {
    return is_there("plugins/a.example/dra.sock") && is_there("plugins/b.example/dra.sock") &&
           is_there("reg/a.example-reg.sock") && is_there("reg/b.example-reg.sock");
  }

  std::string root;
  int others_told = 0;
  fake::MemoryLog log;
  AskedPreparer preparer;
};

TEST_F(KubeletPlugin, SocketsExistFromStartToEnd) {
  auto plugin = make();
  EXPECT_FALSE(fs::exists(root + "/plugins")) << "another process may still be the node's";
  plugin->start();
  EXPECT_TRUE(are_there());
  EXPECT_TRUE(plugin->is_serving("a.example") && plugin->is_serving("b.example"));
  plugin.reset();
  EXPECT_TRUE(fs::is_empty(root + "/reg") && fs::is_empty(root + "/plugins/a.example"));
}

// The kubelet prefers the driver that registered last. Two drivers that answer at the same time would prepare
// the same claims.
TEST_F(KubeletPlugin, TheNewerPodServesWhenTheOlderEnds) {
  auto old = make("uid-1"), young = make("uid-2");
  old->start();
  young->start();
  EXPECT_TRUE(is_there("reg/a.example-uid-1-reg.sock") && !is_there("reg/a.example-uid-2-reg.sock"));
  EXPECT_FALSE(young->is_serving("a.example"));
  old.reset();
  EXPECT_FALSE(is_there("reg/a.example-uid-1-reg.sock"));
  EXPECT_TRUE(run_until([&] { return young->is_serving("a.example"); }));
  EXPECT_TRUE(is_there("plugins/a.example/dra-uid-2.sock") && is_there("reg/a.example-uid-2-reg.sock"));
}

TEST_F(KubeletPlugin, RemovesSocketsOfDeadProcessesOnly) {
  const std::string path = root + "/reg/a.example-reg.sock";
  auto other = reactor::net::listen_unix(loop, path, {}, [](auto, auto) {});
  ASSERT_TRUE(other);
  auto plugin = make();
  int alone = 0;
  plugin->start([&] { ++alone; });
  EXPECT_EQ(alone, 0) << "the claims of the other program would be read too early";
  EXPECT_FALSE(plugin->is_serving("a.example"));
  EXPECT_TRUE(plugin->is_serving("b.example")) << "the other driver is nobody else's";
  ASSERT_TRUE(plugin->other_programs().contains("a.example"));
  EXPECT_TRUE(plugin->other_programs().at("a.example").starts_with(path));
  EXPECT_EQ(log.count("another program serves this driver: nothing is published or prepared until it ends "
                      "driver=a.example"),
            1u)
      << log.all();
  pass(Millis{600});  // it is tried again, after half a second and a jitter of a fifth
  EXPECT_EQ(log.count("another program"), 1u) << "said once";
  const auto before = fs::status(path);
  fs::rename(path, path + ".kept");
  other->reset();  // as after SIGKILL: the file stays, and no process answers
  fs::rename(path + ".kept", path);
  EXPECT_TRUE(run_until([&] { return plugin->is_serving("a.example"); }));
  EXPECT_TRUE(fs::is_socket(before));
  EXPECT_EQ(alone, 1);
  EXPECT_TRUE(plugin->other_programs().empty());
  EXPECT_EQ(others_told, 2);
}

// dra-driver-sriov creates a socket of the same name at its start. Red when a socket of another program
// counts as the own one: both would publish.
TEST_F(KubeletPlugin, DetectsAnotherProgramWithTheName) {
  auto plugin = make();
  plugin->start();
  ASSERT_EQ(others_told, 0);
  const std::string path = root + "/plugins/a.example/dra.sock";
  fs::remove(path);
  auto other = reactor::net::listen_unix(loop, path, {}, [](auto, auto) {});
  ASSERT_TRUE(other);
  EXPECT_TRUE(run_until([&] { return !plugin->other_programs().empty(); }));
  EXPECT_FALSE(plugin->is_serving("a.example"));
  EXPECT_TRUE(plugin->is_serving("b.example"));
  EXPECT_EQ(others_told, 1);
  other->reset();
  EXPECT_TRUE(run_until([&] { return plugin->is_serving("a.example"); }));
  EXPECT_TRUE(plugin->other_programs().empty());
  EXPECT_EQ(others_told, 2);
}

TEST_F(KubeletPlugin, KeepsAFileThatIsNoSocket) {
  const std::string path = root + "/reg/a.example-reg.sock";
  std::ofstream(path) << "keep me";
  auto plugin = make();
  plugin->start();
  EXPECT_FALSE(plugin->is_serving("a.example"));
  EXPECT_TRUE(fs::is_regular_file(path));
  EXPECT_EQ(log.count("kubelet cannot find this driver driver=a.example"), 1u) << log.all();
}

TEST_F(KubeletPlugin, WaitsForTheKubelet) {
  fs::remove(root + "/reg");
  auto plugin = make();
  plugin->start();
  EXPECT_FALSE(plugin->is_serving("a.example"));
  fs::create_directory(root + "/reg");
  EXPECT_TRUE(run_until([&] { return are_there(); }));
}

TEST_F(KubeletPlugin, RestoresRemovedSockets) {
  auto plugin = make();
  plugin->start();
  fs::remove(root + "/reg/a.example-reg.sock");
  fs::remove(root + "/plugins/b.example/dra.sock");
  EXPECT_TRUE(run_until([&] { return are_there(); }));
}

}  // namespace
}  // namespace sliced::kubelet
