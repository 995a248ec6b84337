#include "daemon/status/metrics.h"

#include <algorithm>

#include "daemon/status/exposition.h"

namespace sliced::status {
namespace {

void tell_standing(Exposition& out, const Report& report) {
  write_ready(out, are_passed(readiness(report)));
  out.gauge("sliced_serving", "1 if this process has the interlock and writes; 0 if it is standby.");
  out.sample(report.is_serving ? 1 : 0);
  out.gauge("sliced_configured",
            "0 while no device is added because the hardware of this node is not configured.");
  out.sample(report.awaits_configuration.empty() ? 1 : 0);
  if (report.is_node_state_in_sync) {
    out.gauge(
        "sliced_node_state_in_sync",
        "1 if the operator has configured this node in this boot and the host matches its SriovNetworkNodeState.");
    out.sample(*report.is_node_state_in_sync ? 1 : 0);
  }
  out.gauge("sliced_source_live", "1 when the source is followed now.");
  for (const Report::Source& source : report.sources)
    out.sample(source.state == "live" ? 1 : 0, {{"source", source_name(source)}});
}

constexpr const char* kPluginStates[] = {"on", "off", "waiting", "skipped"};

void tell_plugin(Exposition& out, const Report& report) {
  out.gauge(
      "sliced_kubelet_plugin",
      "1 for the state of the kubelet plugin: off, and pods with claims do not start; waiting, while another "
      "program serves a driver; skipped, and kubelets start pods without it.");
  for (const char* state : kPluginStates)
    out.sample(report.kubelet_plugin == state ? 1 : 0, {{"state", state}});
}

void write_problems(Exposition& out, const Metrics& metrics) {
  out.gauge("sliced_problems", "Present problems of policies: invalid, conflicting or without effect.");
  out.sample(metrics.problems.all);
  out.gauge("sliced_invalid_policies", "Policies that have a problem and are not used as they are written.");
  out.sample(metrics.problems.sriov, {{"kind", "SriovResourcePolicy"}});
  out.sample(metrics.problems.exposures, {{"kind", "DeviceExposurePolicy"}});
  out.sample(metrics.problems.attributes, {{"kind", "DeviceAttributes"}});
}

// Verdicts that are alerted on have their series from the start.
void write_verdicts(Exposition& out, const std::string& driver, const policy::OutcomeCounts& counts) {
  for (const policy::Outcome outcome : {policy::Outcome::kRefused, policy::Outcome::kBroken})
    if (std::none_of(counts.begin(), counts.end(), [&](const auto& one) { return one.first == outcome; }))
      out.sample(0, {{"driver", driver}, {"verdict", std::string(name_of(outcome))}});
  for (const auto& [outcome, count] : counts)
    out.sample(count, {{"driver", driver}, {"verdict", std::string(name_of(outcome))}});
}

void write_devices(Exposition& out, const Report& report) {
  if (!report.summary || report.drivers.size() != 2) return;
  const policy::Summary& summary = *report.summary;
  out.gauge("sliced_host_devices", "Devices of the host, each counted once.");
  const size_t matched = summary.offered + summary.hidden + summary.held_back;
  out.sample(summary.offered, {{"disposition", "offered"}});
  out.sample(summary.hidden, {{"disposition", "hidden"}});
  out.sample(summary.held_back, {{"disposition", "held-back"}});
  out.sample(summary.devices - matched, {{"disposition", "unmatched"}});
  out.gauge("sliced_devices",
            "Devices, or ways in which a device is offered, by the verdict of a driver's policies.");
  write_verdicts(out, report.drivers[0].name, summary.sriov);
  write_verdicts(out, report.drivers[1].name, summary.exposure);
  out.gauge("sliced_entries", "Desired device entries.");
  for (const Report::Driver& driver : report.drivers) out.sample(driver.entries, {{"driver", driver.name}});
}

void tell_decisions(Exposition& out, const Metrics& metrics) {
  out.counter("sliced_reconciles_total", "Decisions over all devices, by result.");
  out.sample(metrics.decided, {{"result", "decided"}});
  out.sample(metrics.overtaken, {{"result", "superseded"}});
  out.sample(metrics.late, {{"result", "timed-out"}});
  out.histogram("sliced_reconcile_duration_seconds",
                "From the first change to the decision that includes it.");
  out.sample(metrics.decisions);
  out.counter("sliced_events_coalesced_total", "Changes that were decided together with one before them.");
  out.sample(metrics.coalesced);
}

void tell_writes(Exposition& out, const Metrics& metrics) {
  out.counter("sliced_writes_total",
              "Writes of ResourceSlices that the API server answered, or did not in time.");
  for (const Metrics::Driver& driver : metrics.drivers)
    for (const Count& one : driver.writes)
      out.sample(one.count, {{"driver", driver.name}, {"verb", one.by}, {"result", one.result}});
  out.histogram("sliced_write_duration_seconds", "From the request of a write to its answer.");
  for (const Metrics::Driver& driver : metrics.drivers) out.sample(driver.took, {{"driver", driver.name}});
  out.counter("sliced_sync_failures_total",
              "Attempts to publish that ended with something left to be written.");
  for (const Metrics::Driver& driver : metrics.drivers)
    out.sample(driver.failed_syncs, {{"driver", driver.name}});
}

void tell_sources(Exposition& out, const Metrics& metrics) {
  out.counter("sliced_watch_restarts_total", "Watches that ended and were begun again, by why.");
  for (const Count& one : metrics.watch_ends)
    out.sample(one.count, {{"source", one.by}, {"reason", one.result}});
  out.counter("sliced_host_events_total", "Events of the kernel and udev that were read.");
  out.sample(metrics.host_events);
  out.counter("sliced_host_event_losses_total", "Times that events were lost and everything was read again.");
  out.sample(metrics.host_losses);
  out.counter("sliced_host_scans_total", "Readings of the host.");
  out.sample(metrics.whole_scans, {{"kind", "whole"}});
  out.sample(metrics.partial_scans, {{"kind", "partial"}});
  out.counter("sliced_host_hung_reads_total", "Reads of the host that gave no answer in time.");
  out.sample(metrics.hung_reads);
  out.counter("sliced_sync_differences_total",
              "Devices that the periodic sync found changed without an event.");
  out.sample(metrics.host_differences);
}

void tell_claims(Exposition& out, const Metrics& metrics) {
  if (metrics.claims.empty()) return;
  out.counter("sliced_claims_total", "Prepare and unprepare calls of the kubelet, per claim and result.");
  for (const Metrics::Claims& claims : metrics.claims)
    for (const Count& one : claims.calls)
      out.sample(one.count, {{"driver", claims.driver}, {"operation", one.by}, {"result", one.result}});
  out.gauge("sliced_prepared_claims", "Claims that are prepared on this node now.");
  for (const Metrics::Claims& claims : metrics.claims)
    out.sample(claims.prepared, {{"driver", claims.driver}});
  out.gauge("sliced_failing_claims",
            "Claims whose last call to prepare failed, within the last five minutes.");
  for (const Metrics::Claims& claims : metrics.claims)
    out.sample(claims.failing, {{"driver", claims.driver}});
  out.gauge("sliced_devices_not_returned",
            "Devices that are held for ResourceClaims that are gone, and so not offered.");
  out.sample(metrics.not_returned);
  if (!metrics.nri.empty()) {
    out.gauge(
        "sliced_nri",
        "1 for the state of the connection to the container runtime (NRI): missing, and pods with interfaces do not start.");
    for (const char* state : {"unused", "connected", "connecting", "not-needed", "missing"})
      out.sample(metrics.nri == state ? 1 : 0, {{"state", state}});
  }
  out.histogram("sliced_prepare_duration_seconds",
                "From the kubelet's call to prepare a claim to its answer.");
  for (const Metrics::Claims& claims : metrics.claims)
    out.sample(claims.prepare, {{"driver", claims.driver}});
  out.histogram("sliced_attach_duration_seconds", "Of the CNI plugins that attach one interface to its pod.");
  out.sample(metrics.attaches);
}

void tell_reports(Exposition& out, const Metrics& metrics) {
  if (!metrics.reports) return;
  out.gauge("sliced_report_live", "1 if this node's NodeDeviceReport is watched, else 0.");
  out.sample(metrics.reports->is_live ? 1 : 0);
  out.counter("sliced_report_builds_total", "Builds of the report, each compared with the stored one.");
  out.sample(metrics.reports->made);
  out.counter("sliced_report_writes_total", "Writes of this node's NodeDeviceReport.");
  out.sample(metrics.reports->succeeded, {{"result", "succeeded"}});
  out.sample(metrics.reports->failed, {{"result", "failed"}});
  out.gauge("sliced_report_bytes", "Size of the last report that was sent.");
  out.sample(metrics.reports->bytes);
  if (!metrics.lease) return;
  out.counter("sliced_lease_renewals_total", "Renewals of this node's Lease.");
  out.sample(metrics.lease->renewed, {{"result", "succeeded"}});
  out.sample(metrics.lease->failed, {{"result", "failed"}});
}

void tell_events(Exposition& out, const Metrics& metrics) {
  if (metrics.events.empty()) return;
  out.counter("sliced_events_total", "Events of policies and of the Node, by result.");
  for (const auto& [result, count] : metrics.events) out.sample(count, {{"result", result}});
}

}  // namespace

std::string exposition_of(const Report& report, const Metrics& metrics) {
  Exposition out;
  write_process(out, report.version, metrics.process);
  tell_standing(out, report);
  tell_plugin(out, report);
  write_problems(out, metrics);
  write_devices(out, report);
  tell_decisions(out, metrics);
  tell_writes(out, metrics);
  tell_sources(out, metrics);
  tell_claims(out, metrics);
  tell_reports(out, metrics);
  tell_events(out, metrics);
  return out.take();
}

}  // namespace sliced::status
