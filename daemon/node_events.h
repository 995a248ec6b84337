#pragma once
// Detects reportable conditions of this node in the running daemon, and writes Events with an EventWriter.
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/daemon.h"
#include "daemon/reports/event_writer.h"
#include "daemon/reports/reported_event.h"
#include "daemon/status/history.h"
#include "kube/client/ports.h"
#include "kubelet/prepared.h"
#include "kubelet/preparer.h"
#include "reactor/executor.h"

namespace sliced::daemon {

/// The claim and the pods that have a device.
struct ClaimWithPods {
  std::string claim = {};              // "ns/name"; several joined by ", "; "" if unknown
  std::vector<std::string> pods = {};  // names, in the claim's namespace; empty if unknown
  bool operator==(const ClaimWithPods&) const = default;
};
/// Devices of claims, by PCI address or interface name.
using ClaimsByDevice = std::map<std::string, ClaimWithPods>;
/// A pod with a claim that was prepared without a configuration that names another driver.
struct PodWithIgnored {
  std::string namespace_ = {}, name = {}, uid = {};
  std::string note = {};  // "ResourceClaim ns/c: status.allocation.devices.config[0].opaque.driver is ..."
  bool operator==(const PodWithIgnored&) const = default;
};
/// Returns one for each configuration and each of at most 4 pods of a claim.
std::vector<PodWithIgnored> pods_with_ignored(
    const std::map<kubelet::PreparedKey, kubelet::ClaimWithIgnored>& claims);

/// Returns the devices of this node's prepared claims.
ClaimsByDevice claims_by_device(const kubelet::PreparedClaims& claims);

/// Checks once a minute, and earlier after a decision: after 5 s to 60 s, so that the nodes of a fleet spread
/// their Events about one edit.
/// Ownership: all arguments outlive this object.
/// Threads: the loop's, except the check of devices.
/// Bounds: one check at a time, abandoned after 10 s. Nothing is checked without a decision or before the
/// Node's uid is known, because an Event requires both.
class NodeEvents {
 public:
  struct Dependencies {
    kube::ClusterPorts ports;
    reactor::Executor& executor;
    Daemon& daemon;
    std::string node;
    std::function<std::string()> now;  // EventWriter::Settings::now
    std::function<ClaimsByDevice()> allocated;
    std::function<std::vector<PodWithIgnored>()> ignored;
    /// Past changes of the offer, the oldest first: they name the policy that offered a device before.
    std::function<std::vector<status::PastChangePtr>()> past;
  };
  /// Checks start with start() or on_decided(); Events are written after permit(true).
  explicit NodeEvents(Dependencies deps);
  void start() { look_later(); }
  /// true: the interlock is held.
  void permit(bool writes) { writer_.permit(writes); }
  void on_decided();
  const reports::EventWriter& writer() const { return writer_; }

 private:
  void look_later();
  void look();
  std::string object_uid(const reports::PolicyRef& subject) const;

  const Dependencies deps_;
  reports::ReportedEventFinder finder_;
  reports::EventWriter writer_;
  bool is_soon_ = false;
  reactor::Ticket timer_;
  std::vector<PodWithIgnored> ignored_;  // at the last check
  std::unique_ptr<reactor::Job> job_;
};

/// Returns the devices of claims that the decision does not offer, with cause and holder:
/// "DeviceExposurePolicy x (generation 2) does not select it any more; claim ns/name (pod a) has it". past:
/// names the policy that offered the device before, if no current one refers to it. Pure: for a worker.
reports::WithdrawnInUse withdrawn_in_use(const policy::Decision& decision, const ClaimsByDevice& allocated,
                                         const std::vector<status::PastChangePtr>& past);

}  // namespace sliced::daemon
