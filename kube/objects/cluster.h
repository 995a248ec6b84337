#pragma once
// The cluster as a port: list, watch, read, write, discover. Implemented by the API server's client
// (kube/client/api_cluster.h), by a directory of YAML files (kube/directory/directory_cluster.h), and by tests.
//
// Threads:   everything on the loop's thread.
// Reentry:   callbacks may start and drop calls, their own included; none is called from inside the call
//            that made it.
// Ownership: every call returns a Call; dropping it cancels, and none of its callbacks runs afterwards.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/json.h"
#include "reactor/base/result.h"
#include "reactor/base/time.h"

namespace sliced::kube {

/// A kind as discovery names it.
/// The four names are the server's, spelt as it does: paths are made of plural, objects carry kind.
struct Resource {
  std::string group, version, plural, kind;  // group "" is core
  bool namespaced = false;
  bool operator==(const Resource&) const = default;
};
std::string api_version(const Resource& resource);  // "group/version", or "v1"

/// What to list and watch.
struct Scope {
  Resource resource;
  std::string namespace_;      // "" for all namespaces or cluster-scoped kinds
  std::string field_selector;  // "spec.driver=x,spec.nodeName=y"
  bool metadata_only = false;  // PartialObjectMetadata (;as=PartialObjectMetadata;g=meta.k8s.io;v=v1)
  bool operator==(const Scope&) const = default;
};

/// Why a call did not succeed. code is what callers branch on: kGone (410, relist), kConflict (409),
/// kNotFound (404), kDenied (401, 403), kInvalid (400, 422), kBusy (429, 5xx), kIo and kTimeout (no answer).
struct Failure {
  Errc code = Errc::kIo;
  int http_status = 0;  // 0: no answer
  std::string reason;   // Status.reason: "AlreadyExists", "Expired" ...
  std::string what;     // outermost first, with verb and resource
  std::optional<Millis> retry_after;
  /// Status.details.causes[].field: "spec.devices[3].attributes[example.com/x].string"
  std::vector<std::string> fields;
  bool operator==(const Failure&) const = default;
};

/// Whether the server itself says that an object is not there, in a Status. A plain 404 is anybody's word, such as a load
/// balancer's without a server: of an object it says nothing.
inline bool says_gone(const Failure& failure) {
  return failure.code == Errc::kNotFound && failure.reason == "NotFound";
}

/// A call under way: who drops it hears no more of it. What a write has done by then stands.
class Call {
 public:
  virtual ~Call() = default;
};
using CallPtr = std::unique_ptr<Call>;

/// kBookmark: no object, only how far the watch has come.
enum class EventType { kAdded, kModified, kDeleted, kBookmark };

struct WatchEvent {
  EventType type;
  /// One JSON object; valid during the callback only. One of more than 2 MiB lacks its end.
  std::string_view object;
};

/// A list is whole or it fails: no caller sees a part of one as if it were all.
struct ListRequest {
  Scope scope;
  std::string resource_version;  // "" most recent, "0" any
  int64_t limit = 0;             // of a page; 0: the implementation pages as it sees fit
  size_t bytes_max = 64u << 20;  // of all pages; beyond it kTooLarge
  size_t item_bytes_max = 2u << 20;
  bool first_page_only = false;  // on_done then, however many more there are
  std::string continue_token;    // from on_continue: the page after that one, of the same list
};
/// Called on the loop's thread, never from within list().
struct ListHandlers {
  /// Each item whole; valid during the callback only. One of more than item_bytes_max lacks its end.
  std::function<void(std::string_view object)> on_item;
  std::function<void(std::string resource_version)> on_done;
  std::function<void(const Failure&)> on_failure;  // exactly one of on_done and on_failure ends the call
  /// Before on_done of a first page: how many items follow it, as far as the cluster says. Optional.
  std::function<void(int64_t items)> on_remaining = {};
  /// Before on_done of a first page that is not the last; the token is good for some minutes (then kGone).
  /// Optional.
  std::function<void(std::string continue_token)> on_continue = {};
};

/// Everything that happens to a scope after a version, in order; or first the state as it is now.
struct WatchRequest {
  Scope scope;
  std::string resource_version;  // "" only with send_initial_events
  bool send_initial_events =
      false;          // the current state as kAdded, then a bookmark annotated k8s.io/initial-events-end
  Millis timeout{0};  // asked of the server; 0: its own
};
/// on_end or on_failure is the last word; until then events come in the server's order.
struct WatchHandlers {
  std::function<void(const WatchEvent&)> on_event;
  std::function<void()> on_end;                    // clean end of the stream
  std::function<void(const Failure&)> on_failure;  // refused, broken, or an ERROR event (410: code kGone)
  /// The server has accepted the watch; what it has to say (also that it cannot go on from there) follows.
  /// Optional.
  std::function<void()> on_open = {};
};

/// What may be written. An update replaces the whole object, provided that nobody else has changed it
/// since. An apply (server-side, forced) says what `field_manager` wants of the object: its fields alone change,
/// and what it no longer says goes. A merge (RFC 7386) changes the members that it names, null takes one away, and
/// it fails where there is no such object.
enum class Verb { kCreate, kUpdate, kDelete, kApply, kMerge };

struct WriteRequest {
  Verb verb = Verb::kCreate;
  Resource resource;
  std::string namespace_, name;
  std::string body;                   // JSON object; empty for kDelete
  std::string uid, resource_version;  // preconditions of kDelete; kUpdate carries its own in the body
  bool dry_run = false;               // dryRun=All
  bool strict = true;                 // fieldValidation=Strict
  std::string subresource,
      field_manager;  // of both patches: "status", or "" of the object itself; who says it
};
/// The stored object as the server answered ("" for kDelete), or why not.
struct WriteHandlers {
  std::function<void(std::string_view object)> on_done;  // valid during the callback only
  std::function<void(const Failure&)> on_failure;
};

/// One object by its name.
/// namespace_: "" for cluster-scoped kinds.
struct GetRequest {
  Resource resource;
  std::string namespace_, name;
};

/// What the server says of itself.
struct ServerInfo {
  std::string git_version;  // "v1.36.3"; "" when the cluster has none (a directory)
  bool operator==(const ServerInfo&) const = default;
};

/// Bounds: what is too large is told as kTooLarge or without its end, never passed on whole. Errors come
/// through on_failure alone; no function here fails by itself.
class Cluster {
 public:
  virtual ~Cluster() = default;
  /// Items may come before a failure: they count only once on_done says that the list is whole.
  virtual CallPtr list(ListRequest request, ListHandlers handlers) = 0;
  /// One watch, however often it must be begun anew: going on after its end is the caller's
  /// (watchers/list_watch.h).
  virtual CallPtr watch(WatchRequest request, WatchHandlers handlers) = 0;
  /// Where the answer is lost, nobody knows whether it was done: the caller looks.
  virtual CallPtr write(WriteRequest request, WriteHandlers handlers) = 0;
  /// The whole object as JSON, of that name and namespace: an answer about another is a failure. kNotFound where it is
  /// not there, or somebody says so (says_gone()).
  virtual CallPtr get(GetRequest request, WriteHandlers handlers) = 0;
  /// Which of the group-version's plurals are served; empty when discovery names no such group-version. Only
  /// what discovery itself says counts: an answer that any load balancer could give is a failure (a 404 keeps
  /// kNotFound).
  virtual CallPtr discover(std::string group, std::string version,
                           std::function<void(std::vector<std::string> plurals)> on_done,
                           std::function<void(const Failure&)> on_failure) = 0;
  /// The OpenAPI v3 schema of the group-version (/openapi/v3/apis/G/V) as JSON text; "" when the cluster has
  /// none.
  virtual CallPtr schema(std::string group, std::string version,
                         std::function<void(std::string_view json)> on_done,
                         std::function<void(const Failure&)> on_failure) = 0;
  /// For metrics and for what differs between releases (docs/kubernetes-versions.md); nothing waits for it.
  virtual CallPtr server_info(std::function<void(ServerInfo)> on_done,
                              std::function<void(const Failure&)> on_failure) = 0;
  /// The server's clock, in seconds since 1970: by the Date of its last response, which is exact to a second, and the time that
  /// has passed since. nullopt: no response yet, or it has no clock of its own (a directory).
  virtual std::optional<int64_t> server_time() const { return std::nullopt; }
  /// "https://10.0.0.1:443", "dir:/etc/sliced": for people.
  virtual std::string describe() const = 0;
};

}  // namespace sliced::kube
