#pragma once
// What happens on this node that is worth an event, found in the running daemon and told by an EventWriter.
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "daemon/daemon.h"
#include "kube/ports.h"
#include "reactor/executor.h"
#include "reports/event_writer.h"
#include "reports/happening.h"

namespace sliced::cli {

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
    /// Devices that claims are known to have, by PCI address or interface name: "ns/name" of the claim; "" not known.
    std::function<std::map<std::string, std::string>()> allocated;
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
  std::string policy_uid(const reports::PolicyRef& policy) const;

  const Surroundings around_;
  reports::HappeningFinder finder_;
  reports::EventWriter writer_;
  bool is_soon_ = false;
  reactor::Ticket timer_;
  std::unique_ptr<reactor::Job> job_;
};

/// Of devices that claims have, those that the decision does not offer: "claim ns/name; excluded".
/// One that is not on the host any more: "claim ns/name; it is gone". Pure: on a worker.
reports::WithdrawnInUse withdrawn_in_use(const policy::Decision& decision,
                                         const std::map<std::string, std::string>& allocated);

}  // namespace sliced::cli
