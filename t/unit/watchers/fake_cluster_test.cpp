// Other tests rely on the fake: its contract is checked here.
#include "t/fake/fake_cluster.h"

#include "t/unit/watchers/watch_fixture.h"

namespace sliced::watchers {
namespace {

using namespace std::chrono_literals;
using kube::Verb;
using kube::WriteRequest;

struct FakeClusterTest : WatchTest {
  FakeClusterTest() { cluster.install(kThings); }

  /// "ok", or the HTTP status and reason.
  std::string write(WriteRequest request) {
    std::string outcome = "none";
    auto call = cluster.write(std::move(request), {[&](std::string_view text) {
                                                     outcome = "ok";
                                                     answer = text;
                                                   },
                                                   [&](const kube::Failure& failure) {
                                                     outcome = std::to_string(failure.http_status) + " " +
                                                               failure.reason;
                                                   }});
    settle();
    return outcome;
  }
  WriteRequest create(const std::string& body) {
    return {Verb::kCreate, kThings, "ns", "", body, "", "", false, true};
  }
  WriteRequest update(const std::string& body) {
    return {Verb::kUpdate, kThings, "ns", "a", body, "", "", false, true};
  }
  WriteRequest erase(const std::string& uid, const std::string& version) {
    return {Verb::kDelete, kThings, "ns", "a", "", uid, version, false, true};
  }
  kube::Json stored() { return cluster.object(kThings, "a", "ns").value_or(kube::Json()); }
  std::string meta(std::string_view key) { return std::string(stored().find("metadata")->text(key)); }

