// build/sliced as systemd starts it: what it is told of it, by a real socket.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "t/fixture/sysfs_tree.h"
#include "t/interop/process/child.h"

namespace sliced::process::service {
namespace {

struct ServiceTest : testing::Test {
  ServiceTest() {
    tree.boot_id("boot-1");
    auto pf = tree.pci("0000:3b:00.0").id("8086", "1592").driver("ice").numa(0).netdev("ens1f0");
    pf.sriov(8).vfs(2, [](fixture::SysfsTree::Pci vf, int index) {
      vf.id("8086", "1889").driver("iavf").netdev("ens1f0v" + std::to_string(index));
    });
    std::string pattern = (std::filesystem::temp_directory_path() / "sliced-service-XXXXXX").string();
    scratch = ::mkdtemp(pattern.data());
    std::filesystem::create_directories(scratch / "cluster");
    manager = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, (scratch / "notify").c_str());
    EXPECT_EQ(::bind(manager, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  ~ServiceTest() override {
    child.reset();
    ::close(manager);
    std::filesystem::remove_all(scratch);
  }

  void start(const std::string& cluster) {
    std::vector<std::string> words = {
        SLICED_PROGRAM, "run",      "--cluster",           cluster,        "--host", tree.root(),
        "--node-name",  "worker-1", "--runtime-directory", scratch / "run"};
    std::vector<std::string> variables = {"NOTIFY_SOCKET=" + (scratch / "notify").string(),
                                          "WATCHDOG_USEC=400000"};
    const int file = open((scratch / "log").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    child = std::make_unique<Child>();
    ASSERT_EQ(child->start(words, variables, file, file), "");
    ::close(file);
  }

  /// Reads on until a word that begins so; false when none comes.
  bool hears(const std::string& beginning) {
    return child->wait_until([&] {
      char bytes[2'048];
      for (ssize_t size = 0; (size = recv(manager, bytes, sizeof bytes, MSG_DONTWAIT)) > 0;) {
        heard.emplace_back(bytes, static_cast<size_t>(size));
        if (heard.back().starts_with(beginning)) return true;
      }
      return false;
    });
  }
  std::string told() const {
    std::string all;
    for (const std::string& word : heard) all += word;
    std::ifstream log(scratch / "log");
    return all + "---- log\n" + std::string(std::istreambuf_iterator<char>(log), {});
  }
  fixture::SysfsTree tree;
  std::filesystem::path scratch;
  int manager = -1;
  std::unique_ptr<Child> child;
  std::vector<std::string> heard;
};

TEST_F(ServiceTest, IsReadyWithoutAnApiServerAndSaysWhatItWaitsFor) {
  std::ofstream(scratch / "kubeconfig")
      << "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"
         "users: [{name: u, user: {token: t}}]\n"
         "clusters: [{name: c, cluster: {server: \"http://127.0.0.1:1\"}}]\n";
  start("kubeconfig:" + (scratch / "kubeconfig").string());
  EXPECT_TRUE(hears("READY=1\n")) << told();
  EXPECT_TRUE(hears("STATUS=waiting for ")) << told();
  EXPECT_EQ(heard.back().find("host:"), std::string::npos) << "that has been read: " << heard.back();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(hears("WATCHDOG=1\n")) << told();
  EXPECT_EQ(child->stop(), 0) << told();
}

TEST_F(ServiceTest, SaysHowManyDevicesAreOfferedAndWhenItReloadsAndStops) {
  std::ofstream(scratch / "cluster/policy.yaml")
      << "apiVersion: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1\nkind: SriovResourcePolicy\n"
         "metadata: {name: all, namespace: dra-driver-sriov}\nspec: {configs: [{}]}\n";
  start("dir:" + (scratch / "cluster").string());
  EXPECT_TRUE(hears("STATUS=2 devices offered")) << told();
  kill(child->pid(), SIGHUP);
  EXPECT_TRUE(hears("RELOADING=1\nMONOTONIC_USEC=")) << told();
  EXPECT_TRUE(hears("READY=1\n")) << told();
  EXPECT_EQ(child->stop(), 0) << told();
  EXPECT_TRUE(hears("STOPPING=1\n")) << told();
}

// systemd may order a reload while the service stops; ./dev run does when VFs appear.
TEST_F(ServiceTest, NoSignalDuringTheEndChangesItsStatus) {
  for (int i = 0; i < 20; ++i) {
    start("dir:" + (scratch / "cluster").string());
    ASSERT_TRUE(hears("READY=1\n")) << told();
    kill(child->pid(), SIGTERM);
    while (!child->has_ended()) {
      kill(child->pid(), SIGHUP);
      std::this_thread::sleep_for(std::chrono::microseconds{200});
    }
    ASSERT_EQ(child->wait(), 0) << told();
    EXPECT_FALSE(hears("what the next one has not said"));
    heard.clear();
  }
}

}  // namespace
}  // namespace sliced::process::service
