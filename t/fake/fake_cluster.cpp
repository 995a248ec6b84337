#include "t/fake/fake_cluster.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "reactor/base/text.h"

namespace sliced::fake {

using kube::EventType;
using kube::Failure;
using kube::Json;
using kube::Resource;

struct FakeCluster::CallState {
  Request request;
  bool dropped = false;
};

struct FakeCluster::CallHandle final : kube::Call {
  explicit CallHandle(CallRef call) : call(std::move(call)) {}
  ~CallHandle() override { call->dropped = true; }
  CallRef call;
};

struct FakeCluster::Watch {
  CallRef call;
  kube::WatchRequest request;
  kube::WatchHandlers handlers;
  TimePoint last_delivery{};
  bool closed = false;  // nothing more will be sent
  bool dead = false;    // the connection is a black hole
  bool open() const { return !closed && !dead && !call->dropped; }
};

namespace {

template <class Watches>
void forget_closed(Watches& watches) {
  std::erase_if(watches, [](const auto& watch) { return !watch->open(); });
}

std::string served_key(std::string_view group, std::string_view version, std::string_view plural) {
  return std::string(group) + "/" + std::string(version) + "/" + std::string(plural);
}

// Up to the separator, which is taken away with it. Each watch is asked about each change: nothing is copied.
std::string_view cut(std::string_view& rest, char separator) {
  const std::string_view out = rest.substr(0, rest.find(separator));
  rest.remove_prefix(std::min(out.size() + 1, rest.size()));
  return out;
}

const Json* find_path(const Json& object, std::string_view dotted) {
  const Json* at = &object;
  while (at != nullptr && !dotted.empty()) at = at->find(cut(dotted, '.'));
  return at;
}

bool selected(const Json& object, std::string_view field_selector) {
  while (!field_selector.empty()) {
    const std::string_view term = cut(field_selector, ',');
    const size_t equals = term.find('=');
    if (equals == std::string_view::npos) return false;
    const Json* found = find_path(object, term.substr(0, equals));
    const std::string* text = found == nullptr ? nullptr : found->string();
    if ((text == nullptr ? std::string_view() : std::string_view(*text)) != term.substr(equals + 1))
      return false;
  }
  return true;
}

bool in_scope(const kube::Scope& scope, const Resource& resource, const Json& object) {
  if (resource.group != scope.resource.group || resource.plural != scope.resource.plural) return false;
  if (!scope.namespace_.empty() && find_path(object, "metadata") != nullptr &&
      object.find("metadata")->text("namespace") != scope.namespace_)
    return false;
  return selected(object, scope.field_selector);
}

void set_meta(Json& object, std::string_view key, Json value) {
  Json meta = object.find("metadata") == nullptr ? Json(Json::Object{}) : *object.find("metadata");
  meta.set(key, std::move(value));
  object.set("metadata", std::move(meta));
}

std::string meta_text(const Json& object, std::string_view key) {
  const Json* meta = object.find("metadata");
  return meta == nullptr ? std::string() : std::string(meta->text(key));
}

bool has_finalizers(const Json& object) {
  const Json* meta = object.find("metadata");
  const Json* finalizers = meta == nullptr ? nullptr : meta->find("finalizers");
  return finalizers != nullptr && finalizers->array() != nullptr && !finalizers->array()->empty();
}

Json sorted(Json value) {
  if (Json::Array* items = value.array())
    for (Json& item : *items) item = sorted(std::move(item));
  if (Json::Object* members = value.object()) {
    for (Json::Member& member : *members) member.second = sorted(std::move(member.second));
    std::sort(members->begin(), members->end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
  }
  return value;
}

/// Equal except for the fields that the server sets, and for the order of members.
bool same_content(Json a, Json b) {
  for (Json* object : {&a, &b})
    for (std::string_view key : {"resourceVersion", "generation", "managedFields"})
      set_meta(*object, key, Json());
  return sorted(std::move(a)) == sorted(std::move(b));
}

std::string api_version_of(const Resource& resource) {
  return resource.group.empty() ? resource.version : resource.group + "/" + resource.version;
}

Failure failure(Errc code, int status, std::string reason, const Request& request, std::string_view what) {
  std::string text = request.verb + " " + request.plural;
  if (!request.name.empty()) text += " " + request.name;
  return Failure{code, status, std::move(reason), text + ": " + std::string(what), std::nullopt};
}

// As k8s.io/apimachinery api/validation ValidateAnnotationsSize.
std::optional<Failure> too_many_annotations(const Request& request, const Json& object, size_t bytes_max) {
  const Json* all = object.find({"metadata", "annotations"});
  if (all == nullptr || all->object() == nullptr) return std::nullopt;
  size_t bytes = 0;
  for (const auto& [key, value] : *all->object())
    bytes += key.size() + (value.string() == nullptr ? 0 : value.string()->size());
  if (bytes <= bytes_max) return std::nullopt;
  Failure why =
      failure(Errc::kInvalid, 422, "Invalid", request,
              "metadata.annotations: Too long: may not be more than " + std::to_string(bytes_max) + " bytes");
  why.fields = {"metadata.annotations"};
  return why;
}

// RFC 7386.
Json merged(Json into, const Json& patch) {
  if (patch.object() == nullptr) return patch;
  if (into.object() == nullptr) into = Json::Object{};
  for (const auto& [key, value] : *patch.object()) {
    if (value.is_null())
      std::erase_if(*into.object(), [&key = key](const Json::Member& member) { return member.first == key; });
    else
      into.set(key, merged(into.find(key) == nullptr ? Json() : *into.find(key), value));
  }
  return into;
}

// Existing elements of the list stay, except those whose type is given again.
Json applied_conditions(const Json* stored, const Json::Array& conditions) {
  Json::Array out = stored == nullptr || stored->array() == nullptr ? Json::Array() : *stored->array();
  for (const Json& one : conditions) {
    const auto at = std::find_if(out.begin(), out.end(),
                                 [&](const Json& other) { return other.text("type") == one.text("type"); });
    if (at == out.end())
      out.push_back(one);
    else
      *at = one;
  }
  return out;
}

Json with_applied_status(Json object, const Json& body) {
  const Json* named = body.find("status");
  if (named == nullptr || named->object() == nullptr) return object;
  Json status = object.find("status") == nullptr ? Json(Json::Object{}) : *object.find("status");
  for (const auto& [key, value] : *named->object())
    status.set(key, key == "conditions" && value.array() != nullptr
                        ? applied_conditions(status.find(key), *value.array())
                        : value);
  object.set("status", std::move(status));
  return object;
}

Json decoded_or_abort(std::string_view text) {
  Result<Json> value = kube::decode_json(text);
  if (value.ok()) return std::move(value).value();
  std::fprintf(stderr, "test object is not JSON: %s\n", value.error().what.c_str());
  std::abort();
}

}  // namespace

FakeCluster::FakeCluster(reactor::Scheduler& scheduler) : scheduler_(scheduler) {
  install(kNodes);
  install(kResourceSlices);
}

FakeCluster::~FakeCluster() = default;

void FakeCluster::install(const Resource& resource) {
  served_.insert(served_key(resource.group, resource.version, resource.plural));
}

void FakeCluster::uninstall(const Resource& resource) {
  for (const Json& object : objects(resource))
    remove(resource, meta_text(object, "name"), meta_text(object, "namespace"));
  end_watches(resource.plural);
  unserve(resource);
}

void FakeCluster::unserve(const Resource& resource) {
  served_.erase(served_key(resource.group, resource.version, resource.plural));
}

bool FakeCluster::is_sent(const kube::Scope& scope, const Resource& resource, const Json& object) const {
  if (!ignores_scopes) return in_scope(scope, resource, object);
  return in_scope({.resource = scope.resource}, resource, object);
}

bool FakeCluster::served(std::string_view group, std::string_view version, std::string_view plural) const {
  return served_.contains(served_key(group, version, plural));
}

// Objects.
// ----------------------------------------------------------------------------------------------------------

Json FakeCluster::stamped(const Resource& resource, Json object, const Json* before) {
  object.set("apiVersion", api_version_of(resource));
  object.set("kind", resource.kind);
  if (meta_text(object, "name").empty())
    set_meta(object, "name", meta_text(object, "generateName") + hex(static_cast<uint64_t>(++uids_), 5));
  if (before != nullptr)
    set_meta(object, "uid", meta_text(*before, "uid"));
  else if (meta_text(object, "uid").empty())
    set_meta(object, "uid", "uid-" + std::to_string(++uids_));
  if (meta_text(object, "creationTimestamp").empty())
    set_meta(object, "creationTimestamp", "2026-01-01T00:00:00Z");
  set_meta(object, "resourceVersion", std::to_string(version_ + 1));
  return object;
}

void FakeCluster::record(const Resource& resource, std::optional<Json> before, std::optional<Json> after) {
  ++version_;
  // A deleted object's last event carries the version of the deletion.
  if (!after) set_meta(*before, "resourceVersion", std::to_string(version_));
  history_.push_back({version_, resource, std::move(before), std::move(after)});
  for (; history_max > 0 && history_.size() > history_max; history_.pop_front())
    compacted_ = std::max(compacted_, history_.front().version);
  const auto watches = watches_.find(resource.plural);
  if (watches == watches_.end()) return;
  forget_closed(watches->second);
  for (const auto& watch : watches->second) send_change(watch, history_.back());
}

int64_t FakeCluster::time_of_2027() const {
  return 1'800'000'000 +
         std::chrono::duration_cast<std::chrono::seconds>(scheduler_.now().time_since_epoch()).count();
}

// As the API server does for a write to subresource status: by its clock, also where its responses have no Date.
void FakeCluster::stamp_sync_status(Json& object, const Json* old) const {
  const auto text_of = [](const Json& one) {
    return std::string(one.find("status") == nullptr ? "" : one.find("status")->text("syncStatus")) + "\n" +
           std::string(one.find("status") == nullptr ? "" : one.find("status")->text("lastSyncError"));
  };
  if (object.find({"status", "syncStatus"}) == nullptr ||
      object.find({"metadata", "managedFields"}) != nullptr)
    return;
  if (old != nullptr && text_of(*old) == text_of(object)) {
    if (const Json* fields = old->find({"metadata", "managedFields"}))
      set_meta(object, "managedFields", *fields);
    return;
  }
  const int64_t now = clock ? clock() : time_of_2027();
  const auto days = std::chrono::floor<std::chrono::days>(std::chrono::seconds{now});
  const std::chrono::year_month_day date{std::chrono::sys_days{days}};
  const int64_t second = now - std::chrono::seconds{days}.count();
  char time[32];
  std::snprintf(time, sizeof time, "%04d-%02u-%02uT%02d:%02d:%02dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(second / 3600), static_cast<int>(second / 60 % 60),
                static_cast<int>(second % 60));
  set_meta(
      object, "managedFields",
      decoded_or_abort(std::string(R"([{"manager":"sriov-network-config-daemon","operation":"Update",)") +
                       R"("subresource":"status","fieldsV1":{"f:status":{"f:syncStatus":{}}},"time":")" +
                       time + R"("}])"));
}

