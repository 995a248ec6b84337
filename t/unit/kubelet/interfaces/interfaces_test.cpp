#include "kubelet/interfaces/interfaces.h"

#include "kube/objects/kinds.h"
#include "kubelet/preparer.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_executor.h"
#include "t/fake/fake_node.h"
#include "t/fake/fake_wire.h"
#include "t/fixture/golden.h"
#include "t/unit/kubelet/interfaces/sandbox_world.h"
#include "t/unit/kubelet/sample_claims.h"

namespace sliced::kubelet {
namespace interfaces_test {
namespace {

using kube::Json;
using nri::test::field;

// Prepare and the runtime's connection together; time is stepped. CNI programs succeed immediately.
class InterfacesTest : public testing::Test {
 protected:
  InterfacesTest() {
    std::string pattern = testing::TempDir() + "interfaces.XXXXXX";
    directory = mkdtemp(pattern.data());
    cluster.install(kube::kResourceClaims);
    cluster.install(kube::kNetworkAttachmentDefinitions);
    cluster.put(kube::kNetworkAttachmentDefinitions,
                Json::Object{{"metadata", Json::Object{{"name", "nad"}, {"namespace", "ns"}}},
                             {"spec", Json::Object{{"config", R"({"cniVersion":"1.0.0","type":"sriov"})"}}}});
    node.functions["0000:03:00.2"] = {.look = {.identity = {"8086", "10ca", "0000:03:00.0"}}};
    dials.refusal = Error{Errc::kNotFound, "connect /var/run/nri/nri.sock: No such file or directory"};
    start();
  }
  ~InterfacesTest() override { std::filesystem::remove_all(directory); }

