#include <csignal>

#include "cli/commands.h"
#include "cli/host_once.h"
#include "cli/recorded_process.h"
#include "cli/show.h"
#include "daemon/host_process.h"
#include "reactor/signal.h"

namespace sliced::cli {
namespace {

constexpr Millis kLookAtOutput{1'000};  // interval of checks whether the output is closed

std::string whole(const hotplug::Inventory& inventory, config::OutputFormat format) {
  if (format == config::OutputFormat::kTable) return devices_table(inventory);
  std::vector<kube::Json> items;
  for (const auto& [id, device] : inventory.devices) items.push_back(json_of(device));
  return formatted(kube::list_of(std::move(items)), format);
}

// One line per change: {"change":"added","device":{...}}, or the device's name and the change as text.
std::string changes(const hotplug::InventoryUpdate& update, config::OutputFormat format) {
  std::string out;
  const auto tell = [&](const char* what, const std::string& id) {
    const hotplug::HostDevice* device = update.now->find(id);
    if (format == config::OutputFormat::kTable) {
      out += std::string(what) + " " + id + (device ? " " + std::string(name_of(device->type)) : "") + " (" +
             update.why + ")\n";
      return;
    }
    kube::Json line = kube::Json::Object{};
    line.set("change", what);
    line.set("id", id);
    if (device != nullptr) line.set("device", json_of(*device));
    out += kube::encode_json(line) + "\n";
  };
  for (const std::string& id : update.removed) tell("removed", id);
  for (const std::string& id : update.added) tell("added", id);
  for (const std::string& id : update.changed) tell("changed", id);
  return out;
}

}  // namespace

int discover(const config::Options& options) {
  auto process = open_host_process(options);
  if (!process) {
    daemon::print_error(process.error().what);
    return daemon::kExitError;
  }
  bool stop = false, failed = false, first = true;
  hotplug::HostSource source(
      (*process)->host_ports(/*live_events=*/options.watch), [&](const hotplug::InventoryUpdate& update) {
        // With --watch and data, every line is a change; the first ones are the existing devices.
        const bool lines = options.watch && options.output != config::OutputFormat::kTable;
        std::string text =
            first && !lines ? whole(*update.now, options.output) : changes(update, options.output);
        if (options.watch)
          (*process)->out.put(std::move(text));
        else
          failed |= !daemon::print(text);
        first = false;
      });
  source.start();
  std::vector<std::unique_ptr<reactor::Signal>> signals;
  for (const int number : {SIGINT, SIGTERM})
    if (auto signal = reactor::Signal::open((*process)->loop, number, [&] { stop = true; }))
      signals.push_back(std::move(*signal));
  const bool in_time = (*process)->run_until([&] { return !first || stop || failed; }, kReadHostMax);
  if (!in_time) print_slow_host();
  if (options.watch && in_time)
    while (!stop && !(*process)->out.is_refused()) (*process)->loop.turn(kLookAtOutput);
  failed |= (*process)->out.is_refused();
  return (*process)->leave(in_time && !failed ? daemon::kExitSame : daemon::kExitError);
}

}  // namespace sliced::cli
