#include "kube/api_cluster.h"

#include <utility>

#include "kube/api_operation.h"
#include "kube/api_status.h"
#include "kube/json_cutter.h"
#include "kube/line_assembler.h"
#include "kube/watch_frame.h"

namespace sliced::kube {
namespace {

constexpr size_t kListBytesMax = 64u << 20;
constexpr size_t kPagesMax = 1000;
constexpr size_t kObjectBytesMax = 8u << 20;
constexpr size_t kSchemaBytesMax = 32u << 20;
constexpr Millis kWatchSilenceMax{330'000};

std::string text_of(std::string_view raw) {
  const auto json = decode_json(raw);
  return json && json->string() ? *json->string() : "";
}

// --- list

class ListOperation final : public ApiOperation {
 public:
  ListOperation(std::shared_ptr<ApiCore> core, ListRequest list, ListHandlers handlers)
      : ApiOperation(std::move(core)), list_(std::move(list)), handlers_(std::move(handlers)) {}
  void start() { next_page(""); }

 private:
  void next_page(const std::string& continue_token) {
    kind_.clear();
    resource_version_.clear();
    continue_.clear();
    cutter_.emplace(
        "items", kObjectBytesMax,
        JsonCutter::Handlers{
            .on_member = [this](std::string_view key, std::string_view raw) { return on_member(key, raw); },
            .on_item =
                [this](std::string_view raw) {
                  handlers_.on_item(raw);
                  return !ended();
                }});
    HttpOptions options;
    options.limits.body_bytes_max = kListBytesMax;
    send(encode_list(list_, continue_token), options);
  }

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
    if (!kind_.ends_with("List") || resource_version_.empty())
      return fail_content({Errc::kIo, "it is not a list (no kind ...List, or no metadata.resourceVersion)"});
    if (list_.first_page_only) {
      if (handlers_.on_remaining) handlers_.on_remaining(remaining_);
      if (ended()) return;
      continue_.clear();
    }
    if (!continue_.empty() && ++pages_ < kPagesMax) return next_page(std::string(continue_));
    if (!continue_.empty()) return fail_content({Errc::kTooLarge, "the list has more than 1000 pages"});
    end();
    handlers_.on_done(resource_version_);
  }

  void on_failed(const Failure& failure) override { handlers_.on_failure(failure); }

  static Error broken(const Error& error) {
    return error.code == Errc::kTooLarge ? error : Error{Errc::kIo, error.what};
  }

  const ListRequest list_;
  const ListHandlers handlers_;
  std::optional<JsonCutter> cutter_;
  std::string kind_, resource_version_, continue_;
  size_t bytes_ = 0, pages_ = 0;
  int64_t remaining_ = 0;
};

// --- watch

class WatchOperation final : public ApiOperation {
 public:
  WatchOperation(std::shared_ptr<ApiCore> core, WatchRequest watch, WatchHandlers handlers)
      : ApiOperation(std::move(core)),
        watch_(std::move(watch)),
        handlers_(std::move(handlers)),
        lines_(kObjectBytesMax) {}
  void start() {
    HttpOptions options;
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
    const auto frame = decode_watch_frame(line);
    if (!frame) return fail_content({Errc::kIo, frame.error().what});
    if (!frame->type) return fail(decode_error_event(request().action, frame->object));
    handlers_.on_event({*frame->type, frame->object});
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

  const WatchRequest watch_;
  const WatchHandlers handlers_;
  LineAssembler lines_;
};

// --- everything with one answer

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
    HttpOptions options;
    options.limits.body_bytes_max = bytes_max_;
    send(std::move(first_), options);
  }

 private:
  void on_content(std::string_view bytes) override { body_ += bytes; }
  void on_complete() override {
    end();
    on_body_(body_);
  }
  void on_failed(const Failure& failure) override { on_failure_(failure); }

