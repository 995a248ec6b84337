#include "kube/directory/store_cluster.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "kube/objects/kinds.h"
#include "kube/objects/names.h"
#include "kube/objects/resource_slice.h"
#include "reactor/base/text.h"

namespace sliced::kube {
namespace {

std::string name_of(const Resource& resource) {
  return resource.group.empty() ? resource.plural : resource.plural + "." + resource.group;
}

std::optional<uint64_t> decode_version(std::string_view text) {
  uint64_t version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return version;
}

Json with_version(const Json& object, uint64_t version) {
  Json out = object;
  Json metadata = *object.find("metadata");
  metadata.set("resourceVersion", std::to_string(version));
  out.set("metadata", std::move(metadata));
  return out;
}

constexpr uint64_t kBookmarkEvery = 256;  // changes of other kinds; well below the length of the history

std::string bookmark(const Resource& resource, uint64_t version, bool initial_events_end) {
  Json metadata = Json::Object{{"resourceVersion", std::to_string(version)}};
  if (initial_events_end) metadata.set("annotations", Json::Object{{"k8s.io/initial-events-end", "true"}});
  return encode_json(Json::Object{
      {"apiVersion", api_version(resource)}, {"kind", resource.kind}, {"metadata", std::move(metadata)}});
}

/// Returns the object without the fields that the cluster adds.
Json without_servers_members(const Resource& resource, Json body) {
  Json metadata = *body.find("metadata");
  std::erase_if(*metadata.object(), [](const auto& member) {
    const auto& key = member.first;
    return key == "uid" || key == "resourceVersion" || key == "generation" || key == "creationTimestamp" ||
           key == "managedFields" || key == "selfLink" || key == "namespace";
  });
  Json out = Json::Object{
      {"apiVersion", api_version(resource)}, {"kind", resource.kind}, {"metadata", std::move(metadata)}};
  for (auto& [key, value] : *body.object()) {
    if (out.find(key) == nullptr) out.set(key, std::move(value));
  }
  return out;
}

/// Returns the API server's error for a slice; "" if valid.
std::string slice_problem(const Json& object, bool strict) {
  const auto slice = decode_resource_slice(object);
  if (!slice.ok()) return slice.error().what;
  if (strict && !slice->unknown_fields.empty())
    return "unknown field " + in_quotes(slice->unknown_fields.front());
  if (const auto problems = validate_slice(*slice); !problems.empty()) return problems.front();
  for (const Device& device : slice->devices) {
    const auto problems = validate_device(device);
    if (!problems.empty())
      return in_quotes(device.name) + ": " + problems.front().field + ": " + problems.front().what;
  }
  return "";
}

std::string_view verb_name(Verb verb) {
  static constexpr const char* kNames[] = {"create", "update", "delete", "apply", "patch"};
  return kNames[static_cast<size_t>(verb)];
}

std::string action_of(const WriteRequest& request) {
  return std::string(verb_name(request.verb)) + " " + name_of(request.resource) + " " +
         in_quotes(request.name);
}

Failure refused(const WriteRequest& request, Errc code, int http_status, std::string reason,
                std::string_view why) {
  return {code, http_status, std::move(reason), action_of(request) + ": " + std::string(why), std::nullopt};
}

/// 409 when uid or resourceVersion are given and are not the stored ones.
std::optional<Failure> check_preconditions(const WriteRequest& request, const Json& stored,
                                           std::string_view uid, std::string_view version) {
  const Json& metadata = *stored.find("metadata");
  for (const auto& [key, expected] : {std::pair{"uid", uid}, {"resourceVersion", version}}) {
    if (expected.empty() || expected == metadata.text(key)) continue;
    return refused(
        request, Errc::kConflict, 409, "Conflict",
        std::string(key) + " is " + in_quotes(metadata.text(key)) + ", not " + in_quotes(expected));
  }
  return std::nullopt;
}

}  // namespace

Failure expired_failure(std::string what) {
  return {Errc::kGone, 410, "Expired", std::move(what), std::nullopt};
}

// Calls.
// -----------------------------------------------------------------------------------------------------------

/// A call with one answer, in a later turn.
class StoreCluster::OnceCall final : public Call {
 public:
  OnceCall(reactor::Ticket ticket, std::shared_ptr<bool> dropped)
      : ticket_(std::move(ticket)), dropped_(std::move(dropped)) {}
  ~OnceCall() override { *dropped_ = true; }

