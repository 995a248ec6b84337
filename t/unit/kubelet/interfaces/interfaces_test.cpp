#include "kubelet/interfaces/interfaces.h"

#include "kube/kinds.h"
#include "kubelet/preparer.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_executor.h"
#include "t/fake/fake_node.h"
#include "t/fake/fake_wire.h"
#include "t/unit/kubelet/interfaces/sandbox_world.h"
#include "t/unit/kubelet/sample_claims.h"

namespace sliced::kubelet {
namespace interfaces_test {
namespace {

using kube::Json;
using nri::test::field;

// Prepare and the runtime's connection, joined; time is stepped. CNI programs do at once as they are told.
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
        Interfaces::Ports{
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
        Sandboxes::Handlers{[](const auto&) {}, [] {}});
    preparer.emplace(
        ClaimPreparer::Ports{cluster, scheduler, executor, log, std::make_shared<fake::FakeHost>(node),
                             &*interfaces},
        ClaimPreparer::Knowledge{[] { return ""; },
                                 [](const std::string&, const std::string&, const std::string& entry) {
                                   return std::optional(sample::vf(entry));
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
  // The runtime is there, and says what it has.
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
  // Of the pod that the claims are reserved for.
  static std::string pod() {
    return field(1, field(1, "s1") + field(2, "pod-1") + field(3, "pod-uid-1") + field(4, "ns") +
                        field(8, field(5, field(1, "network") + field(2, "/absent"))));
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
  bool is_multus = false;  // of the next start()
  bool fails_to_undo = false;
  std::optional<Interfaces> interfaces;
  std::optional<ClaimPreparer> preparer;
};

TEST_F(InterfacesTest, NothingIsPreparedThatWantsAnInterfaceWhileNobodyTellsUsOfPods) {
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

TEST_F(InterfacesTest, FromPrepareToUnprepare) {
  connect();
  const PrepareRequest claim = put("a", {{"netAttachDefName", "nad"}});
  EXPECT_EQ(prepare(claim), "");
  // Neither the API server nor the definition is asked any more.
  cluster.set_network(fake::FakeCluster::Network::kRefused);
  call("RunPodSandbox", pod());
  call("CreateContainer", pod() + field(2, nri::test::container("c", "s1")));
  EXPECT_EQ(calls, std::vector<std::string>{"ADD s1 vfnet0"});
  call("StopPodSandbox", pod());
  EXPECT_EQ(unprepare(claim), "");
  EXPECT_EQ(calls, (std::vector<std::string>{"ADD s1 vfnet0", "DEL s1 vfnet0"}));
}

TEST_F(InterfacesTest, TheNetworkOutlivesTheDaemon) {
  connect();
  EXPECT_EQ(prepare(put("a", {{"netAttachDefName", "nad"}, {"ifName", "net1"}})), "");
  cluster.set_network(fake::FakeCluster::Network::kRefused);
  start();
  connect();
  call("RunPodSandbox", pod());
  EXPECT_EQ(calls, std::vector<std::string>{"ADD s1 net1"});
}

TEST_F(InterfacesTest, UnprepareUndoesWhatNoStopHasUndone) {
  connect();
  const PrepareRequest claim = put("a", {{"netAttachDefName", "nad"}});
  EXPECT_EQ(prepare(claim), "");
  call("RunPodSandbox", pod());
  EXPECT_EQ(unprepare(claim), "");
  EXPECT_EQ(calls, (std::vector<std::string>{"ADD s1 vfnet0", "DEL s1 vfnet0"}));
}

// A kubelet that starts asks for all claims again.
TEST_F(InterfacesTest, AskedAgainWhileNobodyTellsUsWhatHasItsInterfaceIsAnsweredAndTheRestWaits) {
  connect();
  const PrepareRequest claim = put("a", {{"netAttachDefName", "nad"}});
  EXPECT_EQ(prepare(claim), "");
  dials.refusal = Error{Errc::kIo, "gone"};
  dials.wires.back()->end();
  EXPECT_NE(prepare(claim).find("is not connected"), std::string::npos);
  connect();
  call("RunPodSandbox", pod());
  dials.wires.back()->end();
  EXPECT_EQ(prepare(claim), "");
}

// Another daemon takes over, in mode MULTUS. Red when what was made in the other one is undone by nobody.
TEST_F(InterfacesTest, InModeMultusWhatWasMadeBeforeIsUndoneWithItsSandbox) {
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
  // The kubelet makes its sandbox anew: it is the same pod, and Multus knows nothing of it.
  call("RunPodSandbox", pod());
  EXPECT_EQ(calls.back(), "ADD s1 vfnet0");
  EXPECT_EQ(unprepare(claim), "");
  EXPECT_EQ(calls.back(), "DEL s1 vfnet0");
  EXPECT_EQ(calls.size(), 4u);
  EXPECT_EQ(log.count("nothing that was prepared in mode STANDALONE is left"), 0u);
  scheduler.advance(Interfaces::kEndsAgain);
  EXPECT_EQ(log.count("nothing that was prepared in mode STANDALONE is left"), 1u);
  const size_t wires = dials.wires.size();
  scheduler.advance(Millis{60'000});
  EXPECT_EQ(dials.wires.size(), wires) << "the runtime is let go";
}

// NRI was switched off with the mode.
TEST_F(InterfacesTest, InModeMultusUnprepareUndoesWhatWasMadeBeforeAlsoWithoutTheRuntime) {
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
TEST_F(InterfacesTest, InModeMultusWhatIsOfNoClaimAnyMoreIsUndoneWithoutTheRuntime) {
  connect();
  const PrepareRequest claim = put("a", {{"netAttachDefName", "nad"}});
  EXPECT_EQ(prepare(claim), "");
  call("RunPodSandbox", pod());
  fails_to_undo = true;
  EXPECT_EQ(unprepare(claim), "");
  fails_to_undo = false;
  is_multus = true;
  dials.refusal = Error{Errc::kNotFound, "no such socket"};
  calls.clear();
  start();
  scheduler.advance(Millis{100});
  EXPECT_EQ(calls, std::vector<std::string>{"DEL s1 vfnet0"});
}

TEST_F(InterfacesTest, InModeMultusWithoutAnythingOfTheOtherTheRuntimeIsNotAsked) {
  is_multus = true;
  start();
  const PrepareRequest claim = put("a", {{"netAttachDefName", "nad"}});
  dials.refusal.reset();
  EXPECT_EQ(prepare(claim), "") << "Multus attaches it";
  scheduler.advance(Millis{60'000});
  EXPECT_TRUE(dials.wires.empty());
  EXPECT_TRUE(preparer->prepared().begin()->second.devices.at(0).network.empty());
  EXPECT_EQ(unprepare(claim), "");
  EXPECT_TRUE(calls.empty());
}

}  // namespace
}  // namespace interfaces_test
}  // namespace sliced::kubelet
