#include "publishers/evidence.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <utility>

#include "kube/objects/kinds.h"
#include "kube/objects/yaml.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/memory_log.h"

namespace sliced::publishers {
namespace {

using namespace std::chrono_literals;

struct EvidenceTest : testing::Test {
  EvidenceTest() {
    for (const auto* kind : {&kube::kPods, &kube::kResourceClaims}) cluster.install(*kind);
    put_node("node-a");
  }
  void put_node(const std::string& name) {
    cluster.put(kube::kNodes, kube::decode_yaml("metadata: {name: " + name + "}").documents.at(0));
  }
  void put_claim(const std::string& name) {
    cluster.put(
        kube::kResourceClaims,
        kube::decode_yaml("metadata: {name: " + name +
                          ", namespace: default}\nstatus: {allocation: {devices: {results: [{request: r, "
                          "driver: dra.networking, pool: node-a/net, device: br-" +
                          name + "}]}}}")
            .documents.at(0));
  }
  void put_pod(const std::string& claim) {
    cluster.put(kube::kPods,
                kube::decode_yaml("metadata: {name: pod-of-" + claim +
                                  ", namespace: default}\nspec: {nodeName: node-a, resourceClaims: "
                                  "[{name: c, resourceClaimName: " +
                                  claim + "}]}")
                    .documents.at(0));
  }
  void look(bool at_once = true) {
    looks.clear();
    evidence.read_pods(at_once);
    scheduler.advance(1min);
  }
  policy::Allocations all_of(const std::vector<std::string>& claims) const {
    policy::Allocations out;
    for (const std::string& claim : claims) out[{"dra.networking", "node-a/net"}]["br-" + claim] = false;
    return out;
  }

  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
  fake::MemoryLog log;
  std::vector<std::pair<policy::Allocations, EvidenceSource::Coverage>> looks;
  std::vector<Millis> turns;
  policy::ClaimNames claims;
  size_t lists = 0;
  std::vector<std::string> failures;
  EvidenceSource evidence{
      {cluster, scheduler, log, [] { return 0.5; }},
      {"dra.networking"},
      "node-a",
      {.on_delay = [this](Millis wait) { turns.push_back(wait); },
       .on_pods =
           [this](const policy::PodClaims& seen, EvidenceSource::Coverage how) {
             looks.emplace_back(seen.allocated, how), claims = seen.claims;
           },
       .on_list = [this](const policy::ClaimList& list) { ++lists, claims = list.claims; },
       .on_failure = [this](const kube::Failure& failure) { failures.push_back(failure.what); }}};
};

TEST_F(EvidenceTest, APollReadsClaimsOfPodsAndListsNone) {
  for (const char* claim : {"a", "b", "nobodys"}) put_claim(claim);
  for (const char* claim : {"a", "b", "gone"}) put_pod(claim);
  look();
  ASSERT_EQ(looks.size(), 1u);
  EXPECT_EQ(looks[0], std::pair(all_of({"a", "b"}), EvidenceSource::Coverage::kWhole));
  EXPECT_EQ(cluster.count("get", "resourceclaims"), 3u);
  EXPECT_EQ(cluster.count("list", "resourceclaims") + cluster.count("list", "nodes"), 0u);
  look(false);
  ASSERT_EQ(looks.size(), 1u);
  EXPECT_EQ(looks[0], std::pair(all_of({"a", "b"}), EvidenceSource::Coverage::kWhole));
  EXPECT_EQ(cluster.count("list", "nodes"), 1u);
  EXPECT_EQ(log.all(), "");
}

// Red when an event cannot name the claim that has a device.
TEST_F(EvidenceTest, ReturnsTheNamesOfTheClaims) {
  for (const char* claim : {"a", "b"}) put_claim(claim);
  put_pod("a");
  const policy::PoolKey pool{"dra.networking", "node-a/net"};
  look();
  EXPECT_EQ(claims, (policy::ClaimNames{{pool, {{"br-a", {"default/a"}}}}}));
  evidence.list_claims();
  scheduler.advance(1min);
  ASSERT_EQ(lists, 1u);
  EXPECT_EQ(claims, (policy::ClaimNames{{pool, {{"br-a", {"default/a"}}, {"br-b", {"default/b"}}}}}));
}

// Red when all nodes of a fleet read at the same time, or a single node waits.
TEST_F(EvidenceTest, ManyNodesPollInTurn) {
  look(false);
  ASSERT_EQ(turns.size(), 1u);
  EXPECT_LT(turns[0], 25ms);
  turns.clear();
  for (int i = 0; i < 199; ++i) put_node("other-" + std::to_string(i));
  const TimePoint begun = scheduler.now();
  std::optional<TimePoint> listed;
  cluster.on_request = [&](const fake::Request& request) {
    if (request.plural == "pods") listed = scheduler.now();
    return std::optional<kube::Failure>();
  };
  look(false);
  ASSERT_EQ(turns.size(), 1u);
  EXPECT_EQ(turns[0], Millis(200 * (512 << 10) / 25'000 / 2)) << "half of what all of them need";
  ASSERT_TRUE(listed);
  EXPECT_GE(*listed - begun, turns[0]);
  EXPECT_LT(*listed - begun, turns[0] + 100ms);
  look(true);
  EXPECT_EQ(turns.size(), 1u) << "who asks for itself alone";
}

// Red when a server that refuses is asked for each of a thousand claims.
TEST_F(EvidenceTest, ReportsClaimsThatAPollMissed) {
  for (int i = 0; i < 1'000; ++i) put_pod("claim-" + std::to_string(1'000 + i));
  put_claim("claim-1000");
  const struct {
    const char *verb, *plural;
    Errc code;
    int status;
    EvidenceSource::Coverage how;
    std::vector<std::string> found;
  } rows[] = {
      {"list", "pods", Errc::kDenied, 403, EvidenceSource::Coverage::kDenied, {}},
      {"list", "pods", Errc::kBusy, 429, EvidenceSource::Coverage::kFailed, {}},
      {"get", "resourceclaims", Errc::kDenied, 403, EvidenceSource::Coverage::kDenied, {"claim-1000"}},
      {"get", "resourceclaims", Errc::kIo, 0, EvidenceSource::Coverage::kFailed, {"claim-1000"}},
      // Without a Status it is a load balancer's.
      {"get", "resourceclaims", Errc::kNotFound, 404, EvidenceSource::Coverage::kFailed, {"claim-1000"}}};
  for (const auto& row : rows) {
    SCOPED_TRACE(std::string(row.verb) + " " + std::to_string(row.status));
    size_t asked = 0;
    cluster.on_request = [&](const fake::Request& request) -> std::optional<kube::Failure> {
      if (request.verb != row.verb || request.plural != row.plural) return std::nullopt;
      if (++asked == 1 && request.verb == "get") return std::nullopt;
      return kube::Failure{
          .code = row.code, .http_status = row.status, .what = "refused " + std::to_string(asked)};
    };
    look();
    ASSERT_EQ(looks.size(), 1u);
    EXPECT_EQ(looks[0], std::pair(all_of(row.found), row.how));
    EXPECT_LE(asked, 2u);
  }
  EXPECT_EQ(log.count("pods of this node cannot be read"), 2u) << "each reason once\n" << log.all();
}

// A server whose lists of claims go on for ever, or that counts as it likes.
struct LyingCluster final : kube::Cluster {
  LyingCluster(kube::Cluster& inner, reactor::Scheduler& scheduler) : inner(inner), scheduler(scheduler) {}
  kube::CallPtr list(kube::ListRequest request, kube::ListHandlers to) override {
    struct Handle final : kube::Call {
      reactor::Ticket ticket;
    };
    ++lists;
    auto handle = std::make_unique<Handle>();
    handle->ticket = scheduler.after(1ms, [this, to, is_count = request.limit == 1] {
      if (is_count && to.on_remaining) to.on_remaining(remaining);
      if (!is_count && is_endless) to.on_continue("more");
      if (!is_count && !item.empty()) to.on_item(item);
      to.on_done("7");
    });
    return handle;
  }
  kube::CallPtr watch(kube::WatchRequest request, kube::WatchHandlers to) override {
    return inner.watch(std::move(request), std::move(to));
  }
  kube::CallPtr write(kube::WriteRequest request, kube::WriteHandlers to) override {
    return inner.write(std::move(request), std::move(to));
  }
  kube::CallPtr get(kube::GetRequest request, kube::WriteHandlers to) override {
    return inner.get(std::move(request), std::move(to));
  }
  kube::CallPtr discover(std::string group, std::string version,
                         std::function<void(std::vector<std::string>)> on_done,
                         std::function<void(const kube::Failure&)> on_failure) override {
    return inner.discover(std::move(group), std::move(version), std::move(on_done), std::move(on_failure));
  }
  kube::CallPtr schema(std::string group, std::string version, std::function<void(std::string_view)> on_done,
                       std::function<void(const kube::Failure&)> on_failure) override {
    return inner.schema(std::move(group), std::move(version), std::move(on_done), std::move(on_failure));
  }
  kube::CallPtr server_info(std::function<void(kube::ServerInfo)> on_done,
                            std::function<void(const kube::Failure&)> on_failure) override {
    return inner.server_info(std::move(on_done), std::move(on_failure));
  }
  std::string describe() const override { return "liar"; }

  kube::Cluster& inner;
  reactor::Scheduler& scheduler;
  int64_t remaining = 0;
  bool is_endless = false;
  std::string item;  // of each page; "" none
  size_t lists = 0;
};

TEST_F(EvidenceTest, AbandonsAListThatNeverEnds) {
  LyingCluster liar(cluster, scheduler);
  liar.is_endless = true;
  EvidenceSource asking(
      {liar, scheduler, log, [] { return 0.5; }}, {"dra.networking"}, "node-a",
      {.on_list = [this](const policy::ClaimList&) { ++lists; },
       .on_failure = [this](const kube::Failure& failure) { failures.push_back(failure.what); }});
  asking.list_claims();
  scheduler.advance(1h);
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_NE(failures[0].find("more pages than"), std::string::npos) << failures[0];
  EXPECT_FALSE(asking.is_busy());
  EXPECT_LE(liar.lists, 30u);
}

// Red when a server that counts millions of claims, with endless pages, gets requests as fast as it answers.
TEST_F(EvidenceTest, ReadsALongListAtGrowingIntervals) {
  for (const int64_t count : {int64_t{0}, std::numeric_limits<int64_t>::max()}) {
    SCOPED_TRACE(count);
    LyingCluster liar(cluster, scheduler);
    liar.is_endless = true;
    liar.remaining = count;
    EvidenceSource asking({liar, scheduler, log, [] { return 0.0; }}, {"dra.networking"}, "node-a",
                          {.on_failure = [](const kube::Failure&) {}});
    asking.list_claims();
    scheduler.advance(1min);
    EXPECT_LE(liar.lists, 12u) << "empty pages";
    liar.item = R"({"metadata":{}})";
    const size_t before = liar.lists;
    scheduler.advance(1min);
    EXPECT_LE(liar.lists, before + 600);
  }
}

TEST_F(EvidenceTest, IgnoresImpossibleCounts) {
  for (const int64_t count : {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}) {
    LyingCluster liar(cluster, scheduler);
    liar.remaining = count;
    size_t ended = 0;
    EvidenceSource asking({liar, scheduler, log, [] { return 0.5; }}, {"dra.networking"}, "node-a",
                          {.on_list = [&](const policy::ClaimList&) { ++ended; }});
    asking.list_claims();
    scheduler.advance(48h);
    EXPECT_EQ(ended, 1u) << count;
    EXPECT_LE(asking.spread(), 48h);
    EXPECT_GE(asking.spread(), 0ms);
  }
}

}  // namespace
}  // namespace sliced::publishers
