#pragma once
// Where the first lists of a kind end in 410 after their items, as of a server that has compacted their state away.
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "t/fake/forwarding_cluster.h"

namespace sliced::fake {

class LatePages final : public ForwardingCluster {
 public:
  using ForwardingCluster::ForwardingCluster;
  std::map<std::string, int> late;  // by plural: how many of its lists
  /// Before each such end.
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
    return ForwardingCluster::list(std::move(request), std::move(handlers));
  }
};

}  // namespace sliced::fake
