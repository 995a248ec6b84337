#include "kubelet/interfaces/sandboxes.h"

#include <fcntl.h>

#include <algorithm>

#include "reactor/descriptor.h"
#include "t/fixture/golden.h"
#include "t/fixture/growth.h"
#include "t/unit/kubelet/interfaces/sandbox_world.h"

namespace sliced::kubelet::sandbox_test {
namespace {

using nri::test::field;
using Lines = std::vector<std::string>;

// Longer than any deadline of these tests.
constexpr Millis kEndless{7'200'000};

// Everything of one test; handles end with it.
constexpr Millis kNoCallIsSlow{3'600'000};

struct World {
  explicit World(fixture::LoopTest& t, Millis slow = kNoCallIsSlow, AttachmentBounds its_bounds = {})
      : test(t), free_time(slow), bounds(its_bounds) {
    start();
  }

  // The daemon is killed, wherever it is, and another begins and is connected.
  void start() {
    runtime.reset();
    daemon.reset();
    daemon.emplace(test.loop, node, free_time, bounds);
    EXPECT_TRUE(test.run_until([&] { return daemon->is_ready; }));
    runtime.emplace(test.loop, daemon->sandboxes);
  }
  std::string pod(const std::string& id) const { return field(1, nri::test::sandbox(id, node.netns(id))); }
  // Its answer: "" agreed.
  std::string call(const std::string& method, const std::string& payload,
                   Millis timeout = fixture::patience()) {
    const uint32_t number = runtime->call(method, payload, timeout);
    EXPECT_TRUE(test.run_until([&] { return runtime->answer(number).has_value(); }));
    return runtime->answer(number).value_or("never answered");
  }
  std::string run(const std::string& id, Millis timeout = fixture::patience()) {
    return call("Run", pod(id), timeout);
  }
  std::string stop(const std::string& id) { return call("Stop", pod(id)); }
  std::string create(const std::string& id) {
    return call("Create", pod(id) + field(2, nri::test::container("c", id)));
  }
  // What there is when the runtime connects: sandboxes, and those of them with a container.
  void synchronize(const Lines& sandboxes, const Lines& with_container = {}) {
    std::string all;
    for (const std::string& id : sandboxes) all += pod(id);
    for (const std::string& id : with_container) all += field(2, nri::test::container("c-" + id, id));
    EXPECT_EQ(call("Synchronize", all), "");
  }
  bool settle() {
    return test.run_until([&] { return daemon->attachments.idle(); });
  }

