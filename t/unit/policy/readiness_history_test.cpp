// Random histories of one VF: it meets and loses its readiness conditions, disappears, returns as another
// device, its policy is edited and deleted, and the daemon restarts. Each decision is compared with the whole
// history, which the test stores.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>
#include <set>

#include "kube/objects/yaml.h"
#include "policy/decide.h"
#include "policy/exposure/decode_policy.h"
#include "policy/readiness/conditions.h"
#include "policy/readiness/decode_readiness.h"
#include "policy/readiness/track.h"
#include "t/fixture/vf_host.h"

namespace sliced::policy {
namespace readiness_history_test {
namespace {

using namespace std::chrono_literals;

constexpr int kHistories = 600, kSteps = 60;
constexpr const char* kPf = "0000:3b:00.0";
constexpr const char* kVf = "0000:3b:00.1";
constexpr int kMtus[] = {1400, 9000};

// "" no policy is there.
constexpr const char* kReadinesses[] = {"",
                                        "{}",
                                        "{require: []}",
                                        "{require: [adminMac]}",
                                        "{require: [adminMac], stableFor: 2s}",
                                        "{require: [adminMac, driverBound], stableFor: 5s, onLoss: keep}",
                                        "{require: [adminMac], onLoss: keep}",
                                        "{require: [adminMac], onLoss: taint}",
                                        "{require: [adminMac], onLoss: taint, stableFor: 3s}",
                                        "{require: [], mtuAtLeast: 9000}",
                                        "{require: [], mtuAtLeast: 9000, stableFor: 4s}",
                                        "{require: [], mtuAtLeast: 1400, stableFor: 4s, onLoss: keep}",
                                        "{require: [], stableFor: 3s}",
                                        "{require: [adminMacMatches, nodeState], stableFor: 1s}",
                                        "{require: [nodeState], onLoss: keep}",
                                        "{require: [carrier]}",
                                        "{require: [carrier, adminMac], stableFor: 2s}",
                                        "{require: [carrier], onLoss: taint}",
                                        "{require: [netdev, udevInitialized], stableFor: 2s}"};

constexpr const char* kOffers[] = {
    R"({apiVersion: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1, kind: SriovResourcePolicy, metadata: {name: p,
 namespace: ns}, spec: {readiness: READINESS, configs: [{resourceName: r, resourceFilters: [{pciAddresses: ["0000:3b:00.1"]}]}]}})",
    R"({apiVersion: networking.dra.io/v1alpha1, kind: DeviceExposurePolicy, metadata: {name: e}, spec: {readiness: READINESS,
 selector: {cel: 'device.attributes["dra.networking"].pciAddress == "0000:3b:00.1"'}, exposure: {deviceNameSuffix: "-x"}}})"};

PolicySetPtr policies_of(bool is_sriov, const std::string& readiness) {
  if (readiness.empty()) return std::make_shared<const PolicySet>();
  std::string text = kOffers[is_sriov ? 0 : 1];
  text.replace(text.find("READINESS"), 9, readiness);
  const kube::Json object = kube::decode_yaml(text).documents.at(0);
  if (is_sriov)
    return std::make_shared<const PolicySet>(
        make_policy_set(share(std::vector{decode_sriov_policy(object)}), {}));
  auto policy =
      decode_exposure_policy(object, std::string(kExposureDriver), kube::decode_object_meta(object));
  return std::make_shared<const PolicySet>(make_policy_set({}, {}, share(std::vector{std::move(policy)})));
}

Demand demand_in(const std::string& readiness) {
  Problems problems;
  const auto yaml = kube::decode_yaml(readiness);
  return demand_of(decode_readiness(&yaml.documents.at(0), "", problems), {});
}

// Since when something has been so without a break, and how often it was lost without a minute of calm between.
struct Held {
  bool is_met = false;
  TimePoint since = kUnknownStart;
  size_t losses = 0;
  void see(bool met, TimePoint now, bool is_new) {
    if (is_met && !met) losses = since <= now - 60s ? 1 : losses + 1;
    if (is_new || met != is_met) since = now;
    is_met = met;
  }
  TimePoint calm_at() const {
    constexpr std::array<Millis, 7> kWaits = {0s, 0s, 1s, 2s, 4s, 8s, 16s};
    return losses < 2 ? kUnknownStart : since + (losses < kWaits.size() ? kWaits[losses] : Millis(30s));
  }
};

// What a demand finds in the past.
struct Past {
  TimePoint born = kUnknownStart;
  std::array<Held, kConditionCount> conditions;
  std::map<int, Held> mtus;

