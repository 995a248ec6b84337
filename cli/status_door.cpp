#include "cli/status_door.h"

#include <unistd.h>

#include <ctime>
#include <utility>

#include "reactor/base/text.h"
#include "status/pages.h"

namespace sliced::cli {
namespace {

std::optional<reactor::net::Endpoint> endpoint_of(const std::string& address) {
  if (address.empty()) return std::nullopt;
  const size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  return reactor::net::Endpoint{host,
                                static_cast<uint16_t>(parse_int(address.substr(colon + 1)).value_or(0))};
}

status::Report::Driver driver_of(const daemon::Offer& offer) {
  const publishers::Publisher& publisher = offer.publisher();
  status::Report::Driver out{.name = offer.driver(),
                             .slices = publisher.observed().size(),
                             .is_settled = publisher.converged(),
                             .writes = publisher.writes(),
                             .failure = publisher.last_failure()};
  for (const policy::DesiredPool& pool : publisher.desired()) out.entries += pool.devices.size();
  return out;
}

}  // namespace

status::Report report_of(const daemon::Daemon& daemon) {
  status::Report out;
  const bool is_read = daemon.host_inventory()->version != 0;
  out.sources.push_back({.name = "host",
                         .state = is_read ? "live" : "starting",
                         .why = is_read ? "" : "being read",
                         .has_synced = is_read,
                         .is_of_cluster = false});
  daemon.for_each_source([&](const std::string& name, const watchers::Standing& standing) {
    out.sources.push_back({.name = name,
                           .state = std::string(watchers::describe(standing.state)),
                           .why = standing.why,
                           .has_synced = standing.known});
  });
  if (const policy::Decision* decision = daemon.decision())
    out.summary = policy::summarize(*decision);
  else
    out.waiting_for = daemon.waiting_for();
  out.is_serving = daemon.is_permitted();
  for (const daemon::Offer& offer : daemon.offers()) out.drivers.push_back(driver_of(offer));
  return out;
}

StatusDoor::StatusDoor(Process& process, const config::Options& options, const std::string& directory,
                       const daemon::Daemon& daemon, const NodeLocks& locks)
    : process_(process),
      options_(options),
      daemon_(daemon),
      locks_(locks),
      began_(process.loop.now()),
      door_({process.loop, *process.log, [] { return static_cast<int64_t>(std::time(nullptr)); }},
            {directory, options.pod_uid, endpoint_of(options.health_address)},
            status::serve_pages(status::status_pages([this] { return report(); }))) {}

status::Report StatusDoor::report() const {
  status::Report out = report_of(daemon_);
  out.version = SLICED_VERSION;
  out.node = options_.node_name;
  out.cluster = process_.cluster->describe();
  out.pod_uid = options_.pod_uid;
  out.pid = ::getpid();
  out.up = process_.loop.now() - began_;
  if (!out.is_serving)
    out.stands_by_for = locks_.acquired()         ? "it is read what pods have"
                        : locks_.holder().empty() ? "the lock of this driver and node"
                                                  : "another instance is active (" + locks_.holder() + ")";
  return out;
}

}  // namespace sliced::cli