  fixture::LoopTest& test;
  const Millis free_time;  // HookTime
  const AttachmentBounds bounds;
  Node node;
  std::optional<Daemon> daemon;
  std::optional<Runtime> runtime;
};

struct SandboxesTest : fixture::LoopTest {};

// Small, so that a few processes reach them.
constexpr AttachmentBounds kFew{.adds_max = 4, .dels_max = 6, .dels_of_namespace_max = 3, .later_max = 4};

TEST_F(SandboxesTest, AttachesBeforeContainersAndDetachesOnStop) {
  World world(*this);
  world.node.prepare("uid-a", "net1");
  world.node.prepare("uid-a", "net2", "0000:03:00.3");
  EXPECT_EQ(world.run("a"), "");
  EXPECT_EQ(world.node.calls(), (Lines{"ADD a net1", "ADD a net2"}));
  EXPECT_EQ(world.node.records(), 2u);
  std::ranges::sort(world.daemon->attached);
  EXPECT_EQ(world.daemon->attached, (Lines{"net1 a 02:00:00:00:00:01", "net2 a 02:00:00:00:00:01"}));
  const auto input = kube::decode_json(world.node.text("input.ADD.net2"));
  EXPECT_EQ(input->text("deviceID"), "0000:03:00.3");
  EXPECT_EQ(world.create("a"), "");
  EXPECT_EQ(world.stop("a"), "");
  EXPECT_EQ(world.call("Remove", world.pod("a")), "");
  EXPECT_EQ(world.node.calls(), (Lines{"ADD a net1", "ADD a net2", "DEL a net1", "DEL a net2"}));
  EXPECT_EQ(world.node.records(), 0u);
}

// Red when a container gets device nodes from before ADD.
TEST_F(SandboxesTest, NodesAreComparedAfterAddBeforeASandboxIsAgreedTo) {
  World world(*this);
  world.node.prepare("uid-a", "net1");
  Lines calls_before;
  world.node.refresh = [&](bool is_run) -> Result<Unit> {
    if (!is_run) return Error{Errc::kInvalid, "its pod got other nodes"};
    calls_before = world.node.calls();
    return Unit{};
  };
  EXPECT_EQ(world.run("a"), "");
  EXPECT_EQ(calls_before, (Lines{"ADD a net1"}));
  EXPECT_NE(world.create("a").find("its pod got other nodes"), std::string::npos);
  world.node.refresh = nullptr;
  EXPECT_EQ(world.create("a"), "");
  EXPECT_EQ(world.node.calls(), (Lines{"ADD a net1"})) << "interfaces stay";
}

TEST_F(SandboxesTest, NodesThatAreMissingAreAwaitedUntilTheRuntimesTimeAndNamed) {
  World world(*this);
  world.node.prepare("uid-a", "net1");
  size_t missing = 2;
  world.node.refresh = [&](bool) -> Result<Unit> {
    if (missing == 0) return Unit{};
    --missing;
    return Error{Errc::kBusy, "device node-a/dev-net1 has lost its nodes"};
  };
  EXPECT_EQ(world.run("a"), "");
  EXPECT_EQ(world.node.refreshed, 3u);
}

TEST_F(SandboxesTest, ASandboxWhoseNodesStayMissingIsRefusedAndLosesItsInterfaces) {
  World world(*this);
  world.node.prepare("uid-a", "net1");
  world.node.refresh = [](bool) -> Result<Unit> {
    return Error{Errc::kBusy, "device node-a/dev-net1 has lost its nodes"};
  };
  EXPECT_NE(world.run("a", Millis{600}).find("device node-a/dev-net1 has lost its nodes"), std::string::npos);
  EXPECT_TRUE(world.settle());
  EXPECT_EQ(world.node.calls(), (Lines{"ADD a net1", "DEL a net1"}));
}

// A record of it could be neither written nor undone: nothing is kept that only a restart would release.
TEST_F(SandboxesTest, RefusesAnInvalidSandboxIdAndLocksNoDevice) {
  World world(*this);
  world.node.prepare("uid-a", "net1");
  const auto pod = [&](const std::string& id, const std::string& uid = "uid-a") {
    return field(1, field(1, id) + field(2, "pod-a") + field(3, uid) + field(4, "ns") +
                        field(8, field(5, field(1, "network") + field(2, world.node.netns("x")))));
  };
  for (const std::string& id : {std::string("../../x"), std::string("a/b"), std::string("a@b"),
                                std::string(""), std::string(300, 'a'), std::string("a\nb")}) {
    EXPECT_NE(world.call("Run", pod(id)), "") << id;
    EXPECT_NE(world.call("Create", pod(id) + field(2, nri::test::container("c", id))), "") << id;
    EXPECT_TRUE(world.daemon->attachments.all().empty()) << id;
    EXPECT_EQ(world.call("Stop", pod(id)), "") << id;
  }
  EXPECT_TRUE(world.node.calls().empty());
  EXPECT_EQ(world.run("a"), "");
  EXPECT_EQ(world.node.calls(), (Lines{"ADD a net1"}));
  EXPECT_NE(world.call("Create", pod("../a") + field(2, nri::test::container("c", "../a"))), "");
  EXPECT_EQ(world.node.calls(), (Lines{"ADD a net1"})) << "it takes nothing from the pod's sandbox";
}

TEST_F(SandboxesTest, RefusesAnAttachmentThatCouldNotBeUndone) {
  World world(*this);
  world.node.prepare("uid-a", "net1").network = R"({"cniVersion":"1.0.0","type":"../vf"})";
  EXPECT_NE(world.run("a"), "");
  EXPECT_TRUE(world.daemon->attachments.all().empty());
  EXPECT_EQ(world.node.records(), 0u);
}

// The kubelet repeats the call: the missing device may exist then.
TEST_F(SandboxesTest, RefusesWithoutAPluginIfTheHostIsNotReady) {
  World world(*this);
  world.node.prepare("uid-a", "net1");
  world.node.cannot_be_prepared = true;
  EXPECT_NE(world.run("a").find("bridge \"br0\" is down"), std::string::npos);
  EXPECT_TRUE(world.daemon->attachments.all().empty());
  EXPECT_EQ(world.node.records(), 0u);
  EXPECT_TRUE(world.node.calls().empty());
  world.node.cannot_be_prepared = false;
  EXPECT_EQ(world.run("a"), "");
  EXPECT_EQ(world.node.calls(), (Lines{"ADD a net1"}));
}

TEST_F(SandboxesTest, RefusesAHostAddressWithoutRunningAPlugin) {
  World world(*this);
  world.node.plugin("static", "");
  PreparedDevice& device = world.node.prepare("uid-a", "net1");
  device.network =
      R"({"cniVersion":"1.0.0","name":"net","type":"vf","ipam":{"type":"static","addresses":[{"address":"10.1.0.7/24"}]}})";
  world.node.has_address_of_plugin = true;
  EXPECT_NE(
      world.run("a").find("NetworkAttachmentDefinition ns/nad: spec.config: ipam.addresses[0].address is "
                          "\"10.1.0.7/24\", which the host has itself (interface eno1)"),
      std::string::npos);
  EXPECT_EQ(world.node.records(), 0u);
  EXPECT_TRUE(world.node.calls().empty());
  device.config.is_nad_administrators = true;
  EXPECT_EQ(world.run("a"), "");
}

// The pod would have packets that are for the host as long as it has the address.
TEST_F(SandboxesTest, UndoesAnAddThatYieldsAHostAddress) {
  World world(*this);
  world.node.prepare("uid-a", "net1");
  world.node.has_address_of_plugin = true;
  EXPECT_NE(
      world.run("a").find("ipam gave interface net1 the address \"10.1.0.7/24\", which the host has itself"),
      std::string::npos);
  EXPECT_EQ(world.node.calls(), (Lines{"ADD a net1", "DEL a net1"}));
  EXPECT_NE(world.node.text("input.DEL.net1").find("10.1.0.7"), std::string::npos) << "what ADD has made";
  EXPECT_EQ(world.node.records(), 0u);
  EXPECT_TRUE(world.daemon->attached.empty());
  world.node.has_address_of_plugin = false;
  EXPECT_EQ(world.run("a"), "");
}

// On disk it is as one that has begun.
TEST_F(SandboxesTest, UndoesAHostAddressAfterARestart) {
  World world(*this);
  world.node.plugin("vf", "[ $CNI_COMMAND != DEL ] || [ -e may-end ] || exit 1");
  world.node.prepare("uid-a", "net1");
  world.node.has_address_of_plugin = true;
  EXPECT_NE(world.run("a"), "");
  world.start();
  ASSERT_EQ(world.daemon->attachments.all().size(), 1u);
  EXPECT_FALSE(world.daemon->attachments.all().begin()->second.is_attached());
}

// A checkpoint of dra-driver-sriov, or of a release before, has names that VfConfig refuses.
TEST_F(SandboxesTest, RefusesAnAmbiguousInterfaceName) {
  for (const char* name : {"all.", ".all", "eth0.", "a..b", "all", "eth0", "dev%d"}) {
    World world(*this);
    world.node.prepare("uid-a", name);
    EXPECT_NE(world.run("a").find("ifName is \"" + std::string(name) + "\", which"), std::string::npos)
        << name;
    EXPECT_TRUE(world.node.calls().empty()) << name;
    EXPECT_TRUE(world.daemon->attachments.all().empty()) << name;
  }
}

// It would be in the checkpoint as long as the claim is prepared.
TEST_F(SandboxesTest, DoesNotKeepAnOversizedPod) {
  World world(*this);
  PreparedDevice& device = world.node.prepare("uid-a", "net1");
  const std::string cdi = "sriovnetwork.k8snetworkplumbingwg.io/vf=claim-uid-a-net1-" + device.device;
  const auto create = [&](const std::string& id, const std::string& uid, const std::string& name) {
    return world.call("Create", field(1, field(1, id) + field(2, name) + field(3, uid)) +
                                    field(2, field(1, "c") + field(20, field(1, cdi))));
  };
  const auto& pods = world.node.prepared.begin()->second.pods;
  EXPECT_NE(create("b", std::string(2'000, 'u'), "pod-b"), "");
  EXPECT_NE(create("b", "uid\nb", "pod-b"), "");
  EXPECT_NE(create("b", "uid-b", std::string(2'000, 'n')), "");
  EXPECT_NE(create("../b", "uid-b", "pod-b"), "");
  EXPECT_EQ(pods.size(), 1u);
}

TEST_F(SandboxesTest, AdmitsAPodWithoutAClaim) {
  World world(*this);
  world.node.prepare("uid-a", "net1");
  EXPECT_EQ(world.run("b"), "");
  EXPECT_EQ(world.create("b"), "");
  EXPECT_EQ(world.stop("b"), "");
  EXPECT_EQ(world.node.calls(), Lines{});
}

TEST_F(SandboxesTest, RefusesAPodInTheHostsNetwork) {
  World world(*this);
  world.node.prepare("uid-a", "net1");
  const std::string why = world.call("Run", field(1, nri::test::sandbox("a", "")));
  fixture::expect_golden(why);
  EXPECT_EQ(world.node.calls(), Lines{});
}

// Between the chain's deadline and the runtime's is a twentieth of the runtime's time. A machine may be too busy to answer within
// it: then the runtime gets more time.
TEST_F(SandboxesTest, KillsAHangingPluginAndUndoesItsWork) {
  std::string why;
  bool is_told_in_time = false;
  for (Millis timeout{1'000}; timeout < kEndless && !is_told_in_time; timeout *= 2) {
    World world(*this);
    world.node.prepare("uid-a", "net1");
    world.node.plugin("vf", "[ $CNI_COMMAND = DEL ] || sleep 7200");
    const auto begun = Clock::now();
    why = world.run("a", timeout);
    is_told_in_time =
        Clock::now() - begun < timeout &&  // otherwise the runtime continues as if the plugin had agreed
        why.find("interface net1 of ResourceClaim ns/claim-net1 (device dev-net1)") != std::string::npos &&
        why.find("not done within the chain's") != std::string::npos;
    EXPECT_NE(why, "");
    EXPECT_TRUE(world.settle());
    const bool has_begun =
        world.node.calls() != Lines{"DEL a net1"};  // else the shell was killed before its first line
    is_told_in_time = is_told_in_time && has_begun;
    if (has_begun) {
      EXPECT_EQ(world.node.calls(), (Lines{"ADD a net1", "DEL a net1"}));
    }
    EXPECT_EQ(world.node.records(), 0u);
    EXPECT_TRUE(world.daemon->attached.empty());
  }
  EXPECT_TRUE(is_told_in_time) << why;
}

TEST_F(SandboxesTest, QuotesAFailedPluginAndUndoesEarlierWork) {
  World world(*this);
  world.node.prepare("uid-a", "net1");
  world.node.prepare("uid-a", "net2", "0000:03:00.3");
  world.node.plugin(
      "vf",
      "[ $CNI_COMMAND$CNI_IFNAME != ADDnet2 ] || { echo '{\"code\":7,\"msg\":\"no VF left\"}'; exit 1; }");
  const std::string why = world.run("a");
  fixture::expect_golden(why);
  EXPECT_TRUE(world.settle());
  EXPECT_EQ(world.node.calls(), (Lines{"ADD a net1", "ADD a net2", "DEL a net1", "DEL a net2"}));
  EXPECT_EQ(world.node.records(), 0u);
}

// The namespace at the path may change after the runtime has reported it.
TEST_F(SandboxesTest, AttachesANetworkOfAVfConfigInTheHeldNamespace) {
  World world(*this);
  world.node.prepare("uid-a", "net1").network = native_config({}, "eth2");
  for (const char* program : {"sliced-native", "static"}) world.node.plugin(program, "");
  EXPECT_EQ(world.run("a"), "");
  EXPECT_NE(world.node.text("calls").find("ADD a net1 /proc/" + std::to_string(getpid()) + "/fd/"),
            std::string::npos)
      << world.node.text("calls");
  const auto& kept = world.daemon->attachments.all().begin()->second;
  EXPECT_EQ(kept.record.result->interfaces.at(0).sandbox, world.node.netns("a"));
  EXPECT_EQ(world.stop("a"), "");
  EXPECT_EQ(world.node.records(), 0u);
}

// Red when a plugin runs with the host's namespace as the pod's: it would configure the host.
TEST_F(SandboxesTest, RunsNoPluginInTheHostsNamespace) {
  World world(*this);
  world.node.prepare("uid-a", "net1");
  for (const std::string& host :
       {std::string("/proc/self/ns/net"), "/proc/" + std::to_string(getpid()) + "/ns/net"}) {
    const std::string why = world.call("Run", field(1, nri::test::sandbox("a", host)));
    EXPECT_NE(why.find("is the host's"), std::string::npos) << host << ": " << why;
    EXPECT_NE(why.find("leave out hostNetwork"), std::string::npos) << why;
  }
  EXPECT_TRUE(world.settle());
  EXPECT_TRUE(world.node.calls().empty());
  EXPECT_EQ(world.node.records(), 0u);
  EXPECT_TRUE(world.daemon->attachments.all().empty());
  EXPECT_EQ(world.run("a"), "") << "the device is free";
}

// Each plugin waits until all eight run: one after the other none would end.
TEST_F(SandboxesTest, AttachesInterfacesOfAPodConcurrently) {
  World world(*this);
  world.node.plugin("vf",
                    "[ $CNI_COMMAND = ADD ] || exit 0\ntouch begun.$CNI_IFNAME\n"
                    "until [ $(ls begun.* | wc -l) = 8 ]; do sleep 0.01; done");
  for (int i = 0; i < 8; ++i)
    world.node.prepare("uid-a", "net" + std::to_string(i), "0000:03:00." + std::to_string(i));
  EXPECT_EQ(world.run("a"), "");
  EXPECT_EQ(world.daemon->most_chains, 8u);
  EXPECT_EQ(world.node.open_files("netns-a"), 1u);
  EXPECT_EQ(world.stop("a"), "");
  EXPECT_EQ(world.daemon->most_chains, 8u);
  EXPECT_EQ(world.node.records(), 0u);
}

TEST_F(SandboxesTest, AttachesInterfacesOnASharedDeviceSequentially) {
  World world(*this);
  const char* network = R"({"cniVersion":"1.0.0","name":"net","type":"vf","master":"eth1"})";
  for (const char* interface : {"net1", "net2", "net3"})
    world.node.prepare("uid-a", interface, "").network = network;
  EXPECT_EQ(world.run("a"), "");
  EXPECT_EQ(world.daemon->most_chains, 1u);
  EXPECT_EQ(world.node.records(), 3u);
}

// What has begun when another attachment fails ends first, and then all of them are undone.
TEST_F(SandboxesTest, UndoesTheOthersIfOneAttachmentFails) {
  World world(*this);
  world.node.prepare("uid-a", "net1");
  world.node.prepare("uid-a", "net2", "0000:03:00.3");
  world.node.plugin("vf",
                    "[ $CNI_COMMAND = ADD ] || exit 0\n"
                    "[ $CNI_IFNAME = net1 ] || { until [ -e failed ]; do sleep 0.01; done; }\n"
                    "[ $CNI_IFNAME = net2 ] || { touch failed; exit 1; }");
  EXPECT_NE(world.run("a").find("interface net1"), std::string::npos);
  EXPECT_TRUE(world.settle());
  EXPECT_EQ(world.node.calls(), (Lines{"ADD a net1", "ADD a net2", "DEL a net1", "DEL a net2"}));
  EXPECT_EQ(world.node.records(), 0u);
  // The end of the other plugin may be noticed first.
  for (const std::string& one : world.daemon->attached) EXPECT_TRUE(one.starts_with("net2 ")) << one;
}

// The error contains the time of each attachment and the option that gives more time. If the machine is too
// busy to answer before the connection's own deadline, the runtime has more time.
TEST_F(SandboxesTest, NamesSlowAttachmentsWithTheirTimes) {
  std::string why;
  for (Millis timeout{1'000}; timeout < kEndless && why.find("together ") == std::string::npos;
       timeout *= 2) {
    World world(*this);
    world.node.prepare("uid-a", "net1");
    world.node.prepare("uid-a", "net2", "0000:03:00.3");
    world.node.plugin("vf", "[ $CNI_COMMAND$CNI_IFNAME != ADDnet2 ] || sleep 7200");
    why = world.run("a", timeout);
    EXPECT_NE(why, "");
    EXPECT_TRUE(world.settle());
    EXPECT_EQ(world.node.records(), 0u);
  }
  for (const char* part : {"net1 (device dev-net1) ", "net2 (device dev-net2) ", "together ",
                           "plugin_request_timeout of containerd"})
    EXPECT_NE(why.find(part), std::string::npos) << why;
}

TEST_F(SandboxesTest, RefusesTwoDefaultRoutesBeforeAnyPlugin) {
  World world(*this);
  const char* network = R"({"cniVersion":"1.0.0","name":"net","type":"vf",)"
                        R"("ipam":{"type":"static","routes":[{"dst":"0.0.0.0/0"}]}})";
  world.node.prepare("uid-a", "net1").network = network;
  world.node.prepare("uid-a", "net2", "0000:03:00.3").network = network;
  fixture::expect_golden(world.run("a"));
  EXPECT_EQ(world.node.calls(), Lines{});
}

// SIGKILL between prepare and RunPodSandbox: the runtime continues without us.
TEST_F(SandboxesTest, AttachesASandboxCreatedDuringAnOutageBeforeItsFirstContainer) {
  World world(*this);
  world.node.prepare("uid-a", "net1");
  world.start();
  world.synchronize({"a"});
  EXPECT_EQ(world.node.calls(), Lines{});
  EXPECT_EQ(world.daemon->sandboxes.trouble_of(kDriver, "node-a", "dev-net1"), "");
  world.node.plugin("vf", "[ $CNI_COMMAND = DEL ] || exit 1");
  EXPECT_NE(world.create("a"), "") << "no container without its interface";
  world.node.plugin("vf", "");
  EXPECT_EQ(world.create("a"), "");
  EXPECT_EQ(world.node.calls(), (Lines{"ADD a net1", "DEL a net1", "ADD a net1"}));
  EXPECT_EQ(world.daemon->attached.size(), 1u);
}

TEST_F(SandboxesTest, ReportsAContainerStartedWithoutInterfaces) {
  World world(*this);
  world.node.prepare("uid-a", "net1");
  world.synchronize({"a", "b"}, {"a", "b"});
  const std::string why = world.daemon->sandboxes.trouble_of(kDriver, "node-a", "dev-net1");
  fixture::expect_golden(why);
  EXPECT_EQ(world.daemon->troubles_told, 1u);
  world.synchronize({"a", "b"}, {"a", "b"});
  EXPECT_EQ(world.daemon->log.count("container runs without its network interface"), 1u);
  EXPECT_EQ(world.stop("a"), "");
  EXPECT_EQ(world.daemon->sandboxes.trouble_of(kDriver, "node-a", "dev-net1"), "");
  EXPECT_EQ(world.daemon->troubles_told, 2u);
}

TEST_F(SandboxesTest, UndoesAndRepeatsAnInterruptedAdd) {
  World world(*this);
  world.node.prepare("uid-a", "net1");
  world.node.plugin("vf", "[ $CNI_COMMAND = DEL ] || sleep 7200");
  world.runtime->call("Run", world.pod("a"));
  EXPECT_TRUE(run_until([&] { return world.node.calls().size() == 1; }));
  world.start();
  world.node.plugin("vf", "");
  world.synchronize({"a"});
  EXPECT_EQ(world.create("a"), "");
  EXPECT_EQ(world.node.calls(), (Lines{"ADD a net1", "DEL a net1", "ADD a net1"}));
}

TEST_F(SandboxesTest, KeepsAndReportsAttachmentsAfterARestart) {
  World world(*this);
  world.node.prepare("uid-a", "net1");
  EXPECT_EQ(world.run("a"), "");
  world.start();
  world.synchronize({"a"}, {"a"});
  EXPECT_EQ(world.daemon->sandboxes.trouble_of(kDriver, "node-a", "dev-net1"), "");
  EXPECT_EQ(world.daemon->attached, Lines{"net1 a 02:00:00:00:00:01"});
  EXPECT_EQ(world.create("a"), "");
  EXPECT_EQ(world.node.calls(), Lines{"ADD a net1"});
}

TEST_F(SandboxesTest, DetachesVanishedSandboxesByTheirRecords) {
  World world(*this);
  world.node.prepare("uid-a", "net1");
  EXPECT_EQ(world.run("a"), "");
  world.node.prepared.clear();
  world.node.erase("netns-a");
  world.start();
  world.synchronize({});
  EXPECT_TRUE(world.settle());
  EXPECT_EQ(world.node.calls(), (Lines{"ADD a net1", "DEL a net1"}));
  EXPECT_NE(world.node.text("calls").find("DEL a net1 \n"), std::string::npos) << world.node.text("calls");
  EXPECT_EQ(kube::decode_json(world.node.text("input.DEL.net1"))->text("deviceID"), "0000:03:00.2");
  EXPECT_EQ(world.node.records(), 0u);
}

// containerd does not report the end of a sandbox that is older than itself, and removes the file of its
// namespace. A reboot removes all sandboxes. Red when the plugins of all run at the same time: their pipes
// alone would exceed the limit of open files.
TEST_F(SandboxesTest, DetachesVanishedSandboxesAFewAtATime) {
  World world(*this, kNoCallIsSlow, kFew);
  constexpr size_t kMany = 3 * kFew.later_max;
  for (size_t i = 0; i < kMany; ++i) {
    const std::string id = "s" + std::to_string(i);
    world.node.prepare("uid-" + id, "net1", "");
    EXPECT_EQ(world.run(id), "");
  }
  world.start();
  world.synchronize({});
  EXPECT_TRUE(world.settle());
  EXPECT_EQ(world.node.records(), 0u);
  EXPECT_EQ(world.node.calls().size(), 2 * kMany);
  EXPECT_LE(world.daemon->most_chains, kFew.later_max);
  EXPECT_GT(world.daemon->most_chains, 1u);
}

// As when a node boots or is drained. Red when each call's plugins start immediately, when ADD waits for DEL,
// or when the DELs of one namespace's pods leave no slot for those of another.
TEST_F(SandboxesTest, BoundsConcurrentPluginsAndNoAddWaitsForADel) {
  World world(*this, kNoCallIsSlow, kFew);
  constexpr size_t kMany = kFew.dels_max + 2;
  static_assert(kMany > kFew.adds_max);
  const auto pod = [&](const std::string& id, const std::string& namespace_name) {
    return field(1, field(1, id) + field(2, "pod") + field(3, "uid-" + id) + field(4, namespace_name) +
                        field(8, field(5, field(1, "network") + field(2, world.node.netns(id)))));
  };
  for (const size_t namespaces : {size_t{3}, size_t{1}}) {
    const auto id_of = [&](size_t i) { return "s" + std::to_string(namespaces) + "-" + std::to_string(i); };
    const auto call_all = [&](const std::string& method) {
      std::vector<uint32_t> calls;
      for (size_t i = 0; i < kMany; ++i)
        calls.push_back(world.runtime->call(method, pod(id_of(i), "ns-" + std::to_string(i % namespaces))));
      return calls;
    };
    const auto are_agreed = [&](const std::vector<uint32_t>& calls) {
      return std::all_of(calls.begin(), calls.end(),
                         [&](uint32_t call) { return world.runtime->answer(call) == ""; });
    };
    const std::string new_id = "new" + std::to_string(namespaces);
    for (size_t i = 0; i < kMany; ++i) world.node.prepare("uid-" + id_of(i), "net1", "");
    world.node.prepare("uid-" + new_id, "net1", "");
    // Plugins do not return until the test opens the gate.
    const std::string gate = world.node.directory + "/gate";
    ::unlink(gate.c_str());
    ASSERT_EQ(::mkfifo(gate.c_str(), 0600), 0);
    const auto open_gate = [&] { return reactor::Descriptor(::open(gate.c_str(), O_RDWR | O_CLOEXEC)); };
    world.node.plugin("vf", "case $CNI_CONTAINERID in new*) ;; *) : <gate ;; esac");
    const size_t before = world.node.records();
    world.daemon->most_chains = 0;
    const auto runs = call_all("Run");
    EXPECT_TRUE(run_until([&] { return world.node.records() == before + kMany; }));
    EXPECT_TRUE(run_until([&] { return world.daemon->chains == kFew.adds_max; }));
    {
      const auto opened = open_gate();
      EXPECT_TRUE(run_until([&] { return are_agreed(runs); }));
    }
    EXPECT_EQ(world.daemon->most_chains, kFew.adds_max);
    world.daemon->most_chains = 0;
    const size_t dels = namespaces == 1 ? kFew.dels_of_namespace_max : kFew.dels_max;
    const auto stops = call_all("Stop");
    EXPECT_TRUE(run_until([&] { return world.daemon->chains == dels; }));
    EXPECT_EQ(world.call("Run", pod(new_id, "ns-other")), "") << "beside them";
    if (namespaces == 1) {
      EXPECT_EQ(world.call("Stop", pod(new_id, "ns-other")), "") << "beside them";
    }
    const auto opened = open_gate();
    EXPECT_TRUE(run_until([&] { return are_agreed(stops); }));
    EXPECT_EQ(world.daemon->most_chains, dels + 1);
    EXPECT_EQ(world.node.records(), 1u);
  }
}

TEST_F(SandboxesTest, KeepsANamespaceWithoutAFileUntilItIsDetached) {
  World world(*this);
  world.node.prepare("uid-a", "net1");
  EXPECT_EQ(world.run("a"), "");
  for (const bool is_another : {false, true}) {
    if (is_another) {
      EXPECT_EQ(world.run("a"), "");
      world.start();
    }
    std::ofstream(world.node.directory + "/netns-a") << "this one";
    world.node.plugin("vf", "[ $CNI_COMMAND = ADD ] || cat \"$CNI_NETNS\" >seen");
    world.node.erase("netns-a");
    world.synchronize({});
    EXPECT_TRUE(world.settle());
    EXPECT_EQ(world.node.text("seen"), "this one");
    EXPECT_EQ(world.node.records(), 0u);
    world.node.erase("seen");
  }
}

TEST_F(SandboxesTest, ReleasesANamespaceWhosePluginsCannotDetach) {
  World world(*this);
  world.node.prepare("uid-a", "net1");
  EXPECT_EQ(world.run("a"), "");
  world.node.plugin("vf", "[ $CNI_COMMAND = ADD ] || [ -z \"$CNI_NETNS\" ] || exit 1");
  world.node.erase("netns-a");
  world.synchronize({});
  EXPECT_TRUE(run_until([&] { return world.node.records() == 0; }));
  EXPECT_EQ(world.node.calls(), (Lines{"ADD a net1", "DEL a net1", "DEL a net1"}));
}

TEST_F(SandboxesTest, KeepsADeviceUntilADetachSucceeds) {
  World world(*this);
  world.node.prepare("uid-a", "net1");
  EXPECT_EQ(world.run("a"), "");
  world.node.plugin("vf", "[ $CNI_COMMAND = ADD ] || { echo stuck >&2; exit 1; }");
  fixture::expect_golden(world.stop("a"));
  EXPECT_EQ(world.daemon->log.count("interface not detached"), 1u);
  world.node.prepared.clear();
  world.node.prepare("uid-b", "net1");
  const std::string why = world.run("b");
  fixture::expect_golden(why);
  world.node.plugin("vf", "");
  EXPECT_EQ(world.run("b"), "");
  const Lines calls = world.node.calls();
  EXPECT_EQ(Lines(calls.end() - 2, calls.end()), (Lines{"DEL a net1", "ADD b net1"}));
  EXPECT_EQ(world.daemon->log.count("interface not detached"), 1u) << "said once";
}

// Red when directories of networks pile up, or one goes whose network a sandbox has.
TEST_F(SandboxesTest, RemovesHostLocalFilesWithTheLastSandbox) {
  World world(*this);
  const std::string base = world.node.directory + "/networks/ns";
  const auto network = [&](const std::string& name) {
    return R"({"cniVersion":"1.0.0","name":")" + name +
           R"(","type":"vf","ipam":{"type":"host-local","dataDir":")" + base + R"("}})";
  };
  const auto make = [&](const std::string& name) {  // as host-local's ADD does
    std::filesystem::create_directories(base + "/" + name);
    for (const char* file : {"lock", "last_reserved_ip.0"})
      std::ofstream(base + "/" + name + "/" + file) << "";
  };
  const auto there = [&](const std::string& name) { return std::filesystem::exists(base + "/" + name); };
  world.node.plugin("host-local", "");
  for (const char* pod : {"a", "b"})
    world.node
        .prepare(std::string("uid-") + pod, "net1", pod == std::string("a") ? "0000:03:00.2" : "0000:03:00.3")
        .network = network("shared");
  world.node.prepare("uid-a", "net2", "0000:03:00.4").network = network("used");
  make("shared"), make("used");
  EXPECT_EQ(world.run("a"), "");
  EXPECT_EQ(world.run("b"), "");
  std::ofstream(base + "/used/192.0.2.7") << "a";  // that DEL could not free
  EXPECT_EQ(world.stop("a"), "");
  EXPECT_TRUE(world.settle());
  EXPECT_TRUE(there("shared")) << "b has it";
  EXPECT_TRUE(there("used")) << "an address is in use";
  make("left");
  EXPECT_EQ(world.stop("b"), "");
  EXPECT_TRUE(run_until([&] { return !there("shared"); }));
  EXPECT_TRUE(there("left")) << "of no sandbox that was seen";
  EXPECT_EQ(world.run("b"), "") << "and it is made again";
  make("shared"), make("unrun");
  world.node.prepare("uid-c", "net1", "0000:03:00.5").network = network("unrun");
  world.node.erase("vf");
  EXPECT_NE(world.run("c"), "");
  EXPECT_TRUE(run_until([&] { return !there("unrun"); })) << "no plugin was run";
  world.node.plugin("vf", "");
  world.start();
  EXPECT_TRUE(there("shared"));
  EXPECT_FALSE(there("left")) << "what a daemon that was killed left goes at the start";
}

// Red when DEL is believed: an interface that it left in the sandbox would go with the namespace.
TEST_F(SandboxesTest, ReturnsAnInterfaceAfterEachDelOrKeepsTheRecord) {
  World world(*this);
  world.node.prepare("uid-a", "net1");
  EXPECT_EQ(world.run("a"), "");
  EXPECT_EQ(world.node.brought_back, 0u);
  world.node.cannot_bring_back = true;
  fixture::expect_golden(world.stop("a"));
  EXPECT_EQ(world.node.records(), 1u);
  world.node.plugin("vf", "[ $CNI_COMMAND = ADD ] || { echo stuck >&2; exit 1; }");
  fixture::expect_golden(world.stop("a"));
  world.node.cannot_bring_back = false;
  EXPECT_NE(world.stop("a"), "");
  EXPECT_EQ(world.node.brought_back, 3u) << "also behind a DEL that failed";
  world.node.plugin("vf", "");
  EXPECT_EQ(world.stop("a"), "");
  EXPECT_EQ(world.node.records(), 0u);
}

// The runtime asks for one sandbox at a time. Red when a definition that fails late is tried again and again before other namespaces' pods.
TEST_F(SandboxesTest, ANamespaceWithSlowFailuresDelaysNoOther) {
  World world(*this);
  const auto pod = [&](const std::string& id, const std::string& namespace_name) {
    return field(1, field(1, id) + field(2, "pod") + field(3, "uid-" + id) + field(4, namespace_name) +
                        field(8, field(5, field(1, "network") + field(2, world.node.netns(id)))));
  };
  world.node.prepare("uid-a", "net1", "0000:03:00.5"), world.node.prepare("uid-b", "net1", "0000:03:00.6");
  EXPECT_EQ(world.call("Run", pod("b", "ns-a")), "");
  world.daemon->hook_time->record_failure("ns-a", Millis{7'200'000}, "network net: plugin vf: ADD: late",
                                          loop.now());
  const size_t calls = world.node.calls().size();
  for (const char* call : {"Run", "Create"}) {
    const std::string why = world.call(call, pod("a", "ns-a") + field(2, nri::test::container("c", "a")));
    EXPECT_NE(why.find("calls for pods of namespace ns-a are refused"), std::string::npos) << why;
  }
  EXPECT_EQ(world.node.calls().size(), calls) << "no plugin is run";
  EXPECT_NE(world.call("Stop", pod("b", "ns-a")), "") << "DEL is not waited for";
  EXPECT_TRUE(world.settle());
  EXPECT_EQ(world.node.calls().size(), calls + 1) << "and is run all the same";
  EXPECT_EQ(world.call("Stop", pod("b", "ns-a")), "");
  EXPECT_EQ(world.call("Run", pod("a", "ns-c")), "") << "another namespace";
}

// Red when calls that fail are not counted: too long or not is HookTime's to say.
TEST_F(SandboxesTest, RecordsTheDurationOfAFailedCall) {
  World world(*this, Millis{0});
  world.node.prepare("uid-a", "net1");
  const TimePoint before = loop.now();
  world.node.plugin("vf", "[ $CNI_COMMAND = DEL ] || exit 1");
  EXPECT_NE(world.run("a"), "");
  EXPECT_NE(world.daemon->hook_time->refusal("ns", before), "");
}

// Red when a plugin moves an interface to which a pod gave the name of its device's interface.
TEST_F(SandboxesTest, RunsNoDelIfNamesInTheSandboxMayBeThePods) {
  World world(*this);
  world.node.prepare("uid-a", "net1");
  EXPECT_EQ(world.run("a"), "");
  world.node.cannot_restore_names = true;
  EXPECT_NE(world.stop("a").find("rename interface 3: busy"), std::string::npos);
  EXPECT_EQ(world.node.calls(), std::vector<std::string>{"ADD a net1"});
  EXPECT_EQ(world.node.brought_back, 1u);
  EXPECT_EQ(world.node.records(), 1u);
  world.node.cannot_restore_names = false;
  EXPECT_EQ(world.stop("a"), "");
  EXPECT_EQ(world.node.calls(), (std::vector<std::string>{"ADD a net1", "DEL a net1"}));
  EXPECT_EQ(world.node.records(), 0u);
}

// The kernel's errno names no owner. Red when the error does not name the claim whose interface conflicts.
TEST_F(SandboxesTest, NamesTheUserOfAConflictingParent) {
  World world(*this);
  const auto network = [](const std::string& type) {
    return R"({"cniVersion":"1.0.0","name":"net","type":")" + type + R"(","master":"eth7"})";
  };
  world.node.plugin("macvlan", "");
  world.node.plugin("ipvlan", "[ $CNI_COMMAND = DEL ] || { echo device or resource busy >&2; exit 1; }");
  world.node.prepare("uid-a", "net1", "").network = network("macvlan");
  EXPECT_EQ(world.run("a"), "");
  world.node.prepare("uid-b", "net1", "").network = network("ipvlan");
  fixture::expect_golden(world.run("b"));
}

// Red when a value that was noted before an ADD is written once more, over what an administrator has set since.
TEST_F(SandboxesTest, RestoresAHostSysctlOnce) {
  World world(*this);
  const std::string name = "sys/net/ipv6/conf/br0/accept_ra";
  std::filesystem::create_directories(world.node.directory + "/sys/net/ipv6/conf/br0");
  const auto set = [&](const char* value) {
    std::ofstream(world.node.directory + "/" + name) << value << "\n";
  };
  const std::string adds = "[ $CNI_COMMAND = ADD ] && echo 0 >" + name;
  world.node.prepare("uid-a", "net1").network =
      R"({"cniVersion":"1.0.0","name":"net","type":"bridge","bridge":"br0"})";
  set("1");
  EXPECT_NE(world.run("a").find("there is no plugin bridge in"), std::string::npos);
  set("2");
  world.node.plugin("bridge", adds);
  EXPECT_EQ(world.run("a"), "");
  EXPECT_EQ(world.node.text(name), "2\n") << "an ADD that ran no plugin has noted another one";
  EXPECT_EQ(world.stop("a"), "");

  const std::string records = world.node.directory + "/records";
  std::filesystem::remove_all(records);
  std::ofstream(records.c_str()) << "no directory";
  EXPECT_NE(world.run("a"), "");
  std::filesystem::remove(records);
  EXPECT_EQ(world.stop("a"), "");
  set("1");
  EXPECT_EQ(world.run("a"), "");
  EXPECT_EQ(world.node.text(name), "1\n") << "one without a record has noted another one";
  EXPECT_EQ(world.stop("a"), "");

  world.node.plugin("bridge", adds + "\necho broken >&2; exit 1");
  EXPECT_NE(world.run("a"), "");
  EXPECT_NE(world.stop("a"), "");
  EXPECT_EQ(world.node.text(name), "1\n");
  set("2");
  EXPECT_NE(world.stop("a"), "");
  EXPECT_EQ(world.node.text(name), "2\n") << "a DEL that is tried again";
  world.start();
  EXPECT_NE(world.stop("a"), "");
  EXPECT_EQ(world.node.text(name), "2\n") << "also by the next daemon";
}

// A sandbox of the pod of sandbox "a".
std::string of_pod_a(const World& world, const std::string& id) {
  const std::string first = nri::test::sandbox("a", world.node.netns("a"));
  return field(1, field(1, id) + first.substr(field(1, "a").size()));
}

// Red when an ADD that ran no plugin leaves a record whose DEL cannot run either, and the events name the DEL
// instead of the cause.
TEST_F(SandboxesTest, OwesNothingIfNoPluginRan) {
  World world(*this);
  world.node.prepare("uid-a", "net1");
  world.node.erase("vf");
  for (const char* sandbox : {"a", "a2"}) {
    const std::string why = world.call("Run", of_pod_a(world, sandbox));
    EXPECT_NE(why.find("there is no plugin vf in"), std::string::npos) << why;
    EXPECT_EQ(why.find("undone"), std::string::npos) << why;
    EXPECT_TRUE(world.daemon->attachments.all().empty());
    EXPECT_EQ(world.node.records(), 0u);
    EXPECT_EQ(world.call("Stop", of_pod_a(world, sandbox)), "");
  }
  std::ofstream(world.node.directory + "/vf") << "#!/bin/sh\n";  // not executable
  std::filesystem::permissions(world.node.directory + "/vf", std::filesystem::perms::owner_read);
  EXPECT_NE(world.call("Run", of_pod_a(world, "a3")), "");
  EXPECT_EQ(world.node.records(), 0u);
  EXPECT_EQ(world.daemon->log.count("interface not detached"), 0u);
  world.node.plugin("vf", "");
  EXPECT_EQ(world.call("Run", of_pod_a(world, "a4")), "");
}

// Red when a retry is refused because of remains of the first attempt, and its error does not contain the
// first cause.
TEST_F(SandboxesTest, ARetryReportsTheFirstCause) {
  World world(*this);
  world.node.prepare("uid-a", "net1");
  world.node.plugin("vf", "echo \"$CNI_COMMAND is broken\" >&2; exit 1");
  EXPECT_NE(world.run("a").find("ADD is broken"), std::string::npos);
  for (const char* sandbox : {"a", "a2"}) {
    const std::string why = world.call("Run", of_pod_a(world, sandbox));
    const size_t cause = why.find("ADD: exit status 1: ADD is broken"), later = why.find("DEL is broken");
    EXPECT_LT(cause, later) << why;
    EXPECT_NE(later, std::string::npos) << why;
  }
}

// The DEL of host-device fails for ever for a function without a driver. Red when no later pod gets the device.
TEST_F(SandboxesTest, AbandonsAHopelessDetachOnceTheSandboxHasEnded) {
  World world(*this);
  world.node.prepare("uid-a", "net1");
  EXPECT_EQ(world.run("a"), "");
  world.node.plugin("vf", "[ $CNI_COMMAND = ADD ] || { echo no driver >&2; exit 1; }");
  EXPECT_NE(world.stop("a"), "");
  world.node.prepared.clear();
  world.node.prepare("uid-b", "net1");
  world.node.is_back = true;
  fixture::expect_golden(world.run("b"));
  world.node.is_back = false;
  world.node.erase("netns-a");
  EXPECT_TRUE(run_until([&] { return world.node.open_files("netns-a (deleted)") == 0; }));
  fixture::expect_golden(world.run("b"));
  EXPECT_EQ(world.daemon->log.count("CNI DEL abandoned"), 0u);
  world.node.is_back = true;
  EXPECT_EQ(world.run("b"), "");
  EXPECT_EQ(world.daemon->log.count("CNI DEL abandoned"), 1u);
  EXPECT_EQ(world.node.records(), 1u);
  EXPECT_EQ(world.node.calls().back(), "ADD b net1");
  EXPECT_TRUE(world.settle());
  EXPECT_EQ(world.node.calls().back(), "ADD b net1") << "and never undone below it";
}

// k8snetworkplumbingwg/sriov-cni#447: the bind mount of a namespace vanishes, and its file stays. Plugins refuse that file, so DEL
// never succeeds and the device stays locked. Red when the file is taken for the namespace.
TEST_F(SandboxesTest, TreatsAFileThatIsNoNamespaceAsEnded) {
  World world(*this);
  world.node.plugin(
      "vf",
      "[ -n \"$CNI_NETNS\" ] && grep -q 'no namespace' \"$CNI_NETNS\" && { echo unknown FS magic >&2; exit 1; }");
  world.node.prepare("uid-a", "net1");
  EXPECT_EQ(world.run("a"), "");
  world.node.lose_mount("a");
  world.start();  // a daemon that held the namespace open still has it
  world.node.is_back = true;
  EXPECT_EQ(world.stop("a"), "");
  EXPECT_EQ(world.node.records(), 0u);
  EXPECT_EQ(world.node.brought_back, 0u) << "from a file";
}

// Red when records of shared devices pile up: each sandbox that the kubelet tries leaves one.
TEST_F(SandboxesTest, AbandonsASharedInterfaceOnceTheSandboxHasEnded) {
  World world(*this);
  world.node.prepare("uid-a", "net1", "");
  EXPECT_EQ(world.run("a"), "");
  world.node.plugin("vf", "[ $CNI_COMMAND = ADD ] || exit 1");
  EXPECT_NE(world.stop("a"), "");
  EXPECT_EQ(world.node.records(), 1u) << "its namespace is there";
  world.node.erase("netns-a");
  EXPECT_TRUE(run_until([&] { return world.node.records() == 0; }));
  EXPECT_EQ(world.daemon->log.count("CNI DEL abandoned"), 1u);
}

TEST_F(SandboxesTest, RetriesAFailedDetach) {
  World world(*this);
  world.node.prepare("uid-a", "net1");
  EXPECT_EQ(world.run("a"), "");
  world.node.plugin("vf", "[ $CNI_COMMAND = ADD ] || exit 1");
  EXPECT_NE(world.stop("a"), "");
  world.node.plugin("vf", "");
  EXPECT_TRUE(run_until([&] { return world.node.records() == 0; }));
}

// The device is another pod's still, and that pod runs.
TEST_F(SandboxesTest, TakesNoDeviceFromItsSandbox) {
  World world(*this);
  world.node.prepare("uid-a", "net1");
  EXPECT_EQ(world.run("a"), "");
  world.node.prepare("uid-b", "net1");
  fixture::expect_golden(world.run("b"));
  EXPECT_EQ(world.node.calls(), Lines{"ADD a net1"});
}

TEST_F(SandboxesTest, AnotherSandboxOfThePodTakesTheDeviceOver) {
  World world(*this);
  world.node.prepare("uid-a", "net1");
  EXPECT_EQ(world.run("a"), "");
  const std::string second = nri::test::sandbox("a", world.node.netns("a"));
  const std::string other = field(1, field(1, "a2") + second.substr(field(1, "a").size()));
  EXPECT_EQ(world.call("Run", other), "");
  EXPECT_EQ(world.node.calls(), (Lines{"ADD a net1", "DEL a net1", "ADD a2 net1"}));
}

// For a link, which is never exclusive: its address is in use as long as the sandbox that ended has it.
TEST_F(SandboxesTest, UndoesTheFormerSandboxesLinkFirst) {
  World world(*this);
  world.node.prepare("uid-a", "net1", "");
  world.node.prepare("uid-a", "net2", "");
  EXPECT_EQ(world.run("a"), "");
  const std::string second = nri::test::sandbox("a", world.node.netns("a"));
  const std::string other = field(1, field(1, "a2") + second.substr(field(1, "a").size()));
  EXPECT_EQ(world.call("Run", other), "");
  EXPECT_TRUE(world.settle());
  EXPECT_EQ(world.node.calls(),
            (Lines{"ADD a net1", "ADD a net2", "DEL a net1", "DEL a net2", "ADD a2 net1", "ADD a2 net2"}));
  EXPECT_EQ(world.node.records(), 2u);
}

// More pods may be added to a prepared claim, and the kubelet does not prepare it again. Red when the second
// pod runs without its interface.
TEST_F(SandboxesTest, AttachesAPodThatSharesAPreparedClaimBeforeItsContainer) {
  World world(*this);
  world.node.prepare("uid-a", "net1", "");
  const std::string named = std::string(kDriver) + "/vf=claim-uid-a-net1-dev-net1";
  EXPECT_EQ(world.run("a"), "");
  EXPECT_EQ(world.run("b"), "") << "nobody has said that it has the claim";
  const auto create = [&](const std::string& id, const std::string& device) {
    const std::string container =
        field(1, "c-" + id) + field(2, id) + field(3, "app") + field(20, field(1, device));
    return world.call("Create", world.pod(id) + field(2, container));
  };
  EXPECT_EQ(create("c", named + "x"), "") << "another device";
  EXPECT_EQ(create("b", named), "");
  EXPECT_EQ(create("b", named), "");
  EXPECT_EQ(world.node.calls(), (Lines{"ADD a net1", "ADD b net1"}));
  EXPECT_EQ(world.stop("b"), "");
  EXPECT_EQ(world.node.calls().back(), "DEL b net1");
  const PreparedClaim& claim = world.node.prepared.begin()->second;
  ASSERT_EQ(claim.pods.size(), 2u);
  EXPECT_EQ(claim.pods.back().uid, "uid-b");
}

// Interface names are chosen when a claim is prepared, before its other pods are known. Red when the second
// pod runs without the interface of the shared claim because another interface of that pod has the name.
TEST_F(SandboxesTest, DistinguishesTwoInterfacesOfOneName) {
  World world(*this);
  world.node.prepare("uid-a", "net1", "");
  world.node.prepare("uid-b", "net1", "");
  EXPECT_EQ(world.run("a"), "");
  EXPECT_EQ(world.run("b"), "");
  const std::string shared = std::string(kDriver) + "/vf=claim-uid-a-net1-dev-net1";
  const std::string container =
      field(1, "c-b") + field(2, "b") + field(3, "app") + field(20, field(1, shared));
  const std::string why = world.call("Create", world.pod("b") + field(2, container));
  fixture::expect_golden(why);
  EXPECT_TRUE(world.settle());
  EXPECT_EQ(world.node.calls(), (Lines{"ADD a net1", "ADD b net1"})) << "what is there stays";
  world.start();
  world.synchronize({"a", "b"}, {"b"});
  EXPECT_NE(world.daemon->sandboxes.trouble_of(kDriver, "node-a", "dev-net1"), "")
      << "a container that got past us has not its interface";
  EXPECT_EQ(world.daemon->attached.size(), 2u);
}

TEST_F(SandboxesTest, RefusesTwoInterfacesOfOneName) {
  World world(*this);
  world.node.prepare("uid-a", "net1");
  PreparedClaim other = world.node.prepared.begin()->second;
  other.uid = "other", other.name = "other";
  world.node.prepared[key_of(other)] = other;
  fixture::expect_golden(world.run("a"));
  EXPECT_EQ(world.node.calls(), Lines{});
}

TEST_F(SandboxesTest, HoldsANamespaceOnce) {
  World world(*this);
  for (const char* interface : {"net1", "net2", "net3"}) world.node.prepare("uid-a", interface, "");
  EXPECT_EQ(world.run("a"), "");
  EXPECT_EQ(world.node.open_files("netns-a"), 1u);
  world.start();
  EXPECT_EQ(world.node.open_files("netns-a"), 1u);
  EXPECT_EQ(world.stop("a"), "");
  EXPECT_EQ(world.node.open_files("netns-a"), 0u);
}

// The loop handles a runtime's report of a full node in one turn. Red when each container is searched in all
// pods, and each claim in all containers.
TEST_F(SandboxesTest, SynchronizeIsLinearInSandboxes) {
  const auto synchronize = [this](size_t claims) {
    const auto world = std::make_shared<World>(*this);
    for (size_t i = 0; i < claims; ++i) world->node.prepare("uid-own-" + std::to_string(i), "net1", "");
    std::string all;
    const std::string netns = world->node.netns("all");
    for (size_t i = 0; i < 3 * claims; ++i) {
      const std::string id = "sandbox-" + std::to_string(i);
      all += field(1, nri::test::sandbox(id, netns));
      for (const char* name : {"a-", "b-"}) all += field(2, nri::test::container(name + id, id));
    }
    return [=] { EXPECT_EQ(world->call("Synchronize", all), ""); };
  };
  EXPECT_LT(fixture::growth(250, synchronize), fixture::kGrowthMax);
}

// ---- pods of dra-driver-sriov

TEST_F(SandboxesTest, AdoptsAndDetachesThePeersAttachments) {
  World world(*this);
  PreparedDevice& device = world.node.prepare("uid-a", "net1");
  device.is_of_peer = true;
  device.network = R"({"cniVersion":"1.0.0","type":"vf","deviceID":"0000:03:00.2"})";
  device.network_data = NetworkData{"net1", {"10.1.0.9/24"}, "02:00:00:00:00:09"};
  world.synchronize({"a"}, {"a"});
  EXPECT_TRUE(world.settle());
  EXPECT_EQ(world.daemon->sandboxes.trouble_of(kDriver, "node-a", "dev-net1"), "");
  EXPECT_EQ(world.daemon->attached, Lines{"net1 a 02:00:00:00:00:09"});
  EXPECT_EQ(world.create("a"), "") << "a container that starts again";
  EXPECT_EQ(world.node.calls(), Lines{});
  EXPECT_EQ(world.node.records(), 1u);
  world.start();
  world.synchronize({"a"}, {"a"});
  EXPECT_EQ(world.stop("a"), "");
  EXPECT_EQ(world.node.calls(), Lines{"DEL a net1"});
  const auto input = kube::decode_json(world.node.text("input.DEL.net1"));
  EXPECT_EQ(input->text("name"), kDriver) << "as it named a network without a name";
  EXPECT_EQ(input->find({"prevResult", "interfaces"})->array()->front().text("mac"), "02:00:00:00:00:09");
  EXPECT_EQ(input->find({"prevResult", "ips"})->array()->front().text("address"), "10.1.0.9/24");
  EXPECT_EQ(world.run("a"), "") << "its next sandbox";
  EXPECT_EQ(world.node.calls().back(), "ADD a net1");
}

TEST_F(SandboxesTest, UndoesAndRepeatsThePeersUnfinishedWork) {
  World world(*this);
  world.node.prepare("uid-a", "net1").is_of_peer = true;
  world.synchronize({"a"});
  EXPECT_EQ(world.create("a"), "");
  EXPECT_EQ(world.node.calls(), (Lines{"DEL a net1", "ADD a net1"}));
}

// Red when a definition that the peer had read reaches another interface, another store or a field that its
// author may not set, or when it prevents a pod from ending.
TEST_F(SandboxesTest, UndoesThePeersWorkWithoutForbiddenFields) {
  World world(*this);
  PreparedDevice& device = world.node.prepare("uid-a", "net1");
  device.is_of_peer = true;
  device.network =
      R"({"cniVersion":"1.0.0","type":"vf","own":"x","device":"eth0","delegate":{"type":"vf"},"runtimeConfig":{"a":1},)"
      R"("args":{"b":1},"ipam":{"type":"static","addresses":[{"address":"10.1.0.9/24"}],"unknown":1}})";
  device.network_data = NetworkData{"net1", {"10.1.0.9/24"}, "02:00:00:00:00:09"};
  world.synchronize({"a"}, {"a"});
  EXPECT_EQ(world.create("a"), "") << "a container that starts again in the sandbox that the peer has made";
  EXPECT_EQ(world.stop("a"), "");
  EXPECT_EQ(world.node.calls(), Lines{"DEL a net1"});
  const auto input = kube::decode_json(world.node.text("input.DEL.net1"));
  EXPECT_EQ(input->text("own"), "x");
  for (const char* left_out : {"device", "args"}) EXPECT_EQ(input->find(left_out), nullptr) << left_out;
  EXPECT_EQ(input->find({"runtimeConfig", "a"}), nullptr);
  EXPECT_EQ(input->find({"ipam", "unknown"}), nullptr);
  EXPECT_EQ(input->find({"ipam", "addresses"})->array()->size(), 1u);
  const std::string refused = world.run("a");
  EXPECT_NE(refused.find("the network that dra-driver-sriov had read for it is not run again: spec.config: "),
            std::string::npos)
      << refused;
  EXPECT_NE(refused.find("delete the pod"), std::string::npos) << refused;
  EXPECT_EQ(world.node.calls(), Lines{"DEL a net1"});
}

// Red when the definition that the peer had read for a pod is run unchanged after its sandbox is gone.
TEST_F(SandboxesTest, JudgesThePeersWorkWithoutASandbox) {
  World world(*this);
  PreparedDevice& device = world.node.prepare("uid-a", "net1");
  device.is_of_peer = true;
  device.network = R"({"cniVersion":"1.0.0","type":"host-device","device":"eth0"})";
  world.synchronize({});
  EXPECT_NE(world.run("a").find("device is \"eth0\""), std::string::npos);
  EXPECT_EQ(world.node.calls(), Lines{});
}

TEST_F(SandboxesTest, OmitsInvalidAddressesAndNetworksOfThePeer) {
  World world(*this);
  PreparedDevice& device = world.node.prepare("uid-a", "net1");
  device.is_of_peer = true;
  device.network_data = NetworkData{"net1", {"nonsense"}, "02:00:00:00:00:09"};
  PreparedDevice& other = world.node.prepare("uid-a", "net2", "0000:03:00.3");
  other.is_of_peer = true;
  other.network = R"({"cniVersion":"0.0.9","type":"vf"})";
  world.synchronize({"a"}, {"a"});
  EXPECT_TRUE(world.settle());
  EXPECT_EQ(world.daemon->left_out, 1u);
  EXPECT_EQ(world.daemon->log.count("no CNI DEL runs when its pod ends"), 1u);
  world.start();
  EXPECT_EQ(world.stop("a"), "");
  EXPECT_EQ(world.node.calls(), Lines{"DEL a net1"});
}

TEST_F(SandboxesTest, UndoesAnUnusedAgreement) {
  World world(*this);
  world.node.prepare("uid-a", "net1");
  world.node.plugin("vf", "[ $CNI_COMMAND = DEL ] || until [ -e gone ]; do sleep 0.01; done");
  world.runtime->call("Run", world.pod("a"));
  EXPECT_TRUE(run_until([&] { return world.node.calls().size() == 1; }));
  world.runtime.reset();  // the connection ends; the pod starts without us
  world.node.touch("gone");
  EXPECT_TRUE(run_until([&] { return world.node.calls().size() == 2; }));
  EXPECT_TRUE(world.settle());
  EXPECT_EQ(world.node.calls(), (Lines{"ADD a net1", "DEL a net1"}));
  EXPECT_EQ(world.node.records(), 0u);
}

}  // namespace
}  // namespace sliced::kubelet::sandbox_test
