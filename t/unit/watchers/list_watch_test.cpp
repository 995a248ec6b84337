#include "watchers/list_watch.h"

#include "t/fixture/golden.h"
#include "t/unit/watchers/watch_fixture.h"

namespace sliced::watchers {
namespace {

using namespace std::chrono_literals;

struct ListWatchTest : WatchTest {
  ListWatchTest() { cluster.install(kThings); }

  std::optional<kube::Failure> busy(std::optional<Millis> retry_after) {
    return kube::Failure{Errc::kBusy, 429, "TooManyRequests", "watch things: too many requests", retry_after};
  }
};

/// A cluster whose one watch the test speaks through.
struct HandDriven final : kube::Cluster {
  struct Held final : kube::Call {};
  kube::CallPtr watch(kube::WatchRequest, kube::WatchHandlers handlers) override {
    ++watches;
    to = std::move(handlers);
    return std::make_unique<Held>();
  }
  kube::CallPtr list(kube::ListRequest, kube::ListHandlers) override { return nullptr; }
  kube::CallPtr write(kube::WriteRequest, kube::WriteHandlers) override { return nullptr; }
  kube::CallPtr get(kube::GetRequest, kube::WriteHandlers) override { return nullptr; }
  kube::CallPtr discover(std::string, std::string, std::function<void(std::vector<std::string>)>,
                         std::function<void(const kube::Failure&)>) override {
    return nullptr;
  }
  kube::CallPtr schema(std::string, std::string, std::function<void(std::string_view)>,
                       std::function<void(const kube::Failure&)>) override {
    return nullptr;
  }
  kube::CallPtr server_info(std::function<void(kube::ServerInfo)>,
                            std::function<void(const kube::Failure&)>) override {
    return nullptr;
  }
  std::string describe() const override { return "hand"; }

  void say(kube::EventType type, const std::string& name, int version, const std::string& more = "") {
    const std::string text = R"({"metadata":{"name":")" + name + R"(","resourceVersion":")" +
                             std::to_string(version) + "\"" + more + R"(},"spec":{"value":)" +
                             std::to_string(version) + "}}";
    to.on_event({type, text});
  }

  kube::WatchHandlers to;
  int watches = 0;
};

// The list.
// ---------------------------------------------------------------------------------------------------------

TEST_F(ListWatchTest, TheInitialSyncIsOneRelistedEvent) {
  put("a", 1);
  put("b", 2);
  follow();
  EXPECT_EQ(events(), (Words{"relisted a=1 b=2"}));
  EXPECT_EQ(why, "start");
  EXPECT_EQ(asked(), (Words{"watch initial"}));
  EXPECT_EQ(source->sync_state(), (SyncState{State::kLive, true, "", false}));

  put("a", 3);
  remove("b");
  put("c", 4);
  settle();
  EXPECT_EQ(events(), (Words{"changed a=3", "removed b", "changed c=4"}));
  EXPECT_EQ(asked(), Words{}) << "the same stream goes on";
}

TEST_F(ListWatchTest, AnEmptyListIsAnInitialSync) {
  follow();
  EXPECT_EQ(events(), (Words{"relisted"}));
  EXPECT_TRUE(source->sync_state().known);
}

TEST_F(ListWatchTest, DoesNotDeliverAnIncompleteList) {
  put("a", 1);
  put("b", 2);
  cluster.event_spacing = 100ms;
  follow();
  scheduler.advance(100ms);  // one of two, and no bookmark yet
  cluster.set_network(Network::kRefused);
  settle();
  cluster.event_spacing = 0ms;
  cluster.set_network(Network::kUp);
  EXPECT_EQ(events(), Words{});
  EXPECT_FALSE(source->sync_state().known);
  remove("a");
  scheduler.advance(2s);
  EXPECT_EQ(events(), (Words{"relisted b=2"})) << "what the broken list held must not leak into the next";
}

TEST_F(ListWatchTest, AStreamThatEndsBeforeItsBookmarkIsAFailure) {
  put("a", 1);
  cluster.event_spacing = 1500ms;
  follow();
  scheduler.advance(1600ms);
  cluster.event_spacing = 0ms;
  cluster.end_watches();
  settle();
  scheduler.advance(100ms);
  ASSERT_EQ(events(), Words{});
  scheduler.advance(3s);
  EXPECT_EQ(events(), (Words{"relisted a=1"}));
}

TEST_F(ListWatchTest, IncludesChangesDuringAList) {
  HandDriven hand;
  Words words;
  WatchedSource<Thing> direct({hand, scheduler, log, [] { return 0.0; }}, kube::Scope{kThings, "", "", false},
                              decode_thing,
                              [&](SourceEvent<Watched<Thing>> event) { words.push_back(describe(event)); });
  direct.start();
  hand.say(kube::EventType::kAdded, "a", 1);
  hand.say(kube::EventType::kAdded, "b", 2);
  hand.say(kube::EventType::kModified, "a", 3);
  hand.say(kube::EventType::kDeleted, "b", 4);
  hand.say(kube::EventType::kBookmark, "", 4);  // an ordinary one
  EXPECT_EQ(words, Words{});
  hand.say(kube::EventType::kBookmark, "", 5, R"(,"annotations":{"k8s.io/initial-events-end":"true"})");
  EXPECT_EQ(words, (Words{"relisted a=3"}));
  EXPECT_EQ(hand.watches, 1);
}

TEST_F(ListWatchTest, RequestsAListNoOlderThanTheLastEvent) {
  cluster.watch_list = false;
  put("a", 1);
  follow();
  for (int round = 0; round < 2; ++round) {
    scheduler.advance(70s);
    if (round == 1) {
      cluster.expire_watches();  // the version is unusable once, not for ever
      settle();
      scheduler.advance(70s);
    }
    asked();
    cluster.inject("things", kube::EventType::kModified, "{}");
    scheduler.advance(1s);
    const Words words = asked();
    ASSERT_FALSE(words.empty());
    EXPECT_EQ(words[0], "list from " + version()) << round;
  }
}

TEST_F(ListWatchTest, FallsBackToListWithoutWatchList) {
  cluster.watch_list = false;
  put("a", 1);
  follow();
  EXPECT_EQ(events(), (Words{"relisted a=1"}));
  EXPECT_EQ(asked(), (Words{"watch initial", "list from ", "watch from " + version()}));
  EXPECT_EQ(log.count("watch failed"), 0u) << "a missing ability is not an outage";

  scheduler.advance(2min);
  cluster.expire_watches();
  settle();
  EXPECT_EQ(asked(), (Words{"list from ", "watch from " + version()}))
      << "410: neither WatchList nor the old version";
}

TEST_F(ListWatchTest, RetriesWatchListAfterAnHourOrForANewServer) {
  cluster.watch_list = false;
  follow();
  scheduler.advance(61min);
  asked();
  cluster.watch_list = true;
  cluster.expire_watches();
  settle();
  EXPECT_EQ(asked(), (Words{"watch initial"}));

  cluster.watch_list = false;
  scheduler.advance(2min);
  cluster.expire_watches();
  settle();
  ASSERT_EQ(asked().back(), "watch from " + version());
}

TEST_F(ListWatchTest, RequestsTheNewestListFromALaggingReplica) {
  cluster.watch_list = false;
  follow();
  asked();
  bool lagging = true;
  cluster.on_request = [&](const fake::Request& request) -> std::optional<kube::Failure> {
    if (!lagging || request.resource_version.empty()) return std::nullopt;
    return kube::Failure{
        Errc::kGone, 504, "Timeout", "watch things: Too large resource version: 9, current: 5", {}};
  };
  cluster.end_watches();
  scheduler.advance(2s);
  lagging = false;
  settle();
  EXPECT_EQ(events().size(), 2u);
  const Words words = asked();
  ASSERT_GE(words.size(), 2u);
  EXPECT_EQ(words[1], "list from ");
}

// Red when a list that is older than reported events is used: it lacks the newest exclude.
TEST_F(ListWatchTest, IgnoresAnOlderList) {
  cluster.watch_list = false;
  put("a", 1);
  follow();
  put("b", 2);
  settle();
  ASSERT_EQ(events(), (Words{"relisted a=1", "changed b=2"}));
  cluster.stale_by = 1;
  cluster.breaks_promises = true;
  cluster.expire_watches();
  scheduler.advance(3s);
  EXPECT_EQ(events(), (Words{}));
  EXPECT_EQ(source->sync_state().state, State::kUnreachable);
  fixture::expect_golden(source->sync_state().why);
  cluster.breaks_promises = false;
  put("c", 3);
  scheduler.advance(10s);
  EXPECT_EQ(events(), (Words{"relisted a=1 b=2 c=3"}));
  EXPECT_EQ(source->sync_state().state, State::kLive);
}

// Red when the restore of a server from a backup is never reported.
TEST_F(ListWatchTest, AcceptsAnOlderListThatTheServerConfirms) {
  cluster.watch_list = false;
  put("a", 1);
  follow();
  put("b", 2);
  settle();
  events();
  cluster.stale_by = 1;
  cluster.breaks_promises = true;
  cluster.expire_watches();
  scheduler.advance(20s);
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.front(), "relisted a=1");
}

