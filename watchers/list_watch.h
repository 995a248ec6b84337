#pragma once
// Keeps up with everything in one scope of the cluster: list, watch, and what to do when either fails, as
// client-go's reflector does (k8s.io/client-go/tools/cache/reflector.go). ListWatch is the protocol and knows
// no types; WatchedSource<T> puts values in and source events out.
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
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/cluster.h"
#include "kube/ports.h"
#include "reactor/backoff.h"
#include "reactor/base/first_few.h"
#include "reactor/base/log.h"
#include "reactor/base/result.h"
#include "reactor/base/said_once.h"
#include "reactor/base/source_event.h"
#include "reactor/base/time.h"
#include "reactor/scheduler.h"
#include "watchers/memory_budget.h"
#include "watchers/object_head.h"
#include "watchers/problem_log.h"
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

/// Where ListWatch puts what it hears. Objects are valid during the call only. No call may destroy the
/// ListWatch.
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

  /// The list is whole: the sink's, and we are synced.
  void finish_list();
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

/// An object as it is watched. One that cannot be understood is still there: `value` then says why, and its
/// owner decides what that means (a policy offers nothing; it is not deleted).
/// Copied into events: who listens owns it. uid and resource_version are "" of one that was left out after it
/// was told.
template <class T>
struct Watched {
  /// namespace_ "" of cluster-scoped kinds.
  struct Id {
    std::string namespace_, name;
    auto operator<=>(const Id&) const = default;
  };
  Id id;
  std::string uid, resource_version;
  Result<T> value;
};

/// What values of a type take of the memory for them (MemoryLimits); where it is not said, all are kept. A kind
/// that others may create without bound specialises it.
template <class T>
struct MemoryAccounting {
  static constexpr bool kIsAccounted = false;
  // static constexpr Footprint kUnreadable;                   of one that cannot be decoded
  // static Footprint of(const T& value);
  // static Result<T> left_out(const Footprint& footprint);    in its place, where there is no room
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

/// A scope as a source of typed events: first a Relisted, then Changed and Removed, and a Relisted with its
/// reason whenever something may have been missed.
/// Decoding: `decode` is pure, and bounded by its own limits; its Error goes into Watched::value.
/// Memory:   ids of all objects; their values are the listener's, but for those of a list in the making.
///           What there is no room for (MemoryLimits) is told all the same, without what it says.
/// Log:      what is wrong with an object, once while it lasts (problem_log.h).
/// Reentry:  on_event and on_standing may not destroy the source.
template <class T>
class WatchedSource final : public Source, private ObjectSink {
 public:
  using Item = Watched<T>;
  using Id = typename Item::Id;
  using Decode = std::function<Result<T>(std::string_view object)>;
  using OnEvent = std::function<void(SourceEvent<Item>)>;
  /// After what has changed the standing was told by on_event: a source that says it is live has told its
  /// list.
  using OnStanding = std::function<void(const Standing&)>;
  /// Of objects that a list lacks: true to keep them until a second list, a few seconds later, lacks them
  /// too. A list from a broken cache must not withdraw everything.
  using KeepMissing = std::function<bool(const std::vector<Id>&)>;

  WatchedSource(kube::Ports ports, kube::Scope scope, Decode decode, OnEvent on_event,
                OnStanding on_standing = {}, KeepMissing keep_missing = {}, ListWatchLimits limits = {},
                MemoryLimits memory = {})
      : decode_(std::move(decode)),
        on_event_(std::move(on_event)),
        on_standing_(std::move(on_standing)),
        keep_missing_(std::move(keep_missing)),
        problems_(ports.log, scope.resource.plural),
        memory_(memory),
        engine_(std::move(ports), std::move(scope), *this, limits) {}

  // Source; each as ListWatch says
  void start() override { engine_.start(); }
  void retry_now() override { engine_.retry_now(); }
  bool is_told_to_wait() const override { return engine_.is_told_to_wait(); }
  void park(bool parked) override { engine_.park(parked); }
  const Standing& standing() const override { return engine_.standing(); }
  const WatchEnds& watch_ends() const override { return engine_.watch_ends(); }
  const kube::Scope& scope() const { return engine_.scope(); }

 private:
  static constexpr bool kIsAccounted = MemoryAccounting<T>::kIsAccounted;

  Item item(const ObjectHead& head, std::string_view object) {
    return {{head.namespace_, head.name}, head.uid, head.resource_version, decode_(object)};
  }
  // Once it is known whether there is room for it.
  void report(const Item& item) {
    static const Error kNoRoom = no_room();
    const Error* problem = item.value.ok() ? nullptr : &item.value.error();
    if constexpr (requires { item.value->is_left_out(); })
      if (problem == nullptr && item.value->is_left_out()) problem = &kNoRoom;
    problems_.report({item.id.namespace_, item.id.name, "", ""}, problem);
  }

