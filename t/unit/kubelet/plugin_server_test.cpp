#include "kubelet/plugin_server.h"

#include <gtest/gtest.h>

#include "kubelet/messages.h"
#include "kubelet/registration.h"
#include "t/unit/kubelet/plugin_world.h"

namespace sliced::kubelet {
namespace {

using namespace std::chrono_literals;

const std::string kV1 = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/";
const std::string kV1Beta1 = "/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/";

struct PluginWorld : KubeletWorld {
  PluginWorld() { serve(plugin_methods("d.example", preparer, health)); }
  ~PluginWorld() {
    preparer.prepares.clear();
    preparer.unprepares.clear();
    server.reset();
  }
  AskedPreparer preparer;
  HealthStreams health{{time, [this] { return judged; }, [] { return int64_t{1700000000}; }}};
  std::vector<DeviceHealth> judged = {{"p", "a", ""}};
};

TEST(KubeletPluginServer, AnswersEachClaimInOrder) {
  PluginWorld world;
  const uint32_t stream =
      world.call(kV1 + "NodePrepareResources", claim("ns", "u1", "a") + claim("ns", "u2", "b"));
  ASSERT_EQ(world.preparer.prepares.size(), 2u) << "both at once";
  EXPECT_EQ(world.preparer.prepares[0].driver, "d.example");
  EXPECT_EQ(world.preparer.prepares[0].claim, (PrepareRequest{.namespace_ = "ns", .name = "a", .uid = "u1"}));
  const PrepareAnswer good{
      .devices = {
          {.request_names = {"r"}, .pool = "p", .device = "x", .cdi_ids = {"v/c=x"}, .share_id = "s"}}};
  world.preparer.prepares[1].done(good);
  EXPECT_EQ(world.status(stream), "") << "one is missing";
  world.preparer.prepares[0].done({.error = "no"});
  EXPECT_EQ(world.status(stream), "0");
  EXPECT_EQ(world.messages(stream),
            std::vector{encode_prepared({{"u1", {.error = "no"}}, {"u2", good}}, DraVersion::kV1)});
}

TEST(KubeletPluginServer, TheOlderVersionIsEqualWithoutShares) {
  PluginWorld world;
  const uint32_t stream = world.call(kV1Beta1 + "NodePrepareResources", claim("ns", "u1", "a"));
  const PrepareAnswer good{.devices = {{.pool = "p", .device = "x", .share_id = "s"}}};
  world.preparer.prepares.at(0).done(good);
  EXPECT_EQ(world.messages(stream), std::vector{encode_prepared({{"u1", good}}, DraVersion::kV1Beta1)});
  const uint32_t back = world.call(kV1Beta1 + "NodeUnprepareResources", claim("ns", "u1", "a"));
  world.preparer.unprepares.at(0).done("busy");
  EXPECT_EQ(world.messages(back), std::vector{encode_unprepared({{"u1", "busy"}})});
}

TEST(KubeletPluginServer, RefusesInvalidCalls) {
  PluginWorld world;
  const uint32_t garbage = world.call(kV1 + "NodeUnprepareResources", "\xff\xff");
  EXPECT_EQ(world.status(garbage).substr(0, 2), "3 ");
  std::string many;
  for (int i = 0; i < 1'000; ++i) many += claim("ns", "u" + std::to_string(i), "a");
  EXPECT_EQ(world.status(world.call(kV1 + "NodePrepareResources", many)),
            "8 1000 claims in one call; at most 512 are taken");
  EXPECT_TRUE(world.preparer.prepares.empty() && world.preparer.unprepares.empty());
  const uint32_t none = world.call(kV1 + "NodePrepareResources", "");
  EXPECT_EQ(world.status(none), "0") << "no claim, no answer, no error";
  EXPECT_EQ(world.status(world.call("/k8s.io.kubelet.pkg.apis.dra.v1alpha3.Node/NodePrepareResources", ""))
                .substr(0, 3),
            "12 ");
}

TEST(KubeletPluginServer, AnswersAnInvalidClaimAndContinues) {
  PluginWorld world;
  const std::string claims = claim("ns", "../x", "a") + claim("ns", "u1", "a") + claim("ns", "u2", "b/c");
  const std::string uid = "claims[0].uid: \"../x\" is not a UID";
  const std::string name = "claims[2].name: \"b/c\" is not a name of a ResourceClaim";
  const uint32_t prepare = world.call(kV1 + "NodePrepareResources", claims);
  ASSERT_EQ(world.preparer.prepares.size(), 1u);
  world.preparer.prepares[0].done({});
  EXPECT_EQ(world.messages(prepare),
            std::vector{encode_prepared({{"../x", {.error = uid}}, {"u1", {}}, {"u2", {.error = name}}},
                                        DraVersion::kV1)});
  const uint32_t unprepare = world.call(kV1 + "NodeUnprepareResources", claims);
  ASSERT_EQ(world.preparer.unprepares.size(), 1u);
  world.preparer.unprepares[0].done("");
  EXPECT_EQ(world.messages(unprepare),
            std::vector{encode_unprepared({{"../x", uid}, {"u1", ""}, {"u2", name}})});
  const uint32_t alone = world.call(kV1 + "NodePrepareResources", claim("ns", "", "a"));
  EXPECT_EQ(
      world.messages(alone),
      std::vector{encode_prepared({{"", {.error = "claims[0].uid: \"\" is not a UID"}}}, DraVersion::kV1)});
}

TEST(KubeletPluginServer, AnAbandonedOrSlowPrepareIsAnError) {
  PluginWorld world;
  const uint32_t late = world.call(kV1 + "NodePrepareResources", claim("ns", "u1", "a"), "90S");
  world.client->live(45s);
  EXPECT_EQ(world.status(late), "4 no answer within 45000 ms");
  world.preparer.prepares.at(0).done({});
  const uint32_t dropped =
      world.call(kV1 + "NodePrepareResources", claim("ns", "u1", "a") + claim("ns", "u2", "a"));
  world.preparer.prepares.clear();
  EXPECT_EQ(world.status(dropped), "13 the call was given up without an answer");
}

TEST(KubeletPluginServer, AnswersRegistrationImmediately) {
  KubeletWorld world;
  std::vector<RegistrationStatus> told;
  world.serve(registration_methods("d.example", "/k/dra.sock",
                                   [&](const RegistrationStatus& status) { told.push_back(status); }));
  const uint32_t info = world.call("/pluginregistration.Registration/GetInfo", "", "1S");
  EXPECT_EQ(world.messages(info),
            std::vector{encode_plugin_info({"DRAPlugin", "d.example", "/k/dra.sock", supported_versions()})});
  EXPECT_EQ(supported_versions()[0], "v1.DRAPlugin") << "the kubelet takes the first that it knows";
  const uint32_t notified =
      world.call("/pluginregistration.Registration/NotifyRegistrationStatus", field(1, 1), "5S");
  EXPECT_EQ(world.status(notified), "0");
  EXPECT_EQ(told, std::vector{RegistrationStatus{.is_registered = true}});
  world.call("/pluginregistration.Registration/NotifyRegistrationStatus", field(2, "version"), "5S");
  EXPECT_EQ(told.back().error, "version");
  EXPECT_EQ(world.status(world.call("/pluginregistration.Registration/NotifyRegistrationStatus", "\x0a"))
                .substr(0, 2),
            "3 ");
  EXPECT_EQ(told.size(), 2u);
}

TEST(KubeletPluginServer, SendsHealthImmediatelyOnAChangeAndPeriodically) {
  for (const char* path :
       {"/v1.DRAResourceHealth/NodeWatchResources", "/v1alpha1.DRAResourceHealth/NodeWatchResources"}) {
    PluginWorld world;
    const uint32_t stream = world.call(path, "", "99999999M");
    const auto said = [&] { return encode_health(world.judged, 1700000000, kHealthOutdatedAfter); };
    EXPECT_EQ(world.messages(stream), std::vector{said()});
    world.health.look();
    world.pass(1s);
    EXPECT_EQ(world.messages(stream).size(), 1u) << "nothing has changed";
    world.judged = {{"p", "a", "gone"}};
    world.health.look();
    world.pass(kHealthSettle);
    EXPECT_EQ(world.messages(stream).back(), said());
    world.client->live(kHealthRepeat);
    EXPECT_EQ(world.messages(stream).size(), 3u) << "else the kubelet would not know any more";
    EXPECT_LT(kHealthRepeat, kHealthOutdatedAfter / 2);
  }
}

TEST(KubeletPluginServer, BoundsWatchesOfHealth) {
  PluginWorld world;
  std::vector<uint32_t> streams;
  for (size_t i = 0; i <= kHealthStreamsMax; ++i)
    streams.push_back(world.call("/v1.DRAResourceHealth/NodeWatchResources", ""));
  EXPECT_EQ(world.status(streams.back()).substr(0, 2), "8 ");
  world.client->say(fake::reset_frame(streams[0], NGHTTP2_CANCEL));
  EXPECT_EQ(world.status(world.call("/v1.DRAResourceHealth/NodeWatchResources", "")), "")
      << "there is room again";
}

TEST(KubeletPluginServer, ASlowWatchReceivesTheCurrentHealth) {
  PluginWorld world;
  world.judged.assign(3'000, {"pool", std::string(60, 'd'), ""});  // more than a client's window
  const uint32_t stream = world.call("/v1.DRAResourceHealth/NodeWatchResources", "", "99999999M");
  for (int i = 0; i < 5; ++i) {
    world.judged[0].trouble = std::to_string(i);
    world.health.look();
    world.pass(1s);
  }
  world.client->say(fake::window_frame(0, 64 << 20) + fake::window_frame(stream, 64 << 20));
  world.pass(2s);
  const auto heard = world.messages(stream);
  ASSERT_EQ(heard.size(), 2u) << "not what was true in between";
  EXPECT_EQ(heard.back(), encode_health(world.judged, 1700000000, kHealthOutdatedAfter));
}

}  // namespace
}  // namespace sliced::kubelet