Json FakeCluster::put(const Resource& resource, Json object) {
  const Key key{resource.group, resource.plural, meta_text(object, "namespace"), meta_text(object, "name")};
  const auto old = objects_.find(key);
  stamp_sync_status(object, old == objects_.end() ? nullptr : &old->second);
  Json next = stamped(resource, std::move(object), old == objects_.end() ? nullptr : &old->second);
  if (old != objects_.end() && same_content(old->second, next)) return old->second;
  std::optional<Json> before;
  if (old != objects_.end()) before = old->second;
  objects_[Key{key.group, key.plural, key.namespace_, meta_text(next, "name")}] = next;
  record(resource, std::move(before), next);
  return next;
}

Json FakeCluster::put_text(const Resource& resource, std::string_view json) {
  return put(resource, decoded_or_abort(json));
}

bool FakeCluster::remove(const Resource& resource, std::string_view name, std::string_view namespace_) {
  const auto old =
      objects_.find(Key{resource.group, resource.plural, std::string(namespace_), std::string(name)});
  if (old == objects_.end()) return false;
  Json before = std::move(old->second);
  objects_.erase(old);
  record(resource, std::move(before), std::nullopt);
  return true;
}

std::optional<Json> FakeCluster::lose(const Resource& resource, std::string_view name,
                                      std::string_view namespace_) {
  const auto old =
      objects_.extract(Key{resource.group, resource.plural, std::string(namespace_), std::string(name)});
  if (old.empty()) return std::nullopt;
  compact();
  return std::move(old.mapped());
}