TEST_F(ListWatchTest, RelistsAfterAnOlderEvent) {
  put("a", 1);
  follow();
  put("a", 2);
  settle();
  ASSERT_EQ(events(), (Words{"relisted a=1", "changed a=2"}));
  cluster.inject("things", kube::EventType::kModified,
                 R"({"metadata":{"namespace":"ns","name":"a","resourceVersion":"1"},"spec":{"value":7}})");
  cluster.inject("things", kube::EventType::kDeleted,
                 R"({"metadata":{"namespace":"ns","name":"a","resourceVersion":"1"}})");
  scheduler.advance(5s);
  EXPECT_EQ(events(), (Words{"relisted a=2"}));
}

TEST_F(ListWatchTest, KeepsTheLastListIfTheLimitIsExceeded) {
  put("a", 1);
  follow({.objects_max = 2});
  ASSERT_EQ(events(), (Words{"relisted a=1"}));
  cluster.end_watches();
  cluster.compact();
  put("b", 2);
  put("c", 3);
  scheduler.advance(10s);
  EXPECT_EQ(events(), (Words{})) << "neither a part of the list nor an empty one";
  EXPECT_EQ(source->sync_state().state, State::kUnreachable);
  EXPECT_TRUE(source->sync_state().known);
  remove("c");
  scheduler.advance(61s);
  EXPECT_EQ(events(), (Words{"relisted a=1 b=2"}));
}

// The watch.
// --------------------------------------------------------------------------------------------------------

TEST_F(ListWatchTest, ABookmarkMovesOnlyTheVersion) {
  put("a", 1);
  follow();
  events();
  for (int i = 0; i < 3; ++i)
    cluster.put_text(kube::kNodes, R"({"metadata":{"name":"n)" + std::to_string(i) + R"("}})");
  cluster.bookmark();
  scheduler.advance(2s);
  cluster.end_watches();
  asked();
  settle();
  EXPECT_EQ(asked(), (Words{"watch from " + version()}));
  EXPECT_EQ(events(), Words{});
}

TEST_F(ListWatchTest, ContinuesACleanlyEndedWatchFromTheLastEvent) {
  follow();
  scheduler.advance(2s);
  put("a", 1);
  settle();
  const std::string last = version();
  events();
  asked();
  cluster.end_watches();
  put("b", 2);  // without an open watch
  scheduler.advance(5ms);
  EXPECT_EQ(asked(), (Words{"watch from " + last}));
  settle();
  EXPECT_EQ(events(), (Words{"changed b=2"}));
  EXPECT_EQ(log.lines.size(), 1u) << "an end is nothing to talk about";
}

