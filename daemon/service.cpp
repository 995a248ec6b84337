#include "daemon/service.h"

#include <utility>

#include "policy/summary.h"
#include "reactor/base/text.h"

namespace sliced::daemon {
namespace {

constexpr Millis kLookAgain{200};  // until the first decision

}  // namespace

Service::Service(Process& process, reactor::ServiceAddress address, Daemon& daemon)
    : scheduler_(process.loop.scheduler()),
      daemon_(daemon),
      manager_(scheduler_, *process.log, std::move(address)) {}

void Service::start() {
  if (manager_.is_asked()) look();
}

void Service::on_decided(const policy::Decision&) {
  if (manager_.is_asked()) look();
}

void Service::on_writer() {
  is_writer_ = true;
  if (manager_.is_asked()) look();
}

void Service::look() {
  if (!manager_.is_ready() && daemon_.host_inventory()->version > 0) manager_.ready();
  manager_.status(status_line(daemon_, is_writer_));
  if (daemon_.decision() == nullptr)
    next_look_ = scheduler_.after(kLookAgain, [this] { look(); });
  else
    next_look_.reset();
}

std::string status_line(const Daemon& daemon, bool is_writer) {
  const policy::Decision* decision = daemon.decision();
  if (decision == nullptr) {
    const std::vector<std::string> awaited = daemon.waiting_for();
    return awaited.empty() ? "deciding" : "waiting for " + join(awaited, "; ");
  }
  return policy::describe(policy::summarize(*decision)) +
         (daemon.awaits_configuration().empty() ? ""
                                                : "; not configured yet: " + daemon.awaits_configuration()) +
         (is_writer ? "" : "; another process writes for this node");
}

}  // namespace sliced::daemon
