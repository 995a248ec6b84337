#pragma once
// The reads of a host and their results, as a value; a view that records them, and one that replays them.
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hotplug/host_view.h"
#include "kube/objects/json.h"
#include "reactor/base/result.h"

namespace sliced::snapshot {

/// By path relative to the host's root, as in hotplug::HostView. The last result of each; errors are
/// recorded, too.
struct Recording {
  std::map<std::string, Result<std::string>> reads, links;
  std::map<std::string, Result<std::vector<std::string>>> lists;
  std::optional<hotplug::RouteLinks> routes;               // of the running kernel
  std::map<int, std::map<int, std::string>> admin_macs;    // by ifindex of the PF, by VF
  std::map<int, hotplug::LinkProperties> properties = {};  // of the running kernel, by ifindex
  std::map<int, std::string> devlink_ports = {};           // names, by ifindex
};

/// Limit of decoded paths; no current host has more.
inline constexpr size_t kAnswersMax = 500'000;

/// Encodes {"reads":[[path,answer],...],"lists":..., "links":..., "defaultRouteLinks":[...],
/// "otherRouteLinks":[...], "adminMacs":[[ifindex,vf,mac],...], "altNames":[[ifindex,[name,...]],...],
/// "netnsImmutable":[[ifindex,true],...], "devlinkPorts":[[ifindex,name],...]}. An answer is the text, the
/// list of names, or {"error":...,"what":...}; an error code without a name in this format becomes "io".
kube::Json encode(const Recording& recording);
/// Errors: kTooLarge for a list of more than kAnswersMax, kInvalid; the text does not contain the place.
Result<Recording> decode_recording(const kube::Json& value);

/// Reads from another view, and records. Of udev's records (run/udev/data) only the time of initialization
/// ("I:") is recorded: other lines contain serial numbers and addresses in spellings that no alias covers.
/// Threads: as the other view; recording() after all reads.
class RecordingHost final : public hotplug::HostView {
 public:
  explicit RecordingHost(std::shared_ptr<const hotplug::HostView> host) : host_(std::move(host)) {}
  Result<std::string> read(std::string_view path, size_t size_max) const override;
  Result<std::vector<std::string>> list(std::string_view path) const override;
  Result<std::string> readlink(std::string_view path) const override;
  Result<std::optional<hotplug::RouteLinks>> route_links() const override;
  Result<hotplug::LinkProperties> link_properties(int ifindex) const override;
  Result<std::string> devlink_port(int ifindex) const override;
  uint64_t shortages() const override { return host_->shortages(); }
  bool is_live() const override { return host_->is_live(); }
  /// Records the answer of a PF's interface about its VFs.
  void note_admin_macs(int ifindex, const std::map<int, std::string>& macs) const;
  Recording recording() const;

 private:
  std::shared_ptr<const hotplug::HostView> host_;
  mutable std::mutex mutex_;
  mutable Recording noted_;
};

/// Replays a recording. Paths that were not read return kNotFound, with a text about the snapshot. Threads:
/// any.
class RecordedHost final : public hotplug::HostView {
 public:
  explicit RecordedHost(Recording recording) : recording_(std::move(recording)) {}
  Result<std::string> read(std::string_view path, size_t size_max) const override;
  Result<std::vector<std::string>> list(std::string_view path) const override;
  Result<std::string> readlink(std::string_view path) const override;
  Result<std::optional<hotplug::RouteLinks>> route_links() const override { return recording_.routes; }
  Result<hotplug::LinkProperties> link_properties(int ifindex) const override;
  Result<std::string> devlink_port(int ifindex) const override;
  bool is_live() const override { return false; }
  /// Returns an empty map if the PF was not queried.
  std::map<int, std::string> admin_macs(int ifindex) const;

 private:
  const Recording recording_;
};

}  // namespace sliced::snapshot