TEST_F(ListWatchTest, AnEmptyWatchThatEndsImmediatelyIsAFailureWithoutARelist) {
  follow();
  scheduler.advance(2s);
  cluster.end_watches();
  scheduler.advance(5ms);  // watching again
  asked();
  cluster.end_watches();
  scheduler.advance(700ms);
  EXPECT_EQ(asked(), Words{}) << "it waits 0.8 s";
  scheduler.advance(200ms);
  EXPECT_EQ(asked(), (Words{"watch from " + version()}));
  EXPECT_EQ(events(), (Words{"relisted"})) << "only the first one";
}

TEST_F(ListWatchTest, DoesNotCountAShortWatchWithEventsAsAFailure) {
  follow();
  scheduler.advance(2s);
  cluster.end_watches();
  scheduler.advance(5ms);
  put("a", 1);
  scheduler.advance(5ms);
  asked();
  cluster.end_watches();
  settle();
  EXPECT_EQ(asked(), (Words{"watch from " + version()}));
}

TEST_F(ListWatchTest, RelistsAfterAWatchBrokenByAnEvent) {
  put("a", 1);
  follow();
  scheduler.advance(70s);
  events();
  asked();
  cluster.fail_watches({Errc::kTooLarge, 0, "", "watch things: event of more than 4 MiB", {}});
  settle();
  EXPECT_EQ(asked(), Words{}) << "not at once";
  scheduler.advance(1s);
  EXPECT_EQ(asked(), (Words{"watch initial"})) << "the same watch would meet the same event";
  EXPECT_EQ(events(), (Words{"relisted a=1"}));
}

TEST_F(ListWatchTest, RequestsARandomTimeoutOfFiveToTenMinutes) {
  random = 0.5;
  follow();
  EXPECT_EQ(cluster.log.back().timeout, 450s);
  random = 0.999;
  scheduler.advance(451s);
  EXPECT_EQ(cluster.log.back().timeout / 1s, 599) << "the next watch draws anew";
  random = 0;
  scheduler.advance(600s);
  EXPECT_EQ(cluster.log.back().timeout, 300s);
  EXPECT_EQ(cluster.count("watch"), 3u);
  EXPECT_EQ(log.lines.size(), 1u);
}

TEST_F(ListWatchTest, AnExpiredVersionCausesAnImmediateRelist) {
  put("a", 1);
  put("b", 2);
  follow();
  scheduler.advance(70s);
  events();
  cluster.end_watches();
  remove("a");
  cluster.compact();  // the deletion will never be reported
  settle();
  EXPECT_EQ(events(), (Words{"relisted b=2"}));
  fixture::expect_golden(why);
  EXPECT_EQ(source->sync_state().state, State::kLive);
}

TEST_F(ListWatchTest, RepeatedExpiryBacksOff) {
  follow();
  scheduler.advance(70s);
  asked();
  cluster.expire_watches();
  settle();
  ASSERT_EQ(asked(), (Words{"watch initial"})) << "the first at once";
  cluster.expire_watches();
  scheduler.advance(700ms);
  EXPECT_EQ(asked(), Words{}) << "the second, without a word in between, waits";
  scheduler.advance(200ms);
  EXPECT_EQ(asked(), (Words{"watch initial"}));
}

TEST_F(ListWatchTest, HonoursRetryAfterOfAWatchWithoutARelist) {
  follow();
  scheduler.advance(70s);
  put("a", 1);
  settle();
  events();
  const std::string last = version();
  int refusals = 1;
  cluster.on_request = [&](const fake::Request&) { return refusals-- > 0 ? busy(7s) : std::nullopt; };
  asked();
  cluster.end_watches();
  scheduler.advance(6900ms);
  EXPECT_EQ(asked(), (Words{"watch from " + last}));
  scheduler.advance(200ms);
  EXPECT_EQ(asked(), (Words{"watch from " + last}));
  EXPECT_EQ(events(), Words{});
}

TEST_F(ListWatchTest, RetryAfterIsCappedAtAMinute) {
  follow();
  scheduler.advance(70s);
  int refusals = 1;
  cluster.on_request = [&](const fake::Request&) { return refusals-- > 0 ? busy(24h) : std::nullopt; };
  cluster.end_watches();
  settle();
  asked();
  scheduler.advance(61s);
  EXPECT_EQ(asked().size(), 1u);
}

TEST_F(ListWatchTest, BridgesAnOutageAndLogsTwoLines) {
  put("a", 1);
  put("b", 1);
  follow();
  scheduler.advance(70s);
  events();
  log.lines.clear();
  cluster.set_network(Network::kRefused);
  scheduler.advance(10s);
  remove("b");
  put("a", 2);
  scheduler.advance(20s);
  EXPECT_EQ(source->sync_state().state, State::kUnreachable);
  EXPECT_TRUE(source->sync_state().known);
  EXPECT_EQ(events(), Words{}) << "what was known stays";
  cluster.set_network(Network::kUp);
  scheduler.advance(60s);
  EXPECT_EQ(events(), (Words{"removed b", "changed a=2"})) << "from the history, no relist";
  ASSERT_EQ(log.lines.size(), 2u);
  fixture::expect_golden(log.lines[0]);
  EXPECT_EQ(log.lines[1], "watch restored resource=things.example.com failures=6");
  EXPECT_EQ(stood, (std::vector<State>{State::kLive, State::kUnreachable, State::kLive}));

  scheduler.advance(3min);
  cluster.set_network(Network::kRefused);
  settle();
  cluster.set_network(Network::kUp);
  scheduler.advance(62s);
  EXPECT_EQ(log.lines.back(), "watch restored resource=things.example.com failures=1") << "counted from zero";
}