void FakeCluster::remove_or_terminate(const Resource& resource, Json object) {
  if (!has_finalizers(object)) {
    remove(resource, meta_text(object, "name"), meta_text(object, "namespace"));
  } else if (meta_text(object, "deletionTimestamp").empty()) {
    set_meta(object, "deletionTimestamp", "2026-01-01T00:00:00Z");
    put(resource, std::move(object));
  }
}

size_t FakeCluster::remove_where(const Resource& resource, std::string_view field_selector) {
  size_t removed = 0;
  for (const Json& object : objects(resource))
    if (selected(object, field_selector))
      removed += remove(resource, meta_text(object, "name"), meta_text(object, "namespace")) ? 1 : 0;
  return removed;
}

std::optional<Json> FakeCluster::object(const Resource& resource, std::string_view name,
                                        std::string_view namespace_) const {
  const auto found =
      objects_.find(Key{resource.group, resource.plural, std::string(namespace_), std::string(name)});
  if (found == objects_.end()) return std::nullopt;
  return found->second;
}

std::vector<Json> FakeCluster::objects(const Resource& resource) const {
  std::vector<Json> all;
  for_each(resource, [&](const Json& object) { all.push_back(object); });
  return all;
}

void FakeCluster::for_each(const Resource& resource, const std::function<void(const Json&)>& visit) const {
  for (auto at = objects_.lower_bound(Key{resource.group, resource.plural, "", ""});
       at != objects_.end() && at->first.group == resource.group && at->first.plural == resource.plural; ++at)
    visit(at->second);
}

