#include "kubelet/nri/plugin.h"

#include <gtest/gtest.h>

#include <optional>

#include "kubelet/nri/frames.h"
#include "kubelet/nri/mux.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/fake_wire.h"
#include "t/fake/memory_log.h"
#include "t/unit/kubelet/nri/wire.h"

namespace sliced::nri {
namespace {

using test::field;

struct Recorded final : Hooks {
  void synchronize(std::vector<PodSandbox> pods, std::vector<Container> containers, Reply reply) override {
    said.push_back("synchronize " + std::to_string(pods.size()) + " " + std::to_string(containers.size()));
    take(std::move(reply));
  }
  void run_pod_sandbox(PodSandbox pod, Reply reply) override {
    said.push_back("run " + pod.id + " " + pod.network_namespace);
    take(std::move(reply));
  }
  void stop_pod_sandbox(PodSandbox pod, Reply reply) override {
    said.push_back("stop " + pod.id);
    take(std::move(reply));
  }
  void remove_pod_sandbox(PodSandbox pod, Reply reply) override {
    said.push_back("remove " + pod.id);
    take(std::move(reply));
  }
  void create_container(PodSandbox pod, Container container, Reply reply) override {
    said.push_back("create " + container.name + " in " + pod.id);
    take(std::move(reply));
  }
  void link_changed() override { said.push_back("link"); }
  void take(Reply reply) {
    if (on_call) return on_call(std::move(reply));
    EXPECT_TRUE(reply.agree());
  }

  std::vector<std::string> said;
  std::function<void(Reply)> on_call;
};

struct PluginTest : testing::Test {
  PluginTest() {
    plugin.emplace(
        scheduler, [] { return 0.0; }, log,
        [this](auto then) { return dials.dial({}, Millis{0}, std::move(then)); }, PluginOptions{}, hooks);
    scheduler.advance(Millis{0});
    scheduler.advance(Millis{0});
  }
  // The runtime's end of the present connection.
  fake::WireEnd& wire() { return *dials.wires.back(); }
  void say(uint32_t connection, const std::string& bytes) { wire().say(test::piece(connection, bytes)); }
  // What the plugin has sent since this was asked last, by connection.
  std::map<uint32_t, std::vector<Frame>> sent() {
    PieceReader pieces;
    pieces.add(std::exchange(wire().sent, ""));
    std::map<uint32_t, FrameReader> readers;
    for (auto next = pieces.next(); *next; next = pieces.next())
      readers[(*next)->connection].add((*next)->bytes);
    std::map<uint32_t, std::vector<Frame>> all;
    for (auto& [connection, reader] : readers)
      while (auto frame = reader.next()) all[connection].push_back(*std::move(frame));
    return all;
  }
  // Calls the plugin; its answer, if it has given one.
  std::optional<Response> call(std::string_view method, const std::string& payload) {
    say(1, test::request(next_stream, "nri.pkg.api.v1alpha1.Plugin", method, payload));
    next_stream += 2;
    return answer();
  }
  std::optional<Response> answer() {
    const auto frames = sent()[1];
    if (frames.empty()) return std::nullopt;
    EXPECT_EQ(frames.size(), 1u);
    return *decode_response(frames.back().data);
  }
  void begin() {
    next_stream = 1;
    sent();
    say(2, test::response(1, ""));
    call("Configure", field(2, "containerd") + test::number_field(5, 2000));
  }
  void come_up() {
    begin();
    call("Synchronize", "");
    EXPECT_TRUE(plugin->link().is_up);
    hooks.said.clear();
  }