 private:
  reactor::Ticket ticket_;
  std::shared_ptr<bool> dropped_;
};

struct StoreCluster::Watch {
  ObjectFilter filter;
  WatchHandlers handlers;
  uint64_t cursor = 0;        // all changes up to it were sent or are of other kinds
  uint64_t sent_version = 0;  // the last version that was sent
  bool initial = false, initial_bookmark = false, ended = false, opened = false;
  std::optional<Failure> refused;
  reactor::Ticket pump, timeout;

  void end() {
    ended = true;
    pump.reset();
    timeout.reset();
  }
  void send(EventType type, const std::string& object, uint64_t version) {
    sent_version = version;
    handlers.on_event({type, object});
  }
};

class StoreCluster::WatchCall final : public Call {
 public:
  explicit WatchCall(std::shared_ptr<Watch> watch) : watch_(std::move(watch)) {}
  ~WatchCall() override { watch_->end(); }

 private:
  std::shared_ptr<Watch> watch_;
};

StoreCluster::StoreCluster(reactor::Scheduler& scheduler, std::string default_namespace)
    : default_namespace_(std::move(default_namespace)), scheduler_(scheduler) {}

StoreCluster::~StoreCluster() {
  for (const auto& weak : watches_) {
    if (auto watch = weak.lock()) watch->end();
  }
}

CallPtr StoreCluster::once(std::function<void(const bool&)> reply) {
  auto dropped = std::make_shared<bool>(false);
  auto task = [alive = std::weak_ptr<Unit>(alive_), dropped, reply = std::move(reply)] {
    if (!alive.expired()) reply(*dropped);
  };
  return std::make_unique<OnceCall>(scheduler_.after(Millis{0}, std::move(task)), dropped);
}

// Reading.
// ---------------------------------------------------------------------------------------------------------

Result<ObjectFilter> StoreCluster::filter(const Scope& scope) const {
  auto fields = decode_field_selector(scope.field_selector);
  if (!fields.ok()) return fields.error();
  return ObjectFilter{scope, default_namespace_, std::move(*fields)};
}

ObjectFilter StoreCluster::all_of(const Resource& resource) const {
  return {{.resource = resource}, default_namespace_, {}};
}

ObjectKey StoreCluster::key_of(const Resource& resource, const std::string& namespace_,
                               const std::string& name) const {
  const bool plain = !resource.namespaced || namespace_ == default_namespace_;
  return {api_version(resource), resource.kind, plain ? "" : namespace_, name};
}

CallPtr StoreCluster::list(ListRequest request, ListHandlers handlers) {
  return once([this, request = std::move(request), handlers = std::move(handlers)](const bool& dropped) {
    const std::string action = "list " + name_of(request.scope.resource);
    if (const auto failure = trouble(action)) return handlers.on_failure(*failure);
    const auto ready = filter(request.scope);
    if (!ready.ok()) {
      return handlers.on_failure(
          {Errc::kInvalid, 400, "BadRequest", action + ": " + ready.error().what, std::nullopt});
    }
    const uint64_t version = store_.version();
    for (const auto& [key, current] : store_.concerned(*ready)) {
      const Json object = current->served();
      if (ready->selects(key, object)) handlers.on_item(ready->present(key, object));
      if (dropped) return;
    }
    handlers.on_done(std::to_string(version));
  });
}

StoreCluster::Reply StoreCluster::find(const GetRequest& request) const {
  const std::string action = "get " + name_of(request.resource) + " " + in_quotes(request.name);
  if (auto failure = trouble(action)) return *std::move(failure);
  const ObjectKey key = key_of(request.resource, request.namespace_, request.name);
  const ObjectPtr object = store_.find(key);
  if (!object) return Failure{Errc::kNotFound, 404, "NotFound", action + ": not found", std::nullopt};
  return all_of(request.resource).present(key, *object);
}

CallPtr StoreCluster::get(GetRequest request, WriteHandlers handlers) {
  return once([this, request = std::move(request), handlers = std::move(handlers)](const bool&) {
    const Reply reply = find(request);
    if (const auto* failure = std::get_if<Failure>(&reply)) return handlers.on_failure(*failure);
    handlers.on_done(std::get<std::string>(reply));
  });
}

CallPtr StoreCluster::discover(std::string group, std::string version,
                               std::function<void(std::vector<std::string>)> on_done,
                               std::function<void(const Failure&)>) {
  return once([group = std::move(group), version = std::move(version),
               on_done = std::move(on_done)](const bool&) {
    std::vector<std::string> plurals;
    for (const Resource* known : {&kNodes, &kResourceSlices, &kResourceClaims, &kSriovResourcePolicies,
                                  &kDeviceAttributes, &kDeviceExposurePolicies, &kSriovNetworkNodeStates}) {
      if (known->group == group && known->version == version) plurals.push_back(known->plural);
    }
    on_done(std::move(plurals));
  });
}

CallPtr StoreCluster::schema(std::string, std::string, std::function<void(std::string_view)> on_done,
                             std::function<void(const Failure&)>) {
  return once([on_done = std::move(on_done)](const bool&) { on_done(""); });
}

CallPtr StoreCluster::server_info(std::function<void(ServerInfo)> on_done,
                                  std::function<void(const Failure&)>) {
  // Files keep every field, so the schema contains all.
  return once([on_done = std::move(on_done)](const bool&) { on_done({.git_version = "v1.36.3"}); });
}

// Watching.
// --------------------------------------------------------------------------------------------------------

CallPtr StoreCluster::watch(WatchRequest request, WatchHandlers handlers) {
  auto watch = std::make_shared<Watch>();
  const std::string action = "watch " + name_of(request.scope.resource);
  watch->handlers = std::move(handlers);
  watch->initial_bookmark = request.send_initial_events;
  watch->initial =
      request.send_initial_events || request.resource_version.empty() || request.resource_version == "0";
  auto ready = filter(request.scope);
  const auto version = decode_version(request.resource_version);
  if (!ready.ok()) {
    watch->refused =
        Failure{Errc::kInvalid, 400, "BadRequest", action + ": " + ready.error().what, std::nullopt};
  } else {
    watch->filter = std::move(*ready);
  }
  if (!watch->initial && (!version || !store_.has_history_since(*version))) {
    watch->refused = expired_failure(action + ": resourceVersion " + in_quotes(request.resource_version) +
                                     " is not known any more");
  }
  if (auto failure = trouble(action)) watch->refused = std::move(failure);
  watch->cursor = watch->sent_version = version.value_or(0);
  if (request.timeout > Millis{0}) {
    watch->timeout = scheduler_.after(request.timeout, [weak = std::weak_ptr(watch)] {
      const auto held = weak.lock();
      if (!held || held->ended) return;
      held->end();
      held->handlers.on_end();
    });
  }
  std::erase_if(watches_, [](const auto& weak) { return weak.expired(); });
  watches_.push_back(watch);
  schedule_pump(watch);
  return std::make_unique<WatchCall>(std::move(watch));
}

void StoreCluster::schedule_pump(const std::shared_ptr<Watch>& watch) {
  if (watch->ended || watch->pump) return;
  watch->pump = scheduler_.after(Millis{0}, [this, weak = std::weak_ptr(watch)] {
    if (const auto held = weak.lock(); held && !held->ended) pump(held);
  });
}

void StoreCluster::wake_watches() {
  for (const auto& weak : watches_) {
    if (const auto watch = weak.lock()) schedule_pump(watch);
  }
}

void StoreCluster::end_watches(const Failure& failure) {
  for (const auto& weak : std::exchange(watches_, {})) {
    const auto watch = weak.lock();
    if (!watch || watch->ended) continue;
    watch->end();
    watch->handlers.on_failure(failure);
  }
}

void StoreCluster::send_initial(const std::shared_ptr<Watch>& watch) {
  watch->initial = false;
  watch->cursor = store_.version();
  const uint64_t version = watch->cursor;
  for (const auto& [key, current] : store_.concerned(watch->filter)) {
    const Json object = current->served();
    if (watch->filter.selects(key, object))
      watch->send(EventType::kAdded, watch->filter.present(key, object), version);
    if (watch->ended) return;
  }
  if (watch->initial_bookmark) {
    watch->send(EventType::kBookmark, bookmark(watch->filter.scope.resource, version, true), version);
  }
}

/// Sends all new changes to the watch. The caller holds it while its callbacks run.
void StoreCluster::pump(const std::shared_ptr<Watch>& watch) {
  watch->pump.reset();
  if (watch->refused) {
    watch->end();
    return watch->handlers.on_failure(*watch->refused);
  }
  if (!std::exchange(watch->opened, true) && watch->handlers.on_open) watch->handlers.on_open();
  if (!watch->ended && watch->initial) send_initial(watch);
  if (!watch->ended && !store_.has_history_since(watch->cursor)) {
    watch->end();
    return watch->handlers.on_failure(
        expired_failure("watch " + name_of(watch->filter.scope.resource) + ": too far behind"));
  }
  while (!watch->ended) {
    const ObjectChange* next = store_.change_after(watch->cursor);
    if (next == nullptr) break;
    const ObjectChange change = *next;
    watch->cursor = change.version;
    if (!watch->filter.concerns(change.key)) continue;
    const Json before = change.before ? change.before->served() : Json();
    const Json after = change.after ? change.after->served() : Json();
    const bool was = change.before && watch->filter.selects(change.key, before);
    const bool is = change.after && watch->filter.selects(change.key, after);
    if (is) {
      watch->send(was ? EventType::kModified : EventType::kAdded, watch->filter.present(change.key, after),
                  change.version);
    } else if (was) {
      const Json last = with_version(before, change.version);
      watch->send(EventType::kDeleted, watch->filter.present(change.key, last), change.version);
    }
  }
  if (!watch->ended && watch->cursor - watch->sent_version >= kBookmarkEvery) {
    watch->send(EventType::kBookmark, bookmark(watch->filter.scope.resource, watch->cursor, false),
                watch->cursor);
  }
}

// Writing.
// ---------------------------------------------------------------------------------------------------------

CallPtr StoreCluster::write(WriteRequest request, WriteHandlers handlers) {
  return once([this, request = std::move(request), handlers = std::move(handlers)](const bool&) {
    const Reply reply = perform(request);
    wake_watches();
    if (const auto* failure = std::get_if<Failure>(&reply)) return handlers.on_failure(*failure);
    handlers.on_done(std::get<std::string>(reply));
  });
}

StoreCluster::Reply StoreCluster::perform(const WriteRequest& request) {
  if (auto failure = trouble(action_of(request))) return *std::move(failure);
  if (request.resource.namespaced) {
    return refused(request, Errc::kInvalid, 422, "Invalid",
                   describe() + " takes cluster-scoped objects only");
  }
  if (!is_dns_subdomain(request.name)) {
    return refused(request, Errc::kInvalid, 422, "Invalid", "metadata.name: no DNS subdomain");
  }
  if (request.verb == Verb::kApply || request.verb == Verb::kMerge)
    return refused(request, Errc::kInvalid, 422, "Invalid", describe() + " takes whole objects only");
  const ObjectKey key = key_of(request.resource, "", request.name);
  const ObjectPtr stored = store_.find(key);
  if (request.verb == Verb::kCreate && stored) {
    return refused(request, Errc::kConflict, 409, "AlreadyExists", "already exists in " + place_of(key));
  }
  if (request.verb != Verb::kCreate && !stored)
    return refused(request, Errc::kNotFound, 404, "NotFound", "not found");
  return request.verb == Verb::kDelete ? erase(request, key, stored) : put(request, key, stored);
}

StoreCluster::Reply StoreCluster::put(const WriteRequest& request, const ObjectKey& key,
                                      const ObjectPtr& stored) {
  auto body = decode_json(request.body);
  if (!body.ok()) return refused(request, Errc::kInvalid, 400, "BadRequest", body.error().what);
  const auto meta = decode_object_meta(*body);
  if (!meta.ok()) return refused(request, Errc::kInvalid, 400, "BadRequest", meta.error().what);
  if (meta->name != request.name) {
    return refused(request, Errc::kInvalid, 400, "BadRequest", "metadata.name is " + in_quotes(meta->name));
  }
  if (stored) {
    if (auto failure = check_preconditions(request, *stored, meta->uid, meta->resource_version))
      return *failure;
    if (std::string why = why_not_writable(request, key); !why.empty())
      return refused(request, Errc::kDenied, 403, "Forbidden", why);
  }
  const bool slice = request.resource == kResourceSlices;
  if (const std::string problem = slice ? slice_problem(*body, request.strict) : ""; !problem.empty()) {
    return refused(request, Errc::kInvalid, 422, "Invalid", problem);
  }
  const Json content = without_servers_members(request.resource, std::move(*body));
  const Json next = store_.preview(key, content);
  const ObjectFilter plain = all_of(request.resource);
  if (request.dry_run) return plain.present(key, next);
  const bool same =
      stored &&
      *stored ==
          with_version(next, decode_version(stored->find("metadata")->text("resourceVersion")).value_or(0));
  if (!same) {
    auto written = store(request, key, content);
    if (!written.ok()) return refused(request, written.error().code, 0, "", written.error().what);
  }
  const ObjectPtr now = store_.find(key);
  if (!now) return refused(request, Errc::kIo, 0, "", "the written object cannot be read back");
  return plain.present(key, *now);
}

StoreCluster::Reply StoreCluster::erase(const WriteRequest& request, const ObjectKey& key,
                                        const ObjectPtr& stored) {
  if (auto failure = check_preconditions(request, *stored, request.uid, request.resource_version))
    return *failure;
  if (std::string why = why_not_writable(request, key); !why.empty())
    return refused(request, Errc::kDenied, 403, "Forbidden", why);
  if (request.dry_run) return std::string();
  auto erased = forget(key);
  if (!erased.ok()) return refused(request, erased.error().code, 0, "", erased.error().what);
  return std::string();
}

}  // namespace sliced::kube
