#include "kubelet/link_settings.h"

#include <linux/if_link.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "hotplug/facts.h"
#include "kubelet/mac_requests.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

constexpr size_t kKeptNamesMax = 16;  // of one interface that are kept
constexpr size_t kTextMax = 256;      // IFALIASZ
constexpr int kNameTriesMax = 3;      // udev may give it an alternative name meanwhile

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool can_be_kept(const std::string& text) { return text.size() <= kTextMax && is_utf8(text); }

const HostLink* link_at(const std::vector<HostLink>& links, int ifindex) {
  for (const HostLink& link : links)
    if (link.ifindex == ifindex) return &link;
  return nullptr;
}

// Another interface that has the name, also as an alternative one.
const HostLink* other_with_name(const std::vector<HostLink>& links, int ifindex, const std::string& name) {
  for (const HostLink& link : links)
    if (link.ifindex != ifindex && (link.name == name || is_among(link.alternative_names, name)))
      return &link;
  return nullptr;
}

std::string describe(const HostLink& link) {
  const std::string what = !link.parent.empty() ? ", device " + escaped(link.parent)
                           : !link.kind.empty() ? ", type " + escaped(link.kind)
                                                : "";
  return "interface " + escaped(link.name) + " (ifindex " + std::to_string(link.ifindex) + what + ")";
}

constexpr std::string_view kOnOff[] = {"arp", "multicast", "dynamic", "trailers", "debug", "protodown"};

// In the form of `ip link set`.
std::string number_text(const std::string& name, uint32_t number) {
  if (name == "mode") return number == 0 ? "default" : "dormant";
  const bool is_switch = std::find(std::begin(kOnOff), std::end(kOnOff), name) != std::end(kOnOff);
  return is_switch ? (number != 0 ? "on" : "off") : std::to_string(number);
}

// The kernel changes the IPv4 limits together with the general ones.
LinkNumbers with_those_set_too(const OriginalInterface& original, const std::string& name, uint32_t number) {
  LinkNumbers out{{name, number}};
  const std::string of_ipv4 = name == "gso_max_size"   ? "gso_ipv4_max_size"
                              : name == "gro_max_size" ? "gro_ipv4_max_size"
                                                       : "";
  if (const auto at = original.numbers.find(of_ipv4); at != original.numbers.end()) out.insert(*at);
  return out;
}

std::string mode_text(uint32_t mode) {
  return mode == XDP_FLAGS_SKB_MODE ? "xdpgeneric" : mode == XDP_FLAGS_HW_MODE ? "xdpoffload" : "xdpdrv";
}

// Restores exactly the former alternative names. Omits a name that another interface has.
std::string restore_alternative_names(const LinkKernel& kernel, const HostLink& link,
                                      const OriginalInterface& original) {
  std::string problem;
  const auto try_to = [&](const std::string& what, const LinkChange& change) {
    if (auto done = kernel.change(link.ifindex, change); !done)
      problem += (problem.empty() ? "" : "; ") + what + ": " + done.error().what;
  };
  for (const std::string& name : link.alternative_names) {
    const bool is_extra = original.alternative_names && !is_among(*original.alternative_names, name);
    if (is_extra || name == original.name)
      try_to("remove its alternative name " + escaped(name), {.removed_name = name});
  }
  for (const std::string& name : original.alternative_names.value_or(std::vector<std::string>{}))
    if (!is_among(link.alternative_names, name) && name != link.name)
      try_to("give it its alternative name " + escaped(name), {.added_name = name});
  return problem;
}

}  // namespace

OriginalInterface original_interface(const HostLink& link) {
  OriginalInterface out{.name = link.name,
                        .mac = decode_mac(link.mac).ok() ? link.mac : "",
                        .mtu = link.mtu,
                        .is_up = link.is_up,
                        .is_promisc = link.is_promisc,
                        .is_allmulti = link.is_allmulti,
                        .numbers = link.numbers,
                        .xdp = link.xdp};
  if (can_be_kept(link.alias)) out.alias = link.alias;
  if (!link.broadcast.empty()) out.broadcast = link.broadcast;
  const auto& names = link.alternative_names;
  if (names.size() <= kKeptNamesMax && std::all_of(names.begin(), names.end(), can_be_kept))
    out.alternative_names = names;
  return out;
}

