#pragma once
// A scope of the cluster as typed values: what ListWatch keeps up with, decoded, within the memory that there is for it, as
// source events.
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/client/ports.h"
#include "reactor/base/callback_guard.h"
#include "reactor/base/result.h"
#include "reactor/base/source_event.h"
#include "watchers/list_watch.h"
#include "watchers/memory_budget.h"
#include "watchers/object_head.h"
#include "watchers/problem_log.h"

namespace sliced::watchers {

/// namespace_ is "" for cluster-scoped kinds.
struct ObjectId {
  std::string namespace_, name;
  auto operator<=>(const ObjectId&) const = default;
};

/// An object as it is watched. One that cannot be understood is still there: `value` then says why, and its
/// owner decides what that means (a policy offers nothing; it is not deleted).
/// Copied into events: who listens owns it. uid and resource_version are "" of one that was left out after it
/// was told.
template <class T>
struct Watched {
  using Id = ObjectId;
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

/// A scope as a source of typed events: first a Relisted, then Changed and Removed, and a Relisted with its
/// reason whenever something may have been missed.
/// Decoding: `decode` is pure, and bounded by its own limits; its Error goes into Watched::value.
/// Memory:   ids of all objects; their values are the listener's, but for those of a list in the making.
///           What there is no room for (MemoryLimits) is told all the same, without what it says.
/// Log:      what is wrong with an object, once while it lasts (problem_log.h).
/// Reentry:  on_event and on_standing must not destroy the source.
/// Threads:  the loop's; decode too, once an object and change.
/// Order:    within a Relisted by namespace and name. What gives way to a change is told before the change.
template <class T>
class WatchedSource final : public Source, private ObjectSink {
 public:
  using Item = Watched<T>;
  using Id = ObjectId;
  using Decode = std::function<Result<T>(std::string_view object)>;
  using OnEvent = std::function<void(SourceEvent<Item>)>;
  /// After what has changed the standing was told by on_event: a source that says it is live has told its
  /// list.
  using OnStanding = std::function<void(const Standing&)>;
  /// Of objects that a list lacks, asked once a list and only where there are some: true to keep them until a
  /// second list, a few seconds later, lacks them too. A list from a broken cache must not withdraw everything.
  using KeepMissing = std::function<bool(const std::vector<Id>&)>;

  /// Does not start. Ownership: ports outlive it; dropping it ends what is under way, and nothing is told any more.
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
    const Id id = made.id;
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
    callbacks_.run(on_event_, std::move(whole));
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
        callbacks_.run(on_event_, Changed<Item>{std::move(gone)});
      }
    });
    report(change.now);
    problems_.end_round();
    callbacks_.run(on_event_, std::move(change));
    look_for_room();
  }
  void removed(const ObjectHead& head) override {
    known_.erase({head.namespace_, head.name});
    unconfirmed_.erase({head.namespace_, head.name});
    problems_.forget(head);
    budget_.erase({head.namespace_, head.name});
    callbacks_.run(on_event_, Removed<Item>{{head.namespace_, head.name}});
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
    if (on_standing_) callbacks_.run(on_standing_, standing);
  }

  const Decode decode_;
  const OnEvent on_event_;
  const OnStanding on_standing_;
  const KeepMissing keep_missing_;
  CallbackGuard callbacks_{"WatchedSource"};
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
