#pragma once
// A scope of the cluster as typed values: decodes the objects of a ListWatch within a memory limit and emits
// source events.
#include <cstdint>
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

/// A watched object. An invalid object is present, with an Error as `value`; the listener decides its effect.
/// uid and resource_version are "" if it was omitted for lack of memory after it had been reported.
template <class T>
struct Watched {
  using Id = ObjectId;
  Id id;
  std::string uid, resource_version;
  Result<T> value;
};

/// Memory use of a type's values (MemoryLimits); by default all are kept. Specialized for kinds that users
/// may create.
template <class T>
struct MemoryAccounting {
  static constexpr bool kIsAccounted = false;
  // static constexpr Footprint kUnreadable;                   for invalid objects
  // static Footprint of(const T& value);
  // static Result<T> left_out(const Footprint& footprint);    replaces an omitted value
};

/// Emits a Relisted first, then Changed and Removed, and another Relisted with a reason when events may be
/// lost. Decoding: `decode` is pure and has its own limits; its Error becomes Watched::value.
/// Memory:   ids of all objects, and the values of a running list. Objects without room (MemoryLimits) are
///           reported without their content.
/// Log:      problems of an object, once (problem_log.h).
/// Order:    a Relisted is sorted by namespace and name. An object that is displaced by a change is reported
///           before it.
/// Loop thread only.
template <class T>
class WatchedSource final : public Source, private ObjectSink {
 public:
  using Item = Watched<T>;
  using Id = ObjectId;
  using Decode = std::function<Result<T>(std::string_view object)>;
  using OnEvent = std::function<void(SourceEvent<Item>)>;
  /// Called after the corresponding on_event: a live source has reported its list.
  using OnSyncState = std::function<void(const SyncState&)>;
  /// Called with the missing objects of a list. Returns true to keep them until a second list, some seconds
  /// later, confirms it: a list from a broken cache must not withdraw all devices.
  using KeepMissing = std::function<bool(const std::vector<Id>&)>;
  /// Returns the owner's value of this version of the object (uid and resourceVersion), such as the answer to
  /// its own write; nullptr if it has none. The value is copied, and the text is not decoded.
  using Find = std::function<const T*(const ObjectHead&)>;

  /// REQUIRES: `ports` must outlive this object. start() starts it; destroying it cancels everything.
  WatchedSource(kube::ClusterPorts ports, kube::Scope scope, Decode decode, OnEvent on_event,
                OnSyncState on_sync_state = {}, KeepMissing keep_missing = {}, ListWatchLimits limits = {},
                MemoryLimits memory = {})
      : decode_(std::move(decode)),
        on_event_(std::move(on_event)),
        on_sync_state_(std::move(on_sync_state)),
        keep_missing_(std::move(keep_missing)),
        problems_(ports.log, scope.resource.plural),
        memory_(memory),
        engine_(std::move(ports), std::move(scope), *this, limits) {}

  /// Optional; before start().
  void set_find(Find find) { find_ = std::move(find); }

  // Source; see ListWatch.
  void start() override { engine_.start(); }
  void retry_now() override { engine_.retry_now(); }
  bool is_told_to_wait() const override { return engine_.is_told_to_wait(); }
  void park(bool parked) override { engine_.park(parked); }
  const SyncState& sync_state() const override { return engine_.sync_state(); }
  const WatchEnds& watch_ends() const override { return engine_.watch_ends(); }
  uint64_t decoded() const override { return decoded_; }
  const kube::Scope& scope() const { return engine_.scope(); }

 private:
  static constexpr bool kIsAccounted = MemoryAccounting<T>::kIsAccounted;

  static Item known_item(const ObjectHead& head, const T& value) {
    return {{head.namespace_, head.name}, head.uid, head.resource_version, value};
  }
  Item item(const ObjectHead& head, std::string_view object) {
    ++decoded_;
    return {{head.namespace_, head.name}, head.uid, head.resource_version, decode_(object)};
  }
  // After the check of memory.
  void report(const Item& item) {
    static const Error kNoRoom = no_room();
    const Error* problem = item.value.ok() ? nullptr : &item.value.error();
    if constexpr (requires { item.value->is_left_out(); })
      if (problem == nullptr && item.value->is_left_out()) problem = &kNoRoom;
    problems_.report({item.id.namespace_, item.id.name, "", ""}, problem);
  }