// Computes the former state by undoing the changes that the history still has.
std::map<FakeCluster::Key, Json> FakeCluster::objects_at(const Resource& resource, int64_t version) const {
  std::map<Key, Json> held;
  for (const auto& [key, object] : objects_)
    if (key.group == resource.group && key.plural == resource.plural) held.emplace(key, object);
  for (auto change = history_.rbegin(); change != history_.rend() && change->version > version; ++change) {
    if (change->resource.group != resource.group || change->resource.plural != resource.plural) continue;
    const Json& one = change->after ? *change->after : *change->before;
    const Key key{resource.group, resource.plural, meta_text(one, "namespace"), meta_text(one, "name")};
    if (change->before)
      held[key] = *change->before;
    else
      held.erase(key);
  }
  return held;
}

// Requests.
// ---------------------------------------------------------------------------------------------------------

void FakeCluster::later(Millis delay, std::function<void()> task) {
  const uint64_t id = next_ticket_++;
  tickets_[id] = scheduler_.after(delay, [this, id, task = std::move(task)] {
    const auto keep = tickets_.extract(id);  // the task may destroy much, not itself
    task();
  });
}

kube::CallPtr FakeCluster::start(Request request, Fail on_failure, Serve serve) {
  request.id = next_request_++;
  request.at = scheduler_.now();
  if (keeps_log) log.push_back(request);
  auto call = std::make_shared<CallState>();
  call->request = std::move(request);
  const Millis delay = delay_of ? delay_of(call->request) : Millis{0};
  later(latency / 2 + delay, [this, call, on_failure = std::move(on_failure), serve = std::move(serve)] {
    arrive(call, on_failure, serve);
  });
  return std::make_unique<CallHandle>(call);
}

void FakeCluster::arrive(const CallRef& call, const Fail& on_failure, const Serve& serve) {
  const Request& request = call->request;
  const bool is_write = request.verb == "create" || request.verb == "update" || request.verb == "delete";
  if ((call->dropped && !is_write) || network_ == Network::kBlackHole) return;
  if (network_ == Network::kRefused)
    return refuse(call, on_failure, failure(Errc::kIo, 0, "", request, "connection refused"));
  if (on_request)
    if (auto refused = on_request(request)) return refuse(call, on_failure, std::move(*refused));
  if (!request.plural.empty() && denied_.contains(request.plural))
    return refuse(call, on_failure, failure(Errc::kDenied, 403, "Forbidden", request, "forbidden"));
  if (!request.plural.empty() && !served(request.group, request.version, request.plural))
    return refuse(call, on_failure, failure(Errc::kNotFound, 404, "", request, "404 page not found"));
  serve(call);
}

void FakeCluster::answer(const CallRef& call, std::string outcome, Fail on_failure,
                         std::function<void()> deliver) {
  note_outcome(call->request.id, std::move(outcome));
  later(latency - latency / 2,
        [this, call, on_failure = std::move(on_failure), deliver = std::move(deliver)] {
          if (call->dropped || network_ == Network::kBlackHole) return;
          if (network_ == Network::kRefused)
            return on_failure(failure(Errc::kIo, 0, "", call->request, "connection reset"));
          deliver();
        });
}

void FakeCluster::note_outcome(uint64_t request, std::string outcome) {
  const auto entry =
      std::find_if(log.rbegin(), log.rend(), [&](const Request& r) { return r.id == request; });
  if (entry != log.rend()) entry->outcome = std::move(outcome);
}

void FakeCluster::refuse(const CallRef& call, Fail on_failure, Failure why) {
  std::string outcome = why.what;
  answer(call, std::move(outcome), on_failure, [on_failure, why = std::move(why)] { on_failure(why); });
}

size_t FakeCluster::count(std::string_view verb, std::string_view plural) const {
  return static_cast<size_t>(std::count_if(log.begin(), log.end(), [&](const Request& request) {
    return request.verb == verb && (plural.empty() || request.plural == plural);
  }));
}

