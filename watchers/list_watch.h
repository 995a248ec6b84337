#pragma once
// Lists and watches one scope of the cluster and recovers from failures, like client-go's reflector
// (k8s.io/client-go/tools/cache/reflector.go). ListWatch is the protocol without types; WatchedSource<T>
// (watched_source.h) decodes objects and emits source events.
//
//   start ─▶ initial events (WatchList) ─▶ watch ─▶ clean end ─▶ watch from the last resourceVersion
//              │ 400, 422                    │ 410, ERROR ─▶ relist
//              ▼                             │ 429, refused, timeout ─▶ wait, watch again without a relist
//            LIST ──────────────────────────▶┘ 404 ─▶ discovery: absent is a state in which to wait
//
// Pace:      delays between attempts double regardless of the answer, and are reset only after a watch of
//            half a minute. Attempts without delay (the next watch after a clean end, retry_now()) use a
//            token bucket. So no server can cause a request loop.
// Scope:     objects outside the scope (a server or proxy ignores selectors) are dropped here.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kube/client/ports.h"
#include "kube/objects/cluster.h"
#include "reactor/backoff.h"
#include "reactor/base/log.h"
#include "reactor/base/rate_limited_log.h"
#include "reactor/base/result.h"
#include "reactor/base/time.h"
#include "reactor/scheduler.h"
#include "watchers/object_head.h"
#include "watchers/token_bucket.h"

