#include "publishers/publisher.h"

#include <algorithm>
#include <set>

#include "publishers/write_answer.h"
#include "reactor/base/text.h"

namespace sliced::publishers {
namespace {

using kube::Failure;
using kube::ResourceSlice;
using kube::Verb;

constexpr Millis kRetryAfterMax{60'000};
constexpr size_t kRestoresFree = 4;  // within kRestoreWindow, before restoring slows down
constexpr Millis kRestoreWindow{30'000};
constexpr size_t kRequestsFree = 4;  // of a run, in addition to two for each write of its plan
// Failed runs after which only a timer starts the next run: a failed write may itself cause an event, which
// would start the next run immediately.
constexpr size_t kFailuresFree = 4;
constexpr Millis kChangeWaitMax{2'000};  // of that delay, after a change of the desired pools
constexpr reactor::BackoffPolicy kWriteBackoff{
    .initial = Millis{200}, .factor = 2.0, .cap = Millis{30'000}, .jitter = 0.5};
constexpr reactor::BackoffPolicy kRestoreBackoff{
    .initial = Millis{1'000}, .factor = 2.0, .cap = Millis{60'000}, .jitter = 0.5};

std::string_view name_of(Verb verb) {
  return verb == Verb::kCreate ? "create" : verb == Verb::kUpdate ? "update" : "delete";
}

Publisher::WriteResult answered_by(const Failure& failure) {
  if (failure.code == Errc::kConflict) return Publisher::WriteResult::kConflict;
  if (failure.code == Errc::kInvalid || failure.code == Errc::kDenied)
    return Publisher::WriteResult::kRefused;
  return Publisher::WriteResult::kFailed;
}

}  // namespace

Publisher::Publisher(kube::ClusterPorts ports, std::string driver, Handlers handlers)
    : ports_(std::move(ports)),
      driver_(std::move(driver)),
      handlers_(std::move(handlers)),
      failure_backoff_(ports_.random, kWriteBackoff),
      restore_backoff_(ports_.random, kRestoreBackoff),
      reconciler_(
          ports_.scheduler, [this](reactor::Reconciler::Done done) { run(std::move(done)); }, ports_.random) {
}

Publisher::~Publisher() = default;

void Publisher::on_slices(const SourceEvent<ResourceSlice>& event) {
  const bool different = cache_.on_event(event, ports_.scheduler.now());
  is_disturbed_ |= different && restoring_;
  watch_deadline();
  adopt_generations();
  const auto* changed = std::get_if<Changed<ResourceSlice>>(&event);
  if (different && changed != nullptr)
    share_entries(changed->now.meta.name);
  else if (different)
    share_entries();
  report_foreign();
  if (different || std::holds_alternative<Relisted<ResourceSlice>>(event)) reconciler_.mark();
}

void Publisher::set_desired(std::vector<policy::DesiredPool> pools, NodeIdentity node) {
  if (std::exchange(awaits_desired_, false)) reconciler_.mark();
  if (desired_ && *desired_ == pools && node_ == node) return;
  desired_ = std::move(pools);
  share_entries();
  node_ = std::move(node);
  reported_unsettled_.reset();
  restoring_ = is_disturbed_ = false;
  restore_not_before_.reset();
  // A withdrawal waits at most kChangeWaitMax.
  if (failed_until_) failed_until_ = std::min(*failed_until_, ports_.scheduler.now() + kChangeWaitMax);
  requests_left_ = 0;
  adopt_generations();
  report_foreign();
  reconciler_.mark();
}

void Publisher::clear_desired() {
  desired_.reset();
  state_.generations.clear();
  state_.attempted.clear();
}

void Publisher::permit(bool writes) {
  permitted_ = writes;
  if (writes) reconciler_.mark();
}

void Publisher::hold(bool held) {
  if (std::exchange(held_, held) && !held) reconciler_.mark();
}

void Publisher::retry_now() {
  failed_until_.reset();
  reconciler_.mark();
}

const std::vector<policy::DesiredPool>& Publisher::desired() const {
  static const std::vector<policy::DesiredPool> kNothing;
  return desired_ ? *desired_ : kNothing;
}

SliceChanges Publisher::plan() const {
  if (!desired_ || !cache_.listed()) return {};
  return diff_pools(*desired_, cache_.slices(), node_, driver_, state_);
}

bool Publisher::converged() const {
  return !done_ && desired_ && !awaits_desired_ && cache_.listed() && plan().empty();
}

void Publisher::share_entries() {
  for (const policy::DesiredPool& pool : desired()) cache_.share(pool.devices);
}

void Publisher::share_entries(const std::string& slice) {
  for (const policy::DesiredPool& pool : desired()) cache_.share(pool.devices, slice);
}

// A pool's generation continues from the highest one of our slices.
void Publisher::adopt_generations() {
  if (!desired_ || !cache_.listed()) return;
  for (const policy::DesiredPool& pool : *desired_) {
    if (state_.generations.contains(pool.name)) continue;
    int64_t highest = 0;
    for (const auto& [name, slice] : cache_.slices())
      if (slice.pool.name == pool.name && slice.pool.generation <= kTrustedGenerationMax &&
          is_ours(slice, driver_, node_.name))
        highest = std::max(highest, slice.pool.generation);
    if (highest > 0) state_.generations[pool.name] = highest;
  }
}

// A proxy, or a server that ignores fieldSelector, returns slices of other nodes. They are never modified.
void Publisher::report_foreign() {
  if (!desired_) return;
  const auto& all = cache_.slices();
  const auto foreign = std::find_if(all.begin(), all.end(), [&](const auto& entry) {
    return !is_unread(entry.second) && !is_of(entry.second, driver_, node_.name);
  });
  constexpr std::string_view kProblem = "ResourceSlices of another driver or node received: not modified";
  if (!foreign_.is_new(foreign == all.end() ? "" : kProblem)) return;
  ports_.log.warning(kProblem,
                     {{"slice", foreign->first},
                      {"driver", foreign->second.driver},
                      {"node", foreign->second.node_name},
                      {"remedy", "check the proxy before the API server: it ignores fieldSelector"}});
}

std::optional<TimePoint> Publisher::not_before() const {
  std::optional<TimePoint> latest;
  for (const auto& until : {retry_after_, restore_not_before_, failed_until_})
    if (until && (!latest || *latest < *until)) latest = until;
  return latest;
}

void Publisher::run(reactor::Reconciler::Done done) {
  const TimePoint now = ports_.scheduler.now();
  if (!may_write() || !cache_.listed()) return done(true);
  if (std::exchange(is_disturbed_, false) && !plan().empty()) delay_foreign_change();
  if (const auto due = not_before(); due && now < *due) {
    reconciler_.mark(*due - now);
    return done(true);
  }
  retry_after_.reset();
  restore_not_before_.reset();
  failed_until_.reset();
  done_ = std::move(done);
  run_writes_ = 0;
  requests_left_ = 0;
  next_step();
}

// Another writer changed our slices. They are restored immediately kRestoresFree times, then with backoff:
// two writers that undo each other's writes would load the API server without end.
void Publisher::delay_foreign_change() {
  const TimePoint now = ports_.scheduler.now();
  std::erase_if(restored_at_, [&](TimePoint at) { return at + kRestoreWindow < now; });
  if (restored_at_.size() < kRestoresFree) {
    restored_at_.push_back(now);
    ports_.log.info("ResourceSlices changed by another writer: restoring",
                    {{"driver", driver_}, {"node", node_.name}});
    return;
  }
  restored_at_.clear();
  const Millis wait = restore_backoff_.next(now);
  restore_not_before_ = now + wait;
  ports_.log.warning(
      "ResourceSlices changed again by another writer: restoring with backoff",
      {{"driver", driver_}, {"node", node_.name}, {"wait_ms", static_cast<int64_t>(wait.count())}});
}

void Publisher::next_step() {
  if (!may_write()) return finish(true);
  SliceChanges next = plan();
  if (next.empty()) {
    if (run_writes_ > 0)
      ports_.log.info("published", {{"driver", driver_},
                                    {"writes", static_cast<int64_t>(run_writes_)},
                                    {"slices", cache_.slices().size()}});
    restoring_ = true;
    state_.undeletable.clear();
    failed_runs_ = 0;
    failure_backoff_.reset();
    finish(true);
    return notify_published(next);
  }
  notify_published(next);
  if (requests_left_ == 0) requests_left_ = kRequestsFree + 2 * next.size();
  if (--requests_left_ == 0) return fail("the API server accepts writes and does not store them");
  const ResourceSlice* write = first_write(next, cache_.slices());
  if (write == nullptr) {
    const Removal& removal = next.deletes.front();
    if (removal.is_unread) return read_undecoded(removal.name);
    return send({.verb = Verb::kDelete,
                 .resource = kube::kResourceSlices,
                 .name = removal.name,
                 .uid = removal.uid,
                 .resource_version = removal.resource_version},
                std::nullopt, removal.why);
  }
  const bool update = !write->meta.resource_version.empty();
  std::string body = kube::encode_json(kube::encode_resource_slice(*write));
  int64_t& attempted = state_.attempted[write->pool.name];
  attempted = std::max(attempted, write->pool.generation);
  send({.verb = update ? Verb::kUpdate : Verb::kCreate,
        .resource = kube::kResourceSlices,
        .name = write->meta.name,
        .body = std::move(body)},
       *write, update ? "content differs" : "missing");
}

// A pool that cannot be written does not prevent the acknowledgement of others.
void Publisher::notify_published(const SliceChanges& plan) {
  const auto unsettled = unsettled_pools(plan, cache_.slices());
  if (!unsettled || !handlers_.on_settled) return;
  const bool is_reported = std::exchange(reported_unsettled_, unsettled) == unsettled;
  if (!is_reported || plan.empty()) callbacks_.run(handlers_.on_settled, *unsettled);
}

void Publisher::send(kube::WriteRequest request, std::optional<ResourceSlice> sent, std::string why) {
  ++writes_;
  ++run_writes_;
  const Verb verb = request.verb;
  const std::string name = request.name, version = request.resource_version;
  const TimePoint began = ports_.scheduler.now();
  auto kept = std::make_shared<std::optional<ResourceSlice>>(std::move(sent));
  call_ = ports_.cluster.write(std::move(request),
                               {.on_done =
                                    [this, kept, verb, name, version, why, began](std::string_view object) {
                                      count(verb, WriteResult::kStored, began);
                                      if (!*kept) return on_delete_answered(name, version, why);
                                      on_answer(verb, **kept, object, why);
                                    },
                                .on_failure =
                                    [this, kept, verb, name, began](const Failure& f) {
                                      count(verb, answered_by(f), began);
                                      on_failure(verb, name, *kept, f);
                                    }});
}

void Publisher::count(Verb verb, WriteResult answered, TimePoint began) {
  const TimePoint now = ports_.scheduler.now();
  ++counters_.writes[{verb, answered}];
  counters_.took.add(std::chrono::duration_cast<Millis>(now - began));
  if (answered == WriteResult::kStored) counters_.stored_at = now;
}

void Publisher::on_delete_answered(const std::string& name, const std::string& version,
                                   const std::string& why) {
  ports_.log.info("slice deleted", {{"slice", name}, {"why", why}});
  const auto at = cache_.slices().find(name);
  const bool is_held_back = at != cache_.slices().end() && !at->second.meta.finalizers.empty();
  if (!is_held_back) cache_.on_delete_succeeded(name, version);
  state_.full.erase(name);
  state_.undeletable.erase(name);
  if (handlers_.on_deleted) callbacks_.run(handlers_.on_deleted, name);
  if (is_held_back)
    check_deleted(name);
  else
    next_step();
}

void Publisher::on_answer(Verb verb, const ResourceSlice& sent, std::string_view object,
                          const std::string& why) {
  const std::string what = std::string(name_of(verb)) + " " + sent.meta.name;
  auto stored = decode_answer(sent.meta.name, object);
  if (!stored) return fail(what + ": invalid answer, waiting for the watch: " + stored.error().what);
  if (const std::string other = difference_of_identity(sent, *stored); !other.empty())
    return fail(what + ": the answer is about another object: " + other);
  ports_.log.info("slice written", {{"verb", name_of(verb)},
                                    {"slice", sent.meta.name},
                                    {"why", why},
                                    {"generation", sent.pool.generation},
                                    {"devices", sent.devices.size()}});
  std::vector<RefusedEntry> mutilated = mutilated_entries(sent, *stored);
  if (sent.pool.generation != kEmptiedGeneration) state_.generations[sent.pool.name] = sent.pool.generation;
  const std::set<ServerFeature> lost = dropped_features(sent, *stored);
  const bool other_loss = mutilated.empty() && !same_content(*stored, sent);
  if (!other_loss) last_failure_.forget();
  cache_.on_written(std::move(*stored));
  share_entries(sent.meta.name);
  if (!lost.empty()) {
    finish(false);
    return callbacks_.run(handlers_.on_lost, lost);
  }
  if (other_loss) {
    return fail(what +
                ": the API server changed the ResourceSlice on write: check admission webhooks and feature "
                "gates");
  }
  if (mutilated.empty()) return next_step();
  finish(false);
  callbacks_.run(handlers_.on_refused, std::move(mutilated));
}

// The watch may be faster than the answer: then the same text is decoded already.
Result<ResourceSlice> Publisher::decode_answer(const std::string& name, std::string_view object) {
  const auto shown = cache_.slices().find(name);
  if (shown != cache_.slices().end() && is_text_of(object, shown->second)) return shown->second;
  ++counters_.decoded;
  return decode_slice_text(object);
}

void Publisher::on_failure(Verb verb, const std::string& name, const std::optional<ResourceSlice>& sent,
                           const Failure& failure) {
  if (failure.code == Errc::kConflict && verb == Verb::kCreate) return resolve_name_conflict(*sent);
  if (failure.code == Errc::kNotFound && verb != Verb::kCreate) return check_deleted(name);
  const std::string text = std::string(name_of(verb)) + " " + name + ": " + failure.what;
  // The slice is re-created under another name, so that a withdrawal does not wait for the metadata of
  // others.
  if (verb == Verb::kUpdate && sent && is_refused_for_metadata(failure) && has_metadata_of_others(*sent))
    state_.full.insert(name);
  // The slice is emptied by an update and deleted last, so that a withdrawal does not wait for it.
  if (verb == Verb::kDelete && is_refusal(failure)) state_.undeletable.insert(name);
  if (failure.code == Errc::kInvalid && sent) return quarantine(*sent, failure, text);
  refuse(text, failure);
}

void Publisher::refuse(const std::string& problem, const Failure& failure) {
  if (failure.retry_after)
    retry_after_ = ports_.scheduler.now() + std::min(*failure.retry_after, kRetryAfterMax);
  fail(problem);
}

void Publisher::fail(const std::string& problem) {
  if (last_failure_.is_new(problem))
    ports_.log.warning("write failed: it will be repeated", {{"problem", problem}});
  finish(false);
}

// Reads the object. Only a 404 with a Status shows that it is deleted: a load balancer without a server also
// answers 404.
void Publisher::read_object(const std::string& name, std::function<void(std::string_view object)> on_found) {
  call_ =
      ports_.cluster.get({.resource = kube::kResourceSlices, .name = name},
                         {.on_done = std::move(on_found), .on_failure = [this, name](const Failure& failure) {
                            if (!kube::says_gone(failure))
                              return refuse("get " + name + ": " + failure.what, failure);
                            state_.undeletable.erase(name);
                            cache_.on_not_found(name);
                            next_step();
                          }});
}

// Handles a create that got 409: the answer to our own create was lost, or another object has the name.
void Publisher::resolve_name_conflict(const ResourceSlice& sent) {
  auto kept = std::make_shared<ResourceSlice>(sent);
  call_ = ports_.cluster.get(
      {.resource = kube::kResourceSlices, .name = sent.meta.name},
      {.on_done =
           [this, kept](std::string_view object) {
             const std::string name = text_in(object, {"metadata", "name"});
             if (name != kept->meta.name)
               return fail("get " + kept->meta.name + ": the answer is about " + in_quotes(name));
             auto found = decode_slice_text(object);
             if (!found || !is_of(*found, kept->driver, kept->node_name) ||
                 found->pool.name != kept->pool.name)
               return use_next_name(*kept);
             adopt(std::move(*found));
             next_step();
           },
       .on_failure = [this, kept](const Failure& failure) {  // gone meanwhile, or not readable
         if (failure.code == Errc::kTooLarge) return use_next_name(*kept);
         refuse("create " + kept->meta.name +
                    ": the name is in use, and its object cannot be read: " + failure.what,
                failure);
       }});
}

void Publisher::use_next_name(const ResourceSlice& sent) {
  // Names with salt 0 are the keys: the same index always has the same one.
  const std::string plain = slice_name(parse_hex(sent.meta.name.substr(0, 5)).value_or(0), sent.driver,
                                       sent.node_name, sent.pool.name, 0);
  if (state_.salts[plain] >= kSaltMax)
    return fail("create " + plain + ": every possible name of the slice is in use by objects of others");
  const int salt = ++state_.salts[plain];
  ports_.log.warning("name of a ResourceSlice in use by another object: using the next name",
                     {{"slice", sent.meta.name}, {"salt", salt}});
  next_step();
}

// An update or delete got 404 before the watch showed the deletion, or a deleted slice has a finalizer and
// remains terminating.
void Publisher::check_deleted(const std::string& name) {
  read_object(name, [this, name](std::string_view object) {
    auto found = decode_slice_text(object);
    if (!found || found->meta.name != name)
      return fail("get " + name + ": the answer " +
                  (found ? "is about " + found->meta.name : found.error().what));
    // Our slice is deleted, and an object of others has its name: the watch, which selects our slices, does
    // not show it.
    const bool is_of_others = !is_of(*found, driver_, node_.name);
    const bool is_terminating = found->meta.being_deleted;
    if (is_of_others)
      cache_.on_not_found(name);
    else
      adopt(std::move(*found));
    if (is_of_others || is_terminating) return next_step();
    fail(name + ": the API server answers 404 to the write and returns the object to a GET");
  });
}

// Deletes a slice of the watch that could not be decoded, of any size, if its driver and nodeName are ours.
// If the read fails, other writes continue.
void Publisher::read_undecoded(const std::string& name) {
  state_.undeletable.insert(name);
  read_object(name, [this, name](std::string_view object) {
    ResourceSlice slice;
    slice.meta.name = text_in(object, {"metadata", "name"});
    if (slice.meta.name != name)
      return fail("get " + name + ": the answer is about " + in_quotes(slice.meta.name));
    state_.undeletable.erase(name);
    if (auto found = decode_slice_text(object)) {
      adopt(std::move(*found));
      return next_step();
    }
    slice.meta.uid = text_in(object, {"metadata", "uid"});
    slice.meta.resource_version = text_in(object, {"metadata", "resourceVersion"});
    slice.driver = text_in(object, {"spec", "driver"});
    slice.node_name = text_in(object, {"spec", "nodeName"});
    if (is_of(slice, driver_, node_.name))
      return send({.verb = Verb::kDelete,
                   .resource = kube::kResourceSlices,
                   .name = name,
                   .uid = slice.meta.uid,
                   .resource_version = slice.meta.resource_version},
                  std::nullopt, "unreadable");
    cache_.on_stored(std::move(slice));  // of others
    report_foreign();
    next_step();
  });
}

void Publisher::adopt(ResourceSlice found) {
  if (handlers_.on_adopted) callbacks_.run(handlers_.on_adopted, found);
  cache_.on_stored(std::move(found));
}

void Publisher::quarantine(const ResourceSlice& sent, const Failure& failure, const std::string& problem) {
  std::vector<RefusedEntry> refused = refused_entries(sent, failure);
  fail(problem);
  if (!refused.empty()) callbacks_.run(handlers_.on_refused, std::move(refused));
}

void Publisher::finish(bool ok) {
  call_.reset();
  const TimePoint now = ports_.scheduler.now();
  if (!ok) {
    ++counters_.failed_syncs;
    const Millis wait = failure_backoff_.next(now);
    if (++failed_runs_ > kFailuresFree) failed_until_ = now + wait;
    reconciler_.mark(wait);
  }
  if (const auto due = not_before()) reconciler_.mark(std::max(Millis{0}, *due - now));
  if (auto done = std::exchange(done_, {})) done(true);
}

void Publisher::watch_deadline() {
  const auto due = cache_.next_deadline();
  if (!due) return deadline_.reset();
  deadline_ = ports_.scheduler.after(*due - ports_.scheduler.now(), [this] {
    if (cache_.expire_answers(ports_.scheduler.now())) reconciler_.mark();
    watch_deadline();
  });
}

}  // namespace sliced::publishers