TEST_F(ListWatchTest, BacksOffFrom800MillisecondsTo30Seconds) {
  cluster.set_network(Network::kRefused);
  follow();
  scheduler.advance(150s);
  std::vector<int64_t> gaps;
  for (size_t i = 1; i < cluster.log.size(); ++i)
    gaps.push_back((cluster.log[i].at - cluster.log[i - 1].at - cluster.latency).count());
  EXPECT_EQ(gaps, (std::vector<int64_t>{800, 1600, 3200, 6400, 12800, 25600, 30000, 30000, 30000}));
  EXPECT_EQ(log.lines.size(), 1u);
}

TEST_F(ListWatchTest, ResetsTheBackoffAfterTwoQuietMinutes) {
  follow();
  for (const auto quiet : {150s, 150s}) {
    scheduler.advance(quiet);
    cluster.fail_watches({Errc::kIo, 0, "", "reset", {}});
    asked();
    scheduler.advance(700ms);
    EXPECT_EQ(asked(), Words{});
    scheduler.advance(200ms);
    EXPECT_EQ(asked().size(), 1u);
  }
}

TEST_F(ListWatchTest, ClosesASilentWatchAfterFiveMinutes) {
  put("a", 1);
  random = 0.9;  // the server would end the watch after 570 s
  follow();
  scheduler.advance(150s);  // bookmarks at 60 and 120 s
  events();
  asked();
  const std::string last = version();
  cluster.set_network(Network::kBlackHole);
  put("a", 2);
  cluster.set_network(Network::kUp);  // the open connection stays dead
  scheduler.advance(260s);
  EXPECT_EQ(asked(), Words{}) << "290 s since the last bookmark";
  scheduler.advance(20s);
  EXPECT_EQ(asked(), (Words{"watch from " + last}));
  EXPECT_EQ(events(), (Words{"changed a=2"}));
  EXPECT_EQ(log.lines.size(), 1u);
}

TEST_F(ListWatchTest, RetriesAListWithoutAnAnswer) {
  cluster.set_network(Network::kBlackHole);
  follow();
  scheduler.advance(59s);
  EXPECT_EQ(source->sync_state().state, State::kStarting);
  scheduler.advance(1100ms);
  EXPECT_EQ(source->sync_state().state, State::kUnreachable);
  EXPECT_FALSE(source->sync_state().known);
  cluster.set_network(Network::kUp);
  scheduler.advance(2s);
  EXPECT_EQ(events(), (Words{"relisted"}));
}

TEST_F(ListWatchTest, RetryNowEndsAWait) {
  cluster.set_network(Network::kRefused);
  follow();
  scheduler.advance(100s);
  cluster.set_network(Network::kUp);
  source->retry_now();
  settle();
  EXPECT_EQ(events(), (Words{"relisted"}));
  asked();
  source->retry_now();
  settle();
  EXPECT_EQ(asked(), Words{}) << "where nothing waits it does nothing";

  cluster.set_network(Network::kRefused);
  scheduler.advance(100s);
  source->retry_now();
  settle();
  asked();
  scheduler.advance(1s);
  EXPECT_EQ(asked().size(), 1u) << "if it was no use, waits start over";
}

TEST_F(ListWatchTest, RetryNowHonoursRetryAfter) {
  cluster.on_request = [&](const fake::Request&) { return busy(20s); };
  follow();
  asked();
  EXPECT_TRUE(source->is_told_to_wait());
  scheduler.advance(19s);
  source->retry_now();
  settle();
  EXPECT_EQ(asked(), Words{});
  cluster.on_request = nullptr;
  scheduler.advance(1s);
  EXPECT_EQ(asked(), (Words{"watch initial"}));
  EXPECT_FALSE(source->is_told_to_wait());
}

// What may not spin, whatever a server answers.
// ------------------------------------------------------------------------------

// Each row answers in one way for ten minutes. Red when any answer makes requests without a wait.
TEST_F(ListWatchTest, NoAnswerCausesABusyLoop) {
  using Fault = std::function<std::optional<kube::Failure>(const fake::Request&)>;
  const auto fail_watch = [&](Errc code, int status) -> Fault {
    return [=](const fake::Request& request) -> std::optional<kube::Failure> {
      if (request.verb != "watch" || request.send_initial_events) return std::nullopt;
      return kube::Failure{code, status, "", "watch things: no", {}};
    };
  };
  const auto end = [&] { cluster.end_watches(); };
  size_t turn = 0;
  const struct {
    const char* why;
    std::function<void()> disturb;
    Fault on_request;
  } rows[] = {
      {"a bookmark, then 410", [&] { cluster.bookmark(), settle(), cluster.expire_watches(); }, {}},
      {"an event, then 410",
       [&] { put("a", static_cast<int>(++turn)), settle(), cluster.expire_watches(); },
       {}},
      {"a bookmark, then a clean end", [&] { cluster.bookmark(), settle(), cluster.end_watches(); }, {}},
      {"a clean end", [&] { cluster.end_watches(); }, {}},
      {"an event that names nothing",
       [&] { cluster.inject("things", kube::EventType::kModified, "{}"); },
       {}},
      {"an event that is not an object",
       [&] { cluster.inject("things", kube::EventType::kModified, "5"); },
       {}},
      {"a kind that comes and goes",
       [&] { ++turn % 2 == 0 ? cluster.install(kThings) : cluster.uninstall(kThings); },
       {}},
      {"somebody who hurries it", [&] { source->retry_now(); },
       [](const fake::Request&) -> std::optional<kube::Failure> {
         return kube::Failure{Errc::kIo, 0, "", "connection refused", {}};
       }},
      {"410 to every watch", end, fail_watch(Errc::kGone, 410)},
      {"404 to every watch", end, fail_watch(Errc::kNotFound, 404)},
      {"409 to every watch", end, fail_watch(Errc::kConflict, 409)},
      {"422 to every watch", end, fail_watch(Errc::kInvalid, 422)},
      {"429 to every watch", end, fail_watch(Errc::kBusy, 429)},
      {"a redirect of every watch", end, fail_watch(Errc::kIo, 302)},
  };
  for (const bool watch_list : {true, false}) {
    for (const auto& row : rows) {
      SCOPED_TRACE(row.why);
      cluster.install(kThings);
      cluster.watch_list = watch_list;
      cluster.on_request = row.on_request;
      follow();
      asked();
      size_t asked_in_all = 0;
      for (int minute = 0; minute < 10; ++minute) {
        for (int i = 0; i < 600; ++i) {
          row.disturb();
          scheduler.advance(100ms);
        }
        const size_t in_minute = asked().size();
        asked_in_all += in_minute;
        EXPECT_LE(in_minute, 60u) << "minute " << minute;
      }
      EXPECT_LE(asked_in_all, 300u);
      EXPECT_GE(asked_in_all, 10u) << "it goes on asking";
      source.reset();
      cluster.on_request = nullptr;
      cluster.end_watches();
      settle();
    }
  }
}

