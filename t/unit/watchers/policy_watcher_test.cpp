#include "watchers/policy_watcher.h"

#include "reactor/base/first_few.h"
#include "t/fixture/golden.h"
#include "t/unit/watchers/watch_fixture.h"

namespace sliced::watchers {
namespace {

// A language for the test: spec.text, kept as it is.
struct Text {
  std::string text;
};

PolicyObject<Text> decode_text(const kube::Json& object, const kube::ObjectMeta&) {
  const kube::Json* spec = object.find("spec");
  auto text = std::make_shared<const Text>(Text{std::string(spec == nullptr ? "" : spec->text("text"))});
  const Footprint footprint{.bytes = 1'000 + text->text.size(), .guards = text->text.starts_with("guard")};
  return {std::move(text), footprint};
}

// "a=text", "a!" when it cannot be understood, "a?" when it is left out.
std::string shown(const Watched<PolicyObject<Text>>& item) {
  if (!item.value) return item.id.name + "!";
  if (item.value->is_left_out()) return item.id.name + "?";
  return item.id.name + "=" + item.value->policy->text.substr(0, 5);
}

struct PolicyWatcherTest : WatchTest {
  PolicyWatcherTest() { cluster.install(kube::kSriovResourcePolicies); }

  void follow_policies(MemoryLimits memory = {}, PolicyWatcher<Text>::KeepMissing keep_missing = {}) {
    watcher = make_policy_watcher<Text>(
        ports(), kube::kSriovResourcePolicies, "ns", {decode_text, memory},
        [this](SourceEvent<Watched<PolicyObject<Text>>> event) { take(std::move(event)); }, {},
        std::move(keep_missing));
    watcher->start();
    settle();
  }
  void take(SourceEvent<Watched<PolicyObject<Text>>> event) {
    if (const auto* changed = std::get_if<Changed<Watched<PolicyObject<Text>>>>(&event))
      return told.push_back("changed " + shown(changed->now));
    if (const auto* removed = std::get_if<Removed<Watched<PolicyObject<Text>>>>(&event))
      return told.push_back("removed " + removed->id.name);
    std::string text = "relisted";
    const auto& list = std::get<Relisted<Watched<PolicyObject<Text>>>>(event);
    for (const auto& item : list.all) text += " " + shown(item);
    for (const auto& id : list.kept) text += " +" + id.name;
    told.push_back(text);
  }
  void put_policy(const std::string& name, const std::string& text, const std::string& created = "") {
    cluster.put_text(kube::kSriovResourcePolicies,
                     R"({"metadata":{"name":")" + name + R"(","namespace":"ns")" +
                         (created.empty() ? "" : R"(,"creationTimestamp":")" + created + "\"") +
                         R"(},"spec":{"text":")" + text + "\"}}");
  }

