#include "daemon/admin_macs.h"

#include <algorithm>
#include <utility>

namespace sliced::daemon {

AdminMacs::AdminMacs(AdminMacPorts ports, Handlers handlers)
    : ports_(std::move(ports)), handlers_(std::move(handlers)) {}

void AdminMacs::take(std::vector<policy::MissingMac> missing, const hotplug::Inventory& host) {
  due_.clear();
  ticket_.reset();
  if (is_denied_) return;
  const TimePoint now = ports_.scheduler.now();
  auto due = attempts_.due(std::move(missing), host, now);
  due_.assign(std::make_move_iterator(due.begin()), std::make_move_iterator(due.end()));
  if (const auto next = attempts_.next())
    ticket_ = ports_.scheduler.after(std::max(Millis{0}, *next - now), [this] { handlers_.on_due(); });
  if (!job_) begin_next();
}

void AdminMacs::begin_next() {
  while (!due_.empty() && (hung_.contains(due_.front().pf) || handlers_.is_in_use(due_.front().vf)))
    due_.pop_front();
  if (due_.empty()) return;
  const policy::MissingMac what = std::move(due_.front());
  due_.pop_front();
  attempts_.begin(what.vf, ports_.scheduler.now());
  auto outcome = std::make_shared<Result<policy::MacOutcome>>(policy::MacOutcome::kFactsChanged);
  job_ = ports_.executor.run(
      [outcome, set = ports_.set, what] { *outcome = set(what); }, kSetMax,
      [this, outcome, what](bool finished) {
        const auto own_job = std::move(job_);  // keeps this function alive until it returns
        // An abandoned worker may still write there.
        if (finished) return end(what, *outcome);
        hung_.insert(what.pf);
        end(what,
            Error{Errc::kTimeout, "the kernel gives no answer within " + std::to_string(kSetMax.count()) +
                                      " ms; its PF is left alone until a restart"});
      });
}

void AdminMacs::end(const policy::MissingMac& what, const Result<policy::MacOutcome>& outcome) {
  if (!outcome) {
    fail(what, outcome.error());
  } else if (*outcome == policy::MacOutcome::kFactsChanged) {
    attempts_.forget(what.vf);
  } else {
    attempts_.has(what.vf);
    if (*outcome == policy::MacOutcome::kSet)
      ports_.log.info("administrative MAC address set", {{"vf", what.vf},
                                                         {"pf", what.pf.text()},
                                                         {"pf_interface", what.pf_name},
                                                         {"index", what.index},
                                                         {"mac", what.mac},
                                                         {"interface", what.interface},
                                                         {"asked_by", what.asked_by}});
    handlers_.on_set(what.pf);
  }
  begin_next();
}

void AdminMacs::fail(const policy::MissingMac& what, const Error& why) {
  if (why.code == Errc::kDenied) {
    is_denied_ = true;
    due_.clear();
    return ports_.log.warning(
        "administrative MAC addresses not set: permission denied",
        {{"vf", what.vf},
         {"why", why.what},
         {"remedy",
          "grant CAP_NET_ADMIN (configure.conf of systemd, value configure of the chart), or remove --configure"}});
  }
  ports_.log.warning("administrative MAC address not set: will not retry", {{"vf", what.vf},
                                                                            {"pf", what.pf.text()},
                                                                            {"index", what.index},
                                                                            {"mac", what.mac},
                                                                            {"asked_by", what.asked_by},
                                                                            {"why", why.what}});
}

}  // namespace sliced::daemon
