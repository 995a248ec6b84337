// Decisions that are made on a worker while the loop continues.
#include <gtest/gtest.h>

#include "policy/reserved/record.h"
#include "t/fixture/daemon_world.h"
#include "t/fixture/golden.h"

namespace sliced {
namespace {

using namespace std::chrono_literals;

struct ElsewhereTest : testing::Test, fixture::DaemonWorld {
  // From here on, decisions and all other jobs of a worker take half a second.
  void start_slowly() {
    make_pf(2);
    start();
    run(2s);
    executor.answer_after = 500ms;
  }
  bool was_ever_written(const std::string& entry) const {
    const auto all = cluster.writes();
    return std::any_of(all.begin(), all.end(), [&](const auto& request) {
      return kube::encode_json(request.body).find("\"" + entry + "\"") != std::string::npos;
    });
  }
};

// Red when a decision is published although a policy has narrowed it meanwhile.
TEST_F(ElsewhereTest, RepeatsAnOvertakenDecision) {
  start_slowly();
  put_exposure("p", of_type("vf"));
  run(100ms);
  EXPECT_FALSE(daemon->converged());
  put_exposure("p", of_type("pf"));
  run(5s);
  EXPECT_EQ(offered(), std::set<std::string>{kWholePf});
  EXPECT_FALSE(was_ever_written(kFirstVf));
  EXPECT_TRUE(daemon->converged());
}

// Red when what was decided without it is written while somebody decides what an exclude means that was heard of: it came
// while a decision was made that is not made anew, since the one before was.
TEST_F(ElsewhereTest, AddsNothingThatANewExcludeMayMatch) {
  start_slowly();
  put_exposure("p", of_type("pf"));
  run(100ms);
  put_exposure("p", of_type("vf"));
  run(600ms);
  put_exposure("x", of_type("vf", ", action: exclude"));
  for (int i = 0; i < 500; ++i) {
    run(10ms);
    ASSERT_FALSE(offered().contains(kFirstVf)) << i;
  }
  EXPECT_TRUE(daemon->converged());
}

// What comes during the second decision in a row does not stop it, and is decided next.
TEST_F(ElsewhereTest, KeepsEveryChange) {
  start_slowly();
  put_exposure("p", of_type("vf"));
  run(100ms);
  put_exposure("p", of_type("pf"));
  run(600ms);
  put_exposure("p", of_type("nothing"));
  run(400ms);
  EXPECT_EQ(offered(), std::set<std::string>{kWholePf});
  run(5s);
  EXPECT_EQ(offered(), std::set<std::string>());
  EXPECT_TRUE(daemon->converged());
}

// Red when the Node is looked for at the decision's end alone: slices that went with it would be written
// again.
TEST_F(ElsewhereTest, DetectsADeletedNodeDuringADecision) {
  start_slowly();
  put_exposure("p", of_type("vf"));
  run(100ms);
  cluster.remove(kube::kNodes, "node-a");
  for (const auto& slice : slices()) cluster.remove(kube::kResourceSlices, slice.meta.name);
  run(5s);
  EXPECT_EQ(slices().size(), 0u);
}

// The same of one whose decisions have been behind for so long that nothing is held back for them. Red when what went with
// the Node is written again without it, or is not once it is back.
TEST_F(ElsewhereTest, DetectsADeletedNodeDuringConstantEdits) {
  start_slowly();
  put_exposure("p", of_type("vf"));
  const auto edit = [&](int i) {
    put_exposure("q", of_type("bridge", ", priority: " + std::to_string(i % 9)));
  };
  for (int i = 0; i < 100; ++i) {
    edit(i);
    run(100ms);
  }
  for (int i = 0; i < 20; ++i) {  // at another moment of a decision each time
    edit(i);
    run(70ms);
    ASSERT_FALSE(slices().empty());
    cluster.remove(kube::kNodes, "node-a");
    for (const auto& slice : slices()) cluster.remove(kube::kResourceSlices, slice.meta.name);
    run(300ms);
    ASSERT_EQ(slices().size(), 0u) << i;
    put_node("uid-1", {});
    for (int j = 0; j < 30; ++j) {
      edit(j);
      run(100ms);
    }
  }
}

// Red when published entries are withdrawn, or any are added, before the first decision.
TEST_F(ElsewhereTest, ChangesNothingBeforeTheFirstDecision) {
  make_pf(2);
  put_exposure("p", of_type("vf"));
  start();
  run(5s);
  const auto before = offered();
  ASSERT_FALSE(before.empty());
  const size_t written = writes();
  daemon.reset();
  put_exposure("p", of_type("pf"));
  start();
  while (daemon->inventory()->version == 0) run(1ms);
  executor.hang_next = 2;
  run(14s);
  EXPECT_EQ(offered(), before);
  EXPECT_EQ(writes(), written);
  EXPECT_EQ(log.count("no decision in time"), 1u);
  const auto waits = daemon->waiting_for();
  ASSERT_EQ(waits.size(), 1u);
  fixture::expect_golden(waits[0]);
  run(30s);
  EXPECT_EQ(offered(), std::set<std::string>{kWholePf});
}

// Red when each edit of a policy restarts the decision: the exclude would never take effect.
TEST_F(ElsewhereTest, AppliesAnExcludeDuringConstantEdits) {
  make_pf(2);
  put_exposure("p", of_type("vf"));
  start();
  run(5s);
  ASSERT_TRUE(offered().contains(kFirstVf));
  executor.answer_after = 1500ms;
  put_exposure("x", of_type("vf", ", action: exclude"));
  for (int i = 0; i < 5; ++i) {
    put_exposure("busy", of_type("bridge", ", priority: " + std::to_string(i)));
    run(1s);
  }
  EXPECT_FALSE(offered().contains(kFirstVf));
}

// Red when a decision that does not know of an entry lets its slice be overwritten.
TEST_F(ElsewhereTest, ReservesEntriesThatAppearDuringADecisionFirst) {
  start_slowly();
  put_exposure("p", of_type("vf"));
  run(5s);
  kube::ResourceSlice unknown;
  for (const auto& slice : slices())
    if (slice.driver == kExposureDriver) unknown = slice;
  const std::string entry = std::string(kWholePf) + "-old";
  unknown.meta = {.name = "written-by-a-predecessor"};
  unknown.pool.name = std::string("node-a/") + kWholePf;
  unknown.shared_counters.clear();
  unknown.devices = {kube::Device{.name = entry}};
  bool is_deleted = false;
  cluster.on_request = [&](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.verb != "delete" || request.name != unknown.meta.name) return std::nullopt;
    is_deleted = true;
    bool is_recorded = false;
    for (const auto& slice : slices()) {
      const auto record = slice.meta.annotations.find(std::string(policy::kWithdrawnAnnotation));
      is_recorded |=
          record != slice.meta.annotations.end() && record->second.find(entry) != std::string::npos;
    }
    EXPECT_TRUE(is_recorded);
    return std::nullopt;
  };
  put_exposure("p", of_type("nothing"));
  run(100ms);
  put_exposure("p", of_type("pf"));
  run(600ms);  // being decided for the second time: other changes would wait
  cluster.put(kube::kResourceSlices, kube::encode_resource_slice(unknown));
  run(10s);
  EXPECT_TRUE(is_deleted);
}

}  // namespace
}  // namespace sliced
