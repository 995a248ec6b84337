#pragma once
// What the API server can do beyond the plain slice, found out by writing one that is never stored
// (dryRun=All with strict validation) and looking at the answer: a server without the feature gate refuses it
// or gives it back without the field. Asked only when somebody wants the ability; unknown means no.
#include <functional>
#include <optional>
#include <string>

#include "kube/cluster.h"
#include "reactor/backoff.h"
#include "reactor/base/log.h"
#include "reactor/scheduler.h"

namespace sliced::publishers {

class Abilities {
 public:
  struct Ports {
    kube::Cluster& cluster;
    reactor::Scheduler& scheduler;
    Log& log;
    reactor::Random random;
  };
  /// For the first answer, so that a restart does not first publish without what it will publish a moment
  /// later.
  static constexpr Millis kAnswerMax{5'000};

  /// on_changed: an ability became known or was lost, or the wait for it ended; may not destroy this.
  Abilities(Ports ports, std::string driver, std::string node, std::function<void()> on_changed);

  /// List attributes (gate DRAListTypeAttributes, 1.36 alpha) are wanted: probes unless that is known or
  /// under way.
  void want_list_attributes();
  bool list_attributes() const { return list_attributes_.value_or(false); }
  /// Nothing that was asked for is still on its way. After kAnswerMax without an answer unknown counts as no.
  bool settled() const { return !wanted_ || list_attributes_ || gave_up_; }

  /// The server may be another one now (a watch was re-opened): asks its version, and probes again if that
  /// differs.
  void server_may_have_changed();

 private:
  void ask_version();
  void probe();
  void conclude(bool able);
  void retry(const kube::Failure& failure);

  Ports ports_;
  const std::string driver_, node_;
  const std::function<void()> on_changed_;
  bool wanted_ = false;
  std::optional<bool> list_attributes_;
  std::string version_;  // of the server that was probed
  kube::CallPtr call_;
  reactor::Ticket retry_, give_up_;
  bool gave_up_ = false;
  reactor::Backoff backoff_;
};

}  // namespace sliced::publishers
