// The daemon with a server that answers anything: the number of requests stays small.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>

#include "t/fake/forwarding_cluster.h"
#include "t/fixture/daemon_world.h"

namespace sliced {
namespace {

using namespace std::chrono_literals;
using kube::EventType;
using kube::Failure;

/// Each request is answered by the server behind, or by chance: for a while in one way, then in another.
class AnyServer final : public fake::ForwardingCluster {
 public:
  AnyServer(reactor::Scheduler& scheduler, kube::Cluster& inner, unsigned seed)
      : ForwardingCluster(inner), scheduler_(scheduler), dice_(seed) {}

  /// Requests since the last look: by source ("plural selector"), and "writes" with what they look up.
  std::map<std::string, size_t> look() { return std::exchange(counts_, {}); }

  kube::CallPtr list(kube::ListRequest request, kube::ListHandlers to) override {
    ++counts_[key_of(request.scope)];
    switch (mood(request.scope.resource.plural)) {
      case Mood::kWell:
        return behind_.list(std::move(request), std::move(to));
      case Mood::kRefuses:
        return answer([to, why = failure()] { to.on_failure(why); });
      case Mood::kBriefly:
      case Mood::kLies:
        break;
    }
    return script(
        {[to, item = object()] { to.on_item(item); }, [to, told = version()] { to.on_done(told); }});
  }
  kube::CallPtr watch(kube::WatchRequest request, kube::WatchHandlers to) override {
    ++counts_[key_of(request.scope)];
    switch (mood(request.scope.resource.plural)) {
      case Mood::kWell:
        return behind_.watch(std::move(request), std::move(to));
      case Mood::kRefuses:
        return answer([to, why = failure()] { to.on_failure(why); });
      case Mood::kBriefly:
        return script({[to] { to.on_open(); }, bookmark(to, request.send_initial_events), ending(to)});
      case Mood::kLies:
        break;
    }
    return script({[to] { to.on_open(); }, event(to), event(to),
                   bookmark(to, request.send_initial_events && chance(2)), event(to), ending(to)});
  }
  kube::CallPtr write(kube::WriteRequest request, kube::WriteHandlers to) override {
    ++counts_["writes"];
    return one("writes", to, [&] { return behind_.write(std::move(request), to); });
  }
  kube::CallPtr get(kube::GetRequest request, kube::WriteHandlers to) override {
    ++counts_["writes"];
    return one("writes", to, [&] { return behind_.get(std::move(request), to); });
  }
  kube::CallPtr discover(std::string group, std::string version,
                         std::function<void(std::vector<std::string>)> on_done,
                         std::function<void(const Failure&)> on_failure) override {
    ++counts_["discover " + group];
    switch (mood("discover " + group)) {
      case Mood::kWell:
        return behind_.discover(std::move(group), std::move(version), std::move(on_done),
                                std::move(on_failure));
      case Mood::kRefuses:
        return answer([on_failure, why = failure()] { on_failure(why); });
      default:
        return answer([on_done] { on_done({}); });
    }
  }
  kube::CallPtr schema(std::string group, std::string version, std::function<void(std::string_view)> on_done,
                       std::function<void(const Failure&)> on_failure) override {
    ++counts_["schema"];
    return one("schema", {on_done, on_failure},
               [&] { return behind_.schema(std::move(group), std::move(version), on_done, on_failure); });
  }
  kube::CallPtr server_info(std::function<void(kube::ServerInfo)> on_done,
                            std::function<void(const Failure&)> on_failure) override {
    ++counts_["version"];
    const auto told = [on_done](std::string_view text) { on_done({std::string(text)}); };
    return one("version", {told, on_failure}, [&] { return behind_.server_info(on_done, on_failure); });
  }
  std::string describe() const override { return "any"; }

 private:
  enum class Mood { kWell, kRefuses, kBriefly, kLies };
  using Step = std::pair<Millis, std::function<void()>>;
  struct Handle final : kube::Call {
    explicit Handle(std::shared_ptr<bool> alive) : alive(std::move(alive)) {}
    ~Handle() override { *alive = false; }
    std::shared_ptr<bool> alive;
  };

  size_t below(size_t bound) { return dice_() % bound; }
  bool chance(size_t one_in) { return below(one_in) == 0; }
  static std::string key_of(const kube::Scope& scope) {
    return scope.resource.plural + ' ' + scope.field_selector;
  }

  // A mood lasts from nothing to a minute, or for ever.
  Mood mood(const std::string& whose) {
    auto& [until, present] = moods_[whose];
    const TimePoint now = scheduler_.now();
    if (now >= until) {
      present = static_cast<Mood>(below(4));
      until = now + std::vector<Millis>{0ms, 0ms, 3s, 60s, 1h}.at(below(5));
    }
    return chance(20) ? static_cast<Mood>(below(4)) : present;
  }

