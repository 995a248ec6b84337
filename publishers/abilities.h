#pragma once
// What the API server can do beyond the plain slice, found out by writing one that is never stored
// (dryRun=All with strict validation) and looking at the answer: a server without the feature gate refuses it
// or gives it back without the field. Asked only when somebody wants the ability; unknown means no.
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "kube/client/ports.h"
#include "kube/objects/cluster.h"
#include "kube/objects/resource_slice.h"
#include "reactor/backoff.h"
#include "reactor/base/callback_guard.h"
#include "reactor/base/log.h"
#include "reactor/scheduler.h"

namespace sliced::publishers {

/// Each is fields of ResourceSlice (resource/v1) that a server without the gate drops or refuses.
enum class Ability {
  kListAttributes,  // gate DRAListTypeAttributes (1.36 alpha)
  /// Counters are stored (gate DRAPartitionableDevices) and kube-scheduler adds them up as it should: from
  /// 1.36.2 on, taken to be of the server's version.
  kCounters,
  kSharedDevices,       // allowMultipleAllocations and request policies (gate DRAConsumableCapacity)
  kSkipNodeOperations,  // gate DRAOptionalNodeOperations (1.37 alpha)
};

/// Ownership: the ports outlive it; dropping it drops the probe under way, which stores nothing in any case.
/// Failure: an answer that says nothing of the field is none, as is a refusal by admission control; it is asked again with
/// growing waits.
/// Log: each ability when it becomes known or is lost.
class Abilities {
 public:
  /// For the first answer, so that a restart does not first publish without what it will publish a moment
  /// later.
  static constexpr Millis kAnswerMax{5'000};

  /// scheduler_version: kube-scheduler's, "" when it is the server's. on_changed: an ability became known or
  /// was lost, or the wait for it ended.
  Abilities(kube::Ports ports, std::string driver, std::string node, std::string scheduler_version,
            std::function<void()> on_changed);

  /// Probes unless that is known or under way.
  /// Wanted once, it stays wanted: another server is asked anew without a word.
  void want(Ability ability);
  /// Unknown is no.
  /// The last answer stands until there is a newer one, also while another server is asked.
  bool has(Ability ability) const;
  /// Nothing that was asked for is still on its way. After kAnswerMax without an answer unknown counts as no.
  bool settled() const;
  /// What was stored lacks it: no, until the server is another one.
  void lost(Ability ability);

  /// The server may be another one now (it was away, or slices were listed again): asks its version, and
  /// probes again if that differs; with growing waits where it differs again and again. A version
  /// whose scheduler does not count ends kCounters at once.
  void server_may_have_changed();

 private:
  std::optional<Ability> next_to_probe() const;
  void meet_another_server();
  void go_on();
  void ask_version();
  void probe(Ability ability, size_t step);
  bool is_counting() const;
  void conclude(Ability ability, bool able);
  void note(Ability ability, bool able);
  void tell();
  void retry(const kube::Failure& failure);

  kube::Ports ports_;
  const std::string driver_, node_, scheduler_version_;
  const std::function<void()> on_changed_;
  CallbackGuard callbacks_{"Abilities"};
  struct Known {
    std::optional<bool> answer;  // stands until there is a newer one
    bool is_current = false;     // of the server that is there now
  };
  std::map<Ability, Known> wanted_;
  bool is_changed_ = false;  // an answer, since on_changed
  std::string version_;      // of the server that was probed
  std::string denied_;       // what admission control said of the last probe; "" nothing
  kube::CallPtr call_;
  reactor::Ticket retry_, give_up_;
  bool gave_up_ = false;
  reactor::Backoff backoff_;
  reactor::Backoff other_servers_;  // between probes of servers of different versions
  TimePoint not_before_{};
};

/// What the server cannot do, since it stored the slice without it.
/// Only fields that were sent count: what was not asked for cannot be lost. Pure.
std::set<Ability> lost_abilities(const kube::ResourceSlice& sent, const kube::ResourceSlice& stored);

/// Whether a server of that version ("v1.36.2+k3s1") has a scheduler that adds counters up as it should.
bool has_counting_scheduler(std::string_view git_version);

}  // namespace sliced::publishers
