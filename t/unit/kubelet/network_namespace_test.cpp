#include "kubelet/network_namespace.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

namespace sliced::kubelet {
namespace {

TEST(NetworkNamespace, IsDistinguishedFromOtherFiles) {
  EXPECT_TRUE(is_network_namespace("/proc/self/ns/net"));
  EXPECT_FALSE(is_network_namespace("/proc/self/ns/mnt"));
  const std::string file = testing::TempDir() + "network_namespace_test";
  std::ofstream(file) << "";
  EXPECT_FALSE(is_network_namespace(file)) << "the bind mount on it is gone";
  std::remove(file.c_str());
  EXPECT_FALSE(is_network_namespace(file));
}

}  // namespace
}  // namespace sliced::kubelet
