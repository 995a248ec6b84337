#include "policy/readiness/track.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <utility>

#include "t/fixture/vf_host.h"

namespace sliced::policy {
namespace track_test {
namespace {

using namespace std::chrono_literals;
using hotplug::HostDevice;

constexpr const char* kPf = "0000:3b:00.0";
constexpr const char* kVf = "0000:3b:00.1";

Demand demanding(std::initializer_list<Condition> conditions, int mtu = 0) {
  Demand out;
  out.require.reset();
  for (const Condition one : conditions) out.require.set(static_cast<size_t>(one));
  out.mtu_at_least = mtu;
  return out;
}

struct TrackTest : testing::Test {
  TrackTest() {
    host.pf(kPf, "ens1f0", 2);
    host.at(kPf).netdev->oper_state = "up";
    vf().enforced = hotplug::VfConfig{.mac = "02:00:00:00:00:01"};
    vf().netdev->mac = "02:00:00:00:00:01";
    vf().netdev->mtu = 1500;
    vf().netdev->is_initialized = true;
  }
  HostDevice& vf() { return host.at(kVf); }
  hotplug::InventoryPtr inventory() const {
    auto out = std::make_shared<hotplug::Inventory>(*host.inventory());
    out->has_udevd = out->can_query_pfs = true;
    return out;
  }
  void begin(Millis at, const std::set<std::string>& published = {}, bool all = false) {
    book.begin(inventory(), state, published, all, TimePoint(at));
  }
  void look(Millis at) { book.look(inventory(), state, TimePoint(at)); }
  Readied vf_by(const Demand& demand) const { return readied(book.now().at(kVf), demand); }
  bool is_ready(const Demand& demand) const { return vf_by(demand).missing.none(); }

