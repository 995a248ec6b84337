#pragma once
// How the calls of the Cluster port become HTTP requests. Pure.
#include <cstdint>
#include <string>

#include "http/message.h"
#include "kube/objects/cluster.h"

namespace sliced::kube {

/// A request and how people and metrics call it.
/// Without who we are: Authorization and User-Agent are put in when it is sent (api_operation.h).
struct ApiRequest {
  std::string verb;      // RBAC's: "list", "watch", "get", "create", "update", "delete"
  std::string resource;  // "resourceslices.resource.k8s.io"; "" for paths without one
  std::string action;    // "update resourceslices.resource.k8s.io sliced-0"
  http::Request message;
  bool repeatable = false;  // may be sent twice (see http::Options)
};

constexpr int64_t kPageItems = 500;

/// One page: `continue_token` is "" for the first. Without a limit and a resource version pages are of
/// kPageItems.
/// The token names the version that the first page was read at, so that no page asks for one. Metadata alone
/// is asked for as PartialObjectMetadataList, with JSON of whole objects as what is taken too.
ApiRequest encode_list(const ListRequest& request, const std::string& continue_token);
/// A watch asks for bookmarks, and with send_initial_events for the list as events (WatchList).
ApiRequest encode_watch(const WatchRequest& request);
/// Never repeatable as a create: an answer that was lost does not say whether it was made.
/// An update may be repeated, for it carries the version that it replaces: the second of two is a conflict;
/// an apply, for the second changes nothing; a delete with preconditions, or none at all with dry_run. kApply
/// is PATCH with application/apply-patch+yaml, kMerge with application/merge-patch+json; a merge may be repeated too.
ApiRequest encode_write(const WriteRequest& request);
/// All of these may be sent twice: they change nothing.
ApiRequest encode_get(const GetRequest& request);
ApiRequest encode_discover(const std::string& group, const std::string& version);
ApiRequest encode_discover_groups();  // of all groups but core
ApiRequest encode_schema(const std::string& group, const std::string& version);
ApiRequest encode_server_info();

}  // namespace sliced::kube
