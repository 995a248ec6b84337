#pragma once
// The offer of one driver on this node: its publisher, the entries that the server refused, and the log. The
// daemon has one for each driver; they differ only in their pools.
// Ownership: ports and events outlive this object.
// Reentry: events may call set_desired() and defer().
// Log: added, removed and changed entries, once per decision with a difference.
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "policy/decision.h"
#include "policy/offer_change.h"
#include "publishers/publisher.h"
#include "reactor/base/log.h"
#include "reactor/base/source_event.h"
#include "watchers/slice_watcher.h"

namespace sliced::daemon {

/// Events of a publisher, as in publishers::Publisher::Handlers. Called on turns of the loop; Daemon
/// implements it.
class PoolEvents {
 public:
  /// The quarantine has changed.
  virtual void on_refused() = 0;
  virtual void on_lost(const std::set<publishers::ServerFeature>& lost) = 0;
  virtual void on_settled(const std::string& driver, const std::set<std::string>& unsettled) = 0;
  virtual void on_adopted(const kube::ResourceSlice& slice) = 0;

 protected:
  ~PoolEvents() = default;
};

class PoolPublisher {
 public:
  /// The decision behind the pools, for the log.
  struct Origin {
    std::string why;
    size_t devices = 0, policies = 0;
    bool is_first = false;  // the first decision, which is logged even if nothing is offered
  };

  /// Writes nothing before publisher().permit(true).
  PoolPublisher(kube::ClusterPorts ports, std::string driver, PoolEvents& events);
  PoolPublisher(const PoolPublisher&) = delete;

  using Item = watchers::SliceWatcher::Item;
  using Event = SourceEvent<Item>;
  /// Applies an event of the source of its slices. Returns the slices in it, as they are observed now: they
  /// may contain unknown entries. Valid until the next call to the publisher. A slice that cannot be decoded
  /// is included by its name (publishers::unread_slice).
  std::vector<const kube::ResourceSlice*> apply(const Event& event);

  const std::string& driver() const { return driver_; }
  const publishers::Publisher& publisher() const { return publisher_; }
  publishers::Publisher& publisher() { return publisher_; }

  /// Returns whether a slice of this node exists; slices by others under this driver do not count.
  bool is_there(const std::string& node) const;

  /// Entries that the server refused, or stored without one of their fields: not offered unchanged.
  const policy::QuarantinedEntries& quarantine() const { return quarantine_; }
  /// Empties the quarantine, so that entries are retried; returns whether there were any.
  bool empty_quarantine();

  /// Returns the last desired pools, also while the Node does not exist.
  const std::vector<policy::DesiredPool>& desired_last() const;
  /// The Node was deleted, and its slices with it (owner reference); a new Node gets new ones.
  void on_node_deleted();
  /// Ends defer(). node: the slices' node and owner.
  void set_desired(std::vector<policy::DesiredPool> pools, publishers::NodeIdentity node);
  /// The desired pools are not to be published yet. The publisher writes and withdraws nothing.
  void defer();
  bool is_deferred() const { return is_deferred_; }
  /// Returns the difference of these pools from the desired ones; nullopt if there is none, unless this is
  /// the first decision.
  std::optional<policy::OfferDifference> difference(const std::vector<policy::DesiredPool>& pools,
                                                    bool is_first) const;
  /// Logs the difference, with at most eight names of each kind. pools: the new ones.
  void log(const policy::OfferDifference& difference, const std::vector<policy::DesiredPool>& pools,
           const Origin& origin) const;

 private:
  Log& log_;
  const std::string driver_;
  policy::QuarantinedEntries quarantine_;
  std::vector<policy::DesiredPool> before_gap_;  // the desired pools before the Node was deleted
  bool is_deferred_ = false;
  publishers::Publisher publisher_;
};

}  // namespace sliced::daemon