TEST_F(ListWatchTest, AbandonsAListThatNeverCompletes) {
  HandDriven hand;
  WatchedSource<Thing> direct({hand, scheduler, log, [] { return 0.0; }}, kube::Scope{kThings, "", "", false},
                              decode_thing, [](const SourceEvent<Watched<Thing>>&) {});
  direct.start();
  for (int i = 0; i < 290; ++i) {
    hand.say(kube::EventType::kAdded, "a", i + 1);
    scheduler.advance(1s);
  }
  EXPECT_EQ(direct.sync_state().state, State::kStarting);
  for (int i = 0; i < 70 && hand.watches == 1; ++i) {
    hand.say(kube::EventType::kAdded, "a", i + 1);
    scheduler.advance(1s);
  }
  EXPECT_EQ(hand.watches, 2);
}

TEST_F(ListWatchTest, JittersRequestsOfAFleet) {
  random = 0.5;
  follow();
  scheduler.advance(70s);
  for (const bool expired : {false, true}) {
    asked();
    expired ? cluster.expire_watches() : cluster.end_watches();
    scheduler.advance(480ms);
    EXPECT_EQ(asked(), Words{}) << expired;
    scheduler.advance(40ms);
    EXPECT_EQ(asked().size(), 1u) << expired;
  }
}

// Objects of others.
// ---------------------------------------------------------------------------------------------------------

// A proxy that drops the query, or a server that does not know the selector.
TEST_F(ListWatchTest, DropsAndReportsForeignObjectsOnce) {
  const auto put_elsewhere = [this](const std::string& name, int value) {
    cluster.put_text(kThings, R"({"metadata":{"namespace":"other","name":")" + name +
                                  R"("},"spec":{"value":)" + std::to_string(value) + "}}");
  };
  cluster.ignores_scopes = true;
  for (const bool watch_list : {true, false}) {
    cluster.watch_list = watch_list;
    put("a", 1);
    put_elsewhere("b", 2);
    put_elsewhere("a", 3);
    log.lines.clear();
    follow({.objects_max = 2});
    ASSERT_EQ(events(), (Words{"relisted a=1"}));
    ASSERT_EQ(log.count("objects outside the selector"), 1u);
    ASSERT_GT(log.lines.size(), 1u);
    fixture::expect_golden(log.lines[1]);
    put_elsewhere("c", 4);
    put_elsewhere("a", watch_list ? 5 : 6);
    cluster.remove(kThings, "b", "other");
    put("a", 7);
    settle();
    EXPECT_EQ(events(), (Words{"changed a=7"}));
    EXPECT_EQ(source->sync_state().state, State::kLive) << "the source lives on";
    scheduler.advance(70s);
    cluster.expire_watches();
    settle();
    EXPECT_EQ(events(), (Words{"relisted a=7"}));
    EXPECT_EQ(log.count("objects outside the selector"), 1u) << "while it lasts";
    cluster.remove(kThings, "c", "other");
  }
}

// What objects a list lacks.
// ------------------------------------------------------------------------------------------------

struct MissingTest : ListWatchTest {
  /// Followed for a while, with a, b and c.
  void follow_three(bool keep = true) {
    for (const char* name : {"a", "b", "c"}) put(name, 1);
    follow({}, [this, keep](const std::vector<Source::Id>& missing) {
      questions.emplace_back();
      for (const auto& id : missing) questions.back() += id.name;
      return keep;
    });
    scheduler.advance(70s);
    events();
    asked();
  }
  Words questions;
  /// As a replica that has lost its data: the objects go without an event, and a list is made.
  void lose(const std::vector<std::string>& names) {
    cluster.end_watches();
    scheduler.advance(1ms);
    for (const std::string& name : names) remove(name);
    cluster.compact();
    settle();
  }
};

TEST_F(MissingTest, KeepsAnObjectUntilASecondListLacksIt) {
  follow_three();
  lose({"a", "b"});
  EXPECT_EQ(events(), (Words{"relisted c=1 +a +b"}));
  EXPECT_EQ(questions, (Words{"ab"}));
  EXPECT_EQ(log.count("keeping them until a second list confirms it resource=things.example.com objects=2"),
            1u);
  asked();
  scheduler.advance(4900ms);
  EXPECT_EQ(asked(), Words{});
  scheduler.advance(200ms);
  EXPECT_EQ(asked(), (Words{"watch initial"}));
  EXPECT_EQ(events(), (Words{"relisted c=1"}));
  EXPECT_EQ(why, "whether objects are gone");
  scheduler.advance(4min);
  EXPECT_EQ(asked(), Words{}) << "that was all";
}

