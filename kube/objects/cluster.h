#pragma once
// The interface to a cluster: list, watch, read, write, discover. Implemented by the API server's client
// (kube/client/api_cluster.h), by a directory of YAML files (kube/directory/directory_cluster.h), and by
// tests.
//
// Loop thread only. Every function returns a Call; destroying it cancels, and no callback runs afterwards.
// Callbacks are never called from within the function that started the call; they may start and destroy
// calls, their own included.
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

/// A kind by its names in discovery; paths contain the plural.
struct Resource {
  std::string group, version, plural, kind;  // group "" is core
  bool namespaced = false;
  bool operator==(const Resource&) const = default;
};
std::string api_version(const Resource& resource);  // "group/version", or "v1"

/// The objects to list and watch.
struct Scope {
  Resource resource;
  std::string namespace_;      // "" for all namespaces or cluster-scoped kinds
  std::string field_selector;  // "spec.driver=x,spec.nodeName=y"
  bool metadata_only = false;  // PartialObjectMetadata (;as=PartialObjectMetadata;g=meta.k8s.io;v=v1)
  bool operator==(const Scope&) const = default;
};

/// The failure of a call. Codes: kGone (410, relist), kConflict (409),
/// kNotFound (404), kDenied (401, 403), kInvalid (400, 422), kBusy (429, 5xx), kIo and kTimeout (no answer).
struct Failure {
  Errc code = Errc::kIo;
  int http_status = 0;  // 0: no answer
  std::string reason;   // Status.reason: "AlreadyExists", "Expired" ...
  std::string what;     // text, with verb and resource
  std::optional<Millis> retry_after;
  /// Status.details.causes[].field: "spec.devices[3].attributes[example.com/x].string"
  std::vector<std::string> fields;
  bool operator==(const Failure&) const = default;
};

/// Returns true if a Status of the server reports that the object does not exist. A 404 without a Status may
/// come from a load balancer without a server.
inline bool says_gone(const Failure& failure) {
  return failure.code == Errc::kNotFound && failure.reason == "NotFound";
}

/// A running call. Destroying it cancels; a write may already have taken effect.
class Call {
 public:
  virtual ~Call() = default;
};
using CallPtr = std::unique_ptr<Call>;

/// kBookmark: only the resourceVersion that the watch has reached.
enum class EventType { kAdded, kModified, kDeleted, kBookmark };

struct WatchEvent {
  EventType type;
  /// One JSON object, valid during the callback. Truncated if it is larger than 2 MiB.
  std::string_view object;
};

/// A list succeeds completely or fails.
struct ListRequest {
  Scope scope;
  std::string resource_version;  // "" most recent, "0" any
  int64_t limit = 0;             // page size; 0: chosen by the implementation
  size_t bytes_max = 64u << 20;  // of all pages; else kTooLarge
  size_t item_bytes_max = 2u << 20;
  bool first_page_only = false;  // end after the first page
  std::string continue_token;    // from on_continue: the next page of the same list
};
struct ListHandlers {
  /// One item, valid during the callback. Truncated if it is larger than item_bytes_max.
  std::function<void(std::string_view object)> on_item;
  std::function<void(std::string resource_version)> on_done;
  std::function<void(const Failure&)> on_failure;  // exactly one of on_done and on_failure ends the call
  /// Called before on_done of the first page with the number of remaining items, if known. Optional.
  std::function<void(int64_t items)> on_remaining = {};
  /// Called before on_done of a first page that is not the last. The token is valid for some minutes (then
  /// kGone). Optional.
  std::function<void(std::string continue_token)> on_continue = {};
};

/// Changes of a scope after a version, in order; or the current state first.
struct WatchRequest {
  Scope scope;
  std::string resource_version;  // "" only with send_initial_events
  bool send_initial_events =
      false;          // the current state as kAdded, then a bookmark annotated k8s.io/initial-events-end
  Millis timeout{0};  // timeoutSeconds; 0: the server's default
};
/// Events in the server's order; on_end or on_failure is the last call.
struct WatchHandlers {
  std::function<void(const WatchEvent&)> on_event;
  std::function<void()> on_end;                    // clean end of the stream
  std::function<void(const Failure&)> on_failure;  // refused, broken, or an ERROR event (410: code kGone)
  /// The server accepted the watch; an ERROR event (410) may follow. Optional.
  std::function<void()> on_open = {};
};

/// A write. An update replaces the object if its resourceVersion is unchanged. An apply (server-side, forced)
/// sets the fields of `field_manager` and removes those that it no longer contains. A merge (RFC 7386) sets
/// the given members, removes those that are null, and fails if the object does not exist.
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
      field_manager;  // of both patches: "status", or "" for the object itself; the manager's name
};
/// on_done has the stored object ("" for kDelete).
struct WriteHandlers {
  std::function<void(std::string_view object)> on_done;  // valid during the callback only
  std::function<void(const Failure&)> on_failure;
};

/// A read of one object. namespace_: "" for cluster-scoped kinds.
struct GetRequest {
  Resource resource;
  std::string namespace_, name;
};

/// The server's version.
struct ServerInfo {
  std::string git_version;  // "v1.36.3"; "" when the cluster has none (a directory)
  bool operator==(const ServerInfo&) const = default;
};

/// Too large answers are kTooLarge or truncated. All errors are reported by on_failure.
class Cluster {
 public:
  virtual ~Cluster() = default;
  /// Items may precede on_failure; the list is valid only after on_done.
  virtual CallPtr list(ListRequest request, ListHandlers handlers) = 0;
  /// One watch. The caller resumes it after its end (watchers/list_watch.h).
  virtual CallPtr watch(WatchRequest request, WatchHandlers handlers) = 0;
  /// Without an answer the write may have taken effect: the caller must read the object.
  virtual CallPtr write(WriteRequest request, WriteHandlers handlers) = 0;
  /// Returns the object as JSON. An answer about another object is a failure. kNotFound: see says_gone().
  virtual CallPtr get(GetRequest request, WriteHandlers handlers) = 0;
  /// Returns the served plurals of the group-version; empty if discovery does not list it. An answer that a
  /// load balancer could give is a failure (kNotFound for 404).
  virtual CallPtr discover(std::string group, std::string version,
                           std::function<void(std::vector<std::string> plurals)> on_done,
                           std::function<void(const Failure&)> on_failure) = 0;
  /// Returns the OpenAPI v3 schema of the group-version (/openapi/v3/apis/G/V) as JSON text; "" if the
  /// cluster has none.
  virtual CallPtr schema(std::string group, std::string version,
                         std::function<void(std::string_view json)> on_done,
                         std::function<void(const Failure&)> on_failure) = 0;
  /// For features that depend on the release (docs/kubernetes-versions.md).
  virtual CallPtr server_info(std::function<void(ServerInfo)> on_done,
                              std::function<void(const Failure&)> on_failure) = 0;
  /// Returns the server's time in seconds since 1970, from the Date of its last response and the time since
  /// then. nullopt: no response yet, or a directory cluster.
  virtual std::optional<int64_t> server_time() const { return std::nullopt; }
  /// "https://10.0.0.1:443", "dir:/etc/sliced", for messages.
  virtual std::string describe() const = 0;
};

}  // namespace sliced::kube
