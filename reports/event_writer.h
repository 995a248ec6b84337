#pragma once
// Events (events.k8s.io/v1) of what is worth one: told when it becomes so, and not again while it lasts. What ends and begins
// again is the same Event with a series; after an hour without it the next is another Event.
//
// Pace:      20 at once and 60 an hour at most; of one series at most one write in 6 minutes. What there is no room for is
//            counted and lost: events are for people who look, and the report has what is so.
// Failure:   counted, and said once while it lasts. What was to be told is not tried again.
// Threads:   the loop's.
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>

#include "kube/ports.h"
#include "reactor/base/said_once.h"
#include "reports/happening.h"
#include "watchers/token_bucket.h"

namespace sliced::reports {

class EventWriter {
 public:
  struct Settings {
    std::string node;
    std::function<std::string()> node_uid;
    std::function<std::string(const PolicyRef&)> policy_uid;  // "" not known
    std::function<std::string()> now;                         // "2026-11-21T00:17:41.296000Z"
  };
  struct Counters {
    uint64_t taken = 0, failed = 0, left_out = 0;
  };
  static constexpr Millis kSeriesEvery{360'000}, kSeriesEndsAfter{3'600'000};
  static constexpr size_t kSeriesMax = 256;

  EventWriter(kube::Ports ports, Settings settings);
  /// By who has the interlock. Until then nothing is told, and nothing remembered to be told.
  void permit(bool writes) { is_permitted_ = writes; }
  /// Everything that is so now.
  void look(const Happenings& now);
  const Counters& counters() const { return counters_; }

 private:
  using Key = std::tuple<std::string, PolicyRef, std::string>;
  struct Series {
    Happening last;
    bool is_now = false, is_due = false;
    std::string name, namespace_;  // of its Event; "" none yet
    int64_t count = 0;
    TimePoint seen_at{}, written_at{};
  };

  void forget_old();
  void next();
  void send(Series& series);
  void on_written(const Key& key);
  void on_failure(const Key& key, const kube::Failure& failure);
  void go_on_with(const Series& series);
  kube::Json event_of(const Series& series) const;
  kube::Json regarding(const PolicyRef& policy) const;
  void ended();

  kube::Ports ports_;
  const Settings settings_;
  bool is_permitted_ = false;
  std::map<Key, Series> series_;
  watchers::TokenBucket room_{20, Millis{60'000}};
  Counters counters_;
  SaidLast failure_;
  kube::CallPtr call_;
  reactor::Ticket timer_;
};

}  // namespace sliced::reports
