#pragma once
// The Cluster port over a real API server.
#include <cstdint>
#include <memory>
#include <string>

#include "kube/client/api_ports.h"
#include "kube/objects/cluster.h"

namespace sliced::kube {

class ApiCore;

/// Texts:       items of lists are the text of the server's list: items of built-in kinds lack kind and
/// apiVersion, those of custom resources and PartialObjectMetadata have them. Watch events always have them.
/// Lists:       from the most recent version in pages of 500, at most 64 MiB; an expired continue token is
/// kGone. An item above item_bytes_max is truncated. A sequence of nearly empty pages is kIo.
/// Requests:    a call sends one or two for each page and step, regardless of the answers. Items are passed to
/// on_item as they arrive, possibly before on_failure.
/// Watches:     an event above 2 MiB is truncated; silence of 330 s is kTimeout (bookmarks come every two
/// minutes). Invalid framing is kIo. "Too large resource version" is kGone. If its connection must be closed
/// (GOAWAY, changed certificates) a watch ends cleanly within 30 s.
/// Writes:      if a kept connection proves dead the request is repeated, except a create. Requests that the
/// server reports as not processed are sent again.
/// Connections: one with HTTP/2; otherwise one for each concurrent request.
/// 401:         credentials are loaded again and the request is repeated once; then kDenied.
/// Schemas:     with ApiPorts::schema_cache a document is requested with the ETag of the stored one. A stored
/// document that is damaged, or that cannot be read within 5 s, is requested again in full.
/// Failures:    without an answer only kIo, kTimeout, kTooLarge and kBusy occur, never codes of a Status.
/// Warnings:    of the server are logged, each text once.
class ApiCluster final : public Cluster {
 public:
  explicit ApiCluster(ApiPorts ports);
  ~ApiCluster() override;

  CallPtr list(ListRequest request, ListHandlers handlers) override;
  CallPtr watch(WatchRequest request, WatchHandlers handlers) override;
  CallPtr write(WriteRequest request, WriteHandlers handlers) override;
  CallPtr get(GetRequest request, WriteHandlers handlers) override;
  CallPtr discover(std::string group, std::string version,
                   std::function<void(std::vector<std::string> plurals)> on_done,
                   std::function<void(const Failure&)> on_failure) override;
  CallPtr schema(std::string group, std::string version, std::function<void(std::string_view json)> on_done,
                 std::function<void(const Failure&)> on_failure) override;
  CallPtr server_info(std::function<void(ServerInfo)> on_done,
                      std::function<void(const Failure&)> on_failure) override;
  std::optional<int64_t> server_time() const override;
  /// Returns the server's address; before it is known, the source of the credentials.
  std::string describe() const override;

 private:
  // Shared with running calls, which may outlive this object and belong to their callers.
  std::shared_ptr<ApiCore> core_;
};

}  // namespace sliced::kube