  void start() {
    preparer.reset();
    interfaces.reset();
    interfaces.emplace(
        InterfacesPorts{
            .cluster = cluster,
            .scheduler = scheduler,
            .executor = executor,
            .log = log,
            .run =
                [this](const cni::Network&, cni::Command command, const cni::Attachment& attachment,
                       const auto&, Millis, cni::OnRun on_run) {
                  struct Soon final : cni::Run {
                    reactor::Ticket ticket;
                  };
                  calls.push_back(std::string(cni::name_of(command)) + " " + attachment.container_id + " " +
                                  attachment.interface);
                  auto run = std::make_unique<Soon>();
                  const bool fails = command == cni::Command::kDel && fails_to_undo;
                  run->ticket = scheduler.after(Millis{1}, [on_run, fails] {
                    fails ? on_run(Error{Errc::kIo, "no"}) : on_run(cni::Attached{"1.0.0"});
                  });
                  return run;
                },
            .dial = [this](auto then) { return dials.dial({}, Millis{0}, std::move(then)); },
            .random = [] { return 0.0; }},
        Interfaces::Settings{.records = directory + "/records", .only_ends = is_multus},
        [this]() -> const PreparedClaims& { return preparer->prepared(); },
        Sandboxes::Handlers{
            .on_attached = [](const auto&) {},
            .on_trouble = [] {},
            .on_pod = [this](const auto& claim, const auto& of) { preparer->add_pod(claim, of); }});
    preparer.emplace(
        PreparerPorts{cluster, scheduler, executor, log, std::make_shared<fake::FakeHost>(node),
                      &*interfaces},
        ClaimPreparer::DaemonState{[] { return ""; },
                                   [this](const std::string&, const std::string&, const std::string& entry) {
                                     KnownEntry known = sample::vf(entry);
                                     known.vf_settings = allowed;
                                     return std::optional(known);
                                   },
                                   [] { return kube::NodeView{"node-a", {}}; }, [] { return "boot-1"; }},
        ClaimPreparer::Handlers{[](const auto&) {}, [](const auto&) {}, [](const auto&, const auto&) {},
                                [](const auto&) {}},
        ClaimPreparer::Settings{.files = {.drivers = {sample::kSriov}},
                                .plan = {.names_interfaces = !is_multus}});
    preparer->start([this] { interfaces->start(); });
    scheduler.advance(Millis{10});
  }
  PrepareRequest put(const std::string& name, Json::Object parameters) {
    sample::ClaimText text;
    text.name = name;
    text.uid = "uid-" + name;
    text.results = {sample::result("vf", "0000-03-00-2")};
    text.configs = {sample::config(std::move(parameters))};
    cluster.put(kube::kResourceClaims, text.object());
    return {"ns", name,
            std::string(cluster.object(kube::kResourceClaims, name, "ns")->find("metadata")->text("uid"))};
  }
  std::string prepare(const PrepareRequest& claim) {
    std::optional<PrepareAnswer> answer;
    preparer->prepare(sample::kSriov, claim, [&](PrepareAnswer one) { answer = std::move(one); });
    scheduler.advance(Millis{1'000});
    return answer ? answer->error : "never answered";
  }
  std::string unprepare(const PrepareRequest& claim) {
    std::optional<std::string> answer;
    preparer->unprepare(sample::kSriov, claim, [&](std::string one) { answer = std::move(one); });
    scheduler.advance(Millis{1'000});
    return answer.value_or("never answered");
  }
  // The runtime connects, and reports its sandboxes.
  void connect(const std::string& there = "") {
    dials.refusal.reset();
    scheduler.advance(Millis{10'000});
    ASSERT_FALSE(dials.wires.empty());
    say(2, nri::test::response(1, ""));
    call("Configure", nri::test::number_field(5, 2000));
    call("Synchronize", there);
  }
  void say(uint32_t connection, const std::string& bytes) {
    dials.wires.back()->say(nri::test::piece(connection, bytes));
  }
  void call(const std::string& method, const std::string& payload) {
    say(1, nri::test::request(stream += 2, "nri.pkg.api.v1alpha1.Plugin", method, payload));
    scheduler.advance(Millis{500});
  }
  // Of the pod that the claims are reserved for. Without a file of its namespace the runtime's word counts.
  static std::string pod(const std::string& netns = "/absent") {
    return pod("s1", "pod-1", "pod-uid-1", netns);
  }
  // Any pod of the node; netns "" shares the host's network.
  static std::string pod(const std::string& sandbox, const std::string& name, const std::string& uid,
                         const std::string& netns) {
    const std::string network = field(8, field(5, field(1, "network") + field(2, netns)));
    return field(1, field(1, sandbox) + field(2, name) + field(3, uid) + field(4, "ns") +
                        (netns.empty() ? "" : network));
  }
  // A container of that sandbox, with the CDI devices of the prepared claims.
  std::string container(const std::string& sandbox) const {
    std::string out =
        field(1, "c-" + sandbox) + field(2, sandbox) + field(3, "app") + nri::test::number_field(4, 3);
    for (const auto& [key, claim] : preparer->prepared())
      for (const auto& device : answer_of(claim, false).devices)
        for (const std::string& name : device.cdi_ids) out += field(20, field(1, name));
    return field(2, out);
  }

  std::string directory;
  fake::FakeScheduler scheduler;
  fake::FakeExecutor executor{scheduler};
  fake::FakeCluster cluster{scheduler};
  fake::FakeDials dials{scheduler};
  fake::MemoryLog log;
  fake::FakeNode node;
  std::vector<std::string> calls;
  uint32_t stream = 1;
  bool is_multus = false;                                // of the next start()
  std::optional<std::vector<std::string>> allowed = {};  // KnownEntry::vf_settings
  bool fails_to_undo = false;
  std::optional<Interfaces> interfaces;
  std::optional<ClaimPreparer> preparer;
};

TEST_F(InterfacesTest, PreparesNoNetworkWhileTheRuntimeIsDisconnected) {
  const PrepareRequest wants = put("wants", {{"netAttachDefName", "nad"}});
  const std::string why = prepare(wants);
  for (const char* part : {"ResourceClaim ns/wants: ", "netAttachDefName is \"nad\"",
                           "No such file or directory", "--nri-socket-path", "--configuration-mode MULTUS"})
    EXPECT_NE(why.find(part), std::string::npos) << why;
  EXPECT_TRUE(preparer->prepared().empty());
  EXPECT_EQ(log.count("not connected to the container runtime"), 1u) << "said once";
  const PrepareRequest plain = put("plain", {});
  EXPECT_EQ(prepare(plain), "") << "who wants none is not concerned";
  EXPECT_EQ(unprepare(plain), "");
  connect();
  EXPECT_EQ(prepare(wants), "");
}

TEST_F(InterfacesTest, AttachesFromPrepareToUnprepare) {
  connect();
  const PrepareRequest claim = put("a", {{"netAttachDefName", "nad"}});
  EXPECT_EQ(prepare(claim), "");
  // Neither the API server nor the definition is read again.
  cluster.set_network(fake::FakeCluster::Network::kRefused);
  call("RunPodSandbox", pod());
  call("CreateContainer", pod() + field(2, nri::test::container("c", "s1")));
  EXPECT_EQ(calls, std::vector<std::string>{"ADD s1 vfnet0"});
  call("StopPodSandbox", pod());
  EXPECT_EQ(unprepare(claim), "");
  EXPECT_EQ(calls, (std::vector<std::string>{"ADD s1 vfnet0", "DEL s1 vfnet0"}));
}

TEST_F(InterfacesTest, KeepsTheNetworkOverARestart) {
  connect();
  EXPECT_EQ(prepare(put("a", {{"netAttachDefName", "nad"}, {"ifName", "net1"}})), "");
  cluster.set_network(fake::FakeCluster::Network::kRefused);
  start();
  connect();
  call("RunPodSandbox", pod());
  EXPECT_EQ(calls, std::vector<std::string>{"ADD s1 net1"});
}

Json network(const std::string& text) { return kube::decode_json(text).value(); }

// No NetworkAttachmentDefinition is read, and another process has what the claim said.
TEST_F(InterfacesTest, AttachesANetworkOfAVfConfigFromPrepareToUnprepare) {
  connect();
  const std::string parameters = R"({"mtu":1400,"addresses":["192.0.2.5/24"]})";
  const PrepareRequest claim = put("a", {{"network", network(parameters)}, {"ifName", "net1"}});
  EXPECT_EQ(prepare(claim), "");
  const PreparedDevice before = preparer->prepared().begin()->second.devices.at(0);
  start();
  connect();
  const PreparedDevice& kept = preparer->prepared().begin()->second.devices.at(0);
  EXPECT_EQ(kept.config.network, before.config.network);
  EXPECT_TRUE(kept.config.network.has_value());
  call("RunPodSandbox", pod());
  EXPECT_EQ(calls, std::vector<std::string>{"ADD s1 net1"});
  call("StopPodSandbox", pod());
  EXPECT_EQ(unprepare(claim), "");
  EXPECT_EQ(calls, (std::vector<std::string>{"ADD s1 net1", "DEL s1 net1"}));
}

// Red when the VF's settings of before are unknown, so that those of the pod would stay.
TEST_F(InterfacesTest, SetsOnlyVfSettingsThatCanBeRestored) {
  connect();
  fake::FakeNode::Function& vf = node.functions.at("0000:03:00.2");
  vf.settings.reset();
  const PrepareRequest claim = put("a", {{"network", network(R"({"trust":true,"vlan":5})")}});
  allowed = std::vector<std::string>{"trust", "vlan"};
  const std::string why = prepare(claim);
  EXPECT_NE(why.find("network sets vlan, trust of the VF, which its PF does not report"), std::string::npos)
      << why;
  EXPECT_TRUE(preparer->prepared().empty());
  vf.settings = hotplug::VfConfig{.vlan = 0, .vlan_qos = 0};
  EXPECT_NE(prepare(claim).find("network sets trust of the VF"), std::string::npos);
  vf.settings->trust = false;
  EXPECT_EQ(prepare(claim), "");
  EXPECT_EQ(node.original_settings.at("0000:03:00.2").vf, vf.settings)
      << "on disk before anything is written";
  vf.settings->vlan = 5, vf.settings->trust = true;
  start();
  connect();
  EXPECT_EQ(preparer->prepared().begin()->second.devices.at(0).config.network->vf,
            (hotplug::VfConfig{.vlan = 5, .trust = true}));
  EXPECT_EQ(prepare(claim), "") << "asked again: what the pod has is not read for the original";
  EXPECT_EQ(unprepare(claim), "");
  EXPECT_EQ(vf.settings, (hotplug::VfConfig{.vlan = 0, .vlan_qos = 0, .trust = false}));
  kubelet::OriginalSettings unknown{
      .device = "0000:03:00.2", .boot_id = "boot-1", .is_known = false, .vf = {}, .interface = {}};
  node.original_settings.emplace(unknown.device, unknown);
  start();
  connect();
  EXPECT_NE(prepare(claim).find("could not be undone: device 0000:03:00.2: original VF settings unknown"),
            std::string::npos);
  EXPECT_EQ(prepare(put("b", {{"network", network(R"({"mtu":1400})")}})), "") << "it sets nothing of the VF";
}

TEST_F(InterfacesTest, ANetworkOfAVfConfigWaitsForTheRuntime) {
  const std::string why = prepare(put("a", {{"network", Json(Json::Object{})}}));
  EXPECT_NE(why.find("network is set, and the container runtime"), std::string::npos) << why;
}

TEST_F(InterfacesTest, RefusesANetworkOfAVfConfigInModeMultus) {
  is_multus = true;
  start();
  connect();
  const std::string why = prepare(put("a", {{"network", Json(Json::Object{})}}));
  EXPECT_NE(why.find("leave out network, or run with STANDALONE"), std::string::npos) << why;
  EXPECT_TRUE(preparer->prepared().empty());
}

// Of two claims of one pod.
TEST_F(InterfacesTest, RefusesASecondDefaultRouteAtPrepare) {
  connect();
  cluster.put(
      kube::kNetworkAttachmentDefinitions,
      Json::Object{
          {"metadata", Json::Object{{"name", "default"}, {"namespace", "ns"}}},
          {"spec",
           Json::Object{{"config", R"({"cniVersion":"1.0.0","type":"sriov",)"
                                   R"("ipam":{"type":"static","addresses":[{"address":"192.0.2.6/24"}],)"
                                   R"("routes":[{"dst":"0.0.0.0/0"}]}})"}}}});
  const PrepareRequest first = put("a", {{"netAttachDefName", "default"}});
  EXPECT_EQ(prepare(first), "");
  node.functions["0000:03:00.3"] = node.functions["0000:03:00.2"];
  sample::ClaimText text;
  text.name = "b", text.uid = "uid-b";
  text.results = {sample::result("vf", "0000-03-00-3")};
  text.configs = {sample::config(
      {{"network",
        network(
            R"({"addresses":["192.0.2.7/24"],"routes":[{"destination":"0.0.0.0/0","gateway":"192.0.2.1"}]})")}})};
  cluster.put(kube::kResourceClaims, text.object());
  const PrepareRequest second{
      "ns", "b",
      std::string(cluster.object(kube::kResourceClaims, "b", "ns")->find("metadata")->text("uid"))};
  const std::string why = prepare(second);
  for (const char* part :
       {"two interfaces of the pod set an IPv4 default route", "ResourceClaim ns/a", "ResourceClaim ns/b"})
    EXPECT_NE(why.find(part), std::string::npos) << why;
  EXPECT_EQ(unprepare(first), "");
  EXPECT_EQ(prepare(second), "");
}

TEST_F(InterfacesTest, UnprepareDetachesWithoutAStopEvent) {
  connect();
  const PrepareRequest claim = put("a", {{"netAttachDefName", "nad"}});
  EXPECT_EQ(prepare(claim), "");
  call("RunPodSandbox", pod());
  fails_to_undo = true;
  call("StopPodSandbox", pod());
  fails_to_undo = false;
  EXPECT_EQ(unprepare(claim), "");
  EXPECT_EQ(calls, (std::vector<std::string>{"ADD s1 vfnet0", "DEL s1 vfnet0", "DEL s1 vfnet0"}));
}

// The kubelet asks for the unprepare below the pod. Red when the DEL runs, or the device goes to another claim.
TEST_F(InterfacesTest, TakesNothingFromARunningSandbox) {
  connect();
  const PrepareRequest claim = put("a", {{"netAttachDefName", "nad"}});
  EXPECT_EQ(prepare(claim), "");
  call("RunPodSandbox", pod());
  for (int i = 0; i < 3; ++i) {
    const std::string why = unprepare(claim);
    for (const char* part : {"ResourceClaim ns/a", "pod ns/pod-1 runs and has its devices"})
      EXPECT_NE(why.find(part), std::string::npos) << why;
  }
  EXPECT_EQ(prepare(claim), "") << "the record is whole: the pod's next container starts";
  const std::string other = prepare(put("b", {{"netAttachDefName", "nad"}}));
  fixture::expect_golden(other);
  EXPECT_EQ(calls, std::vector<std::string>{"ADD s1 vfnet0"});
  call("StopPodSandbox", pod());
  EXPECT_EQ(unprepare(claim), "") << "as the kubelet asks again";
  EXPECT_TRUE(preparer->prepared().empty());
}

// No record names the second pod, which was reserved behind the prepare: its container's CDI devices do.
TEST_F(InterfacesTest, KeepsDevicesForASecondPodOfTheClaim) {
  for (const bool shares_host_network : {true, false}) {
    SCOPED_TRACE(shares_host_network);
    connect();
    const PrepareRequest claim = put("a", {{"driver", "vfio-pci"}});
    EXPECT_EQ(prepare(claim), "");
    const std::string second = pod("s2", "pod-2", "pod-uid-2", shares_host_network ? "" : "/absent");
    const std::string there = second + container("s2");
    call("RunPodSandbox", pod());
    call("CreateContainer", pod() + container("s1"));
    call("RunPodSandbox", second);
    call("CreateContainer", there);
    call("StopPodSandbox", pod());
    fixture::expect_golden(unprepare(claim));
    // A daemon that starts meanwhile believes nothing before the runtime has reported.
    dials.refusal.reset();
    start();
    fixture::expect_golden(unprepare(claim));
    connect(there);
    fixture::expect_golden(unprepare(claim));
    EXPECT_EQ(std::count(node.steps.begin(), node.steps.end(), "restore 0000:03:00.2"), 0);
    call("RemovePodSandbox", second);
    EXPECT_EQ(unprepare(claim), "");
    node.steps.clear();
  }
}

// Its stop was missed. Red when the claim is locked for ever.
TEST_F(InterfacesTest, TreatsAnUnlistedSandboxAsEnded) {
  connect();
  const PrepareRequest claim = put("a", {{"driver", "vfio-pci"}});
  EXPECT_EQ(prepare(claim), "");
  call("RunPodSandbox", pod());
  call("CreateContainer", pod() + container("s1"));
  dials.wires.back()->end();
  fixture::expect_golden(unprepare(claim));
  connect(pod("s1", "pod-1", "pod-uid-1", ""));  // it is listed until it is removed
  EXPECT_EQ(unprepare(claim), "");
}

// containerd reports no stop of sandboxes that are older than itself, and one in the host's network has no file.
TEST_F(InterfacesTest, PollsARuntimeThatReportsNoStop) {
  connect();
  const PrepareRequest claim = put("a", {{"driver", "vfio-pci"}});
  EXPECT_EQ(prepare(claim), "");
  const std::string there = pod("s1", "pod-1", "pod-uid-1", "") + container("s1");
  connect(there);
  fixture::expect_golden(unprepare(claim));
  const size_t wires = dials.wires.size();
  scheduler.advance(Interfaces::kAskAgain - Millis{5'000});
  fixture::expect_golden(unprepare(claim));
  EXPECT_EQ(dials.wires.size(), wires);
  scheduler.advance(Millis{5'000});
  fixture::expect_golden(unprepare(claim));
  EXPECT_EQ(dials.wires.size(), wires + 1);
  connect(there);
  fixture::expect_golden(unprepare(claim));
  scheduler.advance(Interfaces::kAskAgain);
  fixture::expect_golden(unprepare(claim));
  connect();
  EXPECT_EQ(unprepare(claim), "");
}

// Red when such a function is allocated again and again, and no pod ever starts with it.
TEST_F(InterfacesTest, RefusesANetworkForAFunctionWithoutAnInterface) {
  connect();
  fake::FakeNode::Function& vf = node.functions["0000:03:00.2"];
  const auto nad = [&](const std::string& config) {
    cluster.put(kube::kNetworkAttachmentDefinitions,
                Json::Object{{"metadata", Json::Object{{"name", "nad"}, {"namespace", "ns"}}},
                             {"spec", Json::Object{{"config", config}}}});
  };
  const std::string sriov = R"({"cniVersion":"1.0.0","type":"sriov"})";
  const std::string host_device = R"({"cniVersion":"1.0.0","name":"n","plugins":[{"type":"host-device"}]})";
  const struct {
    std::string driver, config, why;
  } cases[] = {
      {"", sriov, "no driver is bound to it; load the module of its driver and write 0000:03:00.2"},
      {"", host_device, "no driver is bound to it"},
      {"igbvf", host_device, "driver igbvf has made none, or it is in another network namespace"},
      {"vfio-pci", host_device, "driver vfio-pci makes none; bind the function to its network driver"},
      {"igb_uio", host_device, "driver igb_uio makes none"},
      {"mlx5_vfio_pci", host_device, "driver mlx5_vfio_pci makes none"},
      {"vfio-pci", sriov, ""},  // set up through its PF
      {"uio_pci_generic", sriov, ""},
  };
  const PrepareRequest claim = put("a", {{"netAttachDefName", "nad"}});
  for (const auto& one : cases) {
    SCOPED_TRACE(one.driver + " " + one.config);
    nad(one.config);
    vf.driver = one.driver;
    vf.has_interface = false;
    const std::string why = prepare(claim);
    if (one.why.empty()) {
      EXPECT_EQ(why, "");
      EXPECT_EQ(unprepare(claim), "");
      continue;
    }
    for (const std::string& part :
         {std::string("ResourceClaim ns/a: device node-a/0000-03-00-2 has no interface"),
          std::string("netAttachDefName \"ns/nad\""), one.why})
      EXPECT_NE(why.find(part), std::string::npos) << why;
    EXPECT_TRUE(preparer->prepared().empty());
  }
  vf.driver = "igbvf";
  vf.has_interface = true;
  EXPECT_EQ(prepare(claim), "");
  EXPECT_EQ(unprepare(claim), "");
  vf.driver = "";
  EXPECT_EQ(prepare(put("b", {})), "") << "who names no network needs none";
}

// Red when a claim is prepared whose sandbox must fail, and when anything was changed or recorded before it is refused.
TEST_F(InterfacesTest, RefusesAnImmovableInterfaceBeforeAnyChange) {
  connect();
  node.functions["0000:03:00.2"].look.immovable_interfaces = {"eth0"};
  const PrepareRequest claim = put("a", {{"netAttachDefName", "nad"}});
  const auto nad = [&](const std::string& config) {
    cluster.put(kube::kNetworkAttachmentDefinitions,
                Json::Object{{"metadata", Json::Object{{"name", "nad"}, {"namespace", "ns"}}},
                             {"spec", Json::Object{{"config", config}}}});
  };
  nad(R"({"cniVersion":"1.0.0","name":"n","plugins":[{"type":"host-device"}]})");
  node.steps.clear();
  const std::string why = prepare(claim);
  EXPECT_NE(
      why.find("the kernel does not move its interface eth0 to another network namespace (netns-immutable"),
      std::string::npos)
      << why;
  EXPECT_TRUE(preparer->prepared().empty());
  for (const std::string& step : node.steps)
    EXPECT_TRUE(step.starts_with("look ") || step.starts_with("read")) << step;
  node.functions["0000:03:00.2"].look.immovable_interfaces.clear();
  EXPECT_EQ(prepare(claim), "");
}

// A machine of the host has it. Red when its function goes to a claim.
TEST_F(InterfacesTest, RefusesADeviceThatAProcessHasOpen) {
  node.functions["0000:03:00.2"].driver = "vfio-pci";
  node.functions["0000:03:00.2"].look.in_use = "device 0000:03:00.2 is in use: process 7 (qemu)";
  const PrepareRequest claim = put("a", {{"driver", "vfio-pci"}});
  connect();
  fixture::expect_golden(prepare(claim));
  EXPECT_TRUE(preparer->prepared().empty());
  node.functions["0000:03:00.2"].look.in_use.clear();
  EXPECT_EQ(prepare(claim), "");
}

// Another plugin of the runtime refuses the sandbox after us: no event reports its end.
TEST_F(InterfacesTest, TreatsASandboxWithoutNamespaceAsEnded) {
  const std::string netns = directory + "/netns";
  std::ofstream(netns) << "";
  connect();
  const PrepareRequest claim = put("a", {{"driver", "vfio-pci"}});
  EXPECT_EQ(prepare(claim), "");
  call("RunPodSandbox", pod(netns));
  fixture::expect_golden(unprepare(claim));
  std::filesystem::remove(netns);
  EXPECT_EQ(unprepare(claim), "");
}

// A sandbox that we refuse does not run. Red when its pod can never be taken back.
TEST_F(InterfacesTest, TreatsARefusedSandboxAsEnded) {
  connect();
  const PrepareRequest claim = put("a", {{"netAttachDefName", "nad"}});
  EXPECT_EQ(prepare(claim), "");
  call("RunPodSandbox", pod("s1", "pod-1", "pod-uid-1", ""));
  EXPECT_EQ(unprepare(claim), "");
}

// NRI is off, or broken: records of interfaces tell whose sandbox runs, by its namespace.
TEST_F(InterfacesTest, AnExistingNamespaceKeepsTheDeviceWithoutTheRuntime) {
  const std::string netns = directory + "/netns";
  std::ofstream(netns) << "";
  connect();
  const PrepareRequest claim = put("a", {{"netAttachDefName", "nad"}});
  EXPECT_EQ(prepare(claim), "");
  call("RunPodSandbox", pod(netns));
  dials.refusal = Error{Errc::kNotFound, "no such socket"};
  start();
  fixture::expect_golden(unprepare(claim));
  std::filesystem::remove(netns);
  EXPECT_EQ(unprepare(claim), "");
}

// The claim is used by another pod, without an unprepare. Red when the first pod's device is unbound.
TEST_F(InterfacesTest, AClaimReservedForAnotherPodWaitsForTheFirstSandbox) {
  connect();
  const PrepareRequest claim = put("a", {{"driver", "vfio-pci"}});
  EXPECT_EQ(prepare(claim), "");
  call("RunPodSandbox", pod());
  call("CreateContainer", pod() + container("s1"));
  sample::ClaimText text;
  text.name = "a";
  text.uid = claim.uid;
  text.results = {sample::result("vf", "0000-03-00-2")};
  text.configs = {sample::config({{"driver", "vfio-pci"}})};
  text.pods = {Json::Object{{"resource", "pods"}, {"name", "pod-2"}, {"uid", "pod-uid-2"}}};
  cluster.put(kube::kResourceClaims, text.object());
  fixture::expect_golden(prepare(claim));
  EXPECT_EQ(std::count(node.steps.begin(), node.steps.end(), "restore 0000:03:00.2"), 0);
  call("StopPodSandbox", pod());
  EXPECT_EQ(prepare(claim), "");
}

// A claim of a PodGroup, whose pods come one after the other: the kubelet names none of them, and asks for each. Red when the claim is
// refused, when a pod of the group lacks its interface, or when the next prepare takes the claim from the pod that runs.
TEST_F(InterfacesTest, AttachesPodsOfAPodGroup) {
  connect();
  const PrepareRequest claim = put("a", {{"netAttachDefName", "nad"}});
  const auto reserve = [&](const std::string& group) {
    sample::ClaimText text;
    text.name = "a";
    text.uid = claim.uid;
    text.results = {sample::result("vf", "0000-03-00-2")};
    text.configs = {sample::config({{"netAttachDefName", "nad"}})};
    text.pods = {Json::Object{{"apiGroup", "scheduling.k8s.io"},
                              {"resource", "podgroups"},
                              {"name", group},
                              {"uid", group + "-uid"}}};
    cluster.put(kube::kResourceClaims, text.object());
  };
  reserve("g");
  EXPECT_EQ(prepare(claim), "");
  call("RunPodSandbox", pod());
  EXPECT_TRUE(calls.empty()) << "no pod is known yet";
  call("CreateContainer", pod() + container("s1"));
  EXPECT_EQ(calls, std::vector<std::string>{"ADD s1 vfnet0"});
  EXPECT_EQ(prepare(claim), "") << "for the next pod of the group, or after the kubelet's restart";
  EXPECT_EQ(calls.size(), 1u);
  EXPECT_NE(unprepare(claim).find("runs and has its devices"), std::string::npos);
  reserve("h");
  EXPECT_NE(prepare(claim).find("for other pods before"), std::string::npos) << "of another group";
  call("StopPodSandbox", pod());
  EXPECT_EQ(unprepare(claim), "");
}

// A second pod of a shared claim, whose sandbox is there and whose first container is not yet: the record knows the first pod alone.
// Red when a kubelet that unprepares below it (kubernetes/kubernetes#140212) is believed.
TEST_F(InterfacesTest, AStartingPodKeepsItsSharedClaim) {
  connect();
  const PrepareRequest claim = put("a", {{"driver", "vfio-pci"}});
  EXPECT_EQ(prepare(claim), "");
  const auto reserve = [&](std::vector<std::string> pods) {
    sample::ClaimText text;
    text.name = "a";
    text.uid = claim.uid;
    text.results = {sample::result("vf", "0000-03-00-2")};
    text.configs = {sample::config({{"driver", "vfio-pci"}})};
    text.pods = {};
    for (const std::string& pod : pods)
      text.pods.push_back(
          Json::Object{{"resource", "pods"}, {"name", "pod-" + pod}, {"uid", "pod-uid-" + pod}});
    cluster.put(kube::kResourceClaims, text.object());
  };
  reserve({"1", "2"});
  call("RunPodSandbox", pod("s2", "pod-2", "pod-uid-2", "/absent"));
  EXPECT_NE(unprepare(claim).find("pod ns/pod-2 runs and has its devices"), std::string::npos);
  EXPECT_EQ(std::count(node.steps.begin(), node.steps.end(), "restore 0000:03:00.2"), 0);
  call("StopPodSandbox", pod("s2", "pod-2", "pod-uid-2", "/absent"));
  EXPECT_EQ(unprepare(claim), "");
}

// A pod that the claim is only reserved for has nothing yet: its kubelet prepares the claim again. Red when the two wait for each other.
TEST_F(InterfacesTest, APodWithoutASandboxKeepsNothing) {
  connect();
  const PrepareRequest claim = put("a", {{"driver", "vfio-pci"}});
  EXPECT_EQ(prepare(claim), "");
  sample::ClaimText text;
  text.name = "a";
  text.uid = claim.uid;
  text.results = {sample::result("vf", "0000-03-00-2")};
  text.configs = {sample::config({{"driver", "vfio-pci"}})};
  text.pods = {Json::Object{{"resource", "pods"}, {"name", "pod-2"}, {"uid", "pod-uid-2"}}};
  cluster.put(kube::kResourceClaims, text.object());
  call("RunPodSandbox",
       pod("s3", "pod-3", "pod-uid-3", "/absent"));  // of the namespace, and not of the claim
  EXPECT_EQ(unprepare(claim), "");
  EXPECT_EQ(prepare(claim), "") << "of the second pod";
  EXPECT_EQ(preparer->prepared().begin()->second.pods.at(0).uid, "pod-uid-2");
}

// The API server does not answer, or denies the request: the record counts, as before.
TEST_F(InterfacesTest, UsesTheRecordForSharedClaimsWithoutTheApiServer) {
  connect();
  const PrepareRequest claim = put("a", {{"driver", "vfio-pci"}});
  EXPECT_EQ(prepare(claim), "");
  call("RunPodSandbox", pod("s3", "pod-3", "pod-uid-3", "/absent"));
  cluster.deny("resourceclaims");
  EXPECT_EQ(unprepare(claim), "");
}

// The record of its claim is lost, its interface's is not. Red when another claim is prepared with the device.
TEST_F(InterfacesTest, RefusesADeviceWhoseInterfaceIsInARunningSandbox) {
  connect();
  EXPECT_EQ(prepare(put("a", {{"netAttachDefName", "nad"}})), "");
  call("RunPodSandbox", pod());
  node.checkpoint.reset();
  node.specs.clear();
  start();
  connect(pod());
  sample::ClaimText text;
  text.name = "b";
  text.uid = "uid-b";
  text.results = {sample::result("vf", "0000-03-00-2")};
  text.pods = {Json::Object{{"resource", "pods"}, {"name", "pod-2"}, {"uid", "pod-uid-2"}}};
  cluster.put(kube::kResourceClaims, text.object());
  const PrepareRequest other{
      "ns", "b",
      std::string(cluster.object(kube::kResourceClaims, "b", "ns")->find("metadata")->text("uid"))};
  fixture::expect_golden(prepare(other));
  call("StopPodSandbox", pod());
  EXPECT_EQ(prepare(other), "");
}

// A kubelet that starts asks for all claims again.
TEST_F(InterfacesTest, AnswersForAttachedInterfacesWithoutTheRuntime) {
  connect();
  const PrepareRequest claim = put("a", {{"netAttachDefName", "nad"}});
  EXPECT_EQ(prepare(claim), "");
  dials.refusal = Error{Errc::kIo, "gone"};
  dials.wires.back()->end();
  fixture::expect_golden(prepare(claim));
  connect();
  call("RunPodSandbox", pod());
  dials.wires.back()->end();
  EXPECT_EQ(prepare(claim), "");
}

// Another daemon takes over, in mode MULTUS. Red when attachments of the other mode are never removed.
TEST_F(InterfacesTest, DetachesEarlierInterfacesInModeMultusWithTheSandbox) {
  connect();
  const PrepareRequest claim = put("a", {{"netAttachDefName", "nad"}});
  EXPECT_EQ(prepare(claim), "");
  call("RunPodSandbox", pod());
  is_multus = true;
  start();
  connect(pod());
  EXPECT_EQ(prepare(claim), "") << "as a kubelet asks that starts";
  call("StopPodSandbox", pod());
  EXPECT_EQ(calls, (std::vector<std::string>{"ADD s1 vfnet0", "DEL s1 vfnet0"}));
  // The kubelet creates the sandbox again: it is the same pod, and Multus has no state of it.
  call("RunPodSandbox", pod());
  EXPECT_EQ(calls.back(), "ADD s1 vfnet0");
  call("StopPodSandbox", pod());
  EXPECT_EQ(unprepare(claim), "");
  EXPECT_EQ(calls.back(), "DEL s1 vfnet0");
  EXPECT_EQ(calls.size(), 4u);
}

// NRI was switched off with the mode.
TEST_F(InterfacesTest, DetachesEarlierInterfacesInModeMultusWithoutTheRuntime) {
  connect();
  const PrepareRequest claim = put("a", {{"netAttachDefName", "nad"}});
  EXPECT_EQ(prepare(claim), "");
  call("RunPodSandbox", pod());
  is_multus = true;
  dials.refusal = Error{Errc::kNotFound, "no such socket"};
  start();
  EXPECT_EQ(unprepare(claim), "");
  EXPECT_EQ(calls, (std::vector<std::string>{"ADD s1 vfnet0", "DEL s1 vfnet0"}));
}

// Its claim was taken back by a daemon whose DEL failed. Red when a node without NRI keeps it for ever.
TEST_F(InterfacesTest, DetachesInterfacesWithoutClaimInModeMultus) {
  connect();
  const PrepareRequest claim = put("a", {{"netAttachDefName", "nad"}});
  EXPECT_EQ(prepare(claim), "");
  call("RunPodSandbox", pod());
  fails_to_undo = true;
  call("StopPodSandbox", pod());
  EXPECT_EQ(unprepare(claim), "");
  fails_to_undo = false;
  is_multus = true;
  dials.refusal = Error{Errc::kNotFound, "no such socket"};
  calls.clear();
  start();
  scheduler.advance(Millis{100});
  EXPECT_EQ(calls, std::vector<std::string>{"DEL s1 vfnet0"});
}

// Multus attaches, and the runtime reports the running pods.
TEST_F(InterfacesTest, TakesNothingFromARunningSandboxInModeMultus) {
  is_multus = true;
  start();
  connect();
  const PrepareRequest claim = put("a", {{"netAttachDefName", "nad"}});
  EXPECT_EQ(prepare(claim), "");
  EXPECT_TRUE(preparer->prepared().begin()->second.devices.at(0).network.empty());
  call("RunPodSandbox", pod());
  call("CreateContainer", pod() + container("s1"));
  fixture::expect_golden(unprepare(claim));
  call("StopPodSandbox", pod());
  EXPECT_EQ(unprepare(claim), "");
  EXPECT_TRUE(calls.empty());
}

// Where the runtime has no NRI, a kubelet is believed.
TEST_F(InterfacesTest, PreparesAndUnpreparesInModeMultusWithoutTheRuntime) {
  is_multus = true;
  start();
  const PrepareRequest claim = put("a", {{"netAttachDefName", "nad"}});
  EXPECT_EQ(prepare(claim), "");
  EXPECT_EQ(unprepare(claim), "");
  EXPECT_EQ(log.count("not connected to the container runtime: unprepare releases devices"), 1u);
}

// Red when a node without NRI looks healthy until its first pod with an interface.
TEST_F(InterfacesTest, ReportsAMissingRuntimeIfNeeded) {
  const auto problem = [this] { return interfaces->connection_problem(/*is_needed_by_policy=*/false); };
  const std::string text =
      "no NRI: pods with interfaces do not start (connect /var/run/nri/nri.sock: No such file or directory)";
  scheduler.advance(Millis{1'000});
  EXPECT_EQ(interfaces->connection(), Interfaces::Connection::kFailed);
  const PrepareRequest on_vfio = put("b", {{"driver", "vfio-pci"}});
  EXPECT_EQ(prepare(on_vfio), "");
  EXPECT_EQ(problem(), "") << "nothing on this node needs it";
  EXPECT_EQ(unprepare(on_vfio), "");
  EXPECT_TRUE(interfaces->connection_problem(/*is_needed_by_policy=*/true).starts_with(text));
  EXPECT_NE(prepare(put("a", {{"netAttachDefName", "nad"}})), "");
  EXPECT_TRUE(problem().starts_with(text)) << problem();
  start();
  connect();
  EXPECT_EQ(interfaces->connection(), Interfaces::Connection::kConnected);
  EXPECT_EQ(interfaces->connection_problem(/*is_needed_by_policy=*/true), "");
  dials.refusal = Error{Errc::kNotFound, "connect /var/run/nri/nri.sock: No such file or directory"};
  is_multus = true;
  start();
  scheduler.advance(Millis{1'000});
  EXPECT_EQ(interfaces->connection_problem(/*is_needed_by_policy=*/true), "")
      << "Multus attaches interfaces there";
}

}  // namespace
}  // namespace interfaces_test
}  // namespace sliced::kubelet