std::vector<Request> FakeCluster::writes() const {
  std::vector<Request> all;
  for (const Request& request : log)
    if (!request.dry_run && (request.verb == "create" || request.verb == "update" ||
                             request.verb == "delete" || request.verb == "patch"))
      all.push_back(request);
  return all;
}

namespace {

Request request_for(std::string_view verb, const kube::Scope& scope) {
  Request request;
  request.verb = verb;
  request.group = scope.resource.group;
  request.version = scope.resource.version;
  request.plural = scope.resource.plural;
  request.namespace_ = scope.namespace_;
  request.field_selector = scope.field_selector;
  request.metadata_only = scope.metadata_only;
  return request;
}

}  // namespace

std::string FakeCluster::delivered(const Json& object, bool metadata_only, bool list_item) const {
  Json out = object;
  if (metadata_only) {
    out = Json(Json::Object{});
    out.set("kind", "PartialObjectMetadata");
    out.set("apiVersion", "meta.k8s.io/v1");
    out.set("metadata", *object.find("metadata"));
  } else if (list_item && object.text("apiVersion").find("sriovnetwork") == std::string_view::npos) {
    // Items of built-in kinds do not repeat their type; those of custom resources do.
    std::erase_if(*out.object(),
                  [](const Json::Member& m) { return m.first == "kind" || m.first == "apiVersion"; });
  }
  std::string text = kube::encode_json(out);
  return on_deliver ? on_deliver(std::move(text)) : text;
}

kube::CallPtr FakeCluster::list(kube::ListRequest what, kube::ListHandlers handlers) {
  Request request = request_for("list", what.scope);
  request.resource_version = what.resource_version;
  const Fail fail = handlers.on_failure;
  return start(std::move(request), fail,
               [this, what = std::move(what), handlers = std::move(handlers)](const CallRef& call) {
                 serve_list(call, what, handlers);
               });
}

void FakeCluster::serve_list(const CallRef& call, const kube::ListRequest& what,
                             const kube::ListHandlers& handlers) {
  if (parse_int(what.resource_version).value_or(0) > version_)
    return refuse(call, handlers.on_failure,
                  failure(Errc::kGone, 504, "Timeout", call->request, "Too large resource version"));
  int64_t version = version_;
  std::vector<std::string> items;
  // A page of a list: "version/offset".
  size_t skipped = 0,
         left = what.first_page_only && what.limit > 0 ? static_cast<size_t>(what.limit) : SIZE_MAX;
  int64_t remaining = 0;
  if (!what.continue_token.empty()) {
    const size_t slash = what.continue_token.find('/');
    version = parse_int(what.continue_token.substr(0, slash)).value_or(0);
    skipped = static_cast<size_t>(parse_int(what.continue_token.substr(slash + 1)).value_or(0));
    if (version < compacted_)
      return refuse(
          call, handlers.on_failure,
          failure(Errc::kGone, 410, "Expired", call->request, "The provided continue parameter is too old"));
  }
  const size_t offset = skipped;
  const auto take = [&](const Json& object) {
    if (!is_sent(what.scope, what.scope.resource, object)) return;
    if (skipped > 0) return void(--skipped);
    if (left == 0) return void(++remaining);
    --left;
    items.push_back(delivered(object, what.scope.metadata_only, true));
  };
  if (stale_by > 0 && what.continue_token.empty() && (!what.resource_version.empty() || breaks_promises)) {
    const int64_t not_before = parse_int(what.resource_version).value_or(0);
    version = std::max({compacted_, stale_floor, not_before, version_ - stale_by});
    for (const auto& [key, object] : objects_at(what.scope.resource, version)) take(object);
  } else if (version != version_) {
    for (const auto& [key, object] : objects_at(what.scope.resource, version)) take(object);
  } else {
    for_each(what.scope.resource, take);
  }
  const std::string next =
      remaining > 0 ? std::to_string(version) + "/" + std::to_string(offset + items.size()) : "";
  answer(call, "ok", handlers.on_failure,
         [call, handlers, items = std::move(items), version = std::to_string(version), remaining, next] {
           for (const std::string& item : items) {
             if (call->dropped) return;
             handlers.on_item(item);
           }
           if (handlers.on_remaining && !call->dropped) handlers.on_remaining(remaining);
           if (handlers.on_continue && !next.empty() && !call->dropped) handlers.on_continue(next);
           if (!call->dropped) handlers.on_done(version);
         });
}

// Watches.
// ----------------------------------------------------------------------------------------------------------

