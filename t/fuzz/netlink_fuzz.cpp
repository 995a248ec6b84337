// Datagrams of rtnetlink and devlink: whatever lengths they claim.
#include "hotplug/netlink_decode.h"
#include "t/fuzz/fuzz.h"

namespace sliced::fuzz::netlink_target {

FUZZ_TARGET(netlink) {
  fuzz::Input input(data, size);
  const std::string datagram(input.rest);  // its end is the end of a heap block: a byte too far is seen
  if (const auto events = hotplug::decode_link_events(datagram); !events) fuzz::check(events.error());
  if (const auto configs = hotplug::decode_vf_configs(datagram); !configs)
    fuzz::check(configs.error());
  else
    for (const auto& [index, config] : *configs)
      fuzz::must(config.mac.size() == 17, "a MAC is twelve digits and colons", config.mac);
  std::map<int, hotplug::VfConfig> dumped;
  if (const auto last = hotplug::decode_vf_dump(datagram, 7, dumped); !last) fuzz::check(last.error());
  hotplug::Nexthops nexthops;
  if (const auto last = hotplug::decode_nexthops(datagram, nexthops); !last) fuzz::check(last.error());
  std::set<uint32_t> tables{254};
  if (const auto last = hotplug::decode_rule_tables(datagram, tables); !last) fuzz::check(last.error());
  std::set<hotplug::SubnetRoute> subnets;
  if (hotplug::decode_subnet_routes(datagram, tables, nexthops, subnets))
    (void)hotplug::links_beyond_subnets(subnets);
  std::vector<hotplug::DefaultRoute> routes;
  if (const auto last = hotplug::decode_default_routes(datagram, tables, nexthops, routes); !last)
    fuzz::check(last.error());
  fuzz::must(hotplug::links_of_best(routes).empty() == routes.empty(), "some route is the best", "");
  (void)hotplug::decode_route_of_address(datagram);
  (void)hotplug::decode_port_of_link(datagram);
  (void)hotplug::decode_family(datagram);
  if (const auto name = hotplug::decode_devlink_port_name(datagram, 21))
    fuzz::must(name->size() <= 64, "a port's name is short", *name);
  return 0;
}

}  // namespace sliced::fuzz::netlink_target