  fake::FakeScheduler scheduler;
  fake::FakeDials dials{scheduler};
  fake::MemoryLog log;
  Recorded hooks;
  uint32_t next_stream = 1;
  std::optional<Plugin> plugin;
};

TEST_F(PluginTest, RegistersConfiguresAndIsUpOnceSynchronized) {
  const auto first = sent();
  ASSERT_EQ(first.at(2).size(), 1u);
  const auto request = *decode_request(first.at(2)[0].data);
  EXPECT_EQ(request.service + "/" + request.method, "nri.pkg.api.v1alpha1.Runtime/RegisterPlugin");
  EXPECT_EQ(request.payload, field(1, "dra-driver-sriov") + field(2, "42") + field(3, "v0.12.3"));
  say(2, test::response(1, ""));
  EXPECT_FALSE(plugin->link().is_up);
  EXPECT_EQ(plugin->link().why_not, "registered, not synchronized yet");
  EXPECT_EQ(call("Configure", test::number_field(5, 2000))->payload, test::number_field(2, 15));
  EXPECT_FALSE(plugin->link().is_up);
  EXPECT_EQ(call("Synchronize", field(1, test::sandbox("a")))->payload, "");
  EXPECT_TRUE(plugin->link().is_up);
  EXPECT_EQ(plugin->link().why_not, "");
  EXPECT_EQ(hooks.said, (std::vector<std::string>{"synchronize 1 0", "link"}));
}

TEST_F(PluginTest, JoinsPartsOfASynchronization) {
  begin();
  const std::string more = test::number_field(3, 1);
  EXPECT_EQ(call("Synchronize", field(1, test::sandbox("a")) + more)->payload, test::number_field(2, 1));
  EXPECT_EQ(call("Synchronize", field(2, test::container("c", "a")) + more)->payload,
            test::number_field(2, 1));
  EXPECT_TRUE(hooks.said.empty());
  EXPECT_EQ(call("Synchronize", field(1, test::sandbox("b")))->payload, "");
  EXPECT_EQ(hooks.said, (std::vector<std::string>{"synchronize 2 1", "link"}));
}

TEST_F(PluginTest, NotifiesHooksAndAnswers) {
  come_up();
  const std::string pod = field(1, test::sandbox("a", "/run/netns/x"));
  for (const auto* method : {"RunPodSandbox", "StopPodSandbox", "RemovePodSandbox"})
    EXPECT_EQ(call(method, pod)->status.code, Code::kOk) << method;
  hooks.on_call = [](Reply reply) { EXPECT_TRUE(reply.refuse({Errc::kIo, "no interface yet"})); };
  const auto refused = call("CreateContainer", pod + field(2, test::container("c", "a")));
  EXPECT_EQ(refused->status, (Status{Code::kUnknown, "no interface yet"}));
  EXPECT_EQ(hooks.said,
            (std::vector<std::string>{"run a /run/netns/x", "stop a", "remove a", "create app in a"}));
  EXPECT_EQ(call("UpdateContainer", "")->status.code, Code::kUnimplemented);
  EXPECT_EQ(call("Shutdown", "")->status.code, Code::kOk);
  EXPECT_EQ(call("RunPodSandbox", "")->status.code, Code::kInvalidArgument);
}

TEST_F(PluginTest, RefusesALateHookAndStaysConnected) {
  come_up();
  std::optional<Reply> kept;
  hooks.on_call = [&](Reply reply) { kept.emplace(std::move(reply)); };
  EXPECT_FALSE(call("RunPodSandbox", field(1, test::sandbox("a"))));
  scheduler.advance(Millis{1799});
  EXPECT_FALSE(answer());
  scheduler.advance(Millis{1});
  EXPECT_EQ(answer()->status.code, Code::kAborted);
  EXPECT_FALSE(kept->agree());
  EXPECT_TRUE(plugin->link().is_up);
}

TEST_F(PluginTest, ReportsALostConnectionOnceAndBacksOff) {
  come_up();
  std::optional<Reply> kept;
  hooks.on_call = [&](Reply reply) { kept.emplace(std::move(reply)); };
  call("RunPodSandbox", field(1, test::sandbox("a")));
  hooks.on_call = nullptr;
  dials.refusal = Error{Errc::kNotFound, "connect unix:/x: ENOENT"};
  wire().end();
  EXPECT_FALSE(plugin->link().is_up);
  EXPECT_EQ(plugin->link().why_not, "the runtime closed the connection");
  EXPECT_EQ(hooks.said.back(), "link");
  EXPECT_FALSE(kept->agree()) << "the runtime that asked is gone";
  scheduler.advance(Millis{60'000});
  const size_t dialed = dials.dialed;
  EXPECT_GE(dialed, 12u);
  EXPECT_LE(dialed, 24u);
  EXPECT_EQ(log.count("reason=connect unix:/x: ENOENT"), 1u);
  dials.refusal.reset();
  scheduler.advance(Millis{6'000});
  come_up();
  EXPECT_EQ(log.count("connected to the container runtime socket"), 2u);
}

TEST_F(PluginTest, RetriesARefusedOrUnansweredRegistration) {
  say(2, test::refusal(1, 2, "no such index"));
  EXPECT_EQ(plugin->link().why_not, "RegisterPlugin: refused with code 2: no such index");
  EXPECT_TRUE(wire().is_gone);
  scheduler.advance(Millis{100});
  ASSERT_EQ(dials.wires.size(), 2u);
  scheduler.advance(Millis{5'000});
  EXPECT_EQ(plugin->link().why_not, "RegisterPlugin: no answer within 5000 ms");
  EXPECT_TRUE(wire().is_gone);
}

TEST_F(PluginTest, InvalidDataEndsTheConnection) {
  wire().say(test::u32(0) + test::u32(1));
  EXPECT_TRUE(wire().is_gone);
  EXPECT_NE(plugin->link().why_not.find("connection 0"), std::string::npos);
}

TEST_F(PluginTest, DisconnectsARuntimeThatDoesNotRead) {
  come_up();
  wire().is_stuck = true;
  for (int i = 0; i < 60'000 && !wire().is_gone; ++i) {
    say(1, test::frame(next_stream++ * 2, 1, ""));
    scheduler.advance(Millis{0});
  }
  EXPECT_TRUE(dials.wires[0]->is_gone);
}

TEST_F(PluginTest, BoundsThePartsOfASynchronization) {
  const std::string pod = field(1, field(1, "p") + field(2, std::string(60'000, 'n')));
  const std::string container = field(2, field(1, "c") + field(20, field(1, std::string(60'000, 'd'))));
  for (const std::string& item : {field(1, field(1, "p")), pod, container}) {
    begin();
    std::string many;
    const size_t part = item.size() < 100 ? 100'000 : 1'000'000;
    while (many.size() + item.size() < part) many += item;
    many += test::number_field(3, 1);
    size_t kept = 0;
    std::optional<Response> last;
    while ((last = call("Synchronize", many))->status.code == Code::kOk && kept < 1'000) ++kept;
    EXPECT_EQ(last->status.code, Code::kResourceExhausted) << last->status.message;
    EXPECT_LT(kept, 60u);
    EXPECT_GT(kept, 0u);
    EXPECT_FALSE(plugin->link().is_up);
    EXPECT_EQ(call("Synchronize", item)->status.code, Code::kOk) << "what was refused is not kept";
    wire().end();
    scheduler.advance(Millis{1'000});
  }
}

TEST_F(PluginTest, RefusesTextsThatNoRuntimeSends) {
  come_up();
  const std::string large = field(1, field(1, "p") + field(2, std::string(100'000, 'n')));
  for (const auto* method : {"RunPodSandbox", "StopPodSandbox", "CreateContainer", "Synchronize"}) {
    const auto answer = call(method, large);
    EXPECT_EQ(answer->status.code, Code::kInvalidArgument) << method;
    EXPECT_NE(answer->status.message.find("65536"), std::string::npos) << answer->status.message;
  }
  std::string addresses = field(1, "p");
  for (int i = 0; i < 10'000; ++i) addresses += field(10, "");
  EXPECT_EQ(call("RunPodSandbox", field(1, addresses))->status.code, Code::kInvalidArgument);
  EXPECT_TRUE(hooks.said.empty());
}

TEST_F(PluginTest, DisconnectsARuntimeThatSendsNothingUseful) {
  const std::string empty = test::piece(1, "");
  const std::string answers = test::piece(1, test::frame(1, 2, "")) + test::piece(2, test::frame(99, 2, ""));
  for (const std::string& idle : {empty, answers}) {
    come_up();
    const auto runtime = dials.wires.size() - 1;
    for (int i = 0; i < 10'000 && !dials.wires[runtime]->is_gone; ++i) wire().say(idle);
    EXPECT_TRUE(dials.wires[runtime]->is_gone);
    EXPECT_FALSE(plugin->link().is_up);
    scheduler.advance(Millis{1'000});
  }
}

TEST_F(PluginTest, AHookMayDropThePlugin) {
  come_up();
  hooks.on_call = [this](const Reply&) { plugin.reset(); };
  say(1, test::request(next_stream, "nri.pkg.api.v1alpha1.Plugin", "StopPodSandbox",
                       field(1, test::sandbox("a"))) +
             test::request(next_stream + 2, "nri.pkg.api.v1alpha1.Plugin", "Shutdown", ""));
  EXPECT_TRUE(wire().is_gone);
  scheduler.advance(Millis{60'000});
  EXPECT_EQ(dials.dialed, 1u);
}

TEST(PluginOptionsCheck, NamesOptionsThatARuntimeWouldRefuse) {
  EXPECT_TRUE(check({}).ok());
  EXPECT_TRUE(check({.name = "a_b.c+d-9", .index = "00"}).ok());
  for (const auto& [name, index] : std::vector<std::pair<std::string, std::string>>{
           {"", "42"}, {"a b", "42"}, {"a/b", "42"}, {"a", "4"}, {"a", "123"}, {"a", "x1"}, {"a", ""}})
    EXPECT_FALSE(check({.name = name, .index = index}).ok()) << name << " " << index;
  EXPECT_EQ(check({.index = "7"}).error().what, "NRI_PLUGIN_IDX is \"7\": expected two digits, such as 42");
}

}  // namespace
}  // namespace sliced::nri