  // Decoded as it comes, so that no text of the list is kept; what has no room gives way now and then
  // (evict), and for good at commit().
  void collect(const ObjectHead& head, std::string_view object) override {
    Item made = item(head, object);
    if (!admit(collecting_, made)) leave_out(made);
    const typename Item::Id id = made.id;
    collected_.insert_or_assign(id, std::move(made));
    evict(collecting_, false, [this](const Item& gone) { leave_out(collected_.at(gone.id)); });
  }
  void uncollect(const ObjectHead& head) override {
    collected_.erase({head.namespace_, head.name});
    collecting_.erase({head.namespace_, head.name});
  }
  void abandon() override {
    collected_.clear();
    collecting_ = MemoryBudget(memory_);
  }
  size_t collected() const override { return collected_.size(); }
  bool knows(const ObjectHead& head) const override { return known_.contains({head.namespace_, head.name}); }
  // One Relisted with everything, in order of ids. What is kept although the list lacks it takes its room
  // first, so that what is kept is not what pushes others out unseen.
  size_t commit(const std::string& why, bool is_confirming) override {
    std::vector<Id> kept = kept_of(is_confirming);
    make_room_for(kept);
    evict(collecting_, true, [this](Item& gone) {
      leave_out(gone);
      leave_out(collected_.try_emplace(gone.id, std::move(gone)).first->second);
    });
    std::erase_if(kept, [this](const Id& id) { return collected_.contains(id); });
    budget_ = std::exchange(collecting_, MemoryBudget(memory_));
    Relisted<Item> whole{{}, why, std::move(kept)};
    known_ = unconfirmed_ = {whole.kept.begin(), whole.kept.end()};
    whole.all.reserve(collected_.size());
    for (auto& [id, item] : std::exchange(collected_, {})) {
      known_.insert(id);
      report(item);
      whole.all.push_back(std::move(item));
    }
    problems_.retain([this](const std::string& namespace_, const std::string& name) {
      return known_.contains({namespace_, name});
    });
    on_event_(std::move(whole));
    return unconfirmed_.size();
  }
  // Nothing is kept then: it was confirmed by who says so.
  void lose_all(const std::string& why) override {
    abandon();  // a list that broke off
    unconfirmed_ = known_;
    commit(why, true);
  }
  // The object itself may be what has to give way; others that have to are told first, as changed.
  void changed(const ObjectHead& head, std::string_view object) override {
    known_.insert({head.namespace_, head.name});
    unconfirmed_.erase({head.namespace_, head.name});
    Changed<Item> change{item(head, object)};
    if (!admit(budget_, change.now)) leave_out(change.now);
    evict(budget_, true, [&](Item& gone) {
      leave_out(gone);
      if (gone.id == change.now.id) {
        change.now = std::move(gone);
      } else {
        report(gone);
        on_event_(Changed<Item>{std::move(gone)});
      }
    });
    report(change.now);
    problems_.end_round();
    on_event_(std::move(change));
    look_for_room();
  }
  void removed(const ObjectHead& head) override {
    known_.erase({head.namespace_, head.name});
    unconfirmed_.erase({head.namespace_, head.name});
    problems_.forget(head);
    budget_.erase({head.namespace_, head.name});
    on_event_(Removed<Item>{{head.namespace_, head.name}});
    look_for_room();
  }

  // Room, for values that have a footprint. One that finds none stays known, without what it says.
  bool admit(MemoryBudget& budget, const Item& item) {
    if constexpr (kIsAccounted) return budget.put({item.id.namespace_, item.id.name}, footprint_of(item));
    return true;
  }
  static Footprint footprint_of(const Item& item) {
    return item.value ? MemoryAccounting<T>::of(*item.value) : MemoryAccounting<T>::kUnreadable;
  }
  void leave_out(Item& item) {
    if constexpr (kIsAccounted) item.value = MemoryAccounting<T>::left_out(footprint_of(item));
  }
  // What a list lacks takes as much as what it has.
  void make_room_for(const std::vector<Id>& kept) {
    if constexpr (kIsAccounted)
      for (const Id& id : kept)
        if (const auto footprint = budget_.footprint_of({id.namespace_, id.name});
            footprint && !collecting_.put({id.namespace_, id.name}, *footprint))
          collected_.emplace(id, Item{id, "", "", MemoryAccounting<T>::left_out(*footprint)});
  }
  template <class Gone>
  void evict(MemoryBudget& budget, bool final, Gone gone) {
    if constexpr (kIsAccounted) {
      for (auto& [name, footprint] : budget.evict(final)) {
        Item item{{std::move(name.first), std::move(name.second)},
                  "",
                  "",
                  MemoryAccounting<T>::left_out(footprint)};
        gone(item);
      }
    }
  }
  // After whatever may have made room: only a new list can tell what was left out.
  void look_for_room() {
    if (budget_.has_room_again()) engine_.list_again("there may be room for what was left out");
  }
  // Of what was known and is not in the list: what stays all the same.
  std::vector<Id> kept_of(bool is_confirming) const {
    std::vector<Id> kept;
    for (const Id& id : known_)
      if (!collected_.contains(id) && !(is_confirming && unconfirmed_.contains(id))) kept.push_back(id);
    if (kept.empty() || !keep_missing_ || !keep_missing_(kept)) return {};
    return kept;
  }
  void standing_changed(const Standing& standing) override {
    if (on_standing_) on_standing_(standing);
  }

  const Decode decode_;
  const OnEvent on_event_;
  const OnStanding on_standing_;
  const KeepMissing keep_missing_;
  ProblemLog problems_;
  const MemoryLimits memory_;
  MemoryBudget budget_{memory_}, collecting_{memory_};  // of what is known, and of the list in the making
  // Of the list in the making; empty between lists.
  std::map<Id, Item> collected_;
  std::set<Id> known_, unconfirmed_;  // unconfirmed: known, kept, and missing from the last list
  // Last, so that it goes first: it calls back into everything above.
  ListWatch engine_;
};

}  // namespace sliced::watchers