kube::CallPtr FakeCluster::watch(kube::WatchRequest what, kube::WatchHandlers handlers) {
  Request request = request_for("watch", what.scope);
  request.resource_version = what.resource_version;
  request.send_initial_events = what.send_initial_events;
  request.timeout = what.timeout;
  const Fail fail = handlers.on_failure;
  return start(std::move(request), fail,
               [this, what = std::move(what), handlers = std::move(handlers)](const CallRef& call) {
                 serve_watch(call, what, handlers);
               });
}

void FakeCluster::serve_watch(const CallRef& call, const kube::WatchRequest& what,
                              const kube::WatchHandlers& handlers) {
  if (what.send_initial_events && !watch_list)
    return refuse(
        call, handlers.on_failure,
        failure(Errc::kInvalid, 422, "Invalid", call->request,
                "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"));
  const int64_t from = parse_int(what.resource_version).value_or(0);
  if (from > version_)
    return refuse(call, handlers.on_failure,
                  failure(Errc::kGone, 504, "Timeout", call->request, "Too large resource version"));
  if (!what.send_initial_events && from < compacted_)
    return refuse(call, handlers.on_failure,
                  failure(Errc::kGone, 410, "Expired", call->request, "too old resource version"));
  note_outcome(call->request.id, "ok");
  auto watch = std::make_shared<Watch>();
  watch->call = call;
  watch->request = what;
  watch->handlers = handlers;
  auto& watches = watches_[what.scope.resource.plural];
  if (watches.size() == watches.capacity()) forget_closed(watches);
  watches.push_back(watch);
  open_watch(watch, from);
}

void FakeCluster::open_watch(const std::shared_ptr<Watch>& watch, int64_t from) {
  const kube::Scope& scope = watch->request.scope;
  send(watch, [](Watch& to) {
    if (to.handlers.on_open) to.handlers.on_open();
  });
  if (watch->request.send_initial_events) {
    for_each(scope.resource, [&](const Json& object) {
      if (!is_sent(scope, scope.resource, object)) return;
      send(watch, [text = delivered(object, scope.metadata_only, false)](Watch& to) {
        to.handlers.on_event({EventType::kAdded, text});
      });
    });
    send_bookmark(watch, true);
  } else {
    auto change = std::upper_bound(history_.begin(), history_.end(), from,
                                   [](int64_t version, const Change& one) { return version < one.version; });
    for (; change != history_.end(); ++change) send_change(watch, *change);
  }
  if (watch->request.timeout > Millis{0})
    later(watch->request.timeout, [this, weak = std::weak_ptr<Watch>(watch)] {
      if (auto ending = weak.lock(); ending != nullptr)
        close(ending, [](Watch& to) { to.handlers.on_end(); });
    });
  schedule_bookmark(watch);
}

void FakeCluster::send(const std::shared_ptr<Watch>& watch, std::function<void(Watch&)> deliver, Millis lag) {
  if (!watch->open()) return;
  watch->last_delivery =
      std::max(watch->last_delivery + event_spacing, scheduler_.now() + (latency - latency / 2) + lag);
  const auto delay = std::chrono::duration_cast<Millis>(watch->last_delivery - scheduler_.now());
  later(delay, [watch, deliver = std::move(deliver)] {
    if (watch->open()) deliver(*watch);
  });
}

void FakeCluster::close(const std::shared_ptr<Watch>& watch, std::function<void(Watch&)> tell) {
  later(latency - latency / 2, [watch, tell = std::move(tell)] {
    if (!watch->open()) return;
    watch->closed = true;
    tell(*watch);
  });
}

void FakeCluster::send_change(const std::shared_ptr<Watch>& watch, const Change& change) {
  const kube::Scope& scope = watch->request.scope;
  const bool was = change.before && is_sent(scope, change.resource, *change.before);
  const bool is = change.after && is_sent(scope, change.resource, *change.after);
  if (!was && !is) return;
  EventType type = is ? (was ? EventType::kModified : EventType::kAdded) : EventType::kDeleted;
  Json object = is ? *change.after : *change.before;
  set_meta(object, "resourceVersion", std::to_string(change.version));
  const auto deliver = [type, text = delivered(object, scope.metadata_only, false)](Watch& to) {
    to.handlers.on_event({type, text});
  };
  send(watch, deliver, watch_lag);
}

void FakeCluster::send_bookmark(const std::shared_ptr<Watch>& watch, bool initial_events_end) {
  Json object{Json::Object{}};
  object.set("kind", watch->request.scope.resource.kind);
  object.set("apiVersion", api_version_of(watch->request.scope.resource));
  set_meta(object, "resourceVersion", std::to_string(version_));
  if (initial_events_end)
    set_meta(object, "annotations", Json(Json::Object{{"k8s.io/initial-events-end", Json("true")}}));
  send(watch,
       [text = kube::encode_json(object)](Watch& to) { to.handlers.on_event({EventType::kBookmark, text}); });
}