std::string restore_name(const LinkKernel& kernel, const HostLink& link, const OriginalInterface& original) {
  const std::string differs = "interface name is " + escaped(link.name) + ", was " + original.name + ": ";
  const std::string remedy = "; then: ip link set " + escaped(link.name) + " down, ip link set " +
                             escaped(link.name) + " name " + original.name;
  const auto change = [&](const LinkChange& what) { return kernel.change(link.ifindex, what); };
  if (original.is_name_only && link.name != original.name && link.is_up)
    return differs + "it is up, and is not set down for a rename" + remedy;
  HostLink now = link;
  for (int tries = 1;; ++tries) {
    std::string names = restore_alternative_names(kernel, now, original);
    if (now.name == original.name) return names.empty() ? "" : "interface " + original.name + ": " + names;
    // Kernels before 6.2 have no live renaming. They refuse a name while the interface is up, even if the
    // same request takes it down.
    Result<Unit> done = now.is_up ? change({.up = false}) : Result<Unit>(Unit{});
    if (done) done = change({.name = original.name});
    if (now.is_up)
      if (auto up = change({.up = true}); done) done = std::move(up);
    const auto links = kernel.links();
    const HostLink* again = links ? link_at(*links, link.ifindex) : nullptr;
    if (done && (again == nullptr || again->name == original.name)) {
      if (again == nullptr) return "";
      names = restore_alternative_names(kernel, *again, original);
      return names.empty() ? "" : "interface " + original.name + ": " + names;
    }
    const HostLink* holder = links ? other_with_name(*links, link.ifindex, original.name) : nullptr;
    if (holder != nullptr)
      return differs + describe(*holder) + " has that name: rename or remove it" + remedy;
    if (again == nullptr || tries == kNameTriesMax)
      return differs + (done ? "it was renamed during the change" : done.error().what) + remedy;
    now = *again;
  }
}

Result<Unit> restore_link(const LinkKernel& kernel, const HostLink& link, const OriginalInterface& original,
                          bool is_mac_enforced) {
  std::vector<std::string> failed;
  std::string remedy;
  Errc code = Errc::kIo;
  const auto write = [&](const std::string& what, const std::string& now, const std::string& before,
                         const std::string& command, const LinkChange& change) {
    auto done = kernel.change(link.ifindex, change);
    if (done) return;
    code = done.error().code;
    failed.push_back(what + " is " + now + ", was " + before + ": " + done.error().what);
    remedy += " " + command;
  };
  const auto compare = [&](const std::string& what, bool now, bool before, const LinkChange& change) {
    const auto text = [](bool is_on) { return std::string(is_on ? "on" : "off"); };
    if (now != before) write(what, text(now), text(before), what + " " + text(before), change);
  };
  // XDP programs come first: a program of the last pod would see the traffic of the next one.
  for (const auto& [mode, program] : original.xdp ? link.xdp : XdpPrograms{}) {
    const auto before = original.xdp->find(mode);
    const std::string was = before == original.xdp->end() ? "none" : std::to_string(before->second);
    if (was != std::to_string(program))
      write("XDP program", std::to_string(program), was, mode_text(mode) + " off", {.detached_xdp = mode});
  }
  if (link.mtu != original.mtu && original.mtu > 0) {
    const std::string before = std::to_string(original.mtu);
    write("mtu", std::to_string(link.mtu), before, "mtu " + before, {.mtu = original.mtu});
  }
  compare("promisc", link.is_promisc, original.is_promisc, {.promisc = original.is_promisc});
  compare("allmulticast", link.is_allmulti, original.is_allmulti, {.allmulti = original.is_allmulti});
  for (const auto& [name, before] : original.numbers)
    if (const auto now = link.numbers.find(name); now != link.numbers.end() && now->second != before)
      write(name, number_text(name, now->second), number_text(name, before),
            name + " " + number_text(name, before), {.numbers = with_those_set_too(original, name, before)});
  if (original.broadcast && link.broadcast != *original.broadcast)
    write("broadcast", link.broadcast, *original.broadcast, "broadcast " + *original.broadcast,
          {.broadcast = original.broadcast});
  if (original.alias && link.alias != *original.alias)
    write("alias", in_quotes(link.alias, 64), in_quotes(*original.alias, 64),
          "alias " + in_quotes(*original.alias, 64), {.alias = original.alias});
  if (!original.is_up && link.is_up) write("up", "on", "off", "down", {.up = false});
  if (!is_mac_enforced && !original.mac.empty() && link.mac != original.mac)
    write("mac", link.mac, original.mac, "address " + original.mac, {.mac = original.mac});
  else if (!original.mac.empty() && link.mac != original.mac)
    (void)kernel.change(link.ifindex, {.mac = original.mac});
  if (failed.empty()) return Unit{};
  return Error{code, "interface " + escaped(link.name) + ": " + join(failed, "; ") +
                         "; set it with ip link set " + escaped(link.name) + remedy};
}

}  // namespace sliced::kubelet
