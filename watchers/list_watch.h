#pragma once
// Keeps up with everything in one scope of the cluster: list, watch, and what to do when either fails, as
// client-go's reflector does (k8s.io/client-go/tools/cache/reflector.go). ListWatch is the protocol and knows
// no types; WatchedSource<T> (watched_source.h) puts values in and source events out.
//
//   start ─▶ initial events (WatchList) ─▶ watch ─▶ clean end ─▶ watch from the last resourceVersion
//              │ 400, 422                    │ 410, ERROR ─▶ relist
//              ▼                             │ 429, refused, timeout ─▶ wait, watch again without a relist
//            LIST ──────────────────────────▶┘ 404 ─▶ discovery: absent is an answer, and a state to wait in
//
// Pace:      waits between attempts double, whatever was answered; they start over only after a watch that
//            was open for half a minute. What need not wait (the next watch after a clean end, an attempt because
//            others were let in) has a token bucket. So no server can make requests spin.
// Scope:     an object that is not what was asked for (a server or proxy that ignores selectors) is dropped
//            here, and the source lives on.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kube/client/ports.h"
#include "kube/objects/cluster.h"
#include "reactor/backoff.h"
#include "reactor/base/log.h"
#include "reactor/base/result.h"
#include "reactor/base/said_once.h"
#include "reactor/base/time.h"
#include "reactor/scheduler.h"
#include "watchers/object_head.h"
#include "watchers/token_bucket.h"

