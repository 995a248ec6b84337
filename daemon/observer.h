#pragma once
// Observers of a daemon: the kubelet plugin, the status pages, the reports to the cluster, the service
// manager's status.
#include <cassert>
#include <vector>

#include "policy/decision.h"
#include "policy/offer_change.h"

namespace sliced::daemon {

/// Called on the loop thread, in the order of subscription.
class Observer {
 public:
  /// After each decision. The observer may call the daemon, and must not subscribe.
  virtual void on_decided(const policy::Decision& decision) = 0;
  /// For each policy that changed the offer, before on_decided(): Daemon::decision() still returns the former
  /// decision.
  virtual void on_offer_change(const policy::OfferChange&) {}

 protected:
  ~Observer() = default;
};

class Observers {
 public:
  /// Ends the subscription when it is destroyed. REQUIRES: the daemon and the observer outlive it.
  class Subscription {
   public:
    Subscription(Observers& all, Observer& one) : all_(all), one_(one) { all_.list_.push_back(&one); }
    ~Subscription() { std::erase(all_.list_, &one_); }
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;

   private:
    Observers& all_;
    Observer& one_;
  };

  ~Observers() { assert(list_.empty()); }

  void decided(const policy::Decision& decision) const {
    for (Observer* one : list_) one->on_decided(decision);
  }
  void offer_changed(const policy::OfferChange& change) const {
    for (Observer* one : list_) one->on_offer_change(change);
  }

 private:
  std::vector<Observer*> list_;
};

using Subscription = Observers::Subscription;

}  // namespace sliced::daemon