TEST_F(MissingTest, RequestsAConsistentSecondList) {
  cluster.watch_list = false;
  follow_three();
  lose({"a"});
  scheduler.advance(70s);
  events();
  asked();
  put("d", 1);
  settle();
  cluster.inject("things", kube::EventType::kModified, "{}");  // a list from the version that is known
  remove("c");
  cluster.compact();
  scheduler.advance(2s);
  asked();
  scheduler.advance(5s);
  EXPECT_EQ(asked().at(0), "list from ");
}

TEST_F(MissingTest, RemovesImmediatelyIfNothingDependsOnIt) {
  follow_three(/*keep=*/false);
  lose({"a", "b"});
  EXPECT_EQ(events(), (Words{"relisted c=1"}));
  scheduler.advance(10s);
  EXPECT_EQ(events(), Words{});
}

TEST_F(MissingTest, ReturnsWithTheSecondListOrAnEvent) {
  follow_three();
  lose({"a", "b"});
  events();
  put("a", 2);
  settle();
  EXPECT_EQ(events(), (Words{"changed a=2"}));
  cluster.end_watches();
  put("b", 3);
  scheduler.advance(6s);
  EXPECT_EQ(events(), (Words{"changed b=3", "relisted a=2 b=3 c=1"}));
  scheduler.advance(70s);
  lose({"b"});
  EXPECT_EQ(events(), (Words{"relisted a=2 c=1 +b"})) << "what is missed again is asked for again";
}

TEST_F(MissingTest, WaitsForAThirdListIfTheSecondLacksAnother) {
  follow_three();
  lose({"a"});
  events();
  cluster.set_network(Network::kRefused);
  scheduler.advance(6s);
  remove("b");
  cluster.compact();
  cluster.set_network(Network::kUp);
  scheduler.advance(61s);
  EXPECT_EQ(events(), (Words{"relisted c=1 +b", "relisted c=1"}));
}

TEST_F(MissingTest, RemovesImmediatelyOnADeleteEvent) {
  follow_three();
  for (const char* name : {"a", "b", "c"}) remove(name);
  settle();
  EXPECT_EQ(events(), (Words{"removed a", "removed b", "removed c"}));
  EXPECT_EQ(questions, Words{});
}

TEST_F(MissingTest, KeepsNothingOfAnAbsentKind) {
  follow_three();
  cluster.end_watches();
  cluster.unserve(kThings);
  scheduler.advance(40s);
  EXPECT_EQ(events(), (Words{"relisted"}));
  EXPECT_EQ(questions, Words{});
}

TEST_F(ListWatchTest, ADroppedSourceIsSilent) {
  follow();
  events();
  put("a", 1);  // on its way
  source.reset();
  asked();
  scheduler.advance(1h);
  EXPECT_EQ(events(), Words{});
  EXPECT_EQ(asked(), Words{});
}

// Objects that cannot be understood.
// --------------------------------------------------------------------------------

TEST_F(ListWatchTest, AnInvalidObjectIsInTheListAndReportedOnce) {
  put("a", 1);
  put("b", R"({"value":"x"})");
  put("c", 3);
  follow();
  EXPECT_EQ(events(), (Words{"relisted a=1 b! c=3"}));
  EXPECT_EQ(log.count("invalid object resource=things namespace=ns name=b why=spec.value"), 1u);

  scheduler.advance(70s);
  cluster.expire_watches();
  settle();
  EXPECT_EQ(events(), (Words{"relisted a=1 b! c=3"}));
  EXPECT_EQ(log.count("invalid object"), 1u) << "the same problem is not new";
}

TEST_F(ListWatchTest, AnObjectThatBecomesInvalidIsChangedAndNotRemoved) {
  put("a", 1);
  follow();
  put("a", R"({"value":"x"})");
  settle();
  put("a", 2);
  settle();
  put("a", R"({"value":"x"})");
  settle();
  remove("a");
  settle();
  EXPECT_EQ(events(), (Words{"relisted a=1", "changed a!", "changed a=2", "changed a!", "removed a"}));
  EXPECT_EQ(log.count("invalid object"), 2u) << "it was well in between";
}

TEST_F(ListWatchTest, KnowsAnObjectNestedTooDeepByName) {
  follow();
  put("a", 1);
  cluster.on_deliver = [](std::string text) {
    return text.insert(text.size() - 1, R"(,"deep":)" + std::string(500, '[') + std::string(500, ']'));
  };
  put("b", 2);
  settle();
  EXPECT_EQ(events(), (Words{"relisted", "changed a=1", "changed b!"}));
}

TEST_F(ListWatchTest, RelistsAfterAnEventWithoutAName) {
  put("a", 1);
  follow();
  events();
  asked();
  cluster.inject("things", kube::EventType::kModified, R"({"spec":{}})");
  remove("a");
  scheduler.advance(2s);
  EXPECT_EQ(asked(), (Words{"watch initial"}));
  EXPECT_EQ(events(), (Words{"relisted"}));
  EXPECT_EQ(why, "an event names no object");
}

// Red when each of them is a line of the log.
TEST_F(ListWatchTest, ReportsManyNamelessItemsInOneLine) {
  for (const bool watch_list : {false, true}) {
    cluster.watch_list = watch_list;
    for (int i = 0; i < 100; ++i) put("n" + std::to_string(i), 1);
    cluster.on_deliver = [](const std::string&) { return std::string("{}"); };
    follow();
    EXPECT_EQ(events(), (Words{"relisted"})) << watch_list;
    EXPECT_EQ(log.count("without a name"), 1u);
    EXPECT_EQ(log.count("items=100"), 1u);
    log.lines.clear();
  }
}

TEST_F(ListWatchTest, OmitsANamelessItem) {
  for (const bool watch_list : {false, true}) {
    cluster.watch_list = watch_list;
    put("a", 1);
    put("b", 2);
    cluster.on_deliver = [](std::string text) {
      return text.find("\"a\"") == std::string::npos ? text : "{}";
    };
    follow();
    EXPECT_EQ(events(), (Words{"relisted b=2"})) << watch_list;
    EXPECT_EQ(log.count("without a name"), 1u);
    log.lines.clear();
  }
}

