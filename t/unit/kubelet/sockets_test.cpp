#include "kubelet/sockets.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "reactor/descriptor.h"

namespace sliced::kubelet {
namespace {

const SocketDirectories kOfKubelet = {.plugins = "/var/lib/kubelet/plugins",
                                      .registrar = "/var/lib/kubelet/plugins_registry"};
const std::string kUid = "0b1d3c5e-7777-4f4f-8e8e-123456789abc";

TEST(KubeletSockets, AreAtTheKubeletsPaths) {
  const auto paths = socket_paths(kOfKubelet, "sriovnetwork.k8snetworkplumbingwg.io", "");
  ASSERT_TRUE(paths);
  EXPECT_EQ(paths->service, "/var/lib/kubelet/plugins/sriovnetwork.k8snetworkplumbingwg.io/dra.sock");
  EXPECT_EQ(paths->registration,
            "/var/lib/kubelet/plugins_registry/sriovnetwork.k8snetworkplumbingwg.io-reg.sock");
}

TEST(KubeletSockets, ContainThePodsUidIfItFits) {
  const auto paths = socket_paths(kOfKubelet, "dra.networking", kUid);
  ASSERT_TRUE(paths);
  EXPECT_EQ(paths->service, "/var/lib/kubelet/plugins/dra.networking/dra-" + kUid + ".sock");
  EXPECT_EQ(paths->registration, "/var/lib/kubelet/plugins_registry/dra.networking-" + kUid + "-reg.sock");
  const auto hashed = socket_paths(kOfKubelet, "sriovnetwork.k8snetworkplumbingwg.io", kUid);
  ASSERT_TRUE(hashed) << hashed.error().what;
  EXPECT_LE(hashed->registration.size(), 107u);
  const auto other = socket_paths(kOfKubelet, "sriovnetwork.k8snetworkplumbingwg.io", kUid + "d");
  EXPECT_NE(hashed->registration, other->registration);
  EXPECT_TRUE(hashed->registration.ends_with("-reg.sock"));
}

TEST(KubeletSockets, RefusePathsTooLongForASocket) {
  const auto paths =
      socket_paths({.plugins = "/" + std::string(100, 'p'), .registrar = "/r"}, "d.example", "");
  ASSERT_FALSE(paths);
  EXPECT_EQ(paths.error().code, Errc::kInvalid);
  EXPECT_NE(paths.error().what.find("d.example"), std::string::npos);
  EXPECT_NE(paths.error().what.find("shorter directory"), std::string::npos);
}

struct SilentOthers : testing::Test {
  SilentOthers() {
    for (const std::string& path : {at.registrar, own.folder}) std::filesystem::create_directories(path);
  }
  ~SilentOthers() override { std::filesystem::remove_all(root); }
  // A listening socket, as long as the descriptor lives.
  static reactor::Descriptor socket_at(const std::string& path) {
    reactor::Descriptor socket(::socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::copy(path.begin(), path.end(), address.sun_path);
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0) << path;
    EXPECT_EQ(::listen(socket.get(), 1), 0);
    return socket;
  }

  const std::string root = testing::TempDir() + "/others" + std::to_string(::getpid());
  const SocketDirectories at{.plugins = root + "/p", .registrar = root + "/r"};
  const SocketPaths own = *socket_paths(at, "d.example", "new");
};

TEST_F(SilentOthers, RemovesSilentSocketsOnly) {
  for (const std::string& name :
       {at.registrar + "/d.example-old-reg.sock", at.registrar + "/d.example-reg.sock",
        at.registrar + "/other.example-reg.sock", own.folder + "/dra.sock", own.folder + "/dra-old.sock",
        own.folder + "/other.sock"})
    socket_at(name);
  std::ofstream(own.folder + "/dra-file.sock") << "no socket";
  const auto removed = remove_silent_others(at, "d.example", own);
  EXPECT_TRUE(removed) << removed.error().what;
  std::set<std::string> left;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root))
    if (!entry.is_directory()) left.insert(entry.path().filename());
  EXPECT_EQ(left, (std::set<std::string>{"other.example-reg.sock", "other.sock", "dra-file.sock"}));
}

TEST_F(SilentOthers, FindsThemAmongThousandsOfForeignFiles) {
  for (int i = 0; i < 5'000; ++i) std::ofstream(at.registrar + "/other-" + std::to_string(i) + "-reg.sock");
  socket_at(at.registrar + "/d.example-old-reg.sock");
  const auto removed = remove_silent_others(at, "d.example", own);
  EXPECT_TRUE(removed) << removed.error().what;
  EXPECT_FALSE(std::filesystem::exists(at.registrar + "/d.example-old-reg.sock"));
}

TEST_F(SilentOthers, AnAnsweringSocketServesTheDriver) {
  const std::string path = at.registrar + "/d.example-old-reg.sock";
  const reactor::Descriptor other = socket_at(path);
  const auto removed = remove_silent_others(at, "d.example", own);
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code, Errc::kBusy);
  EXPECT_NE(removed.error().what.find(path), std::string::npos) << removed.error().what;
  EXPECT_TRUE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace sliced::kubelet
