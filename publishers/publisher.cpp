#include "publishers/publisher.h"

#include <algorithm>
#include <set>

#include "reactor/base/text.h"

namespace sliced::publishers {
namespace {

using kube::Failure;
using kube::ResourceSlice;
using kube::Verb;

constexpr Millis kRetryAfterMax{60'000};
constexpr size_t kRestoresFree = 4;  // within kFightWindow, before somebody counts as fighting back
constexpr Millis kFightWindow{30'000};
constexpr reactor::BackoffPolicy kWriteBackoff{
    .initial = Millis{200}, .factor = 2.0, .cap = Millis{30'000}, .jitter = 0.5};
constexpr reactor::BackoffPolicy kFightBackoff{
    .initial = Millis{1'000}, .factor = 2.0, .cap = Millis{60'000}, .jitter = 0.5};

std::string_view name_of(Verb verb) {
  return verb == Verb::kCreate ? "create" : verb == Verb::kUpdate ? "update" : "delete";
}

// "spec.devices[12].attributes[...]" -> 12
std::optional<size_t> device_index(std::string_view field) {
  constexpr std::string_view kPrefix = "spec.devices[";
  if (!field.starts_with(kPrefix)) return std::nullopt;
  field.remove_prefix(kPrefix.size());
  const auto index = parse_int(field.substr(0, field.find(']')));
  return index && *index >= 0 ? std::optional(static_cast<size_t>(*index)) : std::nullopt;
}

Result<ResourceSlice> decode_slice_text(std::string_view text) {
  auto json = kube::decode_json(text);
  if (!json) return std::move(json.error()).in("ResourceSlice");
  return kube::decode_resource_slice(*json);
}

}  // namespace

Publisher::Publisher(Ports ports, std::string driver, Handlers handlers)
    : ports_(std::move(ports)),
      driver_(std::move(driver)),
      handlers_(std::move(handlers)),
      fight_backoff_(ports_.random, kFightBackoff),
      queue_(
          ports_.scheduler,
          [this](const std::string&, reactor::ReconcileQueue::Done done) { run(std::move(done)); },
          ports_.random, kWriteBackoff) {}

Publisher::~Publisher() = default;

void Publisher::on_slices(const SourceEvent<ResourceSlice>& event) {
  const bool different = cache_.on_event(event, ports_.scheduler.now());
  is_disturbed_ |= different && restoring_;
  watch_deadline();
  adopt_generations();
  if (different) share_entries();
  if (different || std::holds_alternative<Relisted<ResourceSlice>>(event))
    queue_.mark(std::string(kQueueKey));
}

void Publisher::set_desired(std::vector<policy::DesiredPool> pools, NodeIdentity node) {
  if (std::exchange(awaits_desired_, false)) queue_.mark(std::string(kQueueKey));
  if (desired_ && *desired_ == pools && node_ == node) return;
  desired_ = std::move(pools);
  share_entries();
  node_ = std::move(node);
  restoring_ = is_disturbed_ = false;
  fight_until_.reset();
  adopt_generations();
  queue_.mark(std::string(kQueueKey));
}

void Publisher::clear_desired() {
  desired_.reset();
  memory_.generations.clear();
  memory_.attempted.clear();
}

void Publisher::permit(bool writes) {
  permitted_ = writes;
  if (writes) queue_.mark(std::string(kQueueKey));
}

const std::vector<policy::DesiredPool>& Publisher::desired() const {
  static const std::vector<policy::DesiredPool> kNothing;
  return desired_ ? *desired_ : kNothing;
}

Plan Publisher::plan() const {
  if (!desired_ || !cache_.listed()) return {};
  return diff_pools(*desired_, cache_.slices(), node_, driver_, memory_);
}

bool Publisher::converged() const {
  return !done_ && desired_ && !awaits_desired_ && cache_.listed() && plan().empty();
}

void Publisher::share_entries() {
  for (const policy::DesiredPool& pool : desired()) cache_.share(pool.devices);
}

// What we first see of a pool tells the generation from which ours go on.
void Publisher::adopt_generations() {
  if (!desired_ || !cache_.listed()) return;
  for (const policy::DesiredPool& pool : *desired_) {
    if (memory_.generations.contains(pool.name)) continue;
    const Plan plan = diff_pools({pool}, cache_.slices(), node_, driver_, {});
    int64_t highest = 0;
    for (const auto& [name, slice] : cache_.slices()) {
      const bool foreign = std::any_of(plan.deletes.begin(), plan.deletes.end(),
                                       [&](const Removal& r) { return r.name == name; });
      if (!foreign && slice.pool.name == pool.name && slice.pool.generation <= kTrustedGenerationMax)
        highest = std::max(highest, slice.pool.generation);
    }
    if (highest > 0) memory_.generations[pool.name] = highest;
  }
}

std::optional<TimePoint> Publisher::not_before() const {
  if (!retry_after_ || !fight_until_) return retry_after_ ? retry_after_ : fight_until_;
  return std::max(*retry_after_, *fight_until_);
}

void Publisher::run(reactor::ReconcileQueue::Done done) {
  const TimePoint now = ports_.scheduler.now();
  if (!may_write() || !cache_.listed()) return done(true);
  if (std::exchange(is_disturbed_, false) && !plan().empty()) note_fight();
  if (const auto due = not_before(); due && now < *due) {
    queue_.mark(std::string(kQueueKey), *due - now);
    return done(true);
  }
  retry_after_.reset();
  fight_until_.reset();
  done_ = std::move(done);
  run_writes_ = 0;
  next_step();
}

// Others undid what we wrote. The first times it is put right at once; after that somebody is fighting, and
// waits grow.
void Publisher::note_fight() {
  const TimePoint now = ports_.scheduler.now();
  std::erase_if(restored_at_, [&](TimePoint at) { return at + kFightWindow < now; });
  if (restored_at_.size() < kRestoresFree) {
    restored_at_.push_back(now);
    ports_.log.info("slices were changed by somebody else; restoring",
                    {{"driver", driver_}, {"node", node_.name}});
    return;
  }
  restored_at_.clear();
  const Millis wait = fight_backoff_.next(now);
  fight_until_ = now + wait;
  ports_.log.warning(
      "somebody keeps changing our slices; restoring more slowly",
      {{"driver", driver_}, {"node", node_.name}, {"wait_ms", static_cast<int64_t>(wait.count())}});
}

void Publisher::next_step() {
  if (!may_write()) return finish(true);
  Plan next = plan();
  if (next.empty()) {
    if (run_writes_ > 0)
      ports_.log.info("published", {{"driver", driver_},
                                    {"writes", static_cast<int64_t>(run_writes_)},
                                    {"slices", cache_.slices().size()}});
    restoring_ = true;
    finish(true);
    if (handlers_.on_converged) handlers_.on_converged();
    return;
  }
  const ResourceSlice* write = first_write(next, cache_.slices());
  if (write == nullptr) {
    const Removal& removal = next.deletes.front();
    return send({.verb = Verb::kDelete,
                 .resource = kube::kResourceSlices,
                 .name = removal.name,
                 .uid = removal.uid,
                 .resource_version = removal.resource_version},
                std::nullopt, removal.why);
  }
  const bool update = !write->meta.resource_version.empty();
  std::string body = kube::encode_json(kube::encode_resource_slice(*write));
  int64_t& attempted = memory_.attempted[write->pool.name];
  attempted = std::max(attempted, write->pool.generation);
  send({.verb = update ? Verb::kUpdate : Verb::kCreate,
        .resource = kube::kResourceSlices,
        .name = write->meta.name,
        .body = std::move(body)},
       *write, update ? "content differs" : "missing");
}

void Publisher::send(kube::WriteRequest request, std::optional<ResourceSlice> sent, std::string why) {
  ++writes_;
  ++run_writes_;
  const Verb verb = request.verb;
  const std::string name = request.name;
  auto kept = std::make_shared<std::optional<ResourceSlice>>(std::move(sent));
  call_ = ports_.cluster.write(
      std::move(request),
      {.on_done =
           [this, kept, verb, name, why](std::string_view object) {
             if (!*kept) cache_.on_deleted(name);
             tell_written(verb, name, *kept, why);
             on_answer(*kept, object);
           },
       .on_failure = [this, kept, verb, name](const Failure& f) { on_failure(verb, name, *kept, f); }});
}

void Publisher::tell_written(Verb verb, const std::string& name, const std::optional<ResourceSlice>& sent,
                             const std::string& why) {
  if (sent)
    ports_.log.info("slice written", {{"verb", name_of(verb)},
                                      {"slice", name},
                                      {"why", why},
                                      {"generation", sent->pool.generation},
                                      {"devices", sent->devices.size()}});
  else
    ports_.log.info("slice deleted", {{"slice", name}, {"why", why}});
}

void Publisher::on_answer(const std::optional<ResourceSlice>& sent, std::string_view object) {
  if (!sent) return next_step();
  auto stored = decode_slice_text(object);
  if (!stored) {
    ports_.log.error("the answer to a write cannot be understood; waiting for the watch",
                     {{"slice", sent->meta.name}, {"problem", stored.error().what}});
    return finish(false);
  }
  std::vector<RefusedEntry> mutilated;
  std::map<std::string_view, const kube::Device*> by_name;
  for (const kube::Device& device : stored->devices) by_name.emplace(device.name, &device);
  for (const kube::Device& device : sent->devices) {
    const auto at = by_name.find(device.name);
    if (at == by_name.end() || *at->second != device)
      mutilated.push_back(
          {device.name, policy::content_hash(device), "the API server stored it without some of its fields"});
  }
  memory_.generations[sent->pool.name] = sent->pool.generation;
  const std::set<Ability> lost = lost_abilities(*sent, *stored);
  const bool other_loss = mutilated.empty() && !same_content(*stored, *sent);
  if (!other_loss) last_failure_.clear();
  cache_.on_stored(std::move(*stored));
  share_entries();
  if (!lost.empty()) {
    const auto report = handlers_.on_lost;
    finish(false);
    return report(lost);  // may destroy *this
  }
  if (other_loss) {
    const std::string text =
        "the API server stored a slice otherwise than it was sent; an admission webhook or a disabled "
        "feature gate changes it";
    if (last_failure_ != text) ports_.log.error(text, {{"slice", sent->meta.name}});
    last_failure_ = text;
    return finish(false);
  }
  if (mutilated.empty()) return next_step();
  const auto report = handlers_.on_refused;
  finish(false);
  report(std::move(mutilated));  // may destroy *this
}

void Publisher::on_failure(Verb verb, const std::string& name, const std::optional<ResourceSlice>& sent,
                           const Failure& failure) {
  if (failure.code == Errc::kConflict && verb == Verb::kCreate) return look_at_squatter(*sent);
  if (failure.code == Errc::kNotFound && verb != Verb::kCreate) return look_whether_gone(name);
  const std::string text = std::string(name_of(verb)) + " " + name + ": " + failure.what;
  if (last_failure_ != text) ports_.log.warning("write failed; will be tried again", {{"problem", text}});
  last_failure_ = text;
  if (failure.code == Errc::kInvalid && sent) return quarantine(*sent, failure);
  if (failure.retry_after)
    retry_after_ = ports_.scheduler.now() + std::min(*failure.retry_after, kRetryAfterMax);
  finish(false);
}

// A create met an existing object: the lost answer of our own write, or somebody else's object under our
// name.
void Publisher::look_at_squatter(const ResourceSlice& sent) {
  auto kept = std::make_shared<ResourceSlice>(sent);
  call_ = ports_.cluster.get(
      {.resource = kube::kResourceSlices, .name = sent.meta.name},
      {.on_done =
           [this, kept](std::string_view object) {
             auto found = decode_slice_text(object);
             if (found && found->driver == kept->driver && found->node_name == kept->node_name &&
                 found->pool.name == kept->pool.name) {
               meet(std::move(*found));
               return next_step();
             }
             // Names with salt 0 are the keys: the same index always has the same one.
             const std::string plain = slice_name(parse_hex(kept->meta.name.substr(0, 5)).value_or(0),
                                                  kept->driver, kept->node_name, kept->pool.name, 0);
             if (memory_.salts[plain] >= kSaltMax) {
               ports_.log.error("every name that we would give a slice is taken by somebody else",
                                {{"slice", plain}});
               return finish(false);
             }
             const int salt = ++memory_.salts[plain];
             ports_.log.warning("a slice of somebody else has our name; taking another",
                                {{"slice", kept->meta.name}, {"salt", salt}});
             next_step();
           },
       .on_failure =
           [this](const Failure& failure) {
             if (failure.code != Errc::kNotFound)
               ports_.log.debug("what has our name is not readable", {{"problem", failure.what}});
             finish(false);  // gone meanwhile, or not readable: the next attempt will see
           }});
}

// An update or delete met nothing: somebody deleted the object, and the watch has not said so yet.
void Publisher::look_whether_gone(const std::string& name) {
  call_ = ports_.cluster.get({.resource = kube::kResourceSlices, .name = name},
                             {.on_done =
                                  [this](std::string_view object) {
                                    if (auto found = decode_slice_text(object)) meet(std::move(*found));
                                    finish(false);
                                  },
                              .on_failure =
                                  [this, name](const Failure& failure) {
                                    if (failure.code != Errc::kNotFound) return finish(false);
                                    cache_.on_deleted(name);
                                    next_step();
                                  }});
}

void Publisher::meet(ResourceSlice found) {
  if (handlers_.on_met) handlers_.on_met(found);
  cache_.on_stored(std::move(found));
}

void Publisher::quarantine(const ResourceSlice& sent, const Failure& failure) {
  std::vector<RefusedEntry> refused;
  std::set<size_t> seen;
  for (const std::string& field : failure.fields) {
    const auto index = device_index(field);
    if (!index || *index >= sent.devices.size() || !seen.insert(*index).second) continue;
    const kube::Device& device = sent.devices[*index];
    refused.push_back(
        {device.name, policy::content_hash(device), "the API server refuses " + field + ": " + failure.what});
  }
  const auto report = handlers_.on_refused;
  finish(false);
  if (!refused.empty()) report(std::move(refused));  // may destroy *this
}

void Publisher::finish(bool ok) {
  call_.reset();
  const auto due = not_before();
  if (due) queue_.mark(std::string(kQueueKey), std::max(Millis{0}, *due - ports_.scheduler.now()));
  if (auto done = std::exchange(done_, {})) done(ok || due.has_value());
}

void Publisher::watch_deadline() {
  const auto due = cache_.next_deadline();
  if (!due) return deadline_.reset();
  deadline_ = ports_.scheduler.after(*due - ports_.scheduler.now(), [this] {
    if (cache_.settle(ports_.scheduler.now())) queue_.mark(std::string(kQueueKey));
    watch_deadline();
  });
}

}  // namespace sliced::publishers
