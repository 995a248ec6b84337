#include "cli/prepared_facts.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "cli/snapshot_host.h"
#include "cli/status_sockets.h"
#include "daemon/prepared_page.h"
#include "daemon/process.h"
#include "kube/objects/json.h"
#include "kubelet/checkpoint.h"
#include "kubelet/original_mac.h"
#include "kubelet/original_settings.h"
#include "kubelet/safety.h"
#include "reactor/base/text.h"
#include "reactor/durable_file.h"

namespace sliced::cli {

namespace {

constexpr const char* kUnknown =
    "; devices in pods are evaluated with their present facts on the host, which may differ from the daemon";

struct DaemonRecord {
  std::optional<kubelet::Checkpoint> record;
  policy::NotReturnedDevices unrestored;  // of a daemon's page
  std::string why_not;                    // why a daemon that may run here could not be queried; "" if it
                                          // answered or none runs
};

policy::NotReturnedDevices decode_unrestored(const kube::Json& page) {
  policy::NotReturnedDevices out;
  const kube::Json* devices = page.find("unrestored");  // absent: an earlier version
  if (devices == nullptr || devices->array() == nullptr) return out;
  for (const kube::Json& one : *devices->array()) {
    const std::string device(one.text("device"));
    out.push_back({.holding = {.entry = device, .device = device},
                   .pf = std::string(one.text("pf")),
                   .why = std::string(one.text("why"))});
  }
  return out;
}

// Decodes the page /prepared. Without a record if it is of another node, other drivers or another boot.
Result<DaemonRecord> decode_page(const std::string& body, const std::string& boot_id,
                                 const config::Options& options) {
  const auto page = kube::decode_json(body, {.size_max = 2 * kubelet::kCheckpointBytesMax});
  if (!page) return page.error();
  const bool is_ours = page->text("sriovDriver") == options.sriov_driver_name &&
                       page->text("exposureDriver") == options.exposure_driver_name;
  // `match` is about this host, so the name of the node does not matter.
  const bool is_of_node =
      options.command == config::Command::kMatch || page->text("node") == options.node_name;
  if (!is_ours || !is_of_node) return DaemonRecord();
  auto record = kubelet::decode_checkpoint(page->text("record"));
  if (!record) return record.error();
  if (record->boot_id != boot_id) return DaemonRecord();
  return DaemonRecord{*std::move(record), decode_unrestored(*page), ""};
}

// Reads, without a daemon, the files of original settings of devices that no claim of the record has.
policy::NotReturnedDevices read_unrestored(const kubelet::Checkpoint& record,
                                           const config::Options& options) {
  const auto found = kubelet::OriginalSettingsFiles(daemon::original_settings_path(options)).read();
  kubelet::OriginalSettingsByDevice settings;  // read_unknown_settings() reports files that cannot be read
  for (const kubelet::OriginalSettings& one : found.value_or({}))
    if (one.boot_id == record.boot_id) settings.emplace(one.device, one);
  return kubelet::unrestored_of(settings, record.claims, {});
}

DaemonRecord ask_daemon(const std::string& boot_id, const config::Options& options) {
  DaemonRecord out;
  if (is_snapshot(options.host_root)) return out;
  const FoundSockets found = find_sockets(options);
  if (!found.denied.empty()) out.why_not = found.denied;
  for (const std::string& socket : found.sockets) {
    const auto fetched = fetch(socket, "/prepared");
    if (!fetched) {
      // A daemon that was killed leaves its socket behind.
      const Errc code = fetched.error().code;
      if (code != Errc::kIo && code != Errc::kNotFound) out.why_not = fetched.error().what;
      continue;
    }
    if (fetched->status == 503) {
      out.why_not = socket + ": " + std::string(trim(fetched->body));
      continue;
    }
    if (fetched->status != 200) continue;  // of a version that has no such page
    auto record = decode_page(fetched->body, boot_id, options);
    if (!record)
      out.why_not = socket + ": /prepared: " + record.error().what;
    else if (record->record)
      return *std::move(record);
  }
  return out;
}

const char* remedy(bool is_denied) { return is_denied ? "; run as root or as the daemon's user" : ""; }

}  // namespace

std::map<std::string, std::string> read_unknown_settings(const hotplug::Inventory& inventory,
                                                         const config::Options& options) {
  const std::string path = daemon::original_settings_path(options);
  const auto found = kubelet::OriginalSettingsFiles(path).read();
  std::map<std::string, std::string> out;
  if (!found)
    daemon::print_error("settings of devices before their pods are unknown: " + escaped(path) + ": " +
                        found.error().what +
                        (found.error().code == Errc::kDenied ? "; run as root, or use `sliced status`" : ""));
  for (const kubelet::OriginalSettings& one : found.value_or({})) {
    const bool is_of_boot = one.boot_id.empty() ? options.host_root == "/" : one.boot_id == inventory.boot_id;
    if (!one.is_known && is_of_boot && !inventory.boot_id.empty())
      out.emplace(one.device, kubelet::unknown_settings_text(one));
  }
  return out;
}

std::map<std::string, std::string> read_unknown_macs(const hotplug::Inventory& inventory,
                                                     const config::Options& options) {
  const std::string path = daemon::original_macs_path(options);
  const auto found = kubelet::OriginalMacFiles(path).read();
  if (!found) {
    daemon::print_error("original MAC addresses are unknown: " + escaped(path) + ": " + found.error().what +
                        (found.error().code == Errc::kDenied ? "; run as root, or use `sliced status`" : ""));
    return {};
  }
  kubelet::OriginalMacs of_boot;
  for (const kubelet::OriginalMac& one : *found)
    // A damaged file has no boot: it counts on the machine that it is on.
    if (!inventory.boot_id.empty() &&
        (one.boot_id.empty() ? options.host_root == "/" : one.boot_id == inventory.boot_id))
      of_boot.emplace(one.pci, one);
  return kubelet::unknown_macs(of_boot, [&](const std::string& pci) {
    const hotplug::HostDevice* device = inventory.devices.find(pci);
    return device != nullptr ? device->admin_mac : std::string();
  });
}

PreparedFacts read_prepared(const std::string& boot_id, const config::Options& options) {
  PreparedFacts out;
  if (boot_id.empty()) return out;  // no record can be of this boot
  DaemonRecord asked = ask_daemon(boot_id, options);
  if (!asked.record) {
    const std::string path = daemon::checkpoint_path(options);
    const auto text = reactor::read_whole(path, kubelet::kCheckpointBytesMax);
    const bool is_there = text || text.error().code != Errc::kNotFound;
    auto found = text ? kubelet::decode_checkpoint(*text) : Result<kubelet::Checkpoint>(text.error());
    const bool is_denied = !found && found.error().code == Errc::kDenied;
    if (!is_there && !asked.why_not.empty())
      daemon::print_error("prepared devices are unknown: " + escaped(asked.why_not) +
                          ", and there is no record " + escaped(path) + kUnknown + remedy(true));
    else if (is_there && !found)
      daemon::print_error(
          "prepared devices are unknown: " + (asked.why_not.empty() ? "" : escaped(asked.why_not) + "; ") +
          escaped(path) + ": " + found.error().what + kUnknown + remedy(is_denied));
    else if (is_there && !asked.why_not.empty())
      daemon::print_error("the prepared devices cannot be read from the daemon: " + escaped(asked.why_not) +
                          "; its record " + escaped(path) + " counts, unless it keeps another one" +
                          remedy(true));
    if (!found || found->boot_id != boot_id) return out;
    asked.record = *std::move(found);
    asked.unrestored = read_unrestored(*asked.record, options);
  }
  for (const auto& [key, claim] : asked.record->claims)
    for (const kubelet::PreparedDevice& device : claim.devices) {
      if (device.is_admin) continue;
      if (!device.pci.empty()) out.prepared.insert(device.pci);
      if (device.held) out.held.emplace(device.held->id.text, *device.held);
    }
  out.not_returned = kubelet::not_returned_of(asked.record->claims);
  std::ranges::move(asked.unrestored, std::back_inserter(out.not_returned));
  return out;
}

HostWithPrepared with_prepared(hotplug::InventoryPtr host, const config::Options& options) {
  PreparedFacts facts = read_prepared(host->boot_id, options);
  return {hotplug::with_pinned(host, facts.held), std::move(facts.prepared)};
}

}  // namespace sliced::cli
