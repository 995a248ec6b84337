// build/sliced as systemd starts it: what it is told of it, by a real socket.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "t/fixture/patience.h"
#include "t/fixture/sysfs_tree.h"

namespace sliced::process::service {
namespace {

using namespace std::chrono_literals;

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
    if (child > 0) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
    ::close(manager);
    std::filesystem::remove_all(scratch);
  }

  void start(const std::string& cluster) {
    std::vector<std::string> words = {
        SLICED_PROGRAM, "run",      "--cluster",           cluster,        "--host", tree.root(),
        "--node-name",  "worker-1", "--runtime-directory", scratch / "run"};
    std::vector<std::string> variables = {"NOTIFY_SOCKET=" + (scratch / "notify").string(),
                                          "WATCHDOG_USEC=400000"};
    std::vector<char*> argv, environment;
    for (std::string& word : words) argv.push_back(word.data());
    for (std::string& variable : variables) environment.push_back(variable.data());
    argv.push_back(nullptr);
    environment.push_back(nullptr);
    const std::string log = scratch / "log";
    child = fork();
    ASSERT_GE(child, 0);
    if (child > 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int file = open(log.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
    dup2(file, 1);
    dup2(file, 2);
    execve(argv[0], argv.data(), environment.data());
    _exit(98);
  }

  /// Reads on until a word that begins so; false when none comes.
  bool hears(const std::string& beginning) {
    const auto until = std::chrono::steady_clock::now() + fixture::patience();
    while (std::chrono::steady_clock::now() < until) {
      pollfd ready{manager, POLLIN, 0};
      if (poll(&ready, 1, 1'000) <= 0) continue;
      char bytes[2'048];
      const ssize_t size = recv(manager, bytes, sizeof bytes, 0);
      if (size <= 0) continue;
      heard.emplace_back(bytes, static_cast<size_t>(size));
      if (heard.back().starts_with(beginning)) return true;
    }
    return false;
  }
  std::string told() const {
    std::string all;
    for (const std::string& word : heard) all += word;
    std::ifstream log(scratch / "log");
    return all + "---- log\n" + std::string(std::istreambuf_iterator<char>(log), {});
  }
  int stop() {
    kill(child, SIGTERM);
    int status = 0;
    if (waitpid(std::exchange(child, -1), &status, 0) < 0) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1'000 + WTERMSIG(status);
  }

  fixture::SysfsTree tree;
  std::filesystem::path scratch;
  int manager = -1;
  pid_t child = -1;
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
  EXPECT_EQ(stop(), 0) << told();
}

TEST_F(ServiceTest, SaysHowManyDevicesAreOfferedAndWhenItReloadsAndStops) {
  std::ofstream(scratch / "cluster/policy.yaml")
      << "apiVersion: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1\nkind: SriovResourcePolicy\n"
         "metadata: {name: all, namespace: dra-driver-sriov}\nspec: {configs: [{}]}\n";
  start("dir:" + (scratch / "cluster").string());
  EXPECT_TRUE(hears("STATUS=2 devices offered")) << told();
  kill(child, SIGHUP);
  EXPECT_TRUE(hears("RELOADING=1\nMONOTONIC_USEC=")) << told();
  EXPECT_TRUE(hears("READY=1\n")) << told();
  EXPECT_EQ(stop(), 0) << told();
  EXPECT_TRUE(hears("STOPPING=1\n")) << told();
}

}  // namespace
}  // namespace sliced::process::service
