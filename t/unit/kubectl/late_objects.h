#pragma once
// What commands read of a cluster in memory whose server may forget the pages of a list.
#include <functional>

#include "kubectl/fleet/cluster_objects.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/late_pages.h"

namespace sliced::kubectl {

struct LateObjects {
  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
  fake::LatePages pages{cluster};
  ClusterObjects objects{pages, [this](const std::function<bool()>& done, Millis) {
                           for (int i = 0; i < 100 && !done(); ++i) scheduler.advance(Millis{10});
                           return done();
                         }};
};

}  // namespace sliced::kubectl
