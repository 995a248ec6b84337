// Decisions that are made on a worker while the loop goes on.
#include <gtest/gtest.h>

#include "policy/exposure/withdrawn.h"
#include "t/fixture/daemon_world.h"

namespace sliced {
namespace {

using namespace std::chrono_literals;

struct ElsewhereTest : testing::Test, fixture::DaemonWorld {
  // Decisions take half a second from here on; and so does whatever else is asked of a worker.
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
TEST_F(ElsewhereTest, WhatIsOvertakenIsMadeAnew) {
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

// Red when news that never ends keeps everything from being decided.
TEST_F(ElsewhereTest, AStreamOfNewsIsDecidedNowAndThen) {
  start_slowly();
  for (int i = 0; i < 20; ++i) {
    put_exposure("p", of_type(i % 2 == 0 ? "vf" : "pf"));
    run(200ms);
  }
  EXPECT_FALSE(offered().empty());
}

// What comes during the second decision in a row does not stop it, and is decided next.
TEST_F(ElsewhereTest, NoNewsIsForgotten) {
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
TEST_F(ElsewhereTest, ANodeThatGoesMeanwhileIsSeenAtOnce) {
  start_slowly();
  put_exposure("p", of_type("vf"));
  run(100ms);
  cluster.remove(kube::kNodes, "node-a");
  for (const auto& slice : slices()) cluster.remove(kube::kResourceSlices, slice.meta.name);
  run(5s);
  EXPECT_EQ(slices().size(), 0u);
}

TEST_F(ElsewhereTest, WithoutAWorkerTheLoopDecides) {
  make_pf(2);
  start();
  run(2s);
  executor.hang_next = 1;
  put_exposure("p", of_type("pf"));
  run(4s);
  EXPECT_EQ(offered(), std::set<std::string>());
  run(2s);
  EXPECT_EQ(offered(), std::set<std::string>{kWholePf});
}

// Red when a decision that does not know of an entry lets its slice be overwritten.
TEST_F(ElsewhereTest, WhatIsMetMeanwhileIsChargedFirst) {
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
  run(600ms);  // being decided for the second time: other news would wait
  cluster.put(kube::kResourceSlices, kube::encode_resource_slice(unknown));
  run(10s);
  EXPECT_TRUE(is_deleted);
}

}  // namespace
}  // namespace sliced
