#include "kube/client/api_request.h"

#include "kube/objects/json.h"

namespace sliced::kube {
namespace {

std::string group_path(const std::string& group, const std::string& version) {
  return group.empty() ? "/api/" + http::percent_encode(version)
                       : "/apis/" + http::percent_encode(group) + '/' + http::percent_encode(version);
}

std::string collection_path(const Resource& resource, const std::string& namespace_) {
  std::string path = group_path(resource.group, resource.version);
  if (resource.namespaced && !namespace_.empty()) path += "/namespaces/" + http::percent_encode(namespace_);
  return path + '/' + http::percent_encode(resource.plural);
}

std::string object_path(const Resource& resource, const std::string& namespace_, const std::string& name) {
  return collection_path(resource, namespace_) + '/' + http::percent_encode(name);
}

std::string full_name(const Resource& resource) {
  return resource.group.empty() ? resource.plural : resource.plural + '.' + resource.group;
}

ApiRequest make(const char* method, const char* verb, const Resource& resource, std::string path) {
  const std::string name = full_name(resource);
  return {.verb = verb,
          .resource = name,
          .action = std::string(verb) + ' ' + name,
          .message = {.method = method, .path = std::move(path), .query = {}, .headers = {}, .body = ""}};
}

void name_object(ApiRequest& request, const std::string& namespace_, const std::string& name) {
  if (!name.empty()) request.action += ' ' + (namespace_.empty() ? "" : namespace_ + '/') + name;
}

void name_scope(ApiRequest& request, const Scope& scope) {
  if (!scope.namespace_.empty()) request.action += " in " + scope.namespace_;
  if (!scope.field_selector.empty()) request.action += " with " + scope.field_selector;
}

void accept(ApiRequest& request, const Scope& scope, const char* as) {
  request.message.headers.push_back(
      {"Accept", !scope.metadata_only
                     ? "application/json"
                     : "application/json;as=" + std::string(as) + ";g=meta.k8s.io;v=v1,application/json"});
}

void send_json(ApiRequest& request, std::string body) {
  request.message.headers.push_back({"Accept", "application/json"});
  request.message.headers.push_back({"Content-Type", "application/json"});
  request.message.body = std::move(body);
}

ApiRequest plain_get(std::string verb, std::string path) {
  ApiRequest request{
      .verb = std::move(verb), .resource = "", .action = "get " + path, .message = {}, .repeatable = true};
  request.message.method = "GET";
  request.message.path = std::move(path);
  request.message.headers.push_back({"Accept", "application/json"});
  return request;
}

// Encodes meta/v1 DeleteOptions. With a body the server reads no options from the query.
std::string encode_delete_options(const WriteRequest& request) {
  Json preconditions;
  if (!request.uid.empty()) preconditions.set("uid", request.uid);
  if (!request.resource_version.empty()) preconditions.set("resourceVersion", request.resource_version);
  Json options;
  options.set("kind", "DeleteOptions");
  options.set("apiVersion", "v1");
  if (!preconditions.is_null()) options.set("preconditions", std::move(preconditions));
  if (request.dry_run) options.set("dryRun", Json::Array{Json("All")});
  return encode_json(options);
}

ApiRequest encode_delete(const WriteRequest& request) {
  ApiRequest out = make("DELETE", "delete", request.resource,
                        object_path(request.resource, request.namespace_, request.name));
  out.repeatable = request.dry_run || !request.uid.empty() || !request.resource_version.empty();
  send_json(out, encode_delete_options(request));
  return out;
}

// For applies and merges.
ApiRequest encode_patch(const WriteRequest& request) {
  const bool is_apply = request.verb == Verb::kApply;
  std::string path = object_path(request.resource, request.namespace_, request.name);
  if (!request.subresource.empty()) path += '/' + http::percent_encode(request.subresource);
  ApiRequest out = make("PATCH", is_apply ? "apply" : "patch", request.resource, std::move(path));
  out.repeatable = true;  // a repetition changes nothing
  http::QueryItems& query = out.message.query;
  if (!request.field_manager.empty()) query.emplace_back("fieldManager", request.field_manager);
  if (is_apply) query.emplace_back("force", "true");
  if (request.dry_run) query.emplace_back("dryRun", "All");
  if (request.strict) query.emplace_back("fieldValidation", "Strict");
  out.message.headers.push_back({"Accept", "application/json"});
  out.message.headers.push_back(
      {"Content-Type", is_apply ? "application/apply-patch+yaml" : "application/merge-patch+json"});
  out.message.body = request.body;
  return out;
}

}  // namespace

ApiRequest encode_list(const ListRequest& request, const std::string& continue_token) {
  const Scope& scope = request.scope;
  ApiRequest out = make("GET", "list", scope.resource, collection_path(scope.resource, scope.namespace_));
  out.repeatable = true;
  name_scope(out, scope);
  accept(out, scope, "PartialObjectMetadataList");
  http::QueryItems& query = out.message.query;
  if (!scope.field_selector.empty()) query.emplace_back("fieldSelector", scope.field_selector);
  // The server answers "any version" from its cache, in one piece; paging would send it to etcd.
  const int64_t limit = request.limit != 0                 ? request.limit
                        : request.resource_version.empty() ? kPageItems
                                                           : 0;
  if (limit != 0) query.emplace_back("limit", std::to_string(limit));
  if (!continue_token.empty()) {
    query.emplace_back("continue", continue_token);  // which names the version
  } else if (!request.resource_version.empty()) {
    query.emplace_back("resourceVersion", request.resource_version);
  }
  return out;
}

ApiRequest encode_watch(const WatchRequest& request) {
  const Scope& scope = request.scope;
  ApiRequest out = make("GET", "watch", scope.resource, collection_path(scope.resource, scope.namespace_));
  out.repeatable = true;
  name_scope(out, scope);
  accept(out, scope, "PartialObjectMetadata");
  http::QueryItems& query = out.message.query;
  query.emplace_back("watch", "1");
  query.emplace_back("allowWatchBookmarks", "true");
  if (!scope.field_selector.empty()) query.emplace_back("fieldSelector", scope.field_selector);
  if (!request.resource_version.empty()) query.emplace_back("resourceVersion", request.resource_version);
  if (request.send_initial_events) {
    query.emplace_back("sendInitialEvents", "true");
    query.emplace_back("resourceVersionMatch", "NotOlderThan");
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(request.timeout).count();
  if (seconds > 0) query.emplace_back("timeoutSeconds", std::to_string(seconds));
  return out;
}

ApiRequest encode_write(const WriteRequest& request) {
  ApiRequest out;
  if (request.verb == Verb::kDelete) {
    out = encode_delete(request);
  } else if (request.verb == Verb::kApply || request.verb == Verb::kMerge) {
    out = encode_patch(request);
  } else {
    const bool update = request.verb == Verb::kUpdate;
    out = make(update ? "PUT" : "POST", update ? "update" : "create", request.resource,
               update ? object_path(request.resource, request.namespace_, request.name)
                      : collection_path(request.resource, request.namespace_));
    // A PUT carries its resourceVersion: the second of two is a conflict, and not a second change.
    out.repeatable = update || request.dry_run;
    if (request.dry_run) out.message.query.emplace_back("dryRun", "All");
    if (request.strict) out.message.query.emplace_back("fieldValidation", "Strict");
    send_json(out, request.body);
  }
  name_object(out, request.namespace_, request.name);
  if (request.dry_run) out.action += " (dry run)";
  return out;
}

ApiRequest encode_get(const GetRequest& request) {
  ApiRequest out =
      make("GET", "get", request.resource, object_path(request.resource, request.namespace_, request.name));
  out.repeatable = true;
  out.message.headers.push_back({"Accept", "application/json"});
  name_object(out, request.namespace_, request.name);
  return out;
}

ApiRequest encode_discover(const std::string& group, const std::string& version) {
  return plain_get("discover", group_path(group, version));
}
ApiRequest encode_discover_groups() { return plain_get("discover", "/apis"); }
ApiRequest encode_schema(const std::string& group, const std::string& version) {
  return plain_get("schema", "/openapi/v3" + group_path(group, version));
}
ApiRequest encode_server_info() { return plain_get("version", "/version"); }

}  // namespace sliced::kube
