#include "kubelet/interfaces/native_interface.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "kubelet/cni/result.h"
#include "kubelet/host_link.h"
#include "kubelet/link_network.h"
#include "kubelet/native_vf.h"
#include "kubelet/vf_of_pf.h"
#include "reactor/base/text.h"
#include "reactor/child.h"
#include "reactor/descriptor.h"

namespace sliced::kubelet {
namespace {

using kube::Json;

constexpr uint32_t kIpv6Priority = 1'024;  // IP6_RT_PRIO_USER, where a route names none

// What stands in the records, as native_config() writes it.
Result<NativeOrder> order_of(const cni::Network& network, const cni::Attachment& attachment) {
  const Json& config = network.plugins.front().config;
  NativeOrder out{.network_namespace = attachment.network_namespace,
                  .interface = attachment.interface,
                  .pci = attachment.device,
                  .host_interface = std::string(config.text("hostInterface")),
                  .network = {}};
  const auto number_of = [](const Json& value, std::string_view key) {
    const Json* at = value.find(key);
    return at != nullptr && at->integer() != nullptr ? static_cast<int>(*at->integer()) : 0;
  };
  out.network.mtu = number_of(config, "mtu");
  out.network.mac = config.text("mac");
  auto vf = decode_native_vf(config, "network");
  if (!vf) return std::move(vf.error());
  out.network.vf = *std::move(vf);
  const auto each = [&](const char* key, const auto& visit) {
    const Json* list = config.find({"ipam", key});
    if (list != nullptr && list->array() != nullptr)
      for (const Json& one : *list->array()) visit(one);
  };
  each("addresses", [&](const Json& one) { out.network.addresses.emplace_back(one.text("address")); });
  each("routes", [&](const Json& one) {
    out.network.routes.push_back({.destination = std::string(one.text("dst")),
                                  .gateway = std::string(one.text("gw")),
                                  .priority = number_of(one, "priority")});
  });
  return out;
}

// The pod's, open. Never the host's: an interface that was "moved" there would be configured for a pod on the host.
Result<reactor::Descriptor> open_pods(const std::string& path) {
  reactor::Descriptor pods(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!pods)
    return Error{Errc::kNotFound, "the pod's network namespace cannot be opened: its sandbox has ended"};
  const reactor::Descriptor own(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
  struct stat there{}, here{};
  if (!own || ::fstat(pods.get(), &there) != 0 || ::fstat(own.get(), &here) != 0)
    return Error{Errc::kIo, "the network namespaces of pod and host cannot be compared"};
  if (::ioctl(pods.get(), NS_GET_NSTYPE) != CLONE_NEWNET)
    return Error{Errc::kInvalid, "the pod's network namespace is another kind of file"};
  if (there.st_dev == here.st_dev && there.st_ino == here.st_ino)
    return Error{Errc::kInvalid,
                 "the pod's network namespace is the host's: leave out hostNetwork, or network"};
  return pods;
}

// A function with several ports has several interfaces; before Linux 5.14 the kernel does not name the function.
const HostLink* find_device(const std::vector<HostLink>& links, const NativeOrder& order,
                            const std::string& name) {
  const auto find = [&](const auto& is_it) -> const HostLink* {
    const auto at = std::find_if(links.begin(), links.end(), is_it);
    return at == links.end() ? nullptr : &*at;
  };
  const auto has_name = [&](const HostLink& link) { return link.name == name; };
  if (order.pci.empty())
    return find([&](const HostLink& link) { return has_name(link) && link.parent.empty(); });
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

// A PF that enforces an address refuses another one of the VF's interface: then the PF gets it first.
Result<Unit> set_mac_of_link(const NativeOrder& order, const NativeKernel& kernel, const HostLink& link) {
  auto set = change_link(kOwnNamespace, link.ifindex, {.mac = order.network.mac});
  const auto vf = set || order.pci.empty() ? Result<VfOfInterface>(Error{Errc::kNotFound, ""})
                                           : kernel.find_vf(order.pci);
  if (set || !vf) return set;
  if (auto given = apply_vf_settings(kernel.vf_settings, *vf, {.mac = order.network.mac}); !given) {
    set.error().what += "; " + given.error().what;
    return set;
  }
  return change_link(kOwnNamespace, link.ifindex, {.mac = order.network.mac});
}

// Before the interface moves: an interface that cannot have its settings never reaches the pod's network.
Result<Unit> set_vf(const NativeOrder& order, const NativeKernel& kernel) {
  if (order.network.vf == hotplug::VfConfig{}) return Unit{};
  const auto vf = kernel.find_vf(order.pci);
  return vf ? apply_vf_settings(kernel.vf_settings, *vf, order.network.vf) : vf.error();
}

Result<Unit> move_to_pod(int pods, const NativeOrder& order, const NativeKernel& kernel,
                         const HostLink& link) {
  const auto in_pod = read_links(pods);
  if (!in_pod) return in_pod.error();
  for (const HostLink& one : *in_pod) {
    const auto& names = one.alternative_names;
    if (one.name == order.interface || std::find(names.begin(), names.end(), order.interface) != names.end())
      return Error{Errc::kConflict, "the pod has an interface " + in_quotes(order.interface, 64) +
                                        " already: set another ifName in the VfConfig"};
  }
  if (link.is_up)
    if (auto down = change_link(kOwnNamespace, link.ifindex, {.up = false}); !down) return down;
  if (order.network.mtu != 0 && order.network.mtu != link.mtu)
    if (auto set = change_link(kOwnNamespace, link.ifindex, {.mtu = order.network.mtu}); !set)
      return std::move(set.error()).in("network.mtu " + std::to_string(order.network.mtu));
  if (!order.network.mac.empty() && order.network.mac != link.mac)
    if (auto set = set_mac_of_link(order, kernel, link); !set)
      return std::move(set.error()).in("network.mac " + order.network.mac);
  return change_link(kOwnNamespace, link.ifindex, {.name = order.interface, .to_namespace = pods});
}

Result<Unit> configure(int pods, const NativeOrder& order, int ifindex) {
  if (auto up = change_link(pods, ifindex, {.up = true}); !up)
    return std::move(up.error()).in("set the interface up");
  const auto before = read_link_addresses(pods);
  if (!before) return before.error();
  for (const std::string& address : order.network.addresses) {
    const LinkAddress wanted{ifindex, address};
    if (std::find(before->begin(), before->end(), wanted) != before->end()) continue;
    if (auto added = add_address(pods, wanted); !added)
      return std::move(added.error()).in("network.addresses");
  }
  const auto routes = read_routes(pods);
  if (!routes) return routes.error();
  for (const NativeRoute& route : order.network.routes) {
    LinkRoute wanted{ifindex, route.destination, route.gateway, static_cast<uint32_t>(route.priority)};
    if (auto added = add_route(pods, wanted); !added) {
      const bool is_ipv6 = route.destination.find(':') != std::string::npos;
      if (is_ipv6 && wanted.priority == 0) wanted.priority = kIpv6Priority;
      const auto now = read_routes(pods);
      if (added.error().code == Errc::kConflict && now &&
          std::find(now->begin(), now->end(), wanted) != now->end())
        continue;
      if (added.error().code == Errc::kConflict)
        return std::move(added.error())
            .in("network.routes: another interface of the pod has this route; leave it out, or set another priority");
      return std::move(added.error()).in("network.routes");
    }
  }
  return Unit{};
}

Error not_as_set(const std::string& field, const std::string& is, const std::string& expected) {
  return {Errc::kIo, field + " is " + in_quotes(is, 64) + " after it was set to " + in_quotes(expected, 64)};
}

Result<HostLink> read_back(int pods, const NativeOrder& order, int ifindex) {
  auto link = link_in(pods, ifindex);
  if (!link) return link;
  if (link->name != order.interface) return not_as_set("ifName", link->name, order.interface);
  if (!link->is_up) return not_as_set("the interface's state", "down", "up");
  if (order.network.mtu != 0 && link->mtu != order.network.mtu)
    return not_as_set("network.mtu", std::to_string(link->mtu), std::to_string(order.network.mtu));
  if (!order.network.mac.empty() && link->mac != order.network.mac)
    return not_as_set("network.mac", link->mac, order.network.mac);
  const auto addresses = read_link_addresses(pods);
  if (!addresses) return addresses.error();
  for (const std::string& address : order.network.addresses)
    if (std::find(addresses->begin(), addresses->end(), LinkAddress{ifindex, address}) == addresses->end())
      return not_as_set("network.addresses", "not there", address);
  const auto routes = read_routes(pods);
  if (!routes) return routes.error();
  for (const NativeRoute& route : order.network.routes)
    if (std::none_of(routes->begin(), routes->end(), [&](const LinkRoute& one) {
          return one.ifindex == ifindex && one.destination == route.destination &&
                 one.gateway == route.gateway &&
                 (route.priority == 0 || one.priority == static_cast<uint32_t>(route.priority));
        }))
      return not_as_set("network.routes", "not there", route.destination);
  return link;
}

cni::Attached result_of(const NativeOrder& order, const HostLink& link) {
  cni::Attached out{.cni_version = "1.1.0",
                    .interfaces = {{.name = order.interface,
                                    .mac = link.mac,
                                    .sandbox = order.network_namespace,
                                    .mtu = link.mtu,
                                    .socket_path = "",
                                    .pci_id = order.pci}},
                    .ips = {},
                    .routes = {},
                    .dns = {}};
  for (const std::string& address : order.network.addresses)
    out.ips.push_back({.interface = 0, .address = address, .gateway = ""});
  for (const NativeRoute& route : order.network.routes) {
    cni::Route one;
    one.destination = route.destination, one.gateway = route.gateway, one.priority = route.priority;
    out.routes.push_back(std::move(one));
  }
  return out;
}

class NativeRun final : public cni::Run {
 public:
  NativeRun(reactor::Loop& loop, std::vector<std::string> program, const Result<NativeOrder>& order,
            bool is_add, Millis deadline, cni::OnRun on_run)
      : deadline_(deadline), on_run_(std::move(on_run)) {
    if (!is_add || !order) {
      end(loop, is_add ? Result<cni::Attached>(order.error()) : cni::Attached{});
      return;
    }
    auto child = reactor::Child::start(loop,
                                       {.argv = std::move(program),
                                        .env = std::nullopt,
                                        .input = encode_native_order(*order),
                                        .deadline = deadline,
                                        .kill_after = Millis{200},
                                        .output_bytes_max = cni::kResultBytesMax},
                                       [this](const reactor::ChildResult& ended) { take(ended); });
    if (child)
      child_ = *std::move(child);
    else
      end(loop, Error{Errc::kDenied,
                      "network: the program that attaches cannot be started: " + child.error().what});
  }

 private:
  void take(const reactor::ChildResult& ended) {
    const auto call = std::exchange(on_run_, nullptr);
    if (ended.timed_out)
      return call(
          Error{Errc::kTimeout, "network: not done within " + std::to_string(deadline_.count()) + " ms"});
    if (!ended.ok())
      return call(
          Error{Errc::kIo,
                "network: " + (ended.err.empty() ? std::string("the program that attaches has ended early")
                                                 : printable(trim(ended.err), 1'024))});
    call(cni::decode_result(ended.out, "1.1.0"));  // last statement: *this may be gone
  }

  void end(reactor::Loop& loop, Result<cni::Attached> outcome) {
    next_ = loop.scheduler().after(
        Millis{0}, [call = std::exchange(on_run_, nullptr), outcome = std::move(outcome)] { call(outcome); });
  }

  const Millis deadline_;
  cni::OnRun on_run_;
  std::unique_ptr<reactor::Child> child_;
  reactor::Ticket next_;
};

}  // namespace

std::string encode_native_order(const NativeOrder& order) {
  return kube::encode_json(Json::Object{{"networkNamespace", order.network_namespace},
                                        {"interface", order.interface},
                                        {"pci", order.pci},
                                        {"hostInterface", order.host_interface},
                                        {"network", encode_native_network(order.network)}});
}

Result<NativeOrder> decode_native_order(std::string_view text) {
  const auto json = kube::decode_json(text);
  if (!json) return json.error();
  const Json* network = json->find("network");
  if (network == nullptr) return Error{Errc::kInvalid, "network is missing"};
  auto decoded = decode_native_network(*network, "network");
  if (!decoded) return std::move(decoded.error());
  return NativeOrder{.network_namespace = std::string(json->text("networkNamespace")),
                     .interface = std::string(json->text("interface")),
                     .pci = std::string(json->text("pci")),
                     .host_interface = std::string(json->text("hostInterface")),
                     .network = *std::move(decoded)};
}

NativeKernel running_native_kernel() {
  return {.find_vf = [](const std::string& pci) -> Result<VfOfInterface> {
            const auto view = hotplug::open_host_view("/");
            return view ? find_vf(**view, pci) : view.error();
          },
          .vf_settings = running_vf_settings_kernel()};
}

Result<cni::Attached> attach_native(const NativeOrder& order, const NativeKernel& kernel) {
  auto opened = open_pods(order.network_namespace);
  if (!opened) return std::move(opened.error());
  const int pods = opened->get();
  auto in_pod = read_links(pods);
  if (!in_pod) return std::move(in_pod.error());
  if (auto set = set_vf(order, kernel); !set)
    return std::move(set.error()).in("device " + order.pci + ": network");
  const HostLink* link = order.pci.empty() ? nullptr : find_device(*in_pod, order, order.interface);
  if (link == nullptr || (!order.pci.empty() && link->parent != order.pci)) {
    const auto on_host = read_links(kOwnNamespace);
    if (!on_host) return on_host.error();
    const HostLink* own = find_device(*on_host, order, order.host_interface);
    if (own == nullptr)
      return Error{Errc::kNotFound, "interface " + in_quotes(order.host_interface, 64) +
                                        (order.pci.empty() ? "" : " of " + order.pci) +
                                        " is not on the host"};
    if (auto moved = move_to_pod(pods, order, kernel, *own); !moved)
      return std::move(moved.error()).in("interface " + escaped(own->name));
    in_pod = read_links(pods);
    if (!in_pod) return std::move(in_pod.error());
    // The pod's containers have not started: the name is the one that it was moved under.
    const auto at = std::find_if(in_pod->begin(), in_pod->end(),
                                 [&](const HostLink& one) { return one.name == order.interface; });
    link = at == in_pod->end() ? nullptr : &*at;
  }
  if (link == nullptr) return Error{Errc::kIo, "the interface is not in the pod after it was moved"};
  const int ifindex = link->ifindex;
  const std::string who = "interface " + escaped(order.interface) + " in the pod";
  if (auto configured = configure(pods, order, ifindex); !configured)
    return std::move(configured.error()).in(who);
  const auto final_link = read_back(pods, order, ifindex);
  if (!final_link) return Error(final_link.error()).in(who);
  return result_of(order, *final_link);
}

std::unique_ptr<cni::Run> run_native(reactor::Loop& loop, std::vector<std::string> program,
                                     const cni::Network& network, cni::Command command,
                                     const cni::Attachment& attachment, Millis deadline, cni::OnRun on_run) {
  return std::make_unique<NativeRun>(loop, std::move(program), order_of(network, attachment),
                                     command == cni::Command::kAdd, deadline, std::move(on_run));
}

}  // namespace sliced::kubelet
