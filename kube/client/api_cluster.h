#pragma once
// The Cluster port over a real API server.
#include <cstdint>
#include <memory>
#include <string>

#include "kube/client/api_ports.h"
#include "kube/objects/cluster.h"

namespace sliced::kube {

class ApiCore;

/// Texts:       items of lists are what stands in the server's list: items of built-in kinds have no kind
///              and apiVersion of their own, those of custom resources and PartialObjectMetadata have.
///              Watch events have them always.
/// Lists:       from the most recent version in pages of 500, 64 MiB in all; an expired continue is kGone.
///              An item above item_bytes_max lacks its end. Pages that are all but empty end it with kIo.
/// Requests:    a call makes one or two of each page and step, whatever is answered. Items reach on_item as
///              they arrive, so some may have come before on_failure.
/// Watches:     an event above 2 MiB lacks its end; silence of 330 s (bookmarks come every two minutes) is
///              kTimeout. Broken framing is kIo. "Too large resource version" is kGone. One whose
///              connection is to be left (GOAWAY, changed certificates) ends cleanly, within 30 s.
/// Writes:      a kept connection that proves dead is replaced and the request repeated, unless it is a
///              create; what the server says that it has not acted on is sent again.
/// Connections: one, where the server speaks HTTP/2; else one for each request under way.
/// 401:         credentials are loaded again and the request repeated once; then kDenied.
/// Failures:    without an answer only kIo, kTimeout, kTooLarge and kBusy occur, never the codes of the
///              server's words.
/// Warnings:    of the server are logged, each text once.
class ApiCluster final : public Cluster {
 public:
  using Ports = ApiPorts;
  explicit ApiCluster(Ports ports);
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
  /// The server's address once it is known, before that the place of the credentials.
  std::string describe() const override;

 private:
  // Shared with calls under way, which may outlive this and are dropped by whoever made them.
  std::shared_ptr<ApiCore> core_;
};

}  // namespace sliced::kube
