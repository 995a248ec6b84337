#include "kubelet/sockets.h"

#include <gtest/gtest.h>

namespace sliced::kubelet {
namespace {

const SocketDirectories kOfKubelet = {.plugins = "/var/lib/kubelet/plugins",
                                      .registrar = "/var/lib/kubelet/plugins_registry"};
const std::string kUid = "0b1d3c5e-7777-4f4f-8e8e-123456789abc";

TEST(KubeletSockets, AreWhereThePeersAre) {
  const auto paths = socket_paths(kOfKubelet, "sriovnetwork.k8snetworkplumbingwg.io", "");
  ASSERT_TRUE(paths);
  EXPECT_EQ(paths->service, "/var/lib/kubelet/plugins/sriovnetwork.k8snetworkplumbingwg.io/dra.sock");
  EXPECT_EQ(paths->registration,
            "/var/lib/kubelet/plugins_registry/sriovnetwork.k8snetworkplumbingwg.io-reg.sock");
}

TEST(KubeletSockets, OfAPodHaveItsUidWhereThereIsRoom) {
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

TEST(KubeletSockets, PathsThatNoSocketCanHaveAreRefused) {
  const auto paths =
      socket_paths({.plugins = "/" + std::string(100, 'p'), .registrar = "/r"}, "d.example", "");
  ASSERT_FALSE(paths);
  EXPECT_EQ(paths.error().code, Errc::kInvalid);
  EXPECT_NE(paths.error().what.find("d.example"), std::string::npos);
  EXPECT_NE(paths.error().what.find("shorter directory"), std::string::npos);
}

}  // namespace
}  // namespace sliced::kubelet
