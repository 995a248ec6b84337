#pragma once
// Encodes calls of Cluster as HTTP requests. Pure.
#include <cstdint>
#include <string>

#include "http/message.h"
#include "kube/objects/cluster.h"

namespace sliced::kube {

/// A request and its names for messages. Authorization and User-Agent are added by api_operation.h.
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
/// The token contains the version of the first page. metadata_only requests PartialObjectMetadataList and
/// also accepts whole objects.
ApiRequest encode_list(const ListRequest& request, const std::string& continue_token);
/// With bookmarks; with send_initial_events as WatchList.
ApiRequest encode_watch(const WatchRequest& request);
/// Creates are not repeatable: a lost answer does not show whether the object exists. Repeatable are updates
/// (with the replaced version: a repetition is a conflict), applies and merges (a repetition changes
/// nothing), deletes with preconditions, and dry runs. kApply: PATCH with application/apply-patch+yaml.
/// kMerge: PATCH with application/merge-patch+json.
ApiRequest encode_write(const WriteRequest& request);
/// Repeatable, since they only read.
ApiRequest encode_get(const GetRequest& request);
ApiRequest encode_discover(const std::string& group, const std::string& version);
ApiRequest encode_discover_groups();  // of all groups but core
ApiRequest encode_schema(const std::string& group, const std::string& version);
ApiRequest encode_server_info();

}  // namespace sliced::kube