  Failure failure() {
    static const std::vector<std::pair<Errc, int>> kAnswers{
        {Errc::kGone, 410},   {Errc::kConflict, 409}, {Errc::kNotFound, 404}, {Errc::kDenied, 403},
        {Errc::kDenied, 401}, {Errc::kInvalid, 422},  {Errc::kInvalid, 400},  {Errc::kBusy, 429},
        {Errc::kBusy, 503},   {Errc::kIo, 302},       {Errc::kIo, 0},         {Errc::kTimeout, 0},
        {Errc::kTooLarge, 0}};
    const auto& [code, status] = kAnswers[below(kAnswers.size())];
    Failure made{code, status, "", "any: " + std::to_string(status), std::nullopt};
    if (code == Errc::kConflict && chance(2)) made.reason = "AlreadyExists";
    if (code == Errc::kBusy && chance(2)) made.retry_after = std::vector<Millis>{0s, 1s, 24h}.at(below(3));
    if (code == Errc::kInvalid) made.fields = {"spec.devices[" + std::to_string(below(4)) + "].name"};
    return made;
  }
  std::string version() { return chance(4) ? "" : std::to_string(1 + below(2'000)); }
  /// Of another kind, name, driver or node; or no object at all.
  std::string object() {
    const std::string meta = R"({"metadata":{"name":"x)" + std::to_string(below(5)) +
                             R"(","namespace":"dra-driver-sriov","uid":"u","resourceVersion":")" + version() +
                             "\"}";
    switch (below(6)) {
      case 0:
        return "{}";
      case 1:
        return "5";
      case 2:
        return meta;
      case 3:
        return meta + R"(,"spec":{"driver":"other.example","nodeName":"node-b"}})";
      case 4:
        return meta + R"(,"spec":{"configs":[{}]}})";
      default:
        return meta + R"(,"spec":{"driver":"dra.networking","nodeName":"node-a","pool":{"name":"p",)"
                      R"("generation":1,"resourceSliceCount":1},"devices":[]}})";
    }
  }

  std::function<void()> event(const kube::WatchHandlers& to) {
    return [to, type = static_cast<EventType>(below(3)), text = object()] { to.on_event({type, text}); };
  }
  std::function<void()> bookmark(const kube::WatchHandlers& to, bool is_end) {
    const std::string text =
        R"({"metadata":{"resourceVersion":"1000","annotations":{"k8s.io/initial-events-end":")" +
        std::string(is_end ? "true" : "false") + "\"}}}";
    return [to, text] { to.on_event({EventType::kBookmark, text}); };
  }
  std::function<void()> ending(const kube::WatchHandlers& to) {
    if (chance(8)) return [] {};  // it hangs
    if (chance(3)) return [to] { to.on_end(); };
    return [to, why = failure()] { to.on_failure(why); };
  }

  kube::CallPtr answer(std::function<void()> say) { return script({std::move(say)}); }
  kube::CallPtr script(const std::vector<std::function<void()>>& steps) {
    auto alive = std::make_shared<bool>(true);
    const Millis pause = std::vector<Millis>{0ms, 1ms, 200ms, 8s}.at(below(4));
    Millis at{1};
    for (const auto& step : steps) {
      tickets_.push_back(scheduler_.after(at, [alive, step] {
        if (*alive) step();
      }));
      at += pause;
    }
    while (tickets_.size() > 10'000) tickets_.pop_front();
    return std::make_unique<Handle>(std::move(alive));
  }
  template <class Pass>
  kube::CallPtr one(const std::string& whose, const kube::WriteHandlers& to, Pass pass) {
    switch (mood(whose)) {
      case Mood::kWell:
        return pass();
      case Mood::kLies:
        return answer([to, text = object()] { to.on_done(text); });
      default:
        return answer([to, why = failure()] { to.on_failure(why); });
    }
  }

  reactor::Scheduler& scheduler_;
  std::minstd_rand dice_;
  std::map<std::string, std::pair<TimePoint, Mood>> moods_;
  std::map<std::string, size_t> counts_;
  std::deque<reactor::Ticket> tickets_;
};

struct AnyServerTest : testing::TestWithParam<unsigned>, fixture::DaemonWorld {
  static constexpr size_t kInAMinute = 80, kInTenMinutes = 400;  // for a source, or for writes
};

// Red when any loop of requests does without a backoff.
TEST_P(AnyServerTest, DoesNotRetryInABusyLoop) {
  make_pf(4);
  put_policy("p", "{configs: [{}]}");
  put_exposure("pfs", of_type("pf"));
  AnyServer server(scheduler, cluster, GetParam());
  start(&server);
  std::map<std::string, size_t> in_all;
  for (int minute = 0; minute < 10; ++minute) {
    run(1min);
    for (const auto& [source, count] : server.look()) {
      EXPECT_LE(count, kInAMinute) << source << ", minute " << minute;
      in_all[source] += count;
    }
  }
  for (const auto& [source, count] : in_all) EXPECT_LE(count, kInTenMinutes) << source;
  EXPECT_GE(in_all.size(), 5u);
  daemon.reset();
}

INSTANTIATE_TEST_SUITE_P(Seeds, AnyServerTest, testing::Range(1u, 41u));

}  // namespace
}  // namespace sliced