// Red when an object that is too large to be read whole is none: an exclude would be forgotten.
TEST_F(ListWatchTest, ListsATruncatedObjectAsInvalid) {
  for (const bool watch_list : {false, true}) {
    cluster.watch_list = watch_list;
    put("a", 1);
    put("b", 2);
    cluster.on_deliver = [](std::string text) {
      return text.find("\"a\"") == std::string::npos ? text : text.substr(0, text.find("\"value\""));
    };
    follow();
    EXPECT_EQ(events(), (Words{"relisted a! b=2"})) << watch_list;
    put("a", 3);
    settle();
    EXPECT_EQ(events(), (Words{"changed a!"})) << watch_list;
    cluster.on_deliver = nullptr;
  }
}

TEST_F(ListWatchTest, RefusesAnItemTruncatedBeforeItsName) {
  for (const bool watch_list : {false, true}) {
    cluster.watch_list = watch_list;
    put("a", 1);
    put("b", 2);
    follow();
    scheduler.advance(40s);
    EXPECT_EQ(events(), (Words{"relisted a=1 b=2"}));
    cluster.on_deliver = [](std::string text) {
      return text.find("\"a\"") == std::string::npos ? text : text.substr(0, 20);
    };
    cluster.compact();
    cluster.end_watches();
    scheduler.advance(10s);
    EXPECT_EQ(events(), Words{}) << "the last list stands";
    EXPECT_GE(log.count("too large, and its name cannot be read"), 1u);
    cluster.on_deliver = nullptr;
    scheduler.advance(60s);
    EXPECT_EQ(events(), (Words{"relisted a=1 b=2"}));
    log.lines.clear();
  }
}

// Kinds and permissions.
// --------------------------------------------------------------------------------------------

TEST_F(ListWatchTest, DeliversNothingWhileDenied) {
  put("a", 1);
  cluster.deny("things");
  follow();
  scheduler.advance(5min);
  EXPECT_EQ(events(), Words{}) << "an empty list would withdraw everything";
  EXPECT_EQ(source->sync_state().state, State::kDenied);
  EXPECT_FALSE(source->sync_state().known);
  ASSERT_EQ(log.lines.size(), 1u);
  EXPECT_NE(log.lines[0].find("watch things"), std::string::npos)
      << "names verb and resource: " << log.lines[0];
  cluster.allow("things");
  scheduler.advance(61s);
  EXPECT_EQ(events(), (Words{"relisted a=1"}));
}

TEST_F(ListWatchTest, ALaterDenialKeepsTheLastList) {
  put("a", 1);
  follow();
  scheduler.advance(2s);
  events();
  cluster.deny("things");
  cluster.end_watches();
  scheduler.advance(5min);
  EXPECT_EQ(events(), Words{});
  EXPECT_EQ(source->sync_state().state, State::kDenied);
  EXPECT_TRUE(source->sync_state().known);
  put("a", 2);
  cluster.allow("things");
  scheduler.advance(61s);
  EXPECT_EQ(events(), (Words{"changed a=2"}));
}

TEST_F(ListWatchTest, ABusyServerOnARelistKeepsTheLastList) {
  put("a", 1);
  follow();
  scheduler.advance(70s);
  events();
  cluster.on_request = [&](const fake::Request&) { return busy(std::nullopt); };
  cluster.expire_watches();
  scheduler.advance(5min);
  EXPECT_EQ(events(), Words{});
  cluster.on_request = nullptr;
  scheduler.advance(61s);
  EXPECT_EQ(events(), (Words{"relisted a=1"}));
}

TEST_F(ListWatchTest, AnAbsentKindIsAnEmptyListThatIsWatched) {
  cluster.uninstall(kThings);
  follow();
  EXPECT_EQ(events(), (Words{"relisted"}));
  EXPECT_EQ(why, "things.example.com is not installed");
  EXPECT_EQ(source->sync_state(),
            (SyncState{State::kAbsent, true, "things.example.com is not installed", true}));
  EXPECT_EQ(asked(), (Words{"watch initial", "discover"}));

  scheduler.advance(1h);
  const Words looked = asked();
  EXPECT_EQ(std::count(looked.begin(), looked.end(), "discover"), static_cast<ptrdiff_t>(looked.size()));
  EXPECT_GE(looked.size(), 60u) << "it keeps looking";
  EXPECT_LE(looked.size(), 130u) << "and not often";
  EXPECT_EQ(events(), Words{});
  EXPECT_EQ(log.lines.size(), 1u);

  cluster.install(kThings);
  put("a", 1);
  scheduler.advance(61s);
  EXPECT_EQ(events(), (Words{"relisted a=1"}));
  EXPECT_EQ(why, "the kind is installed");
  EXPECT_EQ(source->sync_state().state, State::kLive);
}

TEST_F(ListWatchTest, ADeletedKindRemovesItsObjectsAndReturns) {
  put("a", 1);
  follow();
  scheduler.advance(70s);
  events();
  cluster.uninstall(kThings);
  scheduler.advance(40s);
  EXPECT_EQ(events(), (Words{"removed a", "relisted"}));
  EXPECT_EQ(source->sync_state().state, State::kAbsent);
  cluster.install(kThings);
  put("b", 2);
  scheduler.advance(61s);
  EXPECT_EQ(events(), (Words{"relisted b=2"}));
}

TEST_F(ListWatchTest, NotFoundChangesNothingUntilDiscoveryConfirmsIt) {
  put("a", 1);
  follow();
  scheduler.advance(2s);
  events();
  cluster.on_request = [](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.verb == "discover")
      return kube::Failure{Errc::kDenied, 403, "Forbidden", "get apis: forbidden", {}};
    return kube::Failure{Errc::kNotFound, 404, "NotFound", "watch things: not found", {}};
  };
  cluster.end_watches();
  scheduler.advance(5min);
  EXPECT_EQ(events(), Words{});
  EXPECT_EQ(source->sync_state().state, State::kDenied);
}