  // Decodes on arrival, so that no text is stored. Objects without room are dropped in evict() and finally in
  // commit().
  void collect(const ObjectHead& head, std::string_view object) override {
    Item made = item(head, object);
    if (!admit(collecting_, made)) leave_out(made);
    const Id id = made.id;
    collected_.insert_or_assign(id, std::move(made));
    evict(collecting_, false, [this](const Item& evicted) { leave_out(collected_.at(evicted.id)); });
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
  // Emits one Relisted, in order of ids. Kept objects that the list lacks count towards the memory first.
  size_t commit(const std::string& why, bool is_confirming) override {
    std::vector<Id> kept = kept_of(is_confirming);
    make_room_for(kept);
    evict(collecting_, true, [this](Item& evicted) {
      leave_out(evicted);
      leave_out(collected_.try_emplace(evicted.id, std::move(evicted)).first->second);
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
  // Confirmed: nothing is kept.
  void lose_all(const std::string& why) override {
    abandon();  // of a failed list
    unconfirmed_ = known_;
    commit(why, true);
  }
  // May drop this object, or report others as changed that are dropped for it.
  void changed(const ObjectHead& head, std::string_view object) override {
    known_.insert({head.namespace_, head.name});
    unconfirmed_.erase({head.namespace_, head.name});
    const T* known = find_ ? find_(head) : nullptr;
    Changed<Item> change{known != nullptr ? known_item(head, *known) : item(head, object)};
    if (!admit(budget_, change.now)) leave_out(change.now);
    evict(budget_, true, [&](Item& evicted) {
      leave_out(evicted);
      if (evicted.id == change.now.id) {
        change.now = std::move(evicted);
      } else {
        report(evicted);
        callbacks_.run(on_event_, Changed<Item>{std::move(evicted)});
      }
    });
    report(change.now);
    problems_.end_round();
    callbacks_.run(on_event_, std::move(change));
    retry_for_room();
  }
  void removed(const ObjectHead& head) override {
    known_.erase({head.namespace_, head.name});
    unconfirmed_.erase({head.namespace_, head.name});
    problems_.forget(head);
    budget_.erase({head.namespace_, head.name});
    callbacks_.run(on_event_, Removed<Item>{{head.namespace_, head.name}});
    retry_for_room();
  }

  // Checks memory for values with a footprint. Without room the object stays known without its content.
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
  // Kept objects need memory, too.
  void make_room_for(const std::vector<Id>& kept) {
    if constexpr (kIsAccounted)
      for (const Id& id : kept)
        if (const auto footprint = budget_.footprint_of({id.namespace_, id.name});
            footprint && !collecting_.put({id.namespace_, id.name}, *footprint))
          collected_.emplace(id, Item{id, "", "", MemoryAccounting<T>::left_out(*footprint)});
  }
  template <class Gone>
  void evict(MemoryBudget& budget, bool final, Gone evicted) {
    if constexpr (kIsAccounted) {
      for (auto& [name, footprint] : budget.evict(final)) {
        Item item{{std::move(name.first), std::move(name.second)},
                  "",
                  "",
                  MemoryAccounting<T>::left_out(footprint)};
        evicted(item);
      }
    }
  }
  // Omitted objects may fit now; only a new list has their content.
  void retry_for_room() {
    if (budget_.has_room_again()) engine_.relist_from_start("room for omitted objects");
  }
  // Returns the missing objects that are kept.
  std::vector<Id> kept_of(bool is_confirming) const {
    std::vector<Id> kept;
    for (const Id& id : known_)
      if (!collected_.contains(id) && !(is_confirming && unconfirmed_.contains(id))) kept.push_back(id);
    if (kept.empty() || !keep_missing_ || !keep_missing_(kept)) return {};
    return kept;
  }
  void sync_state_changed(const SyncState& sync) override {
    if (on_sync_state_) callbacks_.run(on_sync_state_, sync);
  }

  const Decode decode_;
  const OnEvent on_event_;
  const OnSyncState on_sync_state_;
  const KeepMissing keep_missing_;
  Find find_;
  CallbackGuard callbacks_{"WatchedSource"};
  ProblemLog problems_;
  uint64_t decoded_ = 0;
  const MemoryLimits memory_;
  MemoryBudget budget_{memory_}, collecting_{memory_};  // of known objects, and of the running list
  // Of the running list.
  std::map<Id, Item> collected_;
  std::set<Id> known_, unconfirmed_;  // unconfirmed: kept, and missing from the last list
  // Last member, destroyed first: it calls back into all others.
  ListWatch engine_;
};

}  // namespace sliced::watchers