  std::unique_ptr<PolicyWatcher<Text>> watcher;
};

TEST_F(PolicyWatcherTest, DecodesPoliciesOfOneNamespace) {
  put_policy("a", "one");
  cluster.put_text(kube::kSriovResourcePolicies,
                   R"({"metadata":{"name":"b","namespace":"elsewhere"},"spec":{"text":"two"}})");
  follow_policies();
  EXPECT_EQ(events(), Words{"relisted a=one"});
}

TEST_F(PolicyWatcherTest, ListsAPolicyWithARepeatedKeyAsInvalid) {
  follow_policies();
  cluster.inject(
      "sriovresourcepolicies", kube::EventType::kAdded,
      R"({"metadata":{"name":"a","namespace":"ns","resourceVersion":"1000"},"spec":{"x":1,"x":2}})");
  settle();
  EXPECT_EQ(events(), (Words{"relisted", "changed a!"}));
}

TEST_F(PolicyWatcherTest, ListsAnOversizedPolicyAsInvalid) {
  put_policy("large", std::string(kPolicyLimits.size_max, 'x'));
  std::string values = "[";
  for (size_t i = 0; i < kPolicyLimits.nodes_max; ++i) values += "1,";
  cluster.put_text(kube::kSriovResourcePolicies,
                   R"({"metadata":{"name":"many","namespace":"ns"},"spec":{"x":)" + values + "1]}}");
  put_policy("small", "one");
  follow_policies();
  EXPECT_EQ(events(), Words{"relisted large! many! small=one"});
  EXPECT_EQ(log.count("invalid object resource=sriovresourcepolicies namespace=ns name=large"), 1u);
  EXPECT_EQ(log.count("invalid object resource=sriovresourcepolicies namespace=ns name=many"), 1u);
}

TEST_F(PolicyWatcherTest, NamesTwentyOfManyInvalidPolicies) {
  for (int i = 0; i < 1'000; ++i)
    cluster.put_text(
        kube::kSriovResourcePolicies,
        R"({"metadata":{"generation":"x","namespace":"ns","name":"p)" + std::to_string(i) + "\"}}");
  follow_policies();
  EXPECT_EQ(log.count("invalid object resource="), kProblemsMax);
  EXPECT_EQ(log.count("and 980 more objects"), 1u);
}

TEST_F(PolicyWatcherTest, OmitsButKnowsObjectsBeyondTheMemoryLimit) {
  put_policy("a", std::string(3'000, 'a'));
  put_policy("b", "b");
  put_policy("c", "c");
  put_policy("d", "d");
  put_policy("g", "guard");
  follow_policies({.guards_bytes_max = 2'000, .others_bytes_max = 3'500});
  EXPECT_EQ(events(), Words{"relisted a? b=b c=c d=d g=guard"}) << "the largest goes first";
  EXPECT_EQ(log.count("name=a why=the memory for this kind is used up"), 1u);
}

// Red when it is logged again for each list.
TEST_F(PolicyWatcherTest, ReportsAnOmittedObjectOnce) {
  put_policy("a", std::string(3'000, 'a'));
  put_policy("b", "b");
  put_policy("c", "c");
  follow_policies({.others_bytes_max = 3'500});
  EXPECT_EQ(log.count("name=a why=the memory for this kind is used up"), 1u);
  for (int i = 0; i < 3; ++i) {
    cluster.expire_watches();
    scheduler.advance(Millis{60'000});
  }
  EXPECT_GE(events().size(), 3u);
  EXPECT_EQ(log.count("the memory for this kind is used up"), 1u);
  put_policy("a", std::string(3'001, 'a'));
  settle();
  EXPECT_EQ(log.count("the memory for this kind is used up"), 1u);
}

// What a list that broke off had collected is not part of what follows. Red when the room that it took is
// looked up in it.
TEST_F(PolicyWatcherTest, HandlesAListThatBreaksOffBecauseItsKindIsDeleted) {
  for (char name = 'a'; name < 'k'; ++name) put_policy(std::string(1, name), "x");
  cluster.event_spacing = Millis{100};
  follow_policies({.others_bytes_max = 4'500});
  scheduler.advance(Millis{580});  // five of ten: a little more than there is room for
  ASSERT_EQ(events(), Words());
  cluster.unserve(kube::kSriovResourcePolicies);
  cluster.fail_watches({.code = Errc::kNotFound, .http_status = 404, .what = "not found"});
  scheduler.advance(Millis{1'000});
  EXPECT_EQ(events(), Words{"relisted"});
  EXPECT_EQ(watcher->sync_state().state, State::kAbsent);
}

// Red when who edits an object that the memory for this kind is used up for has everybody list at his pace.
TEST_F(PolicyWatcherTest, EditsOfOmittedObjectsDoNotTriggerLists) {
  put_policy("a", std::string(2'000, 'a'));
  put_policy("b", "b");
  follow_policies({.others_bytes_max = 3'500});
  ASSERT_EQ(events(), Words{"relisted a? b=b"});
  asked();
  for (size_t i = 0; i < 600; ++i) {
    put_policy("a", std::string(2'000 + i % 2, 'a'));
    scheduler.advance(Millis{1'000});
  }
  EXPECT_LE(asked().size(), 30u);
}

TEST_F(PolicyWatcherTest, OlderObjectsAreNotEvicted) {
  put_policy("z", "old", "2026-01-01T00:00:00Z");
  for (char name = 'a'; name < 'g'; ++name) put_policy(std::string(1, name), "new", "2026-02-01T00:00:00Z");
  follow_policies({.others_bytes_max = 3'500});
  EXPECT_EQ(events(), Words{"relisted a=new b=new c? d? e? f? z=old"});
}

TEST_F(PolicyWatcherTest, AMoreImportantLateObjectEvictsOlderOnes) {
  put_policy("a", "a");
  put_policy("b", std::string(2'000, 'b'));
  follow_policies({.others_bytes_max = 4'500});
  EXPECT_EQ(events(), Words{"relisted a=a b=bbbbb"});
  put_policy("c", "c");
  settle();
  EXPECT_EQ(events(), (Words{"changed b?", "changed c=c"}));
  cluster.remove(kube::kSriovResourcePolicies, "a", "ns");
  settle();
  EXPECT_EQ(events(), Words{"removed a"});
  scheduler.advance(Millis{6'000});
  EXPECT_EQ(events(), Words{"relisted b=bbbbb c=c"}) << "there is room for it again";
}

// Red when an edit of an old policy can displace newer ones.
TEST_F(PolicyWatcherTest, AGrowingObjectYieldsToSmallLateOnes) {
  put_policy("old", "o", "2020-01-01T00:00:00Z");
  for (const char* name : {"a", "b", "c"}) put_policy(name, std::string(2'000, 'x'), "2024-01-01T00:00:00Z");
  follow_policies({.others_bytes_max = 11'000});
  EXPECT_EQ(events(), Words{"relisted a=xxxxx b=xxxxx c=xxxxx old=o"});
  put_policy("old", std::string(7'000, 'o'), "2020-01-01T00:00:00Z");
  settle();
  EXPECT_EQ(events(), Words{"changed old?"});
}

// Red when a server that lacks others each time can have us keep all that it has ever shown.
TEST_F(PolicyWatcherTest, AnObjectMissingFromAListKeepsItsRoom) {
  put_policy("a", std::string(7'000, 'x'), "2020-01-01T00:00:00Z");
  follow_policies({.others_bytes_max = 10'000}, [](const auto&) { return true; });
  EXPECT_EQ(events(), Words{"relisted a=xxxxx"});
  cluster.end_watches();
  cluster.remove(kube::kSriovResourcePolicies, "a", "ns");
  put_policy("b", std::string(7'000, 'x'), "2024-01-01T00:00:00Z");
  cluster.compact();
  scheduler.advance(Millis{2'000});
  EXPECT_EQ(events(), Words{"relisted b? +a"});
  scheduler.advance(Millis{20'000});
  EXPECT_EQ(events(), (Words{"relisted b=xxxxx"})) << "a second list lacks it too";
}

TEST_F(PolicyWatcherTest, ExcludesHaveAMemoryLimitOfTheirOwn) {
  put_policy("exclude", "guard");
  follow_policies({.guards_bytes_max = 1'500, .others_bytes_max = 1'500});
  for (int i = 0; i < 50; ++i) put_policy("a" + std::to_string(i), "x");
  settle();
  EXPECT_EQ(log.count("name=exclude"), 0u);
  put_policy("b", "guard");
  settle();
  ASSERT_GE(told.size(), 2u);
  EXPECT_EQ(told[told.size() - 2] + ", " + told.back(), "changed exclude?, changed b=guard")
      << "the first by name stays";
}

TEST_F(PolicyWatcherTest, BoundsTheBytesOfAList) {
  cluster.install(kThings);
  const std::string text(1u << 20, 'x');
  for (int i = 0; i < 66; ++i) put("t" + std::to_string(i), R"({"value":1,"text":")" + text + "\"}");
  follow();
  ASSERT_FALSE(stood.empty());
  EXPECT_EQ(stood.back(), State::kUnreachable);
  fixture::expect_golden(source->sync_state().why);
}

}  // namespace
}  // namespace sliced::watchers