TEST_F(ListWatchTest, NotFoundOfADiscoveredKindIsAFailure) {
  put("a", 1);
  follow();
  scheduler.advance(2s);
  events();
  cluster.on_request = [](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.verb == "discover") return std::nullopt;
    return kube::Failure{Errc::kNotFound, 404, "NotFound", "watch things: not found", {}};
  };
  cluster.end_watches();
  scheduler.advance(5min);
  EXPECT_EQ(events(), Words{}) << "not the empty list of a kind that is gone";
  EXPECT_EQ(source->sync_state().state, State::kUnreachable);
  cluster.on_request = nullptr;
  scheduler.advance(61s);
  EXPECT_EQ(events(), (Words{"relisted a=1"}));
}

// A load balancer without a server answers 404 to everything, also to discovery.
TEST_F(ListWatchTest, NotFoundOfDiscoveryIsAFailure) {
  put("a", 1);
  for (const bool from_the_start : {true, false}) {
    if (!from_the_start) follow();
    cluster.on_request = [](const fake::Request& request) -> std::optional<kube::Failure> {
      return kube::Failure{Errc::kNotFound, 404, "", request.verb + ": default backend - 404", {}};
    };
    if (from_the_start) follow();
    cluster.end_watches();
    events();
    scheduler.advance(5min);
    EXPECT_EQ(events(), Words{}) << from_the_start;
    EXPECT_EQ(source->sync_state().state, State::kUnreachable);
    EXPECT_EQ(source->sync_state().known, !from_the_start);
    cluster.on_request = nullptr;
    scheduler.advance(61s);
    EXPECT_EQ(source->sync_state().state, State::kLive);
  }
}

TEST_F(ListWatchTest, AKnownKindIsAbsentIfDiscoveryLacksItTwiceIn30Seconds) {
  put("a", 1);
  follow();
  scheduler.advance(70s);
  events();
  asked();
  const auto lose_kind = [this] {
    cluster.on_request = [](const fake::Request& request) -> std::optional<kube::Failure> {
      if (request.verb == "discover") return std::nullopt;
      return kube::Failure{Errc::kNotFound, 404, "NotFound", "watch things: not found", {}};
    };
    cluster.unserve(kThings);
    cluster.end_watches();
  };
  lose_kind();
  scheduler.advance(29s);
  EXPECT_EQ(events(), Words{});
  EXPECT_EQ(source->sync_state().state, State::kUnreachable);
  fixture::expect_golden(source->sync_state().why);
  EXPECT_EQ(asked(), (Words{"watch from " + version(), "discover"}));
  cluster.on_request = nullptr;
  cluster.install(kThings);
  scheduler.advance(3s);
  EXPECT_EQ(events(), (Words{"relisted a=1"})) << "it was never gone";

  scheduler.advance(70s);
  lose_kind();
  scheduler.advance(29s);
  EXPECT_EQ(events(), Words{}) << "the first answer counts anew";
  scheduler.advance(3s);
  EXPECT_EQ(events(), (Words{"relisted"}));
  EXPECT_EQ(source->sync_state().state, State::kAbsent);

  cluster.set_network(Network::kRefused);
  scheduler.advance(2min);
  cluster.set_network(Network::kUp);
  scheduler.advance(61s);
  EXPECT_EQ(source->sync_state().state, State::kAbsent) << "known to be absent: one word is enough";
}

TEST_F(ListWatchTest, ReadsANewKindAsSoonAsItIsServed) {
  cluster.uninstall(kThings);
  follow();
  scheduler.advance(5min);
  events();
  int refusals = 2;
  cluster.on_request = [&](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.verb == "discover" || refusals-- <= 0) return std::nullopt;
    if (refusals == 1) return kube::Failure{Errc::kNotFound, 404, "NotFound", "watch things: not found", {}};
    return kube::Failure{Errc::kBusy, 429, "TooManyRequests", "watch things: storage is (re)initializing",
                         1s};
  };
  cluster.install(kThings);
  while (refusals == 2) scheduler.advance(1s);  // until discovery has seen it
  EXPECT_EQ(source->sync_state().state, State::kAbsent)
      << "served, and not yet to be read: no failure to talk about";
  scheduler.advance(3s);
  EXPECT_EQ(events(), (Words{"relisted"})) << "waits start over at 0.8 s";
  EXPECT_EQ(log.count("watch failed"), 0u);
  EXPECT_EQ(log.count("watch restored"), 0u);
}

TEST_F(ListWatchTest, BoundsDiscoveryAfterALongWatch) {
  put("a", 1);
  follow();
  scheduler.advance(70s);
  events();
  cluster.uninstall(kThings);
  cluster.on_request = [this](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.verb == "discover") cluster.set_network(Network::kBlackHole);
    return std::nullopt;
  };
  settle();
  cluster.on_request = nullptr;
  cluster.set_network(Network::kUp);
  scheduler.advance(65s);
  EXPECT_EQ(events(), (Words{"removed a"}));
  scheduler.advance(31s);
  EXPECT_EQ(events(), (Words{"relisted"}));
}

TEST_F(ListWatchTest, RetriesDiscoveryWithoutAnAnswer) {
  cluster.uninstall(kThings);
  cluster.on_request = [this](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.verb == "discover") cluster.set_network(Network::kBlackHole);
    return std::nullopt;
  };
  follow();
  EXPECT_EQ(events(), Words{});
  cluster.on_request = nullptr;
  cluster.set_network(Network::kUp);
  scheduler.advance(65s);
  EXPECT_EQ(events(), (Words{"relisted"}));
  EXPECT_EQ(source->sync_state().state, State::kAbsent);
}

}  // namespace
}  // namespace sliced::watchers