  struct Found {
    bool is_ready = true, is_lost = false, is_damped = false;
    TimePoint intact_since = kUnknownStart;  // while nothing is lost
  };
  Found find(const Demand& demand, TimePoint now) const {
    Found out{.is_ready = born + demand.stable_for <= now, .intact_since = born};
    for (size_t i = 0; i < kConditionCount; ++i) {
      if (!demand.conditions().test(i)) continue;
      const auto condition = static_cast<Condition>(i);
      const Held& held = condition == Condition::kMtuAtLeast ? mtus.at(demand.mtu_at_least) : conditions[i];
      out.is_ready &= held.is_met && held.since + demand.stable_for <= now;
      if (condition == Condition::kUdevInitialized) continue;
      out.is_lost |= !held.is_met;
      out.is_damped |= held.is_met && held.calm_at() > now;
      out.intact_since = std::max(out.intact_since, held.since);
    }
    out.is_ready &= !out.is_damped;
    return out;
  }
  void see(const Subject& subject, TimePoint now, bool is_new) {
    if (is_new) born = now;
    for (size_t i = 0; i + 1 < kConditionCount; ++i)
      conditions[i].see(find_condition(static_cast<Condition>(i), subject, 0).counts_as_met(), now, is_new);
    for (const int mtu : kMtus) mtus[mtu].see(find_mtu(subject, mtu).counts_as_met(), now, is_new);
  }
  // The former process' state is unknown; published entries count as ready ever since.
  void forget(TimePoint since) {
    born = since;
    for (Held& one : conditions) one.since = since;
    for (auto& [mtu, one] : mtus) one.since = since;
    forget_losses();
  }
  void forget_losses() {
    for (Held& one : conditions) one.losses = 0;
    for (auto& [mtu, one] : mtus) one.losses = 0;
  }
};

class History {
 public:
  explicit History(unsigned seed) : dice_(seed), is_sriov_(seed % 2 == 0) {
    host_.pf(kPf, "ens1f0", 2);
    vf().enforced = hotplug::VfConfig{.mac = "02:00:00:00:00:01"};
    vf().netdev->mac = "02:00:00:00:00:01";
    vf().netdev->mtu = 9000;
    vf().netdev->is_initialized = true;
    host_.at(kPf).netdev->oper_state = "up";
    state_.is_known = true;
    start(true);
  }