void FakeCluster::schedule_bookmark(const std::shared_ptr<Watch>& watch) {
  if (bookmark_every <= Millis{0}) return;
  later(bookmark_every, [this, weak = std::weak_ptr<Watch>(watch)] {
    auto still = weak.lock();
    if (still == nullptr || !still->open()) return;
    send_bookmark(still, false);
    schedule_bookmark(still);
  });
}

std::vector<std::shared_ptr<FakeCluster::Watch>> FakeCluster::watches_of(std::string_view plural) const {
  std::vector<std::shared_ptr<Watch>> found;
  for (const auto& [name, watches] : watches_)
    for (const auto& watch : watches)
      if (watch->open() && (plural.empty() || name == plural)) found.push_back(watch);
  return found;
}

size_t FakeCluster::open_watches(std::string_view plural) const { return watches_of(plural).size(); }

void FakeCluster::end_watches(std::string_view plural) {
  for (const auto& watch : watches_of(plural)) close(watch, [](Watch& to) { to.handlers.on_end(); });
}

void FakeCluster::fail_watches(Failure why, std::string_view plural) {
  for (const auto& watch : watches_of(plural))
    close(watch, [why](Watch& to) { to.handlers.on_failure(why); });
}

void FakeCluster::expire_watches(std::string_view plural) {
  fail_watches(Failure{Errc::kGone, 410, "Expired", "watch: too old resource version", std::nullopt}, plural);
}

void FakeCluster::bookmark() {
  for (const auto& watch : watches_of("")) send_bookmark(watch, false);
}

void FakeCluster::inject(std::string_view plural, EventType type, std::string object) {
  for (const auto& watch : watches_of(plural))
    send(watch, [type, object](Watch& to) { to.handlers.on_event({type, object}); });
}

void FakeCluster::compact() {
  history_.clear();
  compacted_ = ++version_;  // as any write elsewhere in the cluster would move it on
}

void FakeCluster::set_network(Network network) {
  if (network == Network::kRefused)
    fail_watches(Failure{Errc::kIo, 0, "", "watch: connection reset", std::nullopt});
  if (network == Network::kBlackHole)
    for (const auto& [plural, watches] : watches_)
      for (const auto& watch : watches) watch->dead = true;
  network_ = network;
}

// Reads and writes.
// -------------------------------------------------------------------------------------------------

kube::CallPtr FakeCluster::get(kube::GetRequest what, kube::WriteHandlers handlers) {
  Request request = request_for("get", kube::Scope{what.resource, what.namespace_, "", false});
  request.name = what.name;
  const Fail fail = handlers.on_failure;
  return start(std::move(request), fail,
               [this, what = std::move(what), handlers = std::move(handlers)](const CallRef& call) {
                 auto found = object(what.resource, what.name, what.namespace_);
                 if (!found)
                   return refuse(call, handlers.on_failure,
                                 failure(Errc::kNotFound, 404, "NotFound", call->request, "not found"));
                 if (on_reply) on_reply(call->request, *found);
                 answer(call, "ok", handlers.on_failure,
                        [handlers, text = kube::encode_json(*found)] { handlers.on_done(text); });
               });
}

kube::CallPtr FakeCluster::write(kube::WriteRequest what, kube::WriteHandlers handlers) {
  static constexpr const char* kVerbs[] = {"create", "update", "delete", "apply", "patch"};
  Request request = request_for(kVerbs[static_cast<int>(what.verb)],
                                kube::Scope{what.resource, what.namespace_, "", false});
  request.name = what.name;
  request.dry_run = what.dry_run;
  request.strict = what.strict;
  if (what.verb != kube::Verb::kDelete) request.body = decoded_or_abort(what.body);
  const Fail fail = handlers.on_failure;
  return start(std::move(request), fail,
               [this, what = std::move(what), handlers = std::move(handlers)](const CallRef& call) {
                 serve_write(call, what, handlers);
               });
}

void FakeCluster::serve_write(const CallRef& call, const kube::WriteRequest& what,
                              const kube::WriteHandlers& handlers) {
  Json result;
  if (auto refused = apply_write(call->request, what, result))
    return refuse(call, handlers.on_failure, std::move(*refused));
  if (on_answer)
    if (auto lost = on_answer(call->request)) return refuse(call, handlers.on_failure, std::move(*lost));
  if (on_reply && what.verb != kube::Verb::kDelete) on_reply(call->request, result);
  answer(call, "ok", handlers.on_failure,
         [handlers, text = what.verb == kube::Verb::kDelete ? std::string() : kube::encode_json(result)] {
           handlers.on_done(text);
         });
}

