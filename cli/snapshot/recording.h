#pragma once
// What a host was asked and what it answered, as a value; a view that notes it, and one that says it again.
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

/// By path, as it was asked: relative to the host's root, as hotplug::HostView has them. Of one that was
/// asked several times the last answer; an error is an answer, too.
struct Recording {
  std::map<std::string, Result<std::string>> reads, links;
  std::map<std::string, Result<std::vector<std::string>>> lists;
  std::optional<hotplug::RouteLinks> routes;               // of the running kernel
  std::map<int, std::map<int, std::string>> admin_macs;    // by ifindex of the PF, by VF
  std::map<int, hotplug::LinkProperties> properties = {};  // of the running kernel, by ifindex
};

/// Paths of one recording that are read; more is no host of today.
inline constexpr size_t kAnswersMax = 500'000;

/// {"reads":[[path,answer],...],"lists":..., "links":..., "defaultRouteLinks":[...], "otherRouteLinks":[...],
/// "adminMacs":[[ifindex,vf,mac],...], "altNames":[[ifindex,[name,...]],...],
/// "netnsImmutable":[[ifindex,true],...]}. An answer is the text, the list of names, or
/// {"error":...,"what":...}; a code that has no word here becomes "io".
kube::Json encode(const Recording& recording);
/// kTooLarge for one with a list of more than kAnswersMax, kInvalid for what is none; the text does not say where.
Result<Recording> decode_recording(const kube::Json& value);

/// Asks another view, and notes. Of udev's records (run/udev/data) only the time of initialisation is noted
/// ("I:"): the rest has serial numbers and addresses in spellings that no alias finds.
/// Threads: any, as that one's; recording() when nobody asks any more.
class RecordingHost final : public hotplug::HostView {
 public:
  explicit RecordingHost(std::shared_ptr<const hotplug::HostView> host) : host_(std::move(host)) {}
  Result<std::string> read(std::string_view path, size_t size_max) const override;
  Result<std::vector<std::string>> list(std::string_view path) const override;
  Result<std::string> readlink(std::string_view path) const override;
  Result<std::optional<hotplug::RouteLinks>> route_links() const override;
  Result<hotplug::LinkProperties> link_properties(int ifindex) const override;
  uint64_t shortages() const override { return host_->shortages(); }
  bool is_live() const override { return host_->is_live(); }
  /// What the PF's interface said of its VFs.
  void note_admin_macs(int ifindex, const std::map<int, std::string>& macs) const;
  Recording recording() const;

 private:
  std::shared_ptr<const hotplug::HostView> host_;
  mutable std::mutex mutex_;
  mutable Recording noted_;
};

/// Says it again. What was not asked is not there (kNotFound, and that it is not in the snapshot). Threads: any.
class RecordedHost final : public hotplug::HostView {
 public:
  explicit RecordedHost(Recording recording) : said_(std::move(recording)) {}
  Result<std::string> read(std::string_view path, size_t size_max) const override;
  Result<std::vector<std::string>> list(std::string_view path) const override;
  Result<std::string> readlink(std::string_view path) const override;
  Result<std::optional<hotplug::RouteLinks>> route_links() const override { return said_.routes; }
  Result<hotplug::LinkProperties> link_properties(int ifindex) const override;
  bool is_live() const override { return false; }
  /// Empty where the PF was not asked.
  std::map<int, std::string> admin_macs(int ifindex) const;

 private:
  const Recording said_;
};

}  // namespace sliced::snapshot