  void step() {
    now_ += Millis(below(4) == 0 ? 0 : below(3'000));
    bool is_new = false, starts = false;
    happen(is_new, starts);
    const auto inventory = seen();
    if (starts) return start(is_new);
    book_.look(inventory, state_, now_);
    if (is_there_) past_.see({*inventory->find(kVf), *inventory, state_}, now_, is_new);
  }

  // Compares with the past, most of the time: simultaneous changes are one decision.
  void decide() {
    if (below(3) == 0) return;
    in_.inventory = seen();
    in_.node_state = state_;
    in_.policies = policies_of(is_sriov_, readiness_);
    in_.tracks = book_.now();
    in_.now = now_;
    const Decision decision = policy::decide(std::make_shared<const Inputs>(in_));
    judge(decision);
    in_.before = std::make_shared<const DesiredPools>(decision.pools);
    in_.before_at = now_;
  }
  const std::string& told() const { return told_; }
  size_t added = 0, stood = 0, damped = 0;

 private:
  hotplug::HostDevice& vf() { return host_.at(kVf); }
  int below(int end) { return std::uniform_int_distribution<int>(0, end - 1)(dice_); }
  hotplug::InventoryPtr seen() const {
    auto out = std::make_shared<hotplug::Inventory>(*host_.inventory());
    out->has_udevd = out->can_query_pfs = true;
    return out;
  }

  void happen(bool& is_new, bool& starts) {
    const int what = below(11);
    if (what == 0) readiness_ = kReadinesses[below(std::size(kReadinesses))];
    if (what == 1) starts = true;
    if (what == 2) state_.is_known = below(2) == 0;
    if (what == 3) is_new = come_or_go();
    told_ += " " + std::to_string(what) + (what == 0 ? readiness_ : "") + "@" +
             std::to_string(now_.time_since_epoch().count());
    if (what == 10) flap([this] { host_.at(kPf).netdev->oper_state = below(2) == 0 ? "down" : "up"; });
    if (!is_there_) return;
    if (what == 4)
      flap([this] { vf().enforced->mac = below(2) == 0 ? "00:00:00:00:00:00" : "02:00:00:00:00:01"; });
    if (what == 5) vf().netdev->mtu = below(2) == 0 ? 1500 : 9000;
    if (what == 6) vf().driver = below(2) == 0 ? "" : "iavf";
    if (what == 7) vf().netdev->is_initialized = below(2) == 0;
    if (what == 8) vf().netdev->mac = below(2) == 0 ? "02:00:00:00:00:02" : "02:00:00:00:00:01";
    if (what == 9) vf().netdev->ifindex = ++ifindex_, is_new = true;
  }
  // Several changes, each seen and none decided of.
  template <class Change>
  void flap(Change change) {
    for (int more = below(3) == 0 ? below(12) : 0; more > 0; --more) {
      change();
      now_ += Millis(below(200));
      const auto inventory = seen();
      book_.look(inventory, state_, now_);
      if (is_there_) past_.see({*inventory->find(kVf), *inventory, state_}, now_, false);
    }
    change();
  }
  bool come_or_go() {
    if (is_there_)
      gone_ = vf(), host_.remove(kVf);
    else
      host_.add(gone_), past_.forget_losses(), past_.conditions = {}, past_.mtus.clear();
    return is_there_ = !is_there_;
  }
  // Of a daemon.
  void start(bool is_new) {
    const auto inventory = seen();
    book_ = ReadinessBook();
    std::set<std::string> published;
    if (!standing_.empty()) published.insert(kVf);
    book_.begin(inventory, state_, published, /*all=*/false, now_);
    in_.before = nullptr;
    in_.before_at.reset();
    (is_sriov_ ? in_.published.sriov : in_.published.exposure) = standing_;
    if (!is_there_) return;
    past_.see({*inventory->find(kVf), *inventory, state_}, now_, is_new);
    past_.forget(standing_.empty() ? now_ : kUnknownStart);
  }

  void judge(const Decision& decision) {
    std::set<std::string> entries;
    bool is_tainted = false;
    for (const auto& [driver, pools] : decision.pools)
      for (const DesiredPool& pool : pools)
        for (const kube::DevicePtr& device : pool.devices)
          entries.insert(device->name), is_tainted |= !device->taints.empty();
    const Demand demand = readiness_.empty() ? Demand{} : demand_in(readiness_);
    const auto found = past_.find(demand, now_);
    const bool may_be = is_there_ && !readiness_.empty();
    told_ += entries.empty() ? " []" : " [x]";
    ASSERT_TRUE(may_be || entries.empty()) << told_;
    if (!may_be) return void(standing_ = entries);
    const bool is_ready = found.is_ready;
    const bool is_added = !entries.empty() && standing_.empty();
    ASSERT_FALSE(is_ready && entries.empty()) << "what is ready is offered:" << told_;
    ASSERT_FALSE(is_added && !is_ready) << "added:" << told_;
    const bool is_another = in_.before_at && past_.born > *in_.before_at;
    ASSERT_FALSE(!entries.empty() && is_another && !is_ready) << "another one stays:" << told_;
    ASSERT_FALSE(entries.empty() && !standing_.empty() && may_stay(demand, found))
        << "what stands is withdrawn:" << told_;
    if (!entries.empty() && found.is_lost) {
      ASSERT_NE(demand.on_loss, OnLoss::kWithdraw) << "lost, and stays:" << told_;
      ASSERT_EQ(is_tainted, demand.on_loss == OnLoss::kTaint) << told_;
    }
    if (!entries.empty() && !standing_.empty() && demand.on_loss == OnLoss::kTaint && found.is_damped) {
      ASSERT_TRUE(is_tainted) << "it flaps, and lost its taint:" << told_;
    }
    damped += found.is_damped && entries.empty() ? 1 : 0;
    (standing_.empty() ? added : stood) += entries.size();
    standing_ = std::move(entries);
  }

  // By what stands: the same device still, and what it has lost since the decision before is no reason to let it go.
  bool may_stay(const Demand& demand, const Past::Found& found) const {
    const auto was_so = [&](TimePoint since) {
      return in_.before_at ? since < *in_.before_at : since == kUnknownStart;
    };
    if (demand.on_loss != OnLoss::kWithdraw) return was_so(past_.born);
    return !found.is_lost && was_so(found.intact_since);
  }

  std::mt19937 dice_;
  const bool is_sriov_;
  fixture::VfHost host_;
  NodeState state_;
  hotplug::HostDevice gone_;
  bool is_there_ = true;
  int ifindex_ = 1'000;
  TimePoint now_{1'000s};
  std::string readiness_ = "{}", told_;
  ReadinessBook book_;
  Past past_;
  Inputs in_;
  std::set<std::string> standing_;
};

TEST(ReadinessHistories, AddsNothingTooEarlyAndWithholdsNothingReady) {
  size_t added = 0, stood = 0, damped = 0;
  for (unsigned seed = 1; seed <= kHistories && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("history " + std::to_string(seed));
    History history(seed);
    for (int i = 0; i < kSteps && !testing::Test::HasFailure(); ++i) history.step(), history.decide();
    added += history.added;
    stood += history.stood;
    damped += history.damped;
  }
  EXPECT_GT(added, 500u);
  EXPECT_GT(stood, 1'000u);
  EXPECT_GT(damped, 100u);
}

}  // namespace
}  // namespace readiness_history_test
}  // namespace sliced::policy
