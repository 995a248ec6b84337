#pragma once
// What happens on this node that is worth an event, found in the running daemon and told by an EventWriter.
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

namespace sliced::cli {

/// Which claim and pods have a device.
struct DeviceHolder {
  std::string claim = {};              // "ns/name"; several joined by ", "; "" not known
  std::vector<std::string> pods = {};  // names, in the claim's namespace; empty where not known
  bool operator==(const DeviceHolder&) const = default;
};
/// Devices that claims are known to have, by PCI address or interface name.
using AllocatedDevices = std::map<std::string, DeviceHolder>;
/// A pod of which a claim was prepared without a configuration that names another driver.
struct PodWithIgnored {
  std::string namespace_ = {}, name = {}, uid = {};
  std::string note = {};  // "ResourceClaim ns/c: status.allocation.devices.config[0].opaque.driver is ..."
  bool operator==(const PodWithIgnored&) const = default;
};
/// One for each of at most 4 pods of a claim and each configuration.
std::vector<PodWithIgnored> pods_with_ignored(
    const std::map<kubelet::PreparedKey, kubelet::ClaimWithIgnored>& claims);

/// Of what is prepared here.
AllocatedDevices allocated_of(const kubelet::PreparedClaims& claims);

/// It looks once a minute, and sooner after a decision: 5 s to 60 s, so that a fleet does not tell of one edit at once.
/// Ownership: everything that it is made from outlives it.
/// Threads:   the loop's, but for the looking at devices.
/// Bounds:    one look at a time, given up after 10 s. Without a decision, or before the Node's uid is known,
///            nothing is looked at: an Event needs both.
class NodeEvents {
 public:
  struct Surroundings {
    kube::Ports ports;
    reactor::Executor& executor;
    daemon::Daemon& daemon;
    std::string node;
    std::function<std::string()> now;  // EventWriter::Settings::now
    std::function<AllocatedDevices()> allocated;
    std::function<std::vector<PodWithIgnored>()> ignored;
    /// Past changes of the offer, the oldest first: which policy offered a device before.
    std::function<std::vector<status::PastChangePtr>()> past;
  };
  /// Nothing is looked at before start() or on_decided(), nothing told before permit(true).
  explicit NodeEvents(Surroundings around);
  void start() { look_later(); }
  void permit(bool writes) { writer_.permit(writes); }
  void on_decided();
  const reports::EventWriter& writer() const { return writer_; }

 private:
  void look_later();
  void look();
  std::string object_uid(const reports::PolicyRef& subject) const;

  const Surroundings around_;
  reports::ReportedEventFinder finder_;
  reports::EventWriter writer_;
  bool is_soon_ = false;
  reactor::Ticket timer_;
  std::vector<PodWithIgnored> ignored_;  // at the last look
  std::unique_ptr<reactor::Job> job_;
};

/// Of devices that claims have, those that the decision does not offer, with cause and holder: "DeviceExposurePolicy x
/// (generation 2) does not select it any more; claim ns/name (pod a) has it".
/// past: names the policy that offered the device before, where none speaks of it now. Pure: on a worker.
reports::WithdrawnInUse withdrawn_in_use(const policy::Decision& decision, const AllocatedDevices& allocated,
                                         const std::vector<status::PastChangePtr>& past);

}  // namespace sliced::cli