namespace sliced::watchers {

/// The state of a source. `known` is set by the first list, or by discovery's answer that the kind is not
/// installed. In the states denied and unreachable the last known objects remain valid. A known kind is
/// absent only after two answers of discovery, half a minute apart; until then it is unreachable. Built-in
/// kinds are never absent.
struct SyncState {
  enum class State {
    kStarting,     // no answer yet
    kLive,         // listed and watched
    kAbsent,       // not served, by discovery; checked again periodically
    kDenied,       // 401 or 403
    kUnreachable,  // no answer, busy, or an invalid answer
  };
  State state = State::kStarting;
  /// Never reset: known objects may be outdated, but are never considered absent.
  bool known = false;
  std::string why;  // of kAbsent, kDenied and kUnreachable: verb, resource and reason
  /// The last answer of discovery was that the kind is not served. A daemon waits for confirmation, or
  /// ignores it for built-in kinds; a command that reads once has to accept it.
  bool is_unserved = false;
  bool operator==(const SyncState&) const = default;
};
std::string_view describe(SyncState::State state);  // "starting", "live" ...

/// Ended watches since the start, by reason; for metrics. Lists by WatchList are not counted.
struct WatchEnds {
  uint64_t closed = 0;   // by the server, regularly after some minutes
  uint64_t failed = 0;   // broken, refused, or an invalid answer
  uint64_t expired = 0;  // 410: followed by a list
  uint64_t silent = 0;   // no event or bookmark in silence_max
};

/// Times and sizes, by default those of the daemon; from client-go's reflector (k8s.io/client-go/tools/cache)
/// if it has them.
struct ListWatchLimits {
  Millis silence_max{300'000};         // without event or bookmark (one a minute) the watch is restarted
  Millis initial_silence_max{60'000};  // the same during a list
  Millis watch_timeout_min{300'000};   // timeoutSeconds; uniformly random up to twice that
  Millis accepted_after{100};          // a resumed watch that is not refused for this long is live
  Millis short_watch{1'000};           // a shorter watch without an event is a failure
  Millis healthy_after{30'000};        // a watch of this length resets the delays
  Millis jitter{1'000};                // before requests that all nodes make at the same time
  Millis listing_max{300'000};         // for a complete list
  Millis absent_after{30'000};         // between the two answers for kAbsent
  Millis confirm_after{5'000};         // between two lists that lack most objects
  Millis retry_after_max{60'000};
  Millis watch_list_retry{3'600'000};  // until WatchList is tried again after a refusal
  size_t objects_max = 50'000;         // larger lists are rejected, and the last one remains
  size_t list_bytes_max = 64u << 20;   // of a list's text; likewise
  Millis list_again_after{5'000};      // when omitted objects may fit into memory
  Millis list_again_later{60'000};     // the same, if it happens repeatedly
};

/// Receives the objects of a ListWatch. Object texts are valid during the call.
class ObjectSink {
 public:
  virtual ~ObjectSink() = default;
  // A running list; it takes effect at commit().
  virtual void collect(const ObjectHead& head,
                       std::string_view object) = 0;  // replaces an object of the same name
  /// An object was deleted during the list; it may be unknown.
  virtual void uncollect(const ObjectHead& head) = 0;
  /// The list failed and is discarded.
  virtual void abandon() = 0;
  /// Number of objects of the running list.
  virtual size_t collected() const = 0;
  /// Returns true if the object is known (not from the running list).
  virtual bool knows(const ObjectHead& head) const = 0;
  /// Replaces all known objects. If the list lacks too many of them, these are kept, and their number is
  /// returned. is_confirming: the second such list, so that they are removed.
  virtual size_t commit(const std::string& why, bool is_confirming) = 0;
  virtual void lose_all(const std::string& why) = 0;  // all objects are gone, confirmed
  // Changes of one object of the scope, after the list.
  virtual void changed(const ObjectHead& head, std::string_view object) = 0;
  /// The object may be unknown.
  virtual void removed(const ObjectHead& head) = 0;

  /// Called after commit() or lose_all() if these change the state.
  virtual void sync_state_changed(const SyncState& sync) = 0;
};

/// Lists and watches one scope (client-go: Reflector); the sink stores the objects.
/// Log:         one line per change of the sync state and per list; continued failures are counted.
/// Memory:      no objects.
/// Permissions: list and watch; discovery only after a 404.
/// REQUIRES: `ports` and the sink must outlive this object. Destroying it cancels its request and timers.
/// Loop thread only, one request at a time. Calls the sink from answers and timers, never from start().
class ListWatch {
 public:
  ListWatch(kube::ClusterPorts ports, kube::Scope scope, ObjectSink& sink, ListWatchLimits limits = {});
  ListWatch(const ListWatch&) = delete;
  ListWatch& operator=(const ListWatch&) = delete;

  /// Starts; later calls have no effect.
  void start();
  /// The server is reachable again: ends the delay before the next attempt, within a token bucket.
  /// Retry-After is respected.
  void retry_now();
  /// Returns true during a Retry-After (at most retry_after_max).
  bool is_told_to_wait() const;
  /// While parked it does not retry: another source probes the server.
  void park(bool parked);
  /// Schedules a list, because the sink has room for omitted objects: after list_again_after three times,
  /// then after list_again_later, so that edits of objects do not set the pace. No effect if a list is due.
  void relist_from_start(std::string why);

  /// Valid as long as this object; the content changes with each callback.
  const SyncState& sync_state() const { return sync_state_; }
  const WatchEnds& watch_ends() const { return watch_ends_; }
  const kube::Scope& scope() const { return scope_; }

 private:
  enum class Step { kIdle, kInitialEvents, kListing, kWatching, kDiscovering, kWaiting };

  // Requests.
  /// Sends the next request: discovery, a resumed watch, or a list.
  void attempt();
  void relist(std::string why);  // for the next attempt
  /// WatchList (sendInitialEvents): a list that continues as the watch. Not used for an hour after a refusal
  /// (400, 422).
  void open_initial_events();
  /// In pages. The first list is consistent, later ones are not older than the known version.
  void open_list();
  /// Resumes from the last version.
  void open_watch();
  // Random, so that watches of all nodes do not end together.
  void start_watch(bool initial_events);
  /// Asks discovery after a 404, which may come from a load balancer without a server.
  void probe_kind(kube::Failure not_found);
  // Discovery has the kind although the request returned 404: it has just been installed.
  void kind_is_served(const kube::Failure& not_found);
  // The sink is emptied only after the confirmation; until then the source is unreachable.
  void kind_is_absent(const kube::Failure& not_found);
  /// The second answer, absent_after behind the first.
  bool is_absence_confirmed();

  // Answers.
  /// An event whose object has no readable name is followed by a list.
  void on_event(const kube::WatchEvent& event);
  void on_initial_event(kube::EventType type, const ObjectHead& head, std::string_view object);
  /// The server accepted a resumed watch. It is live if it is not refused within accepted_after: 410 arrives
  /// in the stream.
  void on_open();
  /// The object has left the scope.
  void on_live_event(kube::EventType type, const ObjectHead& head, std::string_view object);
  void on_list_item(std::string_view object);
  /// Skips and counts items without a name. An item that is too large to read its name may be an exclude, so
  /// that the list is rejected.
  void on_nameless(const Result<ObjectHead>& head);
  /// An object outside the scope.
  bool is_foreign(const ObjectHead& head, std::string_view object);
  // Once, until a list without such objects.
  void report_foreign(std::string_view name);
  /// Rejects lists beyond objects_max or list_bytes_max.
  void collect(const ObjectHead& head, std::string_view object);
  void on_list_done(std::string resource_version);
  /// A clean end. The next watch starts immediately within the token bucket; a watch shorter than short_watch
  /// is a failure.
  void on_watch_end();
  // 404: discovery; 410: list; others: the watch is resumed later, unless the same event would break it
  // again.
  void on_failure(const kube::Failure& failure);
  void on_watch_failure(const kube::Failure& failure);
  // kInvalid: WatchList is not supported, and a list in pages follows immediately.
  void on_list_failure(const kube::Failure& failure);
  /// 410: one list without backoff, jittered.
  void on_version_gone(const kube::Failure& failure);

  /// The list is complete and goes to the sink. A list older than the known version is accepted only if a
  /// second one after confirm_after is, too.
  void finish_list();
  bool is_of_the_past();
  /// kept: number of missing objects that a second list must confirm.
  void arm_confirmation(size_t kept);
  // A consistent list: another one from the same cache would confirm nothing.
  void confirm_list();
  // Delays and state.
  /// Cancels the request and waits: the next delay of the backoff, or Retry-After if longer.
  void fail(const kube::Failure& failure);
  void fail(Errc code, std::string_view what);
  // While parked, the end of the delay has no effect; park(false) then continues immediately.
  void wait(Millis delay);
  void wait_jitter();
  void update_health();
  /// A silent list has failed; a silent watch is restarted from the same version.
  void watch_silence();
  void note_activity() { last_activity_ = ports_.scheduler.now(); }
  bool watch_list_usable() const;
  /// Notifies the sink of a changed state. The first reason is kept.
  void set_state(SyncState::State state, std::string why);
  // One line per change, with the number of failures.
  void log_state(SyncState::State before);
  std::string resource_name() const;

  kube::ClusterPorts ports_;
  const kube::Scope scope_;
  ObjectSink& sink_;
  const ListWatchLimits limits_;
  reactor::Backoff backoff_;

  Step step_ = Step::kIdle;
  SyncState sync_state_;
  WatchEnds watch_ends_;
  kube::CallPtr call_;
  reactor::Ticket timer_;     // delay between attempts
  reactor::Ticket silence_;   // during a request
  reactor::Ticket accepted_;  // after the acceptance of a resumed watch

  bool need_list_ = true;
  std::string list_reason_ = "start";
  std::string resource_version_;   // the last one received
  bool version_unusable_ = false;  // too old or too new for the server
  std::optional<int64_t>
      newest_version_;  // the newest version that the sink got; nullopt: none, or not a number
  std::optional<TimePoint> older_since_;  // since when lists have been older
  std::optional<TimePoint> watch_list_off_until_;
  bool relist_at_once_ = true;                         // one list without backoff after each healthy watch
  TokenBucket fresh_starts_{1, Millis{60'000}};        // for retry_now()
  TokenBucket immediate_retries_{12, Millis{10'000}};  // attempts without backoff
  TokenBucket lists_for_room_{3, Millis{60'000}};      // for relist_from_start()
  std::optional<TimePoint> not_before_;                // Retry-After
  bool parked_ = false;
  bool awaits_kind_ = false;  // waiting for the kind to be installed
  bool is_known_absent_ = false;
  std::optional<TimePoint> missed_at_;          // first answer that a known kind is not served
  std::optional<TimePoint> unconfirmed_since_;  // time of the list that needs confirmation

  // Start of the request, and its last byte.
  TimePoint opened_{}, last_activity_{};
  Millis asked_timeout_{0};  // of the open watch
  reactor::Ticket confirm_;
  reactor::Ticket again_;  // timer of relist_from_start()
  size_t events_ = 0;      // of the open watch
  size_t list_bytes_ = 0;  // of the running list
  size_t nameless_ = 0;    // skipped items without a name
  size_t foreign_ = 0;     // objects outside the scope since the last list
  LastMessage foreign_log_;
  size_t failures_ = 0;  // since the last success
};

/// Interface of all sources for daemon/connectivity.h; see ListWatch.
class Source {
 public:
  virtual ~Source() = default;
  virtual void start() = 0;
  virtual void retry_now() = 0;
  virtual bool is_told_to_wait() const = 0;
  virtual void park(bool parked) = 0;
  virtual const SyncState& sync_state() const = 0;
  virtual const WatchEnds& watch_ends() const = 0;
  /// Objects whose text was decoded since the start.
  virtual uint64_t decoded() const = 0;
};

}  // namespace sliced::watchers