std::optional<Failure> FakeCluster::apply_write(const Request& request, const kube::WriteRequest& what,
                                                Json& result) {
  const Resource& resource = what.resource;
  const auto conflict = [&](std::string_view why) {
    return failure(Errc::kConflict, 409, "Conflict", request, why);
  };
  const std::string name = what.name.empty() ? meta_text(request.body, "name") : what.name;
  const auto current = object(resource, name, what.namespace_);

  if (what.verb == kube::Verb::kCreate && current)
    return failure(Errc::kConflict, 409, "AlreadyExists", request, "already exists");
  if (what.verb != kube::Verb::kCreate) {
    if (!current) return failure(Errc::kNotFound, 404, "NotFound", request, "not found");
    const bool deletes = what.verb == kube::Verb::kDelete;
    const std::string uid = deletes ? what.uid : meta_text(request.body, "uid");
    const std::string version = deletes ? what.resource_version : meta_text(request.body, "resourceVersion");
    if (!uid.empty() && uid != meta_text(*current, "uid"))
      return conflict("the UID in the precondition differs");
    if (!version.empty() && version != meta_text(*current, "resourceVersion"))
      return conflict("the object has been modified");
    if (what.verb == kube::Verb::kApply) {
      result = applies_status ? put(resource, with_applied_status(*current, request.body)) : *current;
      return std::nullopt;
    }
    if (on_replace && !what.dry_run) on_replace(request, *current);
    if (deletes) {
      if (!what.dry_run) remove_or_terminate(resource, *current);
      return std::nullopt;
    }
  }
  Json next = what.verb == kube::Verb::kMerge ? merged(*current, request.body) : request.body;
  if (!what.namespace_.empty()) set_meta(next, "namespace", what.namespace_);
  if (on_admit)
    if (auto refused = on_admit(request, next)) return refused;
  if (auto refused = too_many_annotations(request, next, annotations_max)) return refused;
  // A deletion is not taken back, and the last finalizer that goes ends it.
  if (current && !meta_text(*current, "deletionTimestamp").empty() && !what.dry_run) {
    set_meta(next, "deletionTimestamp", meta_text(*current, "deletionTimestamp"));
    if (!has_finalizers(next)) {
      result = stamped(resource, std::move(next), &*current);
      remove(resource, name, what.namespace_);
      return std::nullopt;
    }
  }
  result = what.dry_run ? stamped(resource, std::move(next), current ? &*current : nullptr)
                        : put(resource, std::move(next));
  return std::nullopt;
}

kube::CallPtr FakeCluster::discover(std::string group, std::string version,
                                    std::function<void(std::vector<std::string>)> on_done, Fail on_failure) {
  Request request;
  request.verb = "discover";
  request.group = std::move(group);
  request.version = std::move(version);
  return start(std::move(request), on_failure,
               [this, on_done = std::move(on_done), on_failure](const CallRef& call) {
                 const std::string prefix = served_key(call->request.group, call->request.version, "");
                 std::vector<std::string> plurals;
                 for (const std::string& key : served_)
                   if (key.starts_with(prefix)) plurals.push_back(key.substr(prefix.size()));
                 answer(call, "ok", on_failure, [on_done, plurals] { on_done(plurals); });
               });
}

kube::CallPtr FakeCluster::schema(std::string group, std::string version,
                                  std::function<void(std::string_view)> on_done, Fail on_failure) {
  Request request;
  request.verb = "schema";
  request.group = std::move(group);
  request.version = std::move(version);
  return start(
      std::move(request), on_failure, [this, on_done = std::move(on_done), on_failure](const CallRef& call) {
        const auto found = schemas.find(call->request.group + "/" + call->request.version);
        answer(call, "ok", on_failure,
               [on_done, text = found == schemas.end() ? std::string() : found->second] { on_done(text); });
      });
}

kube::CallPtr FakeCluster::server_info(std::function<void(kube::ServerInfo)> on_done, Fail on_failure) {
  Request request;
  request.verb = "version";
  return start(
      std::move(request), on_failure, [this, on_done = std::move(on_done), on_failure](const CallRef& call) {
        answer(call, "ok", on_failure, [on_done, text = git_version] { on_done(kube::ServerInfo{text}); });
      });
}

}  // namespace sliced::fake