  ApiRequest first_;
  const size_t bytes_max_;
  const OnBody on_body_;
  const OnFailure on_failure_;
  std::string body_;
};

template <class Operation, class... Args>
CallPtr start(Args&&... args) {
  auto operation = std::make_shared<Operation>(std::forward<Args>(args)...);
  operation->start();
  return std::make_unique<ApiHandle>(std::move(operation));
}

Failure not_json(const std::string& action, const Error& error) {
  return no_answer(action, {Errc::kIo, "the server's response is no good: " + error.what});
}

// meta/v1 APIResourceList -> plurals, without subresources ("nodes/status").
Result<std::vector<std::string>> decode_plurals(std::string_view body) {
  std::vector<std::string> plurals;
  JsonCutter cutter("resources", body.size(),
                    {.on_member = [](std::string_view, std::string_view) { return true; },
                     .on_item =
                         [&](std::string_view raw) {
                           const auto resource = decode_json(raw);
                           const std::string name(resource ? resource->text("name") : "");
                           if (!name.empty() && name.find('/') == std::string::npos) plurals.push_back(name);
                           return true;
                         }});
  auto cut = cutter.feed(body);
  if (cut) cut = cutter.finish();
  if (!cut) return cut.error();
  return plurals;
}

}  // namespace

ApiCluster::ApiCluster(Needs needs) : core_(std::make_shared<ApiCore>(std::move(needs))) {}
ApiCluster::~ApiCluster() = default;

CallPtr ApiCluster::list(ListRequest request, ListHandlers handlers) {
  return start<ListOperation>(core_, std::move(request), std::move(handlers));
}

CallPtr ApiCluster::watch(WatchRequest request, WatchHandlers handlers) {
  return start<WatchOperation>(core_, std::move(request), std::move(handlers));
}

CallPtr ApiCluster::write(WriteRequest request, WriteHandlers handlers) {
  const bool is_delete = request.verb == Verb::kDelete;
  // A delete is answered with a Status or with the object: neither is promised.
  auto on_body = [is_delete, on_done = std::move(handlers.on_done)](std::string_view body) {
    on_done(is_delete ? std::string_view() : body);
  };
  return start<ReadOperation>(core_, encode_write(request), kObjectBytesMax, std::move(on_body),
                              std::move(handlers.on_failure));
}

CallPtr ApiCluster::get(GetRequest request, WriteHandlers handlers) {
  return start<ReadOperation>(core_, encode_get(request), kObjectBytesMax, std::move(handlers.on_done),
                              std::move(handlers.on_failure));
}

CallPtr ApiCluster::discover(std::string group, std::string version,
                             std::function<void(std::vector<std::string> plurals)> on_done,
                             std::function<void(const Failure&)> on_failure) {
  ApiRequest request = encode_discover(group, version);
  const std::string action = request.action;
  auto on_body = [action, on_done, on_failure](std::string_view body) {
    auto plurals = decode_plurals(body);
    plurals ? on_done(*std::move(plurals)) : on_failure(not_json(action, plurals.error()));
  };
  auto on_refusal = [on_done, on_failure](const Failure& failure) {
    failure.http_status == 404 ? on_done({}) : on_failure(failure);
  };
  return start<ReadOperation>(core_, std::move(request), kObjectBytesMax, std::move(on_body),
                              std::move(on_refusal));
}

CallPtr ApiCluster::schema(std::string group, std::string version,
                           std::function<void(std::string_view json)> on_done,
                           std::function<void(const Failure&)> on_failure) {
  auto on_refusal = [on_done, on_failure](const Failure& failure) {
    failure.http_status == 404 ? on_done("") : on_failure(failure);
  };
  return start<ReadOperation>(core_, encode_schema(group, version), kSchemaBytesMax, std::move(on_done),
                              std::move(on_refusal));
}

CallPtr ApiCluster::server_info(std::function<void(ServerInfo)> on_done,
                                std::function<void(const Failure&)> on_failure) {
  ApiRequest request = encode_server_info();
  const std::string action = request.action;
  auto on_body = [action, on_done = std::move(on_done), on_failure](std::string_view body) {
    const auto json = decode_json(body);
    json ? on_done({std::string(json->text("gitVersion"))}) : on_failure(not_json(action, json.error()));
  };
  return start<ReadOperation>(core_, std::move(request), kObjectBytesMax, std::move(on_body),
                              std::move(on_failure));
}

std::string ApiCluster::describe() const {
  return core_->server ? encode_url(core_->server->url) : core_->credentials->describe();
}

const RequestCounts& ApiCluster::request_counts() const { return core_->counts; }

}  // namespace sliced::kube
