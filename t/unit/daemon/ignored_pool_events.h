#pragma once
#include "daemon/pool_publisher.h"

namespace sliced::daemon {

/// Ignores all events; a test overrides those that it judges.
struct IgnoredPoolEvents : PoolEvents {
  void on_refused() override {}
  void on_lost(const std::set<publishers::ServerFeature>&) override {}
  void on_settled(const std::string&, const std::set<std::string>&) override {}
  void on_adopted(const kube::ResourceSlice&) override {}
};

}  // namespace sliced::daemon