  fixture::VfHost host;
  NodeState state;
  ReadinessBook book;
  const Demand mac = demanding({Condition::kAdminMac});
};

TEST_F(TrackTest, StartsWithTheLastCondition) {
  vf().enforced->mac = "00:00:00:00:00:00";
  begin(10s);
  EXPECT_FALSE(is_ready(mac));
  EXPECT_EQ(vf_by(mac).since, TimePoint(10s));
  vf().enforced->mac = "02:00:00:00:00:01";
  look(20s);
  EXPECT_TRUE(is_ready(mac));
  EXPECT_EQ(vf_by(mac).since, TimePoint(20s));
  EXPECT_EQ(vf_by(demanding({Condition::kDriverBound})).since, TimePoint(10s));
  vf().host_use = "something else";
  look(30s);
  EXPECT_EQ(vf_by(mac).since, TimePoint(20s)) << "what does not concern it changes nothing";
  vf().enforced->mac = "00:00:00:00:00:00";
  look(40s);
  EXPECT_EQ(vf_by(mac).since, TimePoint(40s));
  EXPECT_FALSE(is_ready(mac));
}

TEST_F(TrackTest, RestartsForAReturningDevice) {
  begin(10s);
  const HostDevice before = vf();
  host.remove(kVf);
  look(20s);
  EXPECT_EQ(book.now().find(kVf), nullptr);
  host.at("0000:3b:00.2").vf_index = 1;
  auto back = std::make_shared<hotplug::Inventory>(*inventory());
  back->devices[kVf] = before;
  book.look(back, state, TimePoint(30s));
  EXPECT_EQ(vf_by(mac).since, TimePoint(30s));
  EXPECT_EQ(book.now().at(kVf).born, TimePoint(30s));
}

TEST_F(TrackTest, AnotherInterfaceIsAnotherDevice) {
  begin(10s);
  vf().netdev->ifindex = 4711;
  look(20s);
  EXPECT_EQ(vf_by(mac).since, TimePoint(20s)) << "it was gone for a moment that nobody saw";
}

TEST_F(TrackTest, IsUnchangedWhileTheInterfaceIsInAPod) {
  begin(10s);
  vf().netdev->stale = true;
  vf().enforced->mac = "00:00:00:00:00:00";
  vf().netdev->mtu.reset();
  look(20s);
  EXPECT_TRUE(is_ready(demanding({Condition::kAdminMac, Condition::kAdminMacMatches}, 1500)));
  vf().netdev->stale = false;
  vf().netdev->mtu = 1500;
  vf().netdev->ifindex = 4711;  // another namespace may have had its number
  vf().enforced->mac = "02:00:00:00:00:01";
  look(30s);
  EXPECT_EQ(vf_by(mac).since, TimePoint(10s));
  vf().enforced->mac = "00:00:00:00:00:00";
  look(40s);
  EXPECT_FALSE(is_ready(mac));
}

TEST_F(TrackTest, AReturningInterfaceWaitsForUdev) {
  for (const bool is_held : {false, true}) {
    book = {};
    vf().netdev->ifindex = 100;
    begin(10s);
    if (is_held)
      book.hold(kVf);
    else
      vf().netdev->stale = true;
    look(20s);
    vf().netdev->stale = false;
    vf().netdev->ifindex = 4711;
    vf().netdev->is_initialized = false;
    look(30s);
    EXPECT_EQ(is_ready(Demand{}), is_held) << "one that nobody gave to a pod may be another function's";
    EXPECT_TRUE(vf_by(Demand{}).lost.none());
    vf().netdev->is_initialized = true;
    look(31s);
    EXPECT_TRUE(is_ready(Demand{}));
    EXPECT_EQ(vf_by(Demand{}).since, TimePoint(is_held ? 10s : 31s));
    vf().netdev->is_initialized = false;
    look(32s);
    EXPECT_FALSE(is_ready(Demand{})) << "what it loses now it loses here";
    vf().netdev->is_initialized = true;
  }
}

// Where events were lost a function may be replaced while its interface is thought to be away. Red when udevd's word of the
// one that left is taken for the other's.
TEST_F(TrackTest, UdevsEventConcernsTheInterfaceThatLeft) {
  const Demand both = demanding({Condition::kUdevInitialized, Condition::kAdminMac});
  for (const bool is_same : {false, true}) {
    book = {};
    vf().netdev->stale = false;
    vf().netdev->ifindex = 7;
    vf().netdev->is_initialized = true;
    begin(10s);
    vf().netdev->stale = true;
    vf().netdev->is_initialized.reset();
    look(20s);
    EXPECT_TRUE(is_ready(both));
    vf().netdev->stale = false;
    vf().netdev->ifindex = is_same ? 7 : 9;
    vf().netdev->is_initialized = false;
    look(30s);
    EXPECT_EQ(is_ready(both), is_same);
    EXPECT_TRUE(vf_by(both).lost.none()) << "it takes away nothing that stands";
    EXPECT_LT(vf_by(both).intact_since, TimePoint(20s));
    look(35s);
    vf().netdev->mtu = 9000;
    look(40s);
    EXPECT_EQ(is_ready(both), is_same);
    vf().netdev->is_initialized = true;
    look(50s);
    EXPECT_TRUE(is_ready(both));
    EXPECT_EQ(vf_by(both).since, TimePoint(is_same ? 10s : 50s));
    vf().netdev->mtu = 1500;
  }
}

TEST_F(TrackTest, WaitsForUdevForAnInterfaceAbsentAtTheStart) {
  vf().netdev.reset();
  begin(10s, {kVf});
  EXPECT_TRUE(is_ready(demanding({Condition::kUdevInitialized})));
  vf().netdev = hotplug::Netdev{.name = "x", .ifindex = 9, .is_initialized = false};
  look(20s);
  EXPECT_FALSE(is_ready(demanding({Condition::kUdevInitialized})));
  EXPECT_TRUE(vf_by(demanding({Condition::kUdevInitialized})).lost.none());
}

TEST_F(TrackTest, PublishedDevicesCountAsReadyAtTheStart) {
  host.at("0000:3b:00.2").enforced = hotplug::VfConfig{.mac = "02:00:00:00:00:02"};
  begin(10s, {kVf});
  EXPECT_EQ(vf_by(mac).since, kUnknownStart) << "what stands has been ready";
  EXPECT_EQ(readied(book.now().at("0000:3b:00.2"), mac).since, TimePoint(10s));
  vf().enforced->mac = "00:00:00:00:00:00";
  look(20s);
  vf().enforced->mac = "02:00:00:00:00:01";
  look(30s);
  EXPECT_EQ(vf_by(mac).since, TimePoint(30s)) << "what it lost it has lost";
}

TEST_F(TrackTest, UsesPublishedEntriesAsTheyAreAtTheStart) {
  vf().enforced->mac = "00:00:00:00:00:00";
  begin(10s, {kVf});
  EXPECT_FALSE(is_ready(mac));
  ReadinessBook other;
  vf().netdev->stale = true;
  other.begin(inventory(), state, {kVf}, false, TimePoint(10s));
  EXPECT_TRUE(readied(other.now().at(kVf), demanding({Condition::kAdminMac, Condition::kNodeState}, 9000))
                  .missing.none())
      << "a pod has it: nobody can tell what it was";
  ReadinessBook unpublished;
  unpublished.begin(inventory(), state, {}, false, TimePoint(10s));
  EXPECT_FALSE(readied(unpublished.now().at(kVf), mac).missing.none());
}

TEST_F(TrackTest, TreatsAMissingInterfaceAsInAPodAtTheStart) {
  const auto netdev = vf().netdev;
  vf().netdev.reset();
  begin(10s, {kVf});
  EXPECT_TRUE(is_ready(demanding({Condition::kNetdev, Condition::kUdevInitialized}, 9000)));
  vf().host_use = "anything";
  look(20s);
  EXPECT_TRUE(is_ready(demanding({Condition::kNetdev})));
  vf().netdev = netdev;
  vf().netdev->is_initialized = false;
  look(30s);
  EXPECT_TRUE(is_ready(demanding({Condition::kNetdev}))) << "it is coming back";
  EXPECT_FALSE(is_ready(demanding({Condition::kUdevInitialized}))) << "as which one nobody knows";
  EXPECT_TRUE(vf_by(Demand{}).lost.none());
  vf().netdev->is_initialized = true;
  look(40s);
  EXPECT_EQ(vf_by(Demand{}).since, TimePoint(40s));
  EXPECT_EQ(vf_by(Demand{}).intact_since, kUnknownStart);
  EXPECT_FALSE(is_ready(demanding({}, 9000)));
}

// Red when an interface that is made just after the start counts as one that comes back, and so as finished.
TEST_F(TrackTest, AnUnpublishedDeviceMayLackItsInterfaceAtTheStart) {
  const auto netdev = std::exchange(vf().netdev, {});
  begin(10s);
  vf().netdev = netdev;
  vf().netdev->is_initialized = false;
  look(20s);
  EXPECT_FALSE(is_ready(Demand{}));
  vf().netdev->is_initialized = true;
  look(30s);
  EXPECT_EQ(vf_by(Demand{}).since, TimePoint(30s));
}

TEST_F(TrackTest, ANewDeviceWithoutInterfaceMayStillCreateIt) {
  const HostDevice whole = vf();
  host.remove(kVf);
  begin(10s);
  auto host_now = std::make_shared<hotplug::Inventory>(*inventory());
  host_now->devices[kVf] = whole;
  host_now->devices.at(kVf).netdev.reset();
  book.look(host_now, state, TimePoint(20s));
  auto later = std::make_shared<hotplug::Inventory>(*host_now);
  later->devices.at(kVf).netdev = whole.netdev;
  later->devices.at(kVf).netdev->is_initialized = false;
  book.look(later, state, TimePoint(30s));
  EXPECT_FALSE(is_ready(Demand{})) << "half made";
}

TEST_F(TrackTest, KeepsFactsThatThePfNoLongerReports) {
  begin(10s);
  const auto told = vf().enforced;
  vf().enforced.reset();
  look(20s);
  EXPECT_EQ(vf_by(mac).since, TimePoint(10s));
  EXPECT_TRUE(is_ready(mac));
  vf().enforced = told;
  vf().enforced->mac = "00:00:00:00:00:00";
  look(30s);
  vf().enforced.reset();
  look(40s);
  EXPECT_FALSE(is_ready(mac));
  ReadinessBook started;
  started.begin(inventory(), state, {kVf}, false, TimePoint(10s));
  EXPECT_TRUE(readied(started.now().at(kVf), mac).missing.none()) << "it stands, and nobody can ask";
  ReadinessBook fresh;
  fresh.begin(inventory(), state, {}, false, TimePoint(10s));
  EXPECT_FALSE(readied(fresh.now().at(kVf), mac).missing.none());
}

// Red when what it was before it had another driver goes on: for good where it is nobody's word now, or as if the PF had
// told it.
TEST_F(TrackTest, DropsFactsThatThePfNeverReported) {
  const auto told = vf().enforced;
  vf().enforced.reset();
  vf().driver.clear();
  begin(10s);
  EXPECT_FALSE(is_ready(mac));
  const auto netdev = std::exchange(vf().netdev, {});
  vf().driver = "vfio-pci";
  look(20s);
  EXPECT_TRUE(is_ready(mac)) << "it is not for it";
  EXPECT_EQ(vf_by(mac).since, TimePoint(20s));
  vf().driver = "iavf";
  vf().netdev = netdev;
  look(30s);
  EXPECT_FALSE(is_ready(mac)) << "nobody has told";
  vf().enforced = told;
  look(40s);
  vf().enforced.reset();
  look(50s);
  EXPECT_TRUE(is_ready(mac));
}

// Published entries count as ready when the daemon starts. Red when that assumption counts as a reading.
TEST_F(TrackTest, AnAssumedFactIsNotObserved) {
  const auto seen = [](const ReadinessBook& one, const Demand& demand) {
    return readied(one.now().at(kVf).without_assumptions(), demand);
  };
  const auto told = vf().enforced;
  vf().enforced.reset();
  begin(10s, {kVf});
  EXPECT_TRUE(is_ready(mac));
  EXPECT_TRUE(book.is_any_assumed());
  EXPECT_TRUE(has(seen(book, mac).missing, Condition::kAdminMac));
  EXPECT_EQ(seen(book, demanding({Condition::kDriverBound})).since, TimePoint(10s));
  vf().enforced = told;
  look(20s);
  EXPECT_FALSE(book.is_any_assumed());
  EXPECT_EQ(vf_by(mac).since, kUnknownStart);
  EXPECT_EQ(seen(book, mac).since, TimePoint(20s)) << "by now it is seen";
  look(30s);
  EXPECT_EQ(seen(book, mac).since, TimePoint(20s));

  ReadinessBook away;
  vf().netdev->stale = true;
  away.begin(inventory(), state, {kVf}, false, TimePoint(10s));
  const Demand much = demanding({Condition::kNodeState}, 9000);
  EXPECT_TRUE(readied(away.now().at(kVf), much).missing.none());
  EXPECT_EQ(seen(away, much).missing.count(), 2u);

  ReadinessBook fresh;
  fresh.begin(inventory(), state, {}, false, TimePoint(10s));
  EXPECT_FALSE(fresh.is_any_assumed());
  EXPECT_EQ(fresh.now().at(kVf).without_assumptions(), fresh.now().at(kVf));
}

TEST_F(TrackTest, AOneShotCommandTreatsEverythingAsOld) {
  begin(10s, {}, true);
  EXPECT_EQ(vf_by(mac).since, kUnknownStart);
}

TEST_F(TrackTest, ComparesANodeStateAgain) {
  const Demand in_sync = demanding({Condition::kNodeState});
  begin(10s);
  EXPECT_FALSE(is_ready(in_sync));
  state.is_known = true;
  look(20s);
  EXPECT_TRUE(is_ready(in_sync));
  EXPECT_EQ(vf_by(in_sync).since, TimePoint(20s));
  state.out_of_sync[kPf] = "mtu";
  look(30s);
  EXPECT_FALSE(is_ready(in_sync));
}

TEST_F(TrackTest, DetectsALateUdev) {
  vf().netdev->is_initialized = false;
  auto without = std::make_shared<hotplug::Inventory>(*inventory());
  without->has_udevd = false;
  book.begin(without, state, {}, false, TimePoint(10s));
  EXPECT_TRUE(is_ready(Demand{}));
  look(20s);
  EXPECT_FALSE(is_ready(Demand{}));
}

// Against the whole history: since when has the MTU been at least that?
// Red when only changed devices are examined: the VF's own facts are the same.
TEST_F(TrackTest, AVfFollowsTheLinkOfItsPf) {
  const Demand carrier = demanding({Condition::kCarrier});
  const auto pf = [this]() -> hotplug::Netdev& {
    return *host.at(kPf).netdev;
  };  // inventories share unchanged devices
  begin(10s);
  EXPECT_TRUE(is_ready(carrier));
  pf().oper_state = "down";
  look(20s);
  EXPECT_FALSE(is_ready(carrier));
  EXPECT_EQ(vf_by(carrier).since, TimePoint(20s));
  pf().oper_state = "";
  look(25s);
  EXPECT_FALSE(is_ready(carrier)) << "what cannot be read is not met";
  pf().oper_state = "up";
  look(30s);
  EXPECT_TRUE(is_ready(carrier));
  EXPECT_EQ(vf_by(carrier).since, TimePoint(30s));
  pf().oper_state = "", pf().stale = true;
  look(40s);
  EXPECT_TRUE(is_ready(carrier)) << "the PF's interface is elsewhere: as it was";
  host.at(kPf).netdev.reset();
  look(50s);
  EXPECT_FALSE(is_ready(carrier)) << "the PF has lost its driver";
}

TEST_F(TrackTest, AnUnknownLinkIsUpOnlyForPublishedEntriesAtTheStart) {
  const Demand carrier = demanding({Condition::kCarrier});
  host.at(kPf).netdev->oper_state.clear();
  begin(10s, {kVf});
  EXPECT_TRUE(is_ready(carrier));
  EXPECT_TRUE(has(book.now().at(kVf).assumed, Condition::kCarrier));
  book = {};
  begin(10s);
  EXPECT_FALSE(is_ready(carrier));
}

TEST(Damping, DoublesUpToALimit) {
  const std::pair<int, Millis> rows[] = {{0, 0s}, {1, 0s},  {2, 1s},  {3, 2s},    {4, 4s},
                                         {5, 8s}, {6, 16s}, {7, 30s}, {100, 30s}, {1'000'000, 30s}};
  for (const auto& [losses, wait] : rows) EXPECT_EQ(damping(losses), wait) << losses;
}

TEST_F(TrackTest, AFlappingConditionWaitsLonger) {
  const auto lose = [&](Millis at) { vf().enforced->mac = "00:00:00:00:00:00", look(at); };
  const auto regain = [&](Millis at) { vf().enforced->mac = "02:00:00:00:00:01", look(at); };
  begin(10s);
  lose(100s), regain(101s);
  EXPECT_EQ(vf_by(mac).calm_at, kUnknownStart) << "once is not flapping";
  lose(102s), regain(103s);
  EXPECT_EQ(vf_by(mac).calm_at, TimePoint(104s));
  EXPECT_EQ(vf_by(mac).flapping, Condition::kAdminMac);
  vf().netdev->ifindex = 77;
  look(103s);
  lose(104s), regain(105s);
  EXPECT_EQ(vf_by(mac).calm_at, TimePoint(107s)) << "another interface does not make it calm";
  EXPECT_EQ(vf_by(demanding({Condition::kNetdev})).calm_at, kUnknownStart) << "that is another condition";
  lose(164s), regain(165s);
  EXPECT_EQ(vf_by(mac).losses, 4) << "59 s are no calm";
  lose(225s), regain(226s);
  EXPECT_EQ(vf_by(mac).calm_at, kUnknownStart) << "60 s are";
  for (int i = 0; i < 300; ++i) lose(300s + i * 100ms), regain(300s + i * 100ms + 50ms);
  EXPECT_EQ(vf_by(mac).calm_at, vf_by(mac).since + kDampingMax);
}

TEST_F(TrackTest, EachMtuHasItsOwnTime) {
  std::mt19937 dice(7);
  for (int round = 0; round < 200; ++round) {
    book = {};
    vf().netdev->mtu = 1500;
    begin(0ms);
    std::deque<std::pair<Millis, int>> history{{0ms, 1500}};
    for (int step = 1; step < 30; ++step) {
      const int mtu = static_cast<int>(dice() % 6) * 1000;
      vf().netdev->mtu = mtu;
      look(Millis(step * 10));
      history.emplace_back(Millis(step * 10), mtu);
    }
    for (const int wanted : {1, 1000, 1500, 2000, 3000, 4000, 5000}) {
      const Readied found = vf_by(demanding({}, wanted));
      ASSERT_EQ(found.missing.none(), history.back().second >= wanted);
      if (found.missing.any()) continue;
      Millis since{0};
      for (size_t i = history.size(); i-- > 0 && history[i].second >= wanted;) since = history[i].first;
      ASSERT_EQ(found.since, TimePoint(since)) << "round " << round << ", expected " << wanted;
    }
    ASSERT_LE(book.now().at(kVf).lows.size(), 8u);
  }
}

TEST_F(TrackTest, ForgetsManyMtusSafely) {
  begin(0ms);
  for (int step = 1; step <= 40; ++step) {
    vf().netdev->mtu = 2000 + step;
    look(Millis(step));
  }
  EXPECT_LE(book.now().at(kVf).lows.size(), 8u);
  EXPECT_EQ(vf_by(demanding({}, 2040)).since, TimePoint(40ms));
  EXPECT_GE(vf_by(demanding({}, 2001)).since, TimePoint(1ms));
}

}  // namespace
}  // namespace track_test
}  // namespace sliced::policy
