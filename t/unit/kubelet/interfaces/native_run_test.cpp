#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "kubelet/interfaces/native_interface.h"
#include "t/fixture/loop_fixture.h"

namespace sliced::kubelet {
namespace native_run_test {
namespace {

constexpr const char* kLease =
    R"({"cniVersion":"0.4.0","ips":[{"version":"4","address":"10.0.0.7/24","gateway":"10.0.0.1"}],)"
    R"("routes":[{"dst":"0.0.0.0/0"}],"dns":{"nameservers":["10.0.0.53"]}})";

// The IPAM plugin and the program that attaches are shell scripts.
struct NativeRunTest : fixture::LoopTest {
  NativeRunTest() {
    std::string pattern = testing::TempDir() + "native.XXXXXX";
    directory = mkdtemp(pattern.data());
    script("attach", R"(cat >order; echo '{"cniVersion":"1.1.0","interfaces":[{"name":"net1"}],)"
                     R"("ips":[{"interface":0,"address":"10.0.0.7/24"}]}')");
  }
  ~NativeRunTest() override { std::filesystem::remove_all(directory); }

  void script(const std::string& name, const std::string& text) const {
    const std::string path = directory + "/" + name;
    std::ofstream(path) << "#!/bin/sh\ncd " << directory << "\n" << text << "\n";
    chmod(path.c_str(), 0755);
  }
  void plugin(const std::string& answer) const {
    script("host-local",
           "cat >input.$CNI_COMMAND; echo \"$CNI_CONTAINERID $CNI_IFNAME\" >>calls.$CNI_COMMAND\n" + answer);
  }
  std::string text(const std::string& name) const {
    std::ifstream file(directory + "/" + name);
    std::stringstream all;
    all << file.rdbuf();
    return all.str();
  }
  static cni::Network network(const std::string& ipam = R"({"type":"host-local","subnet":"10.0.0.0/24"})") {
    return cni::decode_network(native_config({.ipam = ipam}, "ens1v0"), "").value();
  }
  Result<cni::Attached> run(cni::Command command, const cni::Network& of = network(),
                            Millis deadline = fixture::patience(), const std::string& program = "attach") {
    std::optional<Result<cni::Attached>> outcome;
    const auto running =
        run_native(loop, {directory + "/" + program},
                   {.directories = {directory}, .environment = {"PATH=/usr/bin:/bin"}}, of, command,
                   {.container_id = "c1", .network_namespace = "/run/netns/a", .interface = "net1"}, deadline,
                   [&](Result<cni::Attached> what) { outcome = std::move(what); });
    EXPECT_FALSE(outcome);
    EXPECT_TRUE(run_until([&] { return outcome.has_value(); }));
    return outcome ? *outcome : Result<cni::Attached>(Error{Errc::kTimeout, "never called"});
  }
  // Of an ADD that fails before the program that attaches is run.
  Error refused(const cni::Network& of = network(), Millis deadline = fixture::patience()) {
    const auto made = run(cni::Command::kAdd, of, deadline);
    EXPECT_FALSE(made.ok());
    EXPECT_EQ(text("order"), "") << "nothing was attached";
    return made ? Error{Errc::kIo, ""} : made.error();
  }
  std::string directory;
};

TEST_F(NativeRunTest, OrdersThePluginsResult) {
  plugin("echo '" + std::string(kLease) + "'");
  const auto made = run(cni::Command::kAdd);
  ASSERT_TRUE(made.ok()) << made.error().what;
  EXPECT_EQ(text("calls.ADD"), "c1 net1\n");
  EXPECT_EQ(kube::decode_json(text("input.ADD"))->find("ipam")->text("subnet"), "10.0.0.0/24");
  const auto order = decode_native_order(text("order"));
  ASSERT_TRUE(order.ok()) << order.error().what;
  EXPECT_EQ(order->network.addresses, (std::vector<std::string>{"10.0.0.7/24"}));
  EXPECT_EQ(order->network.routes, (std::vector<NativeRoute>{{"0.0.0.0/0", "10.0.0.1"}}));
  EXPECT_FALSE(order->network.runs_ipam());
  EXPECT_EQ(made->ips.at(0).gateway, "10.0.0.1");
  EXPECT_EQ(made->dns.nameservers, (std::vector<std::string>{"10.0.0.53"}));
}

// kNotFound and kDenied drop the record (Attachments), and with it the DEL.
TEST_F(NativeRunTest, AFailureReportsWhetherALeaseExists) {
  EXPECT_EQ(refused().code, Errc::kNotFound) << "no plugin was run";
  plugin("echo '{\"code\":11,\"msg\":\"no addresses\"}'; exit 1");
  const Error failed = refused();
  EXPECT_EQ(failed.code, Errc::kIo);
  EXPECT_NE(failed.what.find("plugin host-local: ADD: no addresses"), std::string::npos) << failed.what;
  plugin("sleep 1000");
  EXPECT_EQ(refused(network(), Millis{300}).code, Errc::kTimeout);
  plugin(R"(echo '{"cniVersion":"0.4.0","ips":[{"version":"4","address":"224.0.0.1/24"}]}')");
  const Error bad = refused();
  EXPECT_EQ(bad.code, Errc::kInvalid);
  EXPECT_NE(bad.what.find("its result.addresses[0] is \"224.0.0.1/24\""), std::string::npos) << bad.what;
  plugin("echo '" + std::string(kLease) + "'");
  EXPECT_EQ(run(cni::Command::kAdd, network(), fixture::patience(), "missing").error().code, Errc::kIo)
      << "the plugin has given an address";
  script("attach", "echo 'interface ens1v0 is not on the host' >&2; exit 1");
  EXPECT_EQ(run(cni::Command::kAdd).error().what, "network: interface ens1v0 is not on the host");
  const auto fixed = cni::decode_network(native_config({.addresses = {"10.0.0.7/24"}}, "ens1v0"), "").value();
  EXPECT_EQ(run(cni::Command::kAdd, fixed, fixture::patience(), "missing").error().code, Errc::kDenied);
}

TEST_F(NativeRunTest, DelRunsThePluginRegardlessOfPermissions) {
  plugin("");
  EXPECT_TRUE(run(cni::Command::kDel).ok());
  EXPECT_TRUE(run(cni::Command::kCheck).ok());
  EXPECT_EQ(text("calls.DEL") + text("calls.CHECK") + text("order"), "c1 net1\n");
  auto old = network();
  old.plugins.front().config.set(
      "ipam", kube::Json(kube::Json::Object{{"type", "host-local"}, {"fieldOfAnOldRelease", "x"}}));
  EXPECT_TRUE(run(cni::Command::kDel, old).ok());
  plugin("exit 3");
  EXPECT_FALSE(run(cni::Command::kDel).ok());
}

}  // namespace
}  // namespace native_run_test
}  // namespace sliced::kubelet
