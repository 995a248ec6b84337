#include "watchers/list_watch.h"

#include <algorithm>

#include "kube/objects/kinds.h"
#include "reactor/base/text.h"

namespace sliced::watchers {

using kube::EventType;
using kube::Failure;
using State = SyncState::State;

ListWatch::ListWatch(kube::ClusterPorts ports, kube::Scope scope, ObjectSink& sink, ListWatchLimits limits)
    : ports_(std::move(ports)),
      scope_(std::move(scope)),
      sink_(sink),
      limits_(limits),
      backoff_(ports_.random) {}

void ListWatch::start() {
  if (step_ == Step::kIdle) attempt();
}

void ListWatch::retry_now() {
  const TimePoint now = ports_.scheduler.now();
  if (step_ != Step::kWaiting || is_told_to_wait() || !immediate_retries_.take(now)) return;
  parked_ = false;
  if (fresh_starts_.take(now)) backoff_.reset();
  attempt();
}

bool ListWatch::is_told_to_wait() const {
  return step_ == Step::kWaiting && not_before_ && ports_.scheduler.now() < *not_before_;
}

void ListWatch::park(bool parked) {
  const bool released = std::exchange(parked_, parked) && !parked;
  if (released && step_ == Step::kWaiting && !timer_) attempt();
}

void ListWatch::relist_from_start(std::string why) {
  if (again_ || need_list_) return;
  const bool is_soon = lists_for_room_.take(ports_.scheduler.now());
  const Millis delay = is_soon ? limits_.list_again_after : limits_.list_again_later;
  again_ = ports_.scheduler.after(delay, [this, why = std::move(why)] {
    again_.reset();
    if (need_list_) return;
    relist(why);
    if (step_ != Step::kWatching) return;  // waiting, or asking discovery: a list follows
    call_.reset();
    attempt();
  });
}

// Requests.
// -------------------------------------------------------------------------------------------------

void ListWatch::attempt() {
  timer_.reset();
  if (awaits_kind_) return probe_kind({});
  if (!need_list_) return open_watch();
  sink_.abandon();
  again_.reset();
  list_bytes_ = nameless_ = foreign_ = 0;
  opened_ = ports_.scheduler.now();
  if (watch_list_usable()) return open_initial_events();
  open_list();
}

void ListWatch::relist(std::string why) {
  need_list_ = true;
  list_reason_ = std::move(why);
}

bool ListWatch::watch_list_usable() const {
  return !watch_list_off_until_ || ports_.scheduler.now() >= *watch_list_off_until_;
}

void ListWatch::open_initial_events() {
  step_ = Step::kInitialEvents;
  start_watch(true);
}

void ListWatch::open_watch() {
  step_ = Step::kWatching;
  start_watch(false);
}

void ListWatch::start_watch(bool initial_events) {
  kube::WatchRequest request;
  request.scope = scope_;
  request.send_initial_events = initial_events;
  if (!initial_events) request.resource_version = resource_version_;
  request.timeout =
      limits_.watch_timeout_min +
      Millis(static_cast<int64_t>(ports_.random() * static_cast<double>(limits_.watch_timeout_min.count())));
  asked_timeout_ = request.timeout;
  accepted_.reset();
  opened_ = ports_.scheduler.now();
  events_ = 0;
  note_activity();
  watch_silence();
  call_ = ports_.cluster.watch(
      std::move(request),
      {[this](const kube::WatchEvent& event) { on_event(event); }, [this] { on_watch_end(); },
       [this](const Failure& failure) { on_failure(failure); }, [this] { on_open(); }});
}

// A watch without changes may be silent for minutes. If it was accepted and is not refused shortly after (410
// arrives in the stream), it is live again.
void ListWatch::on_open() {
  note_activity();
  if (step_ != Step::kWatching) return;
  accepted_ = ports_.scheduler.after(limits_.accepted_after, [this] {
    missed_at_.reset();
    set_state(State::kLive, "");
  });
}

void ListWatch::open_list() {
  step_ = Step::kListing;
  kube::ListRequest request;
  request.scope = scope_;
  request.bytes_max = limits_.list_bytes_max;
  // The first list is consistent, because an outdated replica may lack a new exclude. Later lists must not be
  // older than the reported state.
  if (!version_unusable_) request.resource_version = resource_version_;
  note_activity();
  watch_silence();
  call_ = ports_.cluster.list(std::move(request),
                              {[this](std::string_view object) { on_list_item(object); },
                               [this](std::string version) { on_list_done(std::move(version)); },
                               [this](const Failure& failure) { on_failure(failure); }});
}

void ListWatch::watch_silence() {
  const Millis bound = step_ == Step::kWatching ? limits_.silence_max : limits_.initial_silence_max;
  const Millis left = bound - (ports_.scheduler.now() - last_activity_);
  silence_ = ports_.scheduler.after(std::max(left, Millis{0}), [this, bound] {
    const bool listing = step_ != Step::kWatching;
    if (listing && ports_.scheduler.now() - opened_ >= limits_.listing_max)
      return fail(Errc::kTimeout, "it does not become whole");
    if (ports_.scheduler.now() - last_activity_ < bound) return watch_silence();
    if (listing) return fail(Errc::kTimeout, "no answer for " + std::to_string(bound.count() / 1000) + " s");
    // The peer may have died silently. A new request shows it, and is cheap otherwise.
    ports_.log.debug("watch silent: restarting it", {{"resource", resource_name()}});
    ++watch_ends_.silent;
    update_health();
    open_watch();
  });
}

// Answers.
// --------------------------------------------------------------------------------------------

void ListWatch::on_event(const kube::WatchEvent& event) {
  note_activity();
  Result<ObjectHead> head = decode_object_head(event.object);
  const bool bookmark = event.type == EventType::kBookmark;
  if (!head.ok() || head->resource_version.empty() || (head->name.empty() && !bookmark)) {
    if (step_ == Step::kInitialEvents && !bookmark) return on_nameless(head);
    // An unknown object has changed: only a list shows which.
    relist("an event names no object");
    return fail(Errc::kInvalid,
                "event: " + (head.ok() ? std::string("no name or resourceVersion") : head.error().what));
  }
  ++events_;
  if (step_ == Step::kInitialEvents) return on_initial_event(event.type, *head, event.object);
  on_live_event(event.type, *head, event.object);
}

void ListWatch::on_initial_event(EventType type, const ObjectHead& head, std::string_view object) {
  if (type == EventType::kBookmark) {
    if (!head.initial_events_end) return;
    resource_version_ = head.resource_version;
    return finish_list();
  }
  if (type == EventType::kDeleted || is_foreign(head, object)) return sink_.uncollect(head);
  collect(head, object);
}

void ListWatch::collect(const ObjectHead& head, std::string_view object) {
  list_bytes_ += object.size();
  if (list_bytes_ > limits_.list_bytes_max)
    return fail(Errc::kTooLarge,
                "the list is larger than " + std::to_string(limits_.list_bytes_max >> 20) + " MiB");
  sink_.collect(head, object);
  if (sink_.collected() > limits_.objects_max)
    fail(Errc::kTooLarge, "more than " + std::to_string(limits_.objects_max) + " objects");
}

void ListWatch::on_live_event(EventType type, const ObjectHead& head, std::string_view object) {
  const auto version = parse_int(head.resource_version);
  if (version && newest_version_ && *version < *newest_version_) {
    relist("an event is older than the last received state");
    version_unusable_ = true;
    return fail(Errc::kInvalid, "an event is older than the last received state");
  }
  newest_version_ = version;
  resource_version_ = head.resource_version;
  missed_at_.reset();
  set_state(State::kLive, "");
  if (type == EventType::kBookmark) return;
  // An object that left the scope is removed, for any type of event.
  if (is_foreign(head, object)) {
    report_foreign(head.name);
    return sink_.knows(head) ? sink_.removed(head) : void();
  }
  if (type == EventType::kDeleted) return sink_.removed(head);
  sink_.changed(head, object);
}

void ListWatch::on_list_item(std::string_view object) {
  note_activity();
  Result<ObjectHead> head = decode_object_head(object);
  if (!head.ok() || head->name.empty()) return on_nameless(head);
  if (is_foreign(*head, object)) return;
  collect(*head, object);
}

// An object that is too large to read its name may be an exclude.
void ListWatch::on_nameless(const Result<ObjectHead>& head) {
  if (!head.ok() && head.error().code == Errc::kTooLarge)
    return fail(Errc::kTooLarge, "an object is too large, and its name cannot be read: " + head.error().what);
  ++nameless_;
}

bool ListWatch::is_foreign(const ObjectHead& head, std::string_view object) {
  if (is_in_scope(head, object, scope_)) return false;
  ++foreign_;
  return true;
}

void ListWatch::report_foreign(std::string_view name) {
  if (!foreign_log_.is_new("foreign")) return;
  ports_.log.warning(
      "objects outside the selector received: ignored",
      {{"resource", resource_name()},
       {"asked", scope_.field_selector.empty() ? "namespace " + scope_.namespace_ : scope_.field_selector},
       {"objects", foreign_},
       {"name", name}});
}

void ListWatch::on_list_done(std::string resource_version) {
  resource_version_ = std::move(resource_version);
  call_.reset();
  finish_list();
  if (step_ == Step::kWatching) open_watch();
}

// An outdated replica may lack the newest exclude. A server that was restored from a backup has an older
// state: this is accepted if a second list a few seconds later confirms it.
bool ListWatch::is_of_the_past() {
  const auto version = parse_int(resource_version_);
  if (version && newest_version_ && *version < *newest_version_) {
    if (!older_since_) older_since_ = opened_;
    if (opened_ - *older_since_ < limits_.confirm_after) return true;
  }
  older_since_.reset();
  newest_version_ = version;
  return false;
}

void ListWatch::finish_list() {
  if (is_of_the_past()) {
    version_unusable_ = true;  // requests the newest state
    return fail(Errc::kBusy, "the list is older than the last received state");
  }
  step_ = Step::kWatching;
  need_list_ = false;
  version_unusable_ = false;
  missed_at_.reset();
  is_known_absent_ = false;
  sync_state_.is_unserved = false;
  const std::string why = std::exchange(list_reason_, "");
  const bool first = !sync_state_.known;
  sync_state_.known = true;
  ports_.log.info(first ? "listed" : "listed again",
                  {{"resource", resource_name()}, {"objects", sink_.collected()}, {"why", why}});
  if (nameless_ > 0)
    ports_.log.warning("list items without a name ignored",
                       {{"resource", resource_name()}, {"items", nameless_}});
  if (foreign_ > 0)
    report_foreign("");
  else
    foreign_log_.forget();
  const bool is_confirming = unconfirmed_since_ && opened_ - *unconfirmed_since_ >= limits_.confirm_after;
  if (is_confirming) unconfirmed_since_.reset();
  arm_confirmation(sink_.commit(why, is_confirming));
  set_state(State::kLive, "");
  if (call_) watch_silence();  // the watch continues with its own limit
}

void ListWatch::arm_confirmation(size_t kept) {
  confirm_.reset();
  const TimePoint now = ports_.scheduler.now();
  if (kept == 0) return unconfirmed_since_.reset();
  if (!unconfirmed_since_) {
    unconfirmed_since_ = now;
    ports_.log.warning("most objects missing from a list: keeping them until a second list confirms it",
                       {{"resource", resource_name()}, {"objects", kept}});
  }
  // A server with a different answer each time gets fewer requests.
  const Millis delay = immediate_retries_.take(now) ? limits_.confirm_after : limits_.confirm_after * 6;
  confirm_ = ports_.scheduler.after(delay, [this] { confirm_list(); });
}

void ListWatch::confirm_list() {
  confirm_.reset();
  relist("whether objects are gone");
  version_unusable_ = true;  // requests the newest state
  if (step_ == Step::kWatching) attempt();
}

void ListWatch::on_watch_end() {
  accepted_.reset();
  const Millis lived = std::chrono::duration_cast<Millis>(ports_.scheduler.now() - opened_);
  if (step_ == Step::kInitialEvents) return fail(Errc::kIo, "the stream ended before the list was whole");
  ++watch_ends_.closed;
  update_health();
  if (lived < limits_.short_watch && events_ == 0) return fail(Errc::kIo, "the stream ended immediately");
  if (lived < limits_.healthy_after && !immediate_retries_.take(ports_.scheduler.now()))
    return fail(Errc::kIo, "streams end early, again and again");
  // The watch ended earlier than requested: a server stops, and its clients reconnect to others.
  if (lived + limits_.jitter < asked_timeout_) return wait_jitter();
  open_watch();
}

void ListWatch::update_health() {
  if (step_ != Step::kWatching || ports_.scheduler.now() - opened_ < limits_.healthy_after) return;
  backoff_.reset();
  relist_at_once_ = true;
}

void ListWatch::wait_jitter() {
  wait(Millis(static_cast<int64_t>(ports_.random() * static_cast<double>(limits_.jitter.count()))));
}

void ListWatch::on_failure(const Failure& failure) {
  accepted_.reset();
  update_health();
  if (step_ == Step::kWatching) ++(failure.code == Errc::kGone ? watch_ends_.expired : watch_ends_.failed);
  if (failure.code == Errc::kNotFound) return probe_kind(failure);
  if (failure.code == Errc::kGone) return on_version_gone(failure);
  if (step_ == Step::kWatching) return on_watch_failure(failure);
  on_list_failure(failure);
}

void ListWatch::on_version_gone(const Failure& failure) {
  version_unusable_ = true;
  relist(failure.what);
  if (!std::exchange(relist_at_once_, false)) return fail(failure);
  call_.reset();
  wait_jitter();
}

void ListWatch::on_watch_failure(const Failure& failure) {
  const bool passing = failure.code == Errc::kBusy || failure.code == Errc::kIo ||
                       failure.code == Errc::kTimeout || failure.code == Errc::kDenied;
  if (!passing) relist(failure.what);  // the same watch would break at the same event again
  fail(failure);
}

void ListWatch::on_list_failure(const Failure& failure) {
  if (step_ == Step::kInitialEvents && failure.code == Errc::kInvalid) {
    watch_list_off_until_ = ports_.scheduler.now() + limits_.watch_list_retry;
    ports_.log.debug("WatchList not supported: using a list",
                     {{"resource", resource_name()}, {"why", failure.what}});
    return attempt();
  }
  fail(failure);
}

// Any program may send a 404, such as a load balancer without a server. Only discovery can report that a kind
// is missing; built-in kinds never are.
void ListWatch::probe_kind(Failure not_found) {
  const kube::Resource& kind = scope_.resource;
  const bool is_built_in = kube::is_built_in(kind);
  if (is_built_in)
    not_found.what += " (Kubernetes serves " + kube::api_version(kind) + " " + kind.plural +
                      " from 1.34 on: is this the API server?)";
  if (is_built_in && sync_state_.known) return fail(not_found);
  step_ = Step::kDiscovering;
  opened_ = ports_.scheduler.now();
  note_activity();
  watch_silence();
  call_ = ports_.cluster.discover(
      kind.group, kind.version,
      [this, not_found](const std::vector<std::string>& plurals) {
        if (std::find(plurals.begin(), plurals.end(), scope_.resource.plural) == plurals.end())
          return kind_is_absent(not_found);
        kind_is_served(not_found);
      },
      [this, is_built_in, not_found](const Failure& failure) { fail(is_built_in ? not_found : failure); });
}

void ListWatch::kind_is_served(const Failure& not_found) {
  const Failure why = not_found;  // owned by the call that is dropped next
  missed_at_.reset();
  sync_state_.is_unserved = false;
  relist(sync_state_.state == State::kAbsent ? "the kind is installed" : why.what);
  if (!std::exchange(awaits_kind_, false)) return fail(why);  // served, yet 404: still being set up
  if (!immediate_retries_.take(ports_.scheduler.now())) return fail(why);
  if (fresh_starts_.take(ports_.scheduler.now())) backoff_.reset();
  attempt();
}

void ListWatch::kind_is_absent(const Failure& not_found) {
  sync_state_.is_unserved = true;
  if (kube::is_built_in(scope_.resource)) {  // an old server, or none: wait for either
    sync_state_.why = not_found.what;
    return fail(not_found);
  }
  const std::string why = resource_name() + " is not installed";
  awaits_kind_ = true;
  call_.reset();
  if (sync_state_.state == State::kAbsent) return wait(backoff_.next(ports_.scheduler.now()));
  if (sync_state_.known && !is_known_absent_ && !is_absence_confirmed()) {
    set_state(State::kUnreachable, why + ", says discovery; is accepted once discovery has said so for " +
                                       std::to_string(limits_.absent_after.count() / 1000) + " s");
    return wait(limits_.absent_after);
  }
  missed_at_.reset();
  unconfirmed_since_.reset();
  confirm_.reset();
  sync_state_.known = is_known_absent_ = true;
  sink_.lose_all(why);
  set_state(State::kAbsent, why);
  wait(backoff_.next(ports_.scheduler.now()));
}

bool ListWatch::is_absence_confirmed() {
  const TimePoint now = ports_.scheduler.now();
  if (!missed_at_) missed_at_ = now;
  return now - *missed_at_ >= limits_.absent_after;
}

// Delays and state.
// ---------------------------------------------------------------------------------------

void ListWatch::fail(Errc code, std::string_view what) {
  const std::string verb = step_ == Step::kListing ? "list " : "watch ";
  fail(Failure{code, 0, "", verb + resource_name() + ": " + std::string(what), std::nullopt});
}

void ListWatch::fail(const Failure& failure) {
  ++failures_;
  const Failure why = failure;  // may be owned by the call that is dropped next
  call_.reset();
  // A kind that has just been installed answers 404, then 429, until its storage is ready: absent until then.
  const bool setting_up = why.code == Errc::kNotFound || why.code == Errc::kBusy;
  if (sync_state_.state != State::kAbsent || !setting_up)
    set_state(why.code == Errc::kDenied ? State::kDenied : State::kUnreachable, why.what);
  const TimePoint now = ports_.scheduler.now();
  Millis delay = backoff_.next(now);
  if (why.retry_after) {
    const Millis asked = std::min(*why.retry_after, limits_.retry_after_max);
    not_before_ = now + asked;
    delay = std::max(delay, asked);
  }
  wait(delay);
}

void ListWatch::wait(Millis delay) {
  accepted_.reset();
  step_ = Step::kWaiting;
  silence_.reset();
  timer_ = ports_.scheduler.after(delay, [this] {
    timer_.reset();
    if (!parked_) attempt();
  });
}

}  // namespace sliced::watchers
