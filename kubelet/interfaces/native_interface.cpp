#include "kubelet/interfaces/native_interface.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "kubelet/cni/result.h"
#include "kubelet/hardware.h"
#include "kubelet/host_link.h"
#include "kubelet/link_network.h"
#include "kubelet/native_vf.h"
#include "kubelet/netlink.h"
#include "kubelet/vf_of_pf.h"
#include "kubelet/virtual_link.h"
#include "reactor/base/text.h"
#include "reactor/child.h"
#include "reactor/descriptor.h"

namespace sliced::kubelet {
namespace {

using kube::Json;

constexpr uint32_t kIpv6Priority = 1'024;  // IP6_RT_PRIO_USER, for routes without a priority

// Returns the name of a port on the host. It depends only on the record, so DEL finds the port even if
// nothing else was created.
std::string host_end_of(const cni::Attachment& attachment) {
  return "slv" + hex(stable_hash(cni::record_name(attachment)), 16).substr(0, 12);
}

// Returns IFLA_INFO_KIND of a created interface.
std::string kind_of_type(const std::string& type) { return type == "bridgePort" ? "veth" : type; }

bool is_of_made_group(const HostLink& link) {
  const auto group = link.numbers.find("group");
  return group != link.numbers.end() && group->second == kVirtualLinkGroup;
}

// Opens the pod's network namespace. Refuses the host's: an interface "moved" there would be configured on
// the host.
Result<reactor::Descriptor> open_pods(const std::string& path) {
  reactor::Descriptor pods(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!pods)
    return Error{Errc::kNotFound, "the pod's network namespace cannot be opened: its sandbox has ended"};
  if (auto good = check_pod_namespace(pods.get()); !good) return std::move(good.error());
  if (::ioctl(pods.get(), NS_GET_NSTYPE) != CLONE_NEWNET)
    return Error{Errc::kInvalid, "the pod's network namespace is another kind of file"};
  return pods;
}

// A function with several ports has several interfaces; before Linux 5.14 the kernel does not name the
// function.
const HostLink* find_device(const std::vector<HostLink>& links, const NativeOrder& order,
                            const std::string& name) {
  const auto find = [&](const auto& is_it) -> const HostLink* {
    const auto at = std::find_if(links.begin(), links.end(), is_it);
    return at == links.end() ? nullptr : &*at;
  };
  const auto has_name = [&](const HostLink& link) { return link.name == name; };
  if (order.pci.empty())
    return find([&](const HostLink& link) { return has_name(link) && !has_pci_parent(link); });
  const auto is_of_function = [&](const HostLink& link) { return link.parent == order.pci; };
  if (const auto* both = find([&](const HostLink& link) { return is_of_function(link) && has_name(link); }))
    return both;
  if (const auto* function = find(is_of_function)) return function;
  return find(
      [&](const HostLink& link) { return has_name(link) && link.parent.empty() && link.kind.empty(); });
}

Result<HostLink> link_in(int network_namespace, int ifindex) {
  const auto links = read_links(network_namespace);
  if (!links) return links.error();
  for (const HostLink& link : *links)
    if (link.ifindex == ifindex) return link;
  return Error{Errc::kNotFound, "the interface has left the pod"};
}

uint32_t table_of(const NativeRoute& route) {
  return route.table == 0 ? kMainTable : static_cast<uint32_t>(route.table);
}

NetworkRule rule_of(const NativeRule& rule) {
  return {.source = rule.source,
          .destination = rule.destination,
          .table = static_cast<uint32_t>(rule.table),
          .priority = static_cast<uint32_t>(rule.priority),
          .is_ours = true};
}

template <class Item>
bool has(const std::vector<Item>& all, const Item& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

Error not_as_set(const std::string& field, const std::string& is, const std::string& expected) {
  return {Errc::kIo, field + " is " + in_quotes(is, 64) + " after it was set to " + in_quotes(expected, 64)};
}

// The kernel keeps times in its ticks, of 10 ms at most, and rounds them up.
bool is_as_set(const NativeSysctl& sysctl, const std::string& now) {
  constexpr int64_t kTickMax = 10;
  if (now == sysctl.value) return true;
  const auto is = parse_int(now), expected = parse_int(sysctl.value);
  return sysctl.name.ends_with("_ms") && is && expected && *is > *expected && *is - *expected < kTickMax;
}

// One attachment in the pod's namespace, step by step.
class NativeAttaching {
 public:
  NativeAttaching(int pods, const NativeOrder& order, const NativeKernel& kernel)
      : pods_(pods), order_(order), network_(order.network), kernel_(kernel) {}

  /// The name was read at prepare. A function that is created or bound again gets the next free name, and
  /// another function may have the old one.
  Result<Unit> check_rdma() const {
    if (network_.rdma.empty() || order_.hardware().empty()) return Unit{};
    return check_owner("RDMA device", order_.rdma_device, kernel_.rdma.function_of(order_.rdma_device));
  }

  /// link: the interface that will be moved, or on which one is created.
  Result<Unit> check_link(const HostLink& link) const {
    if (order_.hardware().empty() || !kernel_.hardware_of_interface) return Unit{};
    const std::string owner = kernel_.hardware_of_interface(link.name);
    // The kernel itself names the function since Linux 5.14.
    if (owner.empty() && link.parent.empty())
      return Error{Errc::kNotFound, "it is not an interface of " + order_.hardware()};
    return check_owner("it", "", owner);
  }

  /// Before the interface moves: an interface that cannot have its settings never reaches the pod's network.
  Result<Unit> set_vf() const {
    if (network_.vf == hotplug::VfConfig{} || network_.creates_link()) return Unit{};
    const auto vf = kernel_.find_vf(order_.pci);
    if (!vf) return vf.error();
    say("vf");
    return apply_vf_settings(kernel_.vf_settings, *vf, network_.vf);
  }

  /// in_pod: the interfaces of the pod's namespace.
  Result<Unit> move(const HostLink& link, const std::vector<HostLink>& in_pod) const {
    if (auto good = check_name(in_pod); !good) return good;
    auto moved = set_and_move(link);
    if (!moved) restore_on_host(link);
    return moved;
  }

  /// Creates the pod's interface on that interface of the host.
  Result<Unit> make(const HostLink& parent, const std::vector<HostLink>& in_pod) const {
    if (auto good = check_name(in_pod); !good) return good;
    if (auto good = check_parent(parent); !good) return good;
    const bool is_port = network_.type == "bridgePort";
    say("make");
    if (auto made = make_link({.kind = kind_of_type(network_.type),
                               .name = order_.interface,
                               .lower = parent.ifindex,
                               .to_namespace = pods_,
                               .mtu = network_.mtu != 0 ? network_.mtu : parent.mtu,
                               .mac = network_.mac,
                               .macvlan_mode = network_.mode,
                               .vlan_id = network_.vf.vlan.value_or(0),
                               .is_8021ad = network_.vf.vlan_protocol == "802.1ad",
                               .host_end = order_.host_end,
                               .host_mtu = parent.mtu});
        !made)
      return made;
    return is_port ? add_port(parent) : Unit{};
  }

  /// Moves it after the interface, because the entries of the device's GID table depend on the interface's
  /// addresses.
  Result<Unit> move_rdma() const {
    if (network_.rdma.empty()) return Unit{};
    const auto is_exclusive = kernel_.rdma.is_exclusive();
    if (!is_exclusive) return is_exclusive.error();
    if (!*is_exclusive)
      return Error{Errc::kInvalid,
                   "each network namespace of this node has all RDMA devices: run rdma system set "
                   "netns exclusive, or leave out network.rdma"};
    const auto find = [&](int network_namespace) -> Result<std::optional<uint32_t>> {
      const auto all = kernel_.rdma.read(network_namespace);
      if (!all) return all.error();
      for (const RdmaDevice& one : *all)
        if (one.name == order_.rdma_device) return std::optional(one.index);
      return std::optional<uint32_t>();
    };
    const auto in_pod = find(pods_);
    if (!in_pod || *in_pod) return in_pod ? Unit{} : Result<Unit>(in_pod.error());
    const auto on_host = find(kOwnNamespace);
    if (!on_host) return on_host.error();
    if (!*on_host)
      return Error{Errc::kNotFound,
                   "RDMA device " + in_quotes(order_.rdma_device, 64) + " is not on the host"};
    say("rdma");
    if (auto moved = kernel_.rdma.move(kOwnNamespace, **on_host, pods_); !moved) return moved;
    const auto after = find(pods_);
    if (!after) return after.error();
    return *after ? Result<Unit>(Unit{}) : not_as_set("network.rdma", "not in the pod", order_.rdma_device);
  }

  /// ifindex: of the interface in the pod. Existing settings stay.
  Result<Unit> configure(int ifindex) const {
    for (const NativeSysctl& one : network_.sysctls)
      if (auto set = set_sysctl(one); !set) return std::move(set.error()).in("network.sysctls");
    if (auto up = change(pods_, ifindex, {.up = true}, "up"); !up)
      return std::move(up.error()).in("set the interface up");
    if (auto added = add_addresses(ifindex); !added) return added;
    // Routes without a gateway come first, because the kernel requires a route to the gateway of each other
    // one.
    for (const bool has_gateway : {false, true})
      for (const NativeRoute& route : network_.routes)
        if (route.gateway.empty() != has_gateway)
          if (auto added = add_one_route(ifindex, route); !added) return added;
    for (const NativeRule& rule : network_.rules)
      if (auto added = add_one_rule(rule_of(rule)); !added) return added;
    for (const NativeNeighbor& one : network_.neighbors) {
      say("neighbor");
      if (auto set = set_neighbor(pods_, {ifindex, one.address, one.mac}); !set)
        return std::move(set.error()).in("network.neighbors");
    }
    return Unit{};
  }

  Result<HostLink> read_back(int ifindex) const {
    auto link = link_in(pods_, ifindex);
    if (!link) return link;
    if (link->name != order_.interface) return not_as_set("ifName", link->name, order_.interface);
    if (!link->is_up) return not_as_set("the interface's state", "down", "up");
    if (network_.mtu != 0 && link->mtu != network_.mtu)
      return not_as_set("network.mtu", std::to_string(link->mtu), std::to_string(network_.mtu));
    if (!network_.mac.empty() && link->mac != network_.mac)
      return not_as_set("network.mac", link->mac, network_.mac);
    for (auto same : {read_back_addresses(ifindex), read_back_routes(ifindex), read_back_rules(),
                      read_back_neighbors(ifindex)})
      if (!same) return std::move(same.error());
    for (const NativeSysctl& one : network_.sysctls) {
      const auto now = read_sysctl(pods_, path_of_sysctl(one, order_.interface));
      if (!now) return Error(now.error()).in("network.sysctls");
      if (!is_as_set(one, *now)) return not_as_set("network.sysctls." + one.name, *now, one.value);
    }
    return link;
  }

 private:
  // what: the kind of device, such as "RDMA device". owner: its present owner; "" if unknown.
  Result<Unit> check_owner(const std::string& what, const std::string& name, const std::string& owner) const {
    if (owner.empty() || owner == order_.hardware()) return Unit{};
    return Error{Errc::kConflict, what + (name.empty() ? "" : " " + in_quotes(name, 64)) + " belongs to " +
                                      owner + " now, and the claim has " + order_.hardware() +
                                      ": delete the pod and its claim, so that the device is prepared again"};
  }
  void say(std::string_view step) const {
    if (kernel_.before_change) kernel_.before_change(step);
  }
  Result<Unit> change(int network_namespace, int ifindex, const LinkChange& wanted,
                      std::string_view step) const {
    say(step);
    return change_link(network_namespace, ifindex, wanted);
  }

  Result<Unit> set_and_move(const HostLink& link) const {
    if (link.is_up)
      if (auto down = change(kOwnNamespace, link.ifindex, {.up = false}, "down"); !down) return down;
    if (network_.mtu != 0 && network_.mtu != link.mtu)
      if (auto set = change(kOwnNamespace, link.ifindex, {.mtu = network_.mtu}, "mtu"); !set)
        return std::move(set.error()).in("network.mtu " + std::to_string(network_.mtu));
    if (!network_.mac.empty() && network_.mac != link.mac)
      if (auto set = set_mac(link); !set) return std::move(set.error()).in("network.mac " + network_.mac);
    // The kernel moves the interface first and renames it then, and refuses a name that is one of its
    // alternative names.
    if (has(link.alternative_names, order_.interface))
      if (auto removed = change(kOwnNamespace, link.ifindex, {.removed_name = order_.interface}, "altname");
          !removed)
        return removed;
    return change(kOwnNamespace, link.ifindex, {.name = order_.interface, .to_namespace = pods_}, "move");
  }

  // The kernel moves some interfaces never (those of bridges and bonds), and drivers refuse values: then the
  // host has its interface as before.
  void restore_on_host(const HostLink& before) const {
    const auto now = link_in(kOwnNamespace, before.ifindex);
    if (!now || now->parent != before.parent || now->kind != before.kind) return;
    if (now->mtu != before.mtu) (void)change(kOwnNamespace, before.ifindex, {.mtu = before.mtu}, "mtu");
    if (now->mac != before.mac) (void)change(kOwnNamespace, before.ifindex, {.mac = before.mac}, "mac");
    if (now->is_up != before.is_up) (void)change(kOwnNamespace, before.ifindex, {.up = before.is_up}, "up");
  }

  Result<Unit> check_parent(const HostLink& parent) const {
    const bool is_port = network_.type == "bridgePort";
    if (is_port && parent.kind != "bridge")
      return Error{Errc::kInvalid, "it is not a bridge of the kernel, which network.type bridgePort needs"};
    if (is_port && network_.vf.vlan.value_or(0) != 0 && !parent.is_vlan_filtering)
      return Error{Errc::kInvalid,
                   "it does not filter VLANs, which network.vlan needs: run ip link set dev " +
                       escaped(parent.name) + " type bridge vlan_filtering 1, or leave out network.vlan"};
    // The pods' interfaces would receive all frames that the driver passes on.
    if (!is_port && parent.is_promisc)
      return Error{Errc::kInvalid,
                   "it is in promiscuous mode, by which pods on it would get frames of others: run ip "
                   "link set dev " +
                       escaped(parent.name) + " promisc off"};
    if (!parent.is_up)
      return Error{Errc::kInvalid,
                   "it is down: set it up by ip link set dev " + escaped(parent.name) + " up"};
    if (network_.mtu > parent.mtu)
      return Error{Errc::kInvalid, "network.mtu is " + std::to_string(network_.mtu) + ", and its MTU is " +
                                       std::to_string(parent.mtu) + ": expected at most that"};
    return Unit{};
  }

  Result<Unit> add_port(const HostLink& bridge) const {
    const auto links = read_links(kOwnNamespace);
    if (!links) return links.error();
    const auto port = std::find_if(links->begin(), links->end(), [&](const HostLink& one) {
      return one.name == order_.host_end && is_of_made_group(one);
    });
    if (port == links->end()) return Error{Errc::kIo, "its new port is not on the host"};
    say("port");
    if (auto added = add_bridge_port(port->ifindex, bridge.ifindex); !added) return added;
    if (const int vlan = network_.vf.vlan.value_or(0); vlan != 0) {
      say("port vlan");
      if (auto set = set_port_vlan(port->ifindex, vlan, bridge.default_pvid); !set) return set;
    }
    return change(kOwnNamespace, port->ifindex, {.up = true}, "port up");
  }

  // A PF that enforces an address refuses another one of the VF's interface, so it is set at the PF first.
  Result<Unit> set_mac(const HostLink& link) const {
    const LinkChange wanted{.mac = network_.mac};
    auto set = change(kOwnNamespace, link.ifindex, wanted, "mac");
    const auto vf = set || order_.pci.empty() ? Result<VfOfInterface>(Error{Errc::kNotFound, ""})
                                              : kernel_.find_vf(order_.pci);
    if (set || !vf) return set;
    say("vf mac");
    if (auto given = apply_vf_settings(kernel_.vf_settings, *vf, {.mac = network_.mac}); !given) {
      set.error().what += "; " + given.error().what;
      return set;
    }
    return change(kOwnNamespace, link.ifindex, wanted, "mac");
  }

  Result<Unit> check_name(const std::vector<HostLink>& in_pod) const {
    for (const HostLink& one : in_pod)
      if (one.name == order_.interface || has(one.alternative_names, order_.interface))
        return Error{Errc::kConflict, "the pod has an interface " + in_quotes(order_.interface, 64) +
                                          " already: set another ifName in the VfConfig"};
    return Unit{};
  }

  Result<Unit> set_sysctl(const NativeSysctl& sysctl) const {
    const std::string path = path_of_sysctl(sysctl, order_.interface);
    const auto now = read_sysctl(pods_, path);
    if (!now) return now.error();
    if (is_as_set(sysctl, *now)) return Unit{};
    say("sysctl");
    return write_sysctl(pods_, path, sysctl.value);
  }

  Result<Unit> add_addresses(int ifindex) const {
    const auto before = read_link_addresses(pods_);
    if (!before) return before.error();
    for (const std::string& address : network_.addresses) {
      const bool is_there = std::any_of(before->begin(), before->end(), [&](const LinkAddress& one) {
        return one.ifindex == ifindex && one.address == address;
      });
      if (is_there) continue;
      say("address");
      if (auto added = add_address(pods_, {ifindex, address}, network_.waits_for_dad()); !added)
        return std::move(added.error()).in("network.addresses");
    }
    return network_.waits_for_dad() ? wait_for_dad(ifindex) : Unit{};
  }

  // The kernel waits up to router_solicitation_delay, and retrans_time_ms for each of dad_transmits
  // (addrconf_dad_kick()).
  Result<Unit> wait_for_dad(int ifindex) const {
    constexpr Millis kPollEach{5}, kTail{100};
    const auto ends = std::chrono::steady_clock::now() + Millis{order_.time_ms} - kTail;
    for (;; std::this_thread::sleep_for(kPollEach)) {
      const auto now = read_link_addresses(pods_);
      if (!now) return now.error();
      std::string waiting;
      for (const LinkAddress& one : *now) {
        const bool is_wanted = one.ifindex == ifindex && has(network_.addresses, one.address);
        if (is_wanted && one.is_duplicate)
          return Error{Errc::kConflict, "network.addresses: another station on the network has " +
                                            one.address + ": use another address"};
        if (is_wanted && one.is_tentative) waiting = one.address;
      }
      if (waiting.empty()) return Unit{};
      if (std::chrono::steady_clock::now() >= ends)
        return Error{Errc::kTimeout,
                     "network.duplicateAddressDetection is wait, and " + waiting +
                         " is still tentative after " + std::to_string(order_.time_ms) +
                         " ms: set router_solicitation_delay, dad_transmits or retrans_time_ms in "
                         "network.sysctls, raise the runtime's plugin_request_timeout, or leave wait out (an "
                         "interface without a carrier detects nothing)"};
    }
  }

  Result<Unit> add_one_route(int ifindex, const NativeRoute& route) const {
    LinkRoute wanted{ifindex, route.destination, route.gateway, static_cast<uint32_t>(route.priority),
                     table_of(route)};
    say("route");
    auto added = add_route(pods_, wanted);
    if (added) return added;
    const bool is_ipv6 = route.destination.find(':') != std::string::npos;
    if (is_ipv6 && wanted.priority == 0) wanted.priority = kIpv6Priority;
    const auto now = read_routes(pods_);
    if (added.error().code == Errc::kConflict && now && has(*now, wanted)) return Unit{};
    if (added.error().code == Errc::kConflict)
      return std::move(added.error())
          .in("network.routes: another interface of the pod has this route; leave it out, or set another priority");
    return std::move(added.error()).in("network.routes");
  }

  Result<Unit> add_one_rule(const NetworkRule& rule) const {
    const auto before = read_rules(pods_);
    if (!before) return before.error();
    if (has(*before, rule)) return Unit{};
    say("rule");
    auto added = add_rule(pods_, rule);
    if (added) return added;
    if (added.error().code != Errc::kConflict) return std::move(added.error()).in("network.rules");
    // Another network of the pod, which is attached at the same time, may have the same rule.
    if (const auto now = read_rules(pods_); now && has(*now, rule)) return Unit{};
    return std::move(added.error())
        .in("network.rules: the pod has this rule already; leave it out, or set another priority");
  }

  Result<Unit> read_back_addresses(int ifindex) const {
    const auto now = read_link_addresses(pods_);
    if (!now) return now.error();
    for (const std::string& address : network_.addresses)
      if (!has(*now, LinkAddress{ifindex, address}))
        return not_as_set("network.addresses", "not there", address);
    return Unit{};
  }
  Result<Unit> read_back_routes(int ifindex) const {
    const auto now = read_routes(pods_);
    if (!now) return now.error();
    for (const NativeRoute& route : network_.routes)
      if (std::none_of(now->begin(), now->end(), [&](const LinkRoute& one) {
            return one.ifindex == ifindex && one.destination == route.destination &&
                   one.gateway == route.gateway && one.table == table_of(route) &&
                   (route.priority == 0 || one.priority == static_cast<uint32_t>(route.priority));
          }))
        return not_as_set("network.routes", "not there", route.destination);
    return Unit{};
  }
  Result<Unit> read_back_rules() const {
    if (network_.rules.empty()) return Unit{};
    const auto now = read_rules(pods_);
    if (!now) return now.error();
    for (const NativeRule& rule : network_.rules)
      if (!has(*now, rule_of(rule)))
        return not_as_set("network.rules", "not there", "priority " + std::to_string(rule.priority));
    return Unit{};
  }
  Result<Unit> read_back_neighbors(int ifindex) const {
    if (network_.neighbors.empty()) return Unit{};
    const auto now = read_neighbors(pods_);
    if (!now) return now.error();
    for (const NativeNeighbor& one : network_.neighbors)
      if (!has(*now, LinkNeighbor{ifindex, one.address, one.mac}))
        return not_as_set("network.neighbors", "not there", one.address);
    return Unit{};
  }

  const int pods_;
  const NativeOrder& order_;
  const NativeNetwork& network_;
  const NativeKernel& kernel_;
};

cni::Attached result_of(const NativeOrder& order, const HostLink& link) {
  cni::Attached out{.cni_version = "1.1.0",
                    .interfaces = {{.name = order.interface,
                                    .mac = link.mac,
                                    .sandbox = order.network_namespace,
                                    .mtu = link.mtu,
                                    .socket_path = "",
                                    .pci_id = order.network.creates_link() ? "" : order.pci}},
                    .ips = {},
                    .routes = {},
                    .dns = {}};
  for (const std::string& address : order.network.addresses)
    out.ips.push_back({.interface = 0, .address = address, .gateway = ""});
  for (const NativeRoute& route : order.network.routes) {
    cni::Route one;
    one.destination = route.destination;
    one.gateway = route.gateway;
    one.priority = route.priority;
    out.routes.push_back(std::move(one));
  }
  return out;
}

class NativeRun final : public cni::Run {
 public:
  NativeRun(reactor::Loop& loop, std::vector<std::string> program, const cni::Place& place,
            const cni::Network& network, cni::Command command, const cni::Attachment& attachment,
            Millis deadline, cni::OnRun on_run)
      : loop_(loop),
        program_(std::move(program)),
        deadline_(deadline),
        ends_(loop.now() + deadline),
        on_run_(std::move(on_run)) {
    const bool is_add = command == cni::Command::kAdd;
    const auto ipam = command == cni::Command::kCheck ? std::nullopt : ipam_network_of(network);
    if (is_add) {
      auto order = native_order(network, attachment, deadline);
      if (!order) {
        end(std::move(order.error()));
        return;
      }
      order_ = *std::move(order);
    }
    if (ipam)
      ipam_ = cni::run_chain(loop, place, *ipam, command, attachment, std::nullopt, deadline,
                             [this, is_add](Result<cni::Attached> outcome) {
                               is_add ? take_addresses(std::move(outcome)) : finish(std::move(outcome));
                             });
    else if (is_add)
      attach();
    else
      end(cni::Attached{});
  }

 private:
  // An error of these codes says that nothing is to be undone (cni::run_chain()).
  Error failed(Error error) const {
    if (has_lease_ && (error.code == Errc::kDenied || error.code == Errc::kNotFound)) error.code = Errc::kIo;
    return error;
  }

  void take_addresses(Result<cni::Attached> outcome) {
    if (!outcome) return finish(std::move(outcome));
    has_lease_ = true;
    given_ = *std::move(outcome);
    auto network = with_ipam_result(order_.network, given_);
    if (!network)
      return finish(
          std::move(network.error()).in("network.ipam: the plugin returned values that cannot be set"));
    order_.network = *std::move(network);
    attach();
  }

  void attach() {
    const Millis left = std::chrono::duration_cast<Millis>(ends_ - loop_.now());
    if (left <= Millis{0}) return end(late());
    order_.time_ms = static_cast<int>(left.count());
    auto child = reactor::Child::start(loop_,
                                       {.argv = program_,
                                        .env = std::nullopt,
                                        .input = encode_native_order(order_),
                                        .deadline = left,
                                        .kill_after = Millis{200},
                                        .output_bytes_max = cni::kResultBytesMax},
                                       [this](const reactor::ChildResult& ended) { take(ended); });
    if (child)
      child_ = *std::move(child);
    else
      end(failed(
          {Errc::kDenied, "network: the program that attaches cannot be started: " + child.error().what}));
  }

  void take(const reactor::ChildResult& ended) {
    if (ended.timed_out) return finish(late());
    if (!ended.ok())
      return finish(
          Error{Errc::kIo,
                "network: " + (ended.err.empty() ? std::string("the program that attaches has ended early")
                                                 : printable(trim(ended.err), 1'024))});
    auto made = cni::decode_result(ended.out, "1.1.0");
    if (made) {
      made->dns = given_.dns;
      for (cni::Ip& ip : made->ips)
        for (const cni::Ip& one : given_.ips)
          if (one.address == ip.address) ip.gateway = one.gateway;
    }
    finish(std::move(made));
  }

  Error late() const {
    return {Errc::kTimeout, "network: not done within " + std::to_string(deadline_.count()) + " ms"};
  }

  void finish(Result<cni::Attached> outcome) {
    const auto call = std::exchange(on_run_, nullptr);
    call(std::move(outcome));  // last, because the owner drops this object
  }

  void end(Result<cni::Attached> outcome) {
    next_ = loop_.scheduler().after(
        Millis{0}, [this, outcome = std::move(outcome)]() mutable { finish(std::move(outcome)); });
  }

  reactor::Loop& loop_;
  const std::vector<std::string> program_;
  const Millis deadline_;
  const TimePoint ends_;
  cni::OnRun on_run_;
  NativeOrder order_;       // of ADD
  cni::Attached given_;     // by the IPAM plugin
  bool has_lease_ = false;  // its ADD has ended well
  std::unique_ptr<cni::Run> ipam_;
  std::unique_ptr<reactor::Child> child_;
  reactor::Ticket next_;
};

}  // namespace

Result<NativeOrder> native_order(const cni::Network& network, const cni::Attachment& attachment,
                                 Millis deadline) {
  const Json& config = network.plugins.front().config;
  auto wanted = network_of_config(config);
  if (!wanted) return std::move(wanted.error());
  const bool is_made = wanted->creates_link();
  const bool is_port = wanted->type == "bridgePort";
  return NativeOrder{.network_namespace = attachment.network_namespace,
                     .interface = attachment.interface,
                     .pci = is_made ? std::string(config.text("hostPCI")) : attachment.device,
                     .host_interface = std::string(config.text(is_port   ? "bridge"
                                                               : is_made ? "master"
                                                                         : "hostInterface")),
                     .host_end = is_port ? host_end_of(attachment) : "",
                     .rdma_device = std::string(config.text("rdmaDevice")),
                     .scalable_function = std::string(config.text("scalableFunction")),
                     .network = *std::move(wanted),
                     .time_ms = static_cast<int>(deadline.count())};
}

std::string encode_native_order(const NativeOrder& order) {
  return kube::encode_json(Json::Object{{"networkNamespace", order.network_namespace},
                                        {"interface", order.interface},
                                        {"pci", order.pci},
                                        {"hostInterface", order.host_interface},
                                        {"hostEnd", order.host_end},
                                        {"rdmaDevice", order.rdma_device},
                                        {"scalableFunction", order.scalable_function},
                                        {"timeMs", order.time_ms},
                                        {"network", encode_native_network(order.network)}});
}

Result<NativeOrder> decode_native_order(std::string_view text) {
  const auto json = kube::decode_json(text);
  if (!json) return json.error();
  const Json* network = json->find("network");
  if (network == nullptr) return Error{Errc::kInvalid, "network is missing"};
  auto decoded = decode_native_network(*network, "network");
  if (!decoded) return std::move(decoded.error());
  const Json* time = json->find("timeMs");
  if (time == nullptr || time->integer() == nullptr || !std::in_range<int>(*time->integer()))
    return Error{Errc::kInvalid, "timeMs is missing"};
  return NativeOrder{.network_namespace = std::string(json->text("networkNamespace")),
                     .interface = std::string(json->text("interface")),
                     .pci = std::string(json->text("pci")),
                     .host_interface = std::string(json->text("hostInterface")),
                     .host_end = std::string(json->text("hostEnd")),
                     .rdma_device = std::string(json->text("rdmaDevice")),
                     .scalable_function = std::string(json->text("scalableFunction")),
                     .network = *std::move(decoded),
                     .time_ms = static_cast<int>(*time->integer())};
}

NativeKernel running_native_kernel() {
  return {.find_vf = [](const std::string& pci) -> Result<VfOfInterface> {
            const auto view = hotplug::open_host_view("/");
            return view ? find_vf(**view, pci) : view.error();
          },
          .vf_settings = running_vf_settings_kernel(),
          .rdma = running_rdma_kernel(),
          .hardware_of_interface = [](const std::string& interface) -> std::string {
            const auto view = hotplug::open_host_view("/");
            return view ? hardware_of_interface(**view, interface) : "";
          }};
}

Result<cni::Attached> attach_native(const NativeOrder& order, const NativeKernel& kernel) {
  auto opened = open_pods(order.network_namespace);
  if (!opened) return std::move(opened.error());
  const int pods = opened->get();
  const NativeAttaching attaching(pods, order, kernel);
  auto in_pod = read_links(pods);
  if (!in_pod) return std::move(in_pod.error());
  if (auto good = attaching.check_rdma(); !good) return std::move(good.error()).in("network.rdma");
  if (auto set = attaching.set_vf(); !set)
    return std::move(set.error()).in("device " + order.pci + ": network");
  const bool is_made = order.network.creates_link();
  const HostLink* link =
      order.pci.empty() || is_made ? nullptr : find_device(*in_pod, order, order.interface);
  if (link == nullptr || (!order.pci.empty() && link->parent != order.pci)) {
    const auto on_host = read_links(kOwnNamespace);
    if (!on_host) return on_host.error();
    const HostLink* own = find_device(*on_host, order, order.host_interface);
    if (own == nullptr)
      return Error{Errc::kNotFound, "interface " + in_quotes(order.host_interface, 64) +
                                        (order.pci.empty() ? "" : " of " + order.pci) +
                                        " is not on the host"};
    if (auto good = attaching.check_link(*own); !good)
      return std::move(good.error()).in("interface " + escaped(own->name));
    if (auto moved = is_made ? attaching.make(*own, *in_pod) : attaching.move(*own, *in_pod); !moved)
      return std::move(moved.error()).in("interface " + escaped(own->name));
    in_pod = read_links(pods);
    if (!in_pod) return std::move(in_pod.error());
    // The pod's containers have not started, so the interface still has the name under which it was moved.
    const auto at = std::find_if(in_pod->begin(), in_pod->end(),
                                 [&](const HostLink& one) { return one.name == order.interface; });
    link = at == in_pod->end() ? nullptr : &*at;
  }
  if (link == nullptr) return Error{Errc::kIo, "the interface is not in the pod after it was moved"};
  const int ifindex = link->ifindex;
  if (auto moved = attaching.move_rdma(); !moved) return std::move(moved.error()).in("network.rdma");
  // All steps share one thread, because starting a thread takes long on a busy machine.
  Result<HostLink> configured = Error{Errc::kIo, "not configured"};
  const int error = in_namespace(pods, [&] {
    const auto done = attaching.configure(ifindex);
    configured = done ? attaching.read_back(ifindex) : Result<HostLink>(done.error());
  });
  if (error != 0) return netlink::error_of("enter the pod's network namespace", error);
  if (!configured)
    return std::move(configured.error()).in("interface " + escaped(order.interface) + " in the pod");
  return result_of(order, *configured);
}

std::unique_ptr<cni::Run> run_native(reactor::Loop& loop, std::vector<std::string> program,
                                     const cni::Place& place, const cni::Network& network,
                                     cni::Command command, const cni::Attachment& attachment, Millis deadline,
                                     cni::OnRun on_run) {
  return std::make_unique<NativeRun>(loop, std::move(program), place, network, command, attachment, deadline,
                                     std::move(on_run));
}

namespace {

// Returns nullopt if the attachment created no interface.
std::optional<NativeNetwork> made_network_of(const cni::Record& record) {
  const auto network = cni::decode_network(record.config, record.network);
  if (!network || !cni::is_native(*network)) return std::nullopt;
  const auto wanted = network_of_config(network->plugins.front().config);
  if (!wanted || !wanted->creates_link()) return std::nullopt;
  return *wanted;
}

const HostLink* find_made(const std::vector<HostLink>& links, const std::string& kind,
                          const std::string& name, int ifindex) {
  const auto at = std::find_if(links.begin(), links.end(), [&](const HostLink& one) {
    return one.kind == kind &&
           (ifindex != 0 ? one.ifindex == ifindex : one.name == name && is_of_made_group(one));
  });
  return at == links.end() ? nullptr : &*at;
}

Result<Unit> remove_made(const cni::Record& record, const NativeNetwork& network, int network_namespace) {
  const std::string kind = kind_of_type(network.type);
  const auto in_pod = read_links(network_namespace);
  if (!in_pod) return in_pod.error();
  if (const HostLink* made = find_made(*in_pod, kind, record.attachment.interface, record.made_ifindex))
    if (auto removed = remove_link(network_namespace, made->ifindex); !removed) return removed;
  if (network.type != "bridgePort") return Unit{};
  // Both ends of a veth end together, unless the pod has moved its own.
  const auto on_host = read_links(kOwnNamespace);
  if (!on_host) return on_host.error();
  const HostLink* port = find_made(*on_host, kind, host_end_of(record.attachment), 0);
  return port == nullptr ? Unit{} : remove_link(kOwnNamespace, port->ifindex);
}

}  // namespace

void record_created_interface(cni::Record& record, int network_namespace) {
  const auto network = made_network_of(record);
  const auto links = network ? read_links(network_namespace) : Error{Errc::kNotFound, ""};
  if (!links) return;
  if (const HostLink* made = find_made(*links, kind_of_type(network->type), record.attachment.interface, 0))
    record.made_ifindex = made->ifindex;
}

void record_rdma_index(cni::Record& record, const RdmaKernel& kernel) {
  const auto network = record.host_interface ? cni::decode_network(record.config, record.network)
                                             : Result<cni::Network>(Error{Errc::kNotFound, ""});
  if (!network || !cni::is_native(*network)) return;
  const std::string_view name = network->plugins.front().config.text("rdmaDevice");
  if (name.empty()) return;
  const auto all = kernel.read(kOwnNamespace);
  if (!all) return;
  for (const RdmaDevice& one : *all)
    if (one.name == name) {
      record.host_interface->rdma_device = name;
      record.host_interface->rdma_index = static_cast<int>(one.index);
    }
}

namespace {

Result<Unit> bring_rdma_back(const cni::HostInterface& before, int network_namespace,
                             const RdmaKernel& kernel) {
  if (before.rdma_index < 0) return Unit{};
  const auto in_pod = kernel.read(network_namespace);
  if (!in_pod) return in_pod.error();
  const auto index = static_cast<uint32_t>(before.rdma_index);
  const auto at =
      std::find_if(in_pod->begin(), in_pod->end(), [&](const RdmaDevice& one) { return one.index == index; });
  if (at == in_pod->end()) return Unit{};
  // Renamed before the move: on the host another device may have the name that the pod chose.
  if (at->name != before.rdma_device)
    if (auto renamed = kernel.rename(network_namespace, index, before.rdma_device); !renamed) return renamed;
  const reactor::Descriptor own(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!own) return Error{Errc::kIo, "open the network namespace of the host"};
  return kernel.move(network_namespace, index, own.get());
}

}  // namespace

Result<Unit> undo_native(const cni::Record& record, int network_namespace, const RdmaKernel& kernel) {
  const auto network = cni::decode_network(record.config, record.network);
  if (!network || !cni::is_native(*network)) return Unit{};
  const auto wanted = network_of_config(network->plugins.front().config);
  if (!wanted) return wanted.error();
  if (record.host_interface)
    if (auto back = bring_rdma_back(*record.host_interface, network_namespace, kernel); !back) return back;
  for (auto rule = wanted->rules.rbegin(); rule != wanted->rules.rend(); ++rule)
    if (auto removed = remove_rule(network_namespace, rule_of(*rule)); !removed)
      return std::move(removed.error());
  return wanted->creates_link() ? remove_made(record, *wanted, network_namespace) : Unit{};
}

}  // namespace sliced::kubelet