  std::string answer;
};

TEST_F(FakeClusterTest, WritesMeetTheConflictsOfAServer) {
  EXPECT_EQ(write(create(R"({"metadata":{"name":"a"},"spec":{"value":1}})")), "ok");
  EXPECT_EQ(write(create(R"({"metadata":{"name":"a"},"spec":{"value":2}})")), "409 AlreadyExists");
  const std::string old = meta("resourceVersion"), uid = meta("uid");
  EXPECT_EQ(
      write(update(R"({"metadata":{"name":"a","resourceVersion":")" + old + R"("},"spec":{"value":3}})")),
      "ok");
  EXPECT_NE(meta("resourceVersion"), old);
  EXPECT_EQ(meta("uid"), uid);
  EXPECT_EQ(
      write(update(R"({"metadata":{"name":"a","resourceVersion":")" + old + R"("},"spec":{"value":4}})")),
      "409 Conflict");
  EXPECT_EQ(write(erase("another-uid", "")), "409 Conflict");
  EXPECT_EQ(write(erase(uid, old)), "409 Conflict");
  EXPECT_EQ(write(erase(uid, meta("resourceVersion"))), "ok");
  EXPECT_EQ(write(erase("", "")), "404 NotFound");
  EXPECT_EQ(write(update(R"({"metadata":{"name":"a"}})")), "404 NotFound");
  EXPECT_EQ(cluster.writes().size(), 9u);
}

TEST_F(FakeClusterTest, ADryRunStoresNothing) {
  WriteRequest request = create(R"({"metadata":{"name":"a"},"spec":{"value":1}})");
  request.dry_run = true;
  EXPECT_EQ(write(request), "ok");
  EXPECT_NE(answer.find("\"uid\""), std::string::npos);
  EXPECT_TRUE(stored().is_null());
  EXPECT_EQ(cluster.writes().size(), 0u);
}

TEST_F(FakeClusterTest, AnUnchangedUpdateSendsNoEvent) {
  follow();
  EXPECT_EQ(write(create(R"({"metadata":{"name":"a"},"spec":{"value":1}})")), "ok");
  const std::string before = meta("resourceVersion");
  EXPECT_EQ(write(update(R"({"spec":{"value":1},"metadata":{"uid":")" + meta("uid") + R"(","name":"a"}})")),
            "ok");
  EXPECT_EQ(meta("resourceVersion"), before);
  EXPECT_EQ(events(), (Words{"relisted", "changed a=1"}));
}

TEST_F(FakeClusterTest, AdmissionMayRefuseOrDropAField) {
  cluster.on_admit = [](const fake::Request&, kube::Json& object) -> std::optional<kube::Failure> {
    if (object.find({"spec", "value"}) == nullptr)
      return kube::Failure{Errc::kInvalid, 422, "Invalid", "no value", {}};
    object.set("spec", kube::Json(kube::Json::Object{}));
    return std::nullopt;
  };
  EXPECT_EQ(write(create(R"({"metadata":{"name":"a"},"spec":{}})")), "422 Invalid");
  EXPECT_EQ(write(create(R"({"metadata":{"name":"a"},"spec":{"value":1}})")), "ok");
  EXPECT_EQ(answer.find("value"), std::string::npos);
  EXPECT_EQ(stored().find({"spec", "value"}), nullptr);
}

TEST_F(FakeClusterTest, AWriteWithALostAnswerIsStored) {
  cluster.on_answer = [](const fake::Request&) {
    return kube::Failure{Errc::kTimeout, 0, "", "no answer", {}};
  };
  EXPECT_EQ(write(create(R"({"metadata":{"name":"a"},"spec":{"value":1}})")), "0 ");
  EXPECT_FALSE(stored().is_null());
  cluster.on_answer = nullptr;
  auto call =
      cluster.write(erase("", ""), {[](std::string_view) { FAIL(); }, [](const kube::Failure&) { FAIL(); }});
  call.reset();
  settle();
  EXPECT_TRUE(stored().is_null());
}

TEST_F(FakeClusterTest, AWatchFromAnOldVersionGetsTheHistoryOr410) {
  put("a", 1);
  const std::string old = version();
  put("a", 2);
  remove("a");
  Words words;
  kube::WatchHandlers handlers{
      [&](const kube::WatchEvent& event) { words.push_back(std::to_string(static_cast<int>(event.type))); },
      [&] { words.push_back("end"); },
      [&](const kube::Failure& failure) { words.push_back(std::to_string(failure.http_status)); }};
  auto first = cluster.watch({kube::Scope{kThings, "ns", "", false}, old, false, 1s}, handlers);
  scheduler.advance(2s);
  EXPECT_EQ(std::exchange(words, {}), (Words{"1", "2", "end"}));
  cluster.compact();
  auto second = cluster.watch({kube::Scope{kThings, "ns", "", false}, old, false, 0s}, handlers);
  settle();
  EXPECT_EQ(words, (Words{"410"}));
}

TEST_F(FakeClusterTest, SendsADeleteForAnObjectThatLeavesTheSelector) {
  cluster.put_text(kThings, R"({"metadata":{"name":"a","namespace":"ns"},"spec":{"color":"red","value":1}})");
  Words words;
  auto call = cluster.watch(
      {kube::Scope{kThings, "", "spec.color=red", false}, version(), false, 0s},
      {[&](const kube::WatchEvent& event) { words.push_back(std::to_string(static_cast<int>(event.type))); },
       [] {}, [](const kube::Failure&) {}});
  settle();
  cluster.put_text(kThings,
                   R"({"metadata":{"name":"a","namespace":"ns"},"spec":{"color":"blue","value":1}})");
  cluster.put_text(kThings, R"({"metadata":{"name":"a","namespace":"ns"},"spec":{"color":"red","value":2}})");
  settle();
  EXPECT_EQ(words, (Words{"2", "0"}));
}

TEST_F(FakeClusterTest, ListsInstalledKindsInDiscovery) {
  std::vector<std::string> plurals{"unset"};
  auto ask = [&](const char* group) {
    auto call = cluster.discover(
        group, "v1", [&](std::vector<std::string> found) { plurals = std::move(found); },
        [](const kube::Failure&) { FAIL(); });
    settle();
    return plurals;
  };
  EXPECT_EQ(ask("example.com"), (Words{"things"}));
  EXPECT_EQ(ask("nowhere.com"), Words{});
  EXPECT_EQ(ask(""), (Words{"nodes"}));
}

}  // namespace
}  // namespace sliced::watchers
