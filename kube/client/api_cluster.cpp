#include "kube/client/api_cluster.h"

#include <utility>

#include "kube/client/api_operation.h"
#include "kube/client/api_status.h"
#include "kube/client/json_cutter.h"
#include "kube/client/line_assembler.h"
#include "kube/client/watch_frame.h"
#include "kube/objects/json_scanner.h"
#include "reactor/base/text.h"
#include "reactor/durable_file.h"

namespace sliced::kube {
namespace {

constexpr size_t kPagesMax = 1000;
constexpr size_t kShortPagesMax = 8;
constexpr size_t kPageBytes = 64u << 10;  // a page of this size is not short
constexpr size_t kObjectBytesMax = 8u << 20;
constexpr size_t kEventBytesMax = 2u << 20;  // etcd takes 1.5 MiB
constexpr size_t kSchemaBytesMax = 32u << 20;
constexpr Millis kSchemaFileMax{5'000};
constexpr Millis kWatchSilenceMax{330'000};
constexpr Millis kPageMax{300'000}, kAnswerMax{60'000};  // from head to end

std::string text_of(std::string_view raw) {
  const auto json = decode_json(raw);
  return json && json->string() ? *json->string() : "";
}

// Returns "" if there is none.
std::string text_at(std::string_view object, std::initializer_list<std::string_view> path) {
  const auto raw = find_raw(object, path);
  return raw && !raw->empty() ? text_of(*raw) : "";
}

// --- list

class ListOperation final : public ApiOperation {
 public:
  ListOperation(std::shared_ptr<ApiCore> core, ListRequest list, ListHandlers handlers)
      : ApiOperation(std::move(core)), list_(std::move(list)), handlers_(std::move(handlers)) {}
  void start() { next_page(list_.continue_token); }

 private:
  void next_page(const std::string& continue_token) {
    kind_.clear();
    resource_version_.clear();
    continue_.clear();
    cutter_.emplace(
        "items", list_.item_bytes_max,
        JsonCutter::Handlers{
            .on_member = [this](std::string_view key, std::string_view raw) { return on_member(key, raw); },
            .on_item =
                [this](std::string_view raw) {
                  ++items_;
                  handlers_.on_item(raw);
                  return !ended();
                }});
    http::Options options;
    options.limits.body_bytes_max = list_.bytes_max;
    send(encode_list(list_, continue_token), options);
  }

  Millis response_max() const override { return kPageMax; }
  bool on_member(std::string_view key, std::string_view raw) {
    if (key == "kind") kind_ = text_of(raw);
    if (key != "metadata") return true;
    const auto metadata = decode_json(raw);
    if (!metadata) return true;  // its absence is found at the end
    resource_version_ = metadata->text("resourceVersion");
    continue_ = metadata->text("continue");
    const Json* remaining = metadata->find("remainingItemCount");
    if (remaining != nullptr && remaining->integer()) remaining_ = *remaining->integer();
    return true;
  }

  void on_content(std::string_view bytes) override {
    bytes_ += bytes.size();
    if (bytes_ > list_.bytes_max)
      return fail_content(
          {Errc::kTooLarge, "the list is larger than " + std::to_string(list_.bytes_max >> 20) + " MiB"});
    const auto fed = cutter_->feed(bytes);
    if (!fed && !ended()) fail_content(broken(fed.error()));
  }

  void on_complete() override {
    const auto finished = cutter_->finish();
    if (!finished) return fail_content(broken(finished.error()));
    if (!is_of_kind() || resource_version_.empty())
      return fail_content({Errc::kIo, "it is no " + list_.scope.resource.kind +
                                          "List with a metadata.resourceVersion" +
                                          (kind_.empty() ? "" : ", but of kind " + in_quotes(kind_, 64))});
    // Pages of two versions may miss objects.
    if (version_.empty()) version_ = resource_version_;
    if (version_ != resource_version_)
      return fail_content({Errc::kIo, "its pages are of two moments, resourceVersion " +
                                          in_quotes(version_, 32) + " and " +
                                          in_quotes(resource_version_, 32)});
    if (list_.first_page_only) {
      if (handlers_.on_remaining) handlers_.on_remaining(remaining_);
      if (!ended() && !continue_.empty() && handlers_.on_continue)
        handlers_.on_continue(std::exchange(continue_, {}));
      if (ended()) return;
      continue_.clear();
    }
    ++pages_;
    if (!continue_.empty() && are_pages_short())
      return fail_content({Errc::kIo, "the list does not end: its pages are nearly empty"});
    if (!continue_.empty() && pages_ < kPagesMax) return next_page(std::string(continue_));
    if (!continue_.empty()) return fail_content({Errc::kTooLarge, "the list has more than 1000 pages"});
    end();
    handlers_.on_done(resource_version_);
  }

  void on_failed(const Failure& failure) override { handlers_.on_failure(failure); }

  // An object of another kind is the answer to another request.
  bool is_of_kind() const {
    return kind_ == list_.scope.resource.kind + "List" ||
           (list_.scope.metadata_only && kind_ == "PartialObjectMetadataList");
  }

  // Servers fill their pages; one that does not would get a thousand requests without a pause.
  bool are_pages_short() const {
    const size_t limit = list_.limit > 0 ? static_cast<size_t>(list_.limit) : static_cast<size_t>(kPageItems);
    return pages_ > kShortPagesMax + 2 * items_ / limit + bytes_ / kPageBytes;
  }

  static Error broken(const Error& error) {
    return error.code == Errc::kTooLarge ? error : Error{Errc::kIo, error.what};
  }

  const ListRequest list_;
  const ListHandlers handlers_;
  std::optional<JsonCutter> cutter_;
  std::string kind_, resource_version_, continue_;  // of this page
  std::string version_;                             // of the first
  size_t bytes_ = 0, pages_ = 0, items_ = 0;
  int64_t remaining_ = 0;
};

// --- watch

class WatchOperation final : public ApiOperation {
 public:
  WatchOperation(std::shared_ptr<ApiCore> core, WatchRequest watch, WatchHandlers handlers)
      : ApiOperation(std::move(core)),
        watch_(std::move(watch)),
        handlers_(std::move(handlers)),
        lines_(kEventBytesMax) {}
  void start() {
    http::Options options;
    options.limits.body_bytes_max = 0;
    options.silence_max = kWatchSilenceMax;
    send(encode_watch(watch_), options);
  }

 private:
  void on_content(std::string_view bytes) override {
    const auto fed = lines_.feed(bytes, [this](std::string_view line) {
      on_line(line);
      return !ended();
    });
    if (!fed && !ended()) fail_content(fed.error());
  }

  void on_line(std::string_view line) {
    if (line.empty()) return;
    const bool is_cut = line.size() > kEventBytesMax;
    const auto frame = is_cut ? decode_cut_watch_frame(line) : decode_watch_frame(line);
    if (!frame) return fail_content({is_cut ? frame.error().code : Errc::kIo, frame.error().what});
    if (!frame->type) return fail(decode_error_event(request().action, frame->object));
    if (const std::string other = other_kind(frame->object); !other.empty())
      return fail_content({Errc::kIo, "an event is about a " + in_quotes(other, 64)});
    handlers_.on_event({*frame->type, frame->object});
  }

  // Returns the object's kind if it is not the requested one: the events are of another watch.
  std::string other_kind(std::string_view object) const {
    const std::string kind = text_at(object, {"kind"});
    const bool is_ours = kind.empty() || kind == watch_.scope.resource.kind ||
                         (watch_.scope.metadata_only && kind == "PartialObjectMetadata");
    return is_ours ? "" : kind;
  }

  void on_accepted() override {
    if (handlers_.on_open) handlers_.on_open();
  }

  void on_complete() override {
    if (lines_.pending() > 0) return fail_content({Errc::kIo, "the stream ended in the middle of an event"});
    end();
    handlers_.on_end();
  }

  void on_failed(const Failure& failure) override { handlers_.on_failure(failure); }

  bool is_lasting() const override { return true; }
  // A truncated event comes again with the next watch, which continues after the last complete one.
  void on_moved() override {
    end();
    handlers_.on_end();
  }

  const WatchRequest watch_;
  const WatchHandlers handlers_;
  LineAssembler lines_;
};

// --- calls with a single answer

class ReadOperation final : public ApiOperation {
 public:
  using OnBody = std::function<void(std::string_view body)>;
  using OnFailure = std::function<void(const Failure&)>;
  ReadOperation(std::shared_ptr<ApiCore> core, ApiRequest request, size_t bytes_max, OnBody on_body,
                OnFailure on_failure)
      : ApiOperation(std::move(core)),
        first_(std::move(request)),
        bytes_max_(bytes_max),
        on_body_(std::move(on_body)),
        on_failure_(std::move(on_failure)) {}
  void start() {
    http::Options options;
    options.limits.body_bytes_max = bytes_max_;
    send(std::move(first_), options);
  }

 private:
  Millis response_max() const override { return kAnswerMax; }
  void on_content(std::string_view bytes) override { body_ += bytes; }
  void on_complete() override {
    end();
    const std::string body = std::move(body_);  // the caller may keep the call for longer
    on_body_(body);
  }
  void on_failed(const Failure& failure) override { on_failure_(failure); }

  ApiRequest first_;
  const size_t bytes_max_;
  const OnBody on_body_;
  const OnFailure on_failure_;
  std::string body_;
};

// --- schema

// A stored OpenAPI document: "<etag> <size>", a line end, the document. The size shows that a power failure has
// cut the file.
struct StoredSchema {
  std::string etag, document;
};

StoredSchema decode_stored_schema(std::string file) {
  const size_t line_end = file.find('\n');
  const size_t space = file.rfind(' ', line_end);
  if (line_end == std::string::npos || space == std::string::npos) return {};
  const std::string size = file.substr(space + 1, line_end - space - 1);
  if (size != std::to_string(file.size() - line_end - 1)) return {};
  std::string etag = file.substr(0, space);
  file.erase(0, line_end + 1);
  return {std::move(etag), std::move(file)};
}

// Reads the stored document, requests a changed one, stores that, and reports either.
class SchemaOperation final : public ApiOperation {
 public:
  using OnBody = std::function<void(std::string_view body)>;
  using OnFailure = std::function<void(const Failure&)>;
  SchemaOperation(std::shared_ptr<ApiCore> core, ApiRequest request, std::string file, OnBody on_body,
                  OnFailure on_failure)
      : ApiOperation(std::move(core)),
        request_(std::move(request)),
        file_(std::move(file)),
        on_body_(std::move(on_body)),
        on_failure_(std::move(on_failure)) {}
  void start() {
    if (!core().schema_cache) return ask();
    path_ = core().schema_cache->directory + '/' + file_;
    auto stored = std::make_shared<StoredSchema>();
    job_ = core().schema_cache->executor.run(
        [stored, path = path_] {
          if (auto text = reactor::read_whole(path, kSchemaBytesMax))
            *stored = decode_stored_schema(*std::move(text));
        },
        kSchemaFileMax,
        [this, stored](bool finished) {
          if (finished) stored_ = std::move(*stored);
          ask();
        });
  }

 private:
  void ask() {
    http::Options options;
    options.limits.body_bytes_max = kSchemaBytesMax;
    if (!stored_.etag.empty()) request_.message.headers.push_back({"If-None-Match", stored_.etag});
    send(std::move(request_), options);
  }
  Millis response_max() const override { return kAnswerMax; }
  void on_content(std::string_view bytes) override { body_ += bytes; }
  void on_complete() override {
    const std::string* etag = head().header("etag");
    end();
    auto document = std::make_shared<const std::string>(std::move(body_));
    if (path_.empty() || etag == nullptr) return on_body_(*document);
    std::string line = *etag + ' ' + std::to_string(document->size()) + '\n';
    job_ = core().schema_cache->executor.run(
        [path = path_, line = std::move(line), document] {
          (void)reactor::write_whole(path, line + *document, 0600);
        },
        kSchemaFileMax, [this, document](bool) { deliver(*document); });
  }
  void on_failed(const Failure& failure) override {
    if (failure.http_status == 304 && !stored_.etag.empty()) return deliver(stored_.document);
    if (failure.http_status == 404) return deliver("");
    on_failure_(failure);
  }
  // The caller may destroy this call in the callback.
  void deliver(const std::string& document) {
    const auto self = shared_from_this();
    on_body_(document);
  }

  ApiRequest request_;
  const std::string file_;
  const OnBody on_body_;
  const OnFailure on_failure_;
  std::string path_, body_;
  StoredSchema stored_;
  std::unique_ptr<reactor::Job> job_;  // the last member: its callbacks use the others
};

template <class Operation, class... Args>
CallPtr start(Args&&... args) {
  auto operation = std::make_shared<Operation>(std::forward<Args>(args)...);
  operation->start();
  return std::make_unique<ApiHandle>(std::move(operation));
}

// Accepts a Status or the object; either is possible. Any other answer is of another program or object.
bool is_answer_to_delete(std::string_view body, const std::string& kind, const std::string& name) {
  const std::string returned_kind = text_at(body, {"kind"});
  if (returned_kind != "Status") return returned_kind == kind && text_at(body, {"metadata", "name"}) == name;
  const std::string about = text_at(body, {"details", "name"});
  return text_at(body, {"status"}) != "Failure" && (about.empty() || about == name);
}

Failure not_json(const std::string& action, const Error& error) {
  return no_response(action, {Errc::kIo, "the server's response is invalid: " + error.what});
}

// Returns the plurals in a meta/v1 APIResourceList, without subresources ("nodes/status").
Result<std::vector<std::string>> decode_plurals(std::string_view body, const std::string& group_version) {
  const auto json = decode_json(body);
  if (!json) return json.error();
  const Json* resources = json->find("resources");
  if (json->text("kind") != "APIResourceList" || json->text("groupVersion") != group_version ||
      resources == nullptr || resources->array() == nullptr)
    return Error{Errc::kIo, "it is not an APIResourceList of " + group_version};
  std::vector<std::string> plurals;
  for (const Json& resource : *resources->array()) {
    const std::string name(resource.text("name"));
    if (name.empty()) return Error{Errc::kIo, "its APIResourceList has a resource without a name"};
    if (name.find('/') == std::string::npos) plurals.push_back(name);
  }
  return plurals;
}

// Returns true if the meta/v1 APIGroupList contains the group-version. A server always has groups.
Result<bool> names_group_version(std::string_view body, const std::string& group_version) {
  const auto json = decode_json(body);
  if (!json) return json.error();
  const Json* groups = json->find("groups");
  if (json->text("kind") != "APIGroupList" || groups == nullptr || groups->array() == nullptr ||
      groups->array()->empty())
    return Error{Errc::kIo, "it is not an APIGroupList with groups"};
  bool named = false;
  for (const Json& group : *groups->array()) {
    const Json* versions = group.find("versions");
    if (versions == nullptr || versions->array() == nullptr)
      return Error{Errc::kIo, "its APIGroupList has a group without versions"};
    for (const Json& version : *versions->array()) named |= version.text("groupVersion") == group_version;
  }
  return named;
}

/// The resources of a group-version. For an unknown group-version the server answers a plain 404, as a load
/// balancer does without a server; the list of all groups distinguishes both.
class Discovery final : public Call {
 public:
  using OnPlurals = std::function<void(std::vector<std::string> plurals)>;
  using OnFailure = std::function<void(const Failure&)>;
  Discovery(std::shared_ptr<ApiCore> core, std::string group, std::string version, OnPlurals on_plurals,
            OnFailure on_failure)
      : core_(std::move(core)),
        group_(std::move(group)),
        version_(std::move(version)),
        group_version_(api_version({.group = group_, .version = version_, .plural = "", .kind = ""})),
        on_plurals_(std::move(on_plurals)),
        on_failure_(std::move(on_failure)) {}

  void start() {
    start_read(
        encode_discover(group_, version_), [this](std::string_view body) { on_resources(body); },
        [this](const Failure& failure) {
          if (failure.http_status != 404 || group_.empty()) return fail(failure);
          refused_ = failure;
          start_read(
              encode_discover_groups(), [this](std::string_view groups) { on_groups(groups); },
              [this](const Failure& no_groups) { fail(no_groups); });
        });
  }

 private:
  void start_read(ApiRequest request, ReadOperation::OnBody on_body, OnFailure on_failure) {
    action_ = request.action;
    call_ = sliced::kube::start<ReadOperation>(core_, std::move(request), kObjectBytesMax, std::move(on_body),
                                               std::move(on_failure));
  }
  void on_resources(std::string_view body) {
    auto plurals = decode_plurals(body, group_version_);
    if (plurals)
      succeed(*std::move(plurals));
    else
      fail(not_json(action_, plurals.error()));
  }
  void on_groups(std::string_view body) {
    const auto named = names_group_version(body, group_version_);
    if (!named) return fail(not_json(action_, named.error()));
    if (*named)
      fail(refused_);
    else
      succeed({});
  }
  // The callback and its argument are copied, because the caller may drop this call in it.
  void succeed(std::vector<std::string> plurals) {
    const OnPlurals callback = on_plurals_;
    callback(std::move(plurals));
  }
  void fail(const Failure& failure) {
    const OnFailure callback = on_failure_;
    const Failure copy = failure;
    callback(copy);
  }

  const std::shared_ptr<ApiCore> core_;
  const std::string group_, version_, group_version_;
  const OnPlurals on_plurals_;
  const OnFailure on_failure_;
  std::string action_;  // of the request under way
  Failure refused_;
  CallPtr call_;
};

}  // namespace

ApiCluster::ApiCluster(ApiPorts ports) : core_(std::make_shared<ApiCore>(std::move(ports))) {}
ApiCluster::~ApiCluster() = default;

CallPtr ApiCluster::list(ListRequest request, ListHandlers handlers) {
  return start<ListOperation>(core_, std::move(request), std::move(handlers));
}

CallPtr ApiCluster::watch(WatchRequest request, WatchHandlers handlers) {
  return start<WatchOperation>(core_, std::move(request), std::move(handlers));
}

CallPtr ApiCluster::write(WriteRequest request, WriteHandlers handlers) {
  const bool is_delete = request.verb == Verb::kDelete;
  ApiRequest encoded = encode_write(request);
  auto on_body = [is_delete, kind = request.resource.kind, name = request.name, action = encoded.action,
                  on_done = std::move(handlers.on_done),
                  on_failure = handlers.on_failure](std::string_view body) {
    if (!is_delete) return on_done(body);
    if (is_answer_to_delete(body, kind, name)) return on_done({});
    on_failure(not_json(action, {Errc::kInvalid, "it is neither a Status nor the object"}));
  };
  return start<ReadOperation>(core_, std::move(encoded), kObjectBytesMax, std::move(on_body),
                              std::move(handlers.on_failure));
}

CallPtr ApiCluster::get(GetRequest request, WriteHandlers handlers) {
  ApiRequest encoded = encode_get(request);
  auto on_body = [request = std::move(request), action = encoded.action,
                  on_done = std::move(handlers.on_done),
                  on_failure = handlers.on_failure](std::string_view body) {
    const std::string namespace_ = text_at(body, {"metadata", "namespace"}),
                      name = text_at(body, {"metadata", "name"});
    if (name == request.name && namespace_ == request.namespace_) return on_done(body);
    on_failure(not_json(action, {Errc::kInvalid, "it is about " + in_quotes(namespace_ + "/" + name)}));
  };
  return start<ReadOperation>(core_, std::move(encoded), kObjectBytesMax, std::move(on_body),
                              std::move(handlers.on_failure));
}

CallPtr ApiCluster::discover(std::string group, std::string version,
                             std::function<void(std::vector<std::string> plurals)> on_done,
                             std::function<void(const Failure&)> on_failure) {
  auto discovery = std::make_unique<Discovery>(core_, std::move(group), std::move(version),
                                               std::move(on_done), std::move(on_failure));
  discovery->start();
  return discovery;
}

CallPtr ApiCluster::schema(std::string group, std::string version,
                           std::function<void(std::string_view json)> on_done,
                           std::function<void(const Failure&)> on_failure) {
  return start<SchemaOperation>(core_, encode_schema(group, version), "schema_" + group + '_' + version,
                                std::move(on_done), std::move(on_failure));
}

CallPtr ApiCluster::server_info(std::function<void(ServerInfo)> on_done,
                                std::function<void(const Failure&)> on_failure) {
  ApiRequest request = encode_server_info();
  const std::string action = request.action;
  auto on_body = [action, on_done = std::move(on_done), on_failure](std::string_view body) {
    const auto json = decode_json(body);
    if (!json) return on_failure(not_json(action, json.error()));
    const std::string_view version = json->text("gitVersion");
    if (version.empty()) return on_failure(not_json(action, {Errc::kInvalid, "it has no gitVersion"}));
    on_done({std::string(version)});
  };
  return start<ReadOperation>(core_, std::move(request), kObjectBytesMax, std::move(on_body),
                              std::move(on_failure));
}

std::optional<int64_t> ApiCluster::server_time() const { return core_->server_time(); }

std::string ApiCluster::describe() const {
  return core_->server ? http::encode_url(core_->server->url) : core_->credentials->describe();
}

}  // namespace sliced::kube
