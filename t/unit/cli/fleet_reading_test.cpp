#include "cli/fleet/fleet_reading.h"

#include <gtest/gtest.h>

#include "kube/kinds.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_scheduler.h"

namespace sliced::cli {
namespace fleet_reading_test {
namespace {

// Where the first lists of a kind end in 410 after their items, as of a server that has compacted their state away.
class LatePages final : public kube::Cluster {
 public:
  explicit LatePages(fake::FakeCluster& cluster) : cluster_(cluster) {}
  std::map<std::string, int> late;  // by plural: how many of its lists
  std::function<void(const std::string& plural)> meanwhile = [](const std::string&) {};

  kube::CallPtr list(kube::ListRequest request, kube::ListHandlers handlers) override {
    const std::string plural = request.scope.resource.plural;
    if (late[plural] > 0) {
      --late[plural];
      handlers.on_done = [this, plural, on_failure = handlers.on_failure](const std::string&) {
        meanwhile(plural);
        on_failure({Errc::kGone, 410, "Expired", "list " + plural + ": too old", std::nullopt, {}});
      };
    }
    return cluster_.list(std::move(request), std::move(handlers));
  }
  kube::CallPtr watch(kube::WatchRequest request, kube::WatchHandlers handlers) override {
    return cluster_.watch(std::move(request), std::move(handlers));
  }
  kube::CallPtr write(kube::WriteRequest request, kube::WriteHandlers handlers) override {
    return cluster_.write(std::move(request), std::move(handlers));
  }
  kube::CallPtr get(kube::GetRequest request, kube::WriteHandlers handlers) override {
    return cluster_.get(std::move(request), std::move(handlers));
  }
  kube::CallPtr discover(std::string group, std::string version,
                         std::function<void(std::vector<std::string>)> on_done,
                         std::function<void(const kube::Failure&)> on_failure) override {
    return cluster_.discover(std::move(group), std::move(version), std::move(on_done), std::move(on_failure));
  }
  kube::CallPtr schema(std::string group, std::string version, std::function<void(std::string_view)> on_done,
                       std::function<void(const kube::Failure&)> on_failure) override {
    return cluster_.schema(std::move(group), std::move(version), std::move(on_done), std::move(on_failure));
  }
  kube::CallPtr server_info(std::function<void(kube::ServerInfo)> on_done,
                            std::function<void(const kube::Failure&)> on_failure) override {
    return cluster_.server_info(std::move(on_done), std::move(on_failure));
  }
  std::string describe() const override { return cluster_.describe(); }

 private:
  fake::FakeCluster& cluster_;
};

std::string slice(const std::string& node) {
  return R"({"metadata":{"name":"s-)" + node + R"("},"spec":{"driver":"d.example","nodeName":")" + node +
         R"(","pool":{"name":")" + node +
         R"(","generation":1,"resourceSliceCount":1},"devices":[{"name":"x"}]}})";
}

struct FleetReadingTest : testing::Test {
  FleetReadingTest() {
    cluster.install(kube::kResourceClaims);
    cluster.install(kube::kNodeDeviceReports);
    for (const std::string node : {"a", "b"}) {
      cluster.put_text(kube::kNodes, R"({"metadata":{"name":")" + node + R"("}})");
      cluster.put_text(kube::kResourceSlices, slice(node));
      cluster.put_text(kube::kNodeDeviceReports, R"({"metadata":{"name":")" + node + R"("},"status":{}})");
      cluster.put_text(
          kube::kResourceClaims,
          R"({"metadata":{"namespace":"ns","name":")" + node +
              R"("},"status":{"allocation":{"devices":{"results":[{"request":"r","driver":"d.example","pool":")" +
              node + R"(","device":"x"}]}}}})");
    }
  }
  Result<Unit> read() { return read_fleet(objects, fleet, unread); }

  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
  LatePages pages{cluster};
  ClusterObjects objects{pages, [this](const std::function<bool()>& done, Millis) {
                           for (int i = 0; i < 100 && !done(); ++i) scheduler.advance(Millis{10});
                           return done();
                         }};
  Fleet fleet{{"d.example"}};
  std::vector<std::string> unread;
};

// Red when a list whose pages the server has forgotten ends the command, or when what went meanwhile is told nevertheless.
TEST_F(FleetReadingTest, AListThatTheServerHasForgottenBeginsAnewAndWhatWasToldOfItDoesNotCount) {
  pages.late = {{"nodes", 1}, {"resourceslices", 2}, {"nodedevicereports", 1}, {"resourceclaims", 1}};
  const std::map<std::string, std::pair<kube::Resource, std::string>> gone = {
      {"nodes", {kube::kNodes, "b"}},
      {"resourceslices", {kube::kResourceSlices, "s-b"}},
      {"nodedevicereports", {kube::kNodeDeviceReports, "b"}},
      {"resourceclaims", {kube::kResourceClaims, "b"}}};
  pages.meanwhile = [&](const std::string& plural) {
    const auto& [kind, name] = gone.at(plural);
    cluster.remove(kind, name, kind.namespaced ? "ns" : "");
  };
  ASSERT_TRUE(read());
  EXPECT_EQ(unread, std::vector<std::string>{});
  const auto rows = fleet.rows();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].name, "a");
  EXPECT_EQ(rows[0].usage, (Usage{.devices = 1, .allocated = 1}));
  EXPECT_TRUE(rows[0].report);
  EXPECT_EQ(cluster.count("list", "resourceslices"), 3u);
}

TEST_F(FleetReadingTest, WhatCannotBeReadIsSaidOnceHoweverOftenItIsListed) {
  cluster.put_text(kube::kResourceSlices, R"({"metadata":{"name":"broken"},"spec":{"driver":"d.example"}})");
  pages.late["resourceslices"] = 2;
  ASSERT_TRUE(read());
  EXPECT_EQ(unread, std::vector<std::string>{"ResourceSlice broken: spec.pool.name is missing"});
}

TEST_F(FleetReadingTest, AServerThatForgetsEachListIsNotAskedForEver) {
  pages.late["resourceslices"] = 100;
  const auto told = read();
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().what, "list resourceslices: too old");
  EXPECT_EQ(cluster.count("list", "resourceslices"), 3u);
}

TEST_F(FleetReadingTest, OfOneNodeToo) {
  pages.late["resourceslices"] = 1;
  const auto slices = read_slices_of(objects, "a", unread);
  ASSERT_TRUE(slices);
  EXPECT_EQ(slices->size(), 1u);
}

}  // namespace
}  // namespace fleet_reading_test
}  // namespace sliced::cli