namespace sliced::watchers {

/// How a source stands. It is synced once `known` is set: a list, or discovery's word that the kind is not
/// installed. Denied, busy or unreachable say nothing: what was known before stays as it was last told. A kind
/// that was known is absent once discovery has said so twice, half a minute apart; until then it is
/// unreachable. Kinds of Kubernetes itself are never absent.
struct Standing {
  enum class State {
    kStarting,     // nothing answered yet
    kLive,         // listed, and followed
    kAbsent,       // discovery confirmed that the kind is not served; looked for again from time to time
    kDenied,       // 401 or 403
    kUnreachable,  // no answer, busy, or an answer that cannot be used
  };
  State state = State::kStarting;
  /// Once set it stays: what is known may be old, but is never taken for nothing.
  bool known = false;
  std::string why;  // of kAbsent, kDenied and kUnreachable: verb, resource and reason
  /// Discovery said last that the server does not have the kind. Of one that is known, or of Kubernetes
  /// itself, a daemon does not believe it yet, or ever; who looks once has to.
  bool is_unserved = false;
  bool operator==(const Standing&) const = default;
};
std::string_view describe(Standing::State state);  // "starting", "live" ...

/// Watches that ended, since the start, by why.
/// For metrics, and for who looks why a fleet lists so often; it decides nothing. Only watches that went on
/// are counted, not lists as streams.
struct WatchEnds {
  uint64_t closed = 0;   // by the server, which does so after some minutes
  uint64_t failed = 0;   // broken, refused, or no answer that can be used
  uint64_t expired = 0;  // 410: everything is listed again
  uint64_t silent = 0;   // nothing was heard for too long
};

/// Times and sizes, with the defaults that the daemon has; tests of a single bound set that one. The figures
/// follow client-go's reflector (k8s.io/client-go/tools/cache), where it has one.
struct ListWatchLimits {
  Millis silence_max{300'000};  // without event or bookmark (one a minute): the peer may be dead, watch anew
  Millis initial_silence_max{60'000};  // while a list is awaited
  Millis watch_timeout_min{300'000};   // asked of the server; uniformly random up to twice that
  Millis accepted_after{100};          // a resumed watch without a refusal for this long is live
  Millis short_watch{1'000};           // a watch that ends sooner without an event is a failure
  Millis healthy_after{30'000};        // a watch that was open for this long makes waits start over
  Millis jitter{1'000};                // before what a whole fleet does at once: it lost a server, or history
  Millis listing_max{300'000};         // for a list to become whole, however much is said meanwhile
  Millis absent_after{30'000};         // between the two answers that make a known kind absent
  Millis confirm_after{5'000};         // between two lists that lack what is not let go lightly
  Millis retry_after_max{60'000};
  Millis watch_list_retry{3'600'000};  // after this the server is asked for WatchList again
  size_t objects_max = 50'000;         // more is refused as a whole: the last list stands
  size_t list_bytes_max = 64u << 20;   // of the text of a list, however it comes; likewise
  Millis list_again_after{5'000};      // when what was left out for want of room may fit
  Millis list_again_later{60'000};     // the same, where that happens again and again
};

/// Where ListWatch puts what it hears. Objects are valid during the call only. No call may
/// destroy the ListWatch.
class ObjectSink {
 public:
  virtual ~ObjectSink() = default;
  // A list in the making: nothing of it counts before commit().
  virtual void collect(const ObjectHead& head, std::string_view object) = 0;  // replaces one of the same name
  /// It went while the list was made (an event between initial ones); it need not have been there.
  virtual void uncollect(const ObjectHead& head) = 0;
  /// The list broke off: another one begins with nothing.
  virtual void abandon() = 0;
  /// Objects of the list in the making, for objects_max and the log.
  virtual size_t collected() const = 0;
  /// Of what was told last, not of the list in the making.
  virtual bool knows(const ObjectHead& head) const = 0;
  /// Replaces everything known before, except for objects that this list lacks and that are too much to lose
  /// by one list: they stay, and are counted in the answer. is_confirming: they were missing before, and go
  /// now.
  virtual size_t commit(const std::string& why, bool is_confirming) = 0;
  virtual void lose_all(const std::string& why) = 0;  // nothing is left, and that is confirmed
  // One object, after the list. Each has the scope's kind and passes its selectors: who sends others is not
  // believed.
  virtual void changed(const ObjectHead& head, std::string_view object) = 0;
  /// Also of one that was never told: who listens then hears nothing new.
  virtual void removed(const ObjectHead& head) = 0;

  /// Behind commit() or lose_all(), where it changes with one of them.
  virtual void standing_changed(const Standing& standing) = 0;
};

/// Keeps up with one scope, whatever the server does: the reflector below an informer, in client-go's words. It
/// decides what is asked next and what an answer means; what is kept of objects is the sink's.
/// Log:       one line when the standing changes and one per relist; failures that go on are counted, not
///            repeated.
/// Memory:    of an object nothing beyond the call; of a list how many bytes it has had.
/// Ownership: ports and sink outlive it. Dropping it drops its call and its waits.
/// Reentry:   its callbacks run from the cluster's and the scheduler's, never from inside start().
/// Threads:   the loop's. One call is under way at a time, of whichever kind.
/// Permissions: list and watch on what the scope names; discovery is asked only after a 404.
class ListWatch {
 public:
  ListWatch(kube::Ports ports, kube::Scope scope, ObjectSink& sink, ListWatchLimits limits = {});
  ListWatch(const ListWatch&) = delete;
  ListWatch& operator=(const ListWatch&) = delete;

  /// Once; again it does nothing.
  void start();
  /// Ends a wait between attempts now: somebody knows that the server is back. Not one that the server asked
  /// for, and not more often than its token bucket allows.
  void retry_now();
  /// The server has said how long to wait, and that is not over.
  /// By Retry-After, up to retry_after_max.
  bool is_told_to_wait() const;
  /// While it is parked it does not try again by itself: somebody else finds out when the server is back.
  void park(bool parked);
  /// Lists once more in a while: something that the sink has let go may be of use now.
  /// At most three soon (list_again_after), after that one in list_again_later: whoever edits objects does
  /// not set the pace. Nothing where a list is due anyway.
  void list_again(std::string why);

  /// Both references last as long as the ListWatch; their content changes with each call back.
  const Standing& standing() const { return standing_; }
  const WatchEnds& watch_ends() const { return watch_ends_; }
  const kube::Scope& scope() const { return scope_; }

 private:
  /// What is under way: nothing yet, one of four calls, or a wait.
  enum class Step { kIdle, kInitialEvents, kListing, kWatching, kDiscovering, kWaiting };

  // What to ask next.
  /// The next call, of what is known now: discovery, a watch that goes on, or a list.
  void attempt();
  void relist(std::string why);  // marks; the next attempt does it
  /// A list as a stream (WatchList, sendInitialEvents), which becomes the watch once it is whole. A server that
  /// refuses it (400, 422) is not asked for it again for an hour.
  void open_initial_events();
  /// In pages. The first one is consistent, later ones are not older than what was told.
  void open_list();
  /// From the last version that was heard.
  void open_watch();
  // Asked for watch_timeout_min to twice that, at random, so that a fleet's watches do not end together.
  void start_watch(bool initial_events);
  /// A 404 may be anybody's, a load balancer's without a server: only discovery can say that a kind is not
  /// served, and of what Kubernetes itself brings nobody can.
  void look_for_kind(kube::Failure not_found);
  // The kind is there and the request said it was not: it is still being set up, or was looked for and has
  // come.
  void kind_is_served(const kube::Failure& not_found);
  // Only what discovery has confirmed empties the sink; until then the source is unreachable, and says why.
  void kind_is_absent(const kube::Failure& not_found);
  /// Said for the second time, absent_after behind the first.
  bool is_absence_confirmed();

  // What the answer means.
  /// One that cannot be told by name says that something changed, and nobody can say what: a list follows.
  void on_event(const kube::WatchEvent& event);
  void on_initial_event(kube::EventType type, const ObjectHead& head, std::string_view object);
  /// The server has accepted a watch that goes on. It counts as followed when it is not refused within
  /// accepted_after: 410 comes inside the stream.
  void on_open();
  /// Of one that is no longer ours, whatever it is called: it has left.
  void on_live_event(kube::EventType type, const ObjectHead& head, std::string_view object);
  void on_list_item(std::string_view object);
  /// An item without a name is skipped and counted. One that is too large to be told by name could be an
  /// exclude: the list is refused.
  void on_nameless(const Result<ObjectHead>& head);
  /// Of another namespace or selector than was asked for.
  bool is_foreign(const ObjectHead& head, std::string_view object);
  // Once, until a list came without any.
  void tell_foreign(std::string_view name);
  /// Within objects_max and list_bytes_max; beyond them the list is refused as a whole.
  void collect(const ObjectHead& head, std::string_view object);
  void on_list_done(std::string resource_version);
  /// A clean end. The next watch follows at once, where the token bucket allows; one that ends as soon as it
  /// begins is a failure.
  void on_watch_end();
  // 404 goes to discovery, 410 to a list; of others a watch goes on later from where it was, unless the same
  // event would break it again.
  void on_failure(const kube::Failure& failure);
  void on_watch_failure(const kube::Failure& failure);
  // A server that does not know WatchList says so by kInvalid, and is listed in pages at once.
  void on_list_failure(const kube::Failure& failure);
  /// 410: the history does not go back that far. One relist follows without a backoff, jittered.
  void on_version_gone(const kube::Failure& failure);

  /// The list is whole: the sink's, and we are synced. One that is older than what was told before counts only when it
  /// is so again, confirm_after later; until then what was told stands.
  void finish_list();
  bool is_of_the_past();
  /// kept: objects that the list lacks and that stay until a second one lacks them too.
  void arm_confirmation(size_t kept);
  // Asks for the newest state, whatever version was heard: a list from the same cache would confirm nothing.
  void confirm_list();
  // Waiting, and how it stands.
  /// Drops the call and waits: the backoff's next wait, or what the server asked for if that is longer.
  void fail(const kube::Failure& failure);
  void fail(Errc code, std::string_view what);
  // While it is parked the time's end does nothing; park(false) then goes on at once.
  void wait(Millis delay);
  /// Before what all clients of a server do at once.
  void wait_jitter();
  /// A watch that was open for healthy_after makes waits start over.
  void note_health();
  /// A peer may be dead without a word: a list that is silent has failed, a watch that is silent is asked anew,
  /// from the same version.
  void watch_silence();
  void heard() { last_word_ = ports_.scheduler.now(); }
  // Until it was refused, and again an hour later.
  bool watch_list_usable() const;
  /// Tells the sink when the state is another one. The first reason stands while it lasts.
  void stand(Standing::State state, std::string why);
  // One line for a change, with how many attempts had failed in between.
  void log_standing(Standing::State before);
  std::string resource_name() const;

  kube::Ports ports_;
  const kube::Scope scope_;
  ObjectSink& sink_;
  const ListWatchLimits limits_;
  reactor::Backoff backoff_;

  Step step_ = Step::kIdle;
  Standing standing_;
  WatchEnds watch_ends_;
  kube::CallPtr call_;
  reactor::Ticket timer_;     // the wait between attempts
  reactor::Ticket silence_;   // while a call is open
  reactor::Ticket accepted_;  // a watch that goes on was accepted, and is not refused so far

  bool need_list_ = true;
  std::string list_reason_ = "start";
  std::string resource_version_;   // the last one heard
  bool version_unusable_ = false;  // the server no longer has it, or does not have it yet
  std::optional<int64_t> told_;    // the newest version that was told; nullopt: none, or they are no numbers
  std::optional<TimePoint> past_since_;  // lists are older than that
  std::optional<TimePoint> watch_list_off_until_;
  bool relist_at_once_ = true;                     // one relist without a backoff per stretch of health
  TokenBucket fresh_starts_{1, Millis{60'000}};    // of waits, because the server is known to be back
  TokenBucket out_of_turn_{12, Millis{10'000}};    // attempts that do not wait for the backoff
  TokenBucket lists_for_room_{3, Millis{60'000}};  // by list_again(): who edits objects does not set the pace
  std::optional<TimePoint> not_before_;            // the server asked for it
  bool parked_ = false;
  bool looking_ = false;  // waiting for the kind to be installed
  bool is_known_absent_ = false;
  std::optional<TimePoint> missed_at_;  // discovery's first answer that a kind that was known is not served
  std::optional<TimePoint> kept_at_;    // the list that lacked what was kept

  // When the call that is open began, and when anything of it was heard.
  TimePoint opened_{}, last_word_{};
  Millis asked_timeout_{0};  // of the watch that is open
  reactor::Ticket confirm_;
  reactor::Ticket again_;  // before list_again() does it
  size_t events_ = 0;      // of the watch that is open
  size_t list_bytes_ = 0;  // of the list in the making
  size_t nameless_ = 0;    // of its items, skipped
  size_t foreign_ = 0;     // objects of others since the last list began
  SaidLast said_foreign_;
  size_t failures_ = 0;  // since the last sign of health
};

/// What a source is to who looks after several, whatever they yield (daemon/reach.h); each as ListWatch says.
class Source {
 public:
  virtual ~Source() = default;
  virtual void start() = 0;
  virtual void retry_now() = 0;
  virtual bool is_told_to_wait() const = 0;
  virtual void park(bool parked) = 0;
  virtual const Standing& standing() const = 0;
  virtual const WatchEnds& watch_ends() const = 0;
};

}  // namespace sliced::watchers
