#pragma once
// What one driver offers on this node: its publisher, what the server has refused of it, and what is said of
// it. The daemon has one for each driver, and they are alike: what differs is in the pools.
//
// Ownership: ports outlive this.
// Reentry:   on_refused, and the publisher's other handlers, may set and await what is desired.
// Log:       what an offer gains, loses and changes, once per decision that does so.
#include <functional>
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

class Offer {
 public:
  /// The publisher's, but that what is refused is kept here, and only told.
  struct Handlers {
    std::function<void()> on_refused;
    std::function<void(const std::set<publishers::ServerFeature>&)> on_lost;
    std::function<void(const std::set<std::string>& unsettled)> on_settled;
    std::function<void(const kube::ResourceSlice&)> on_adopted;
  };
  /// Of the decision that pools come from, for the log.
  struct Origin {
    std::string why;
    size_t devices = 0, policies = 0;
    bool is_first = false;  // there was none before, so it is said even if nothing is offered
  };

  Offer(kube::Ports ports, std::string driver, Handlers handlers);
  Offer(const Offer&) = delete;

  using Item = watchers::SliceWatcher::Item;
  using Event = SourceEvent<Item>;
  /// Takes in what the source of its slices says. Returns those that it showed, as they are observed now:
  /// entries in them may be new to us. Valid until the next call to the publisher.
  /// A slice that cannot be decoded is one all the same, known by name (publishers::unread_slice).
  std::vector<const kube::ResourceSlice*> apply(const Event& event);

  const std::string& driver() const { return driver_; }
  const publishers::Publisher& publisher() const { return publisher_; }
  publishers::Publisher& publisher() { return publisher_; }

  /// A slice of ours is there; what others write in our name is none.
  bool is_there(const std::string& node) const;

  /// Entries that the server refused, or stored without one of their fields: not offered as they are.
  const policy::QuarantinedEntries& quarantine() const { return quarantine_; }
  /// They are tried again; true when there were some.
  bool empty_quarantine();

  /// What was desired last, also while the Node is away.
  const std::vector<policy::DesiredPool>& desired_last() const;
  /// The Node is gone, and with it the slices (owner reference); its successor gets new ones.
  void forsake();
  /// Ends put_off(). node: whose slices they are, and who owns them.
  void set_desired(std::vector<policy::DesiredPool> pools, publishers::NodeIdentity node);
  /// What is desired is not to be published yet.
  /// The publisher awaits: it writes nothing, and takes nothing back either.
  void put_off();
  bool is_put_off() const { return is_put_off_; }
  /// The difference of these pools from the desired ones; nullopt where there is none, unless this is the first decision.
  std::optional<policy::OfferDifference> difference(const std::vector<policy::DesiredPool>& pools,
                                                    bool is_first) const;
  /// Logs the difference, with at most eight names of each sort. pools: the new ones.
  void log(const policy::OfferDifference& difference, const std::vector<policy::DesiredPool>& pools,
           const Origin& origin) const;

 private:
  Log& log_;
  const std::string driver_;
  policy::QuarantinedEntries quarantine_;
  std::vector<policy::DesiredPool> before_gap_;  // while nothing is desired: what was
  bool is_put_off_ = false;
  publishers::Publisher publisher_;
};

}  // namespace sliced::daemon
