#include "kubectl/fleet/fleet_tables.h"

#include <algorithm>
#include <tuple>

#include "daemon/status/history.h"
#include "reactor/base/first_few.h"
#include "reactor/base/table.h"
#include "reactor/base/text.h"

namespace sliced::kubectl {
namespace {

constexpr std::string_view kBad = "31", kWarning = "33", kGood = "32", kEmpty = "35";

std::string count(size_t n) { return std::to_string(n); }
std::string count_of(size_t n, const std::string& of) { return count(n) + " " + of + (n == 1 ? "" : "s"); }

// -o wide has room for all problems.
std::string whole_state_of(const NodeRow& row) {
  return row.problems.empty() ? state_of(row) : join(row.problems, "; ");
}

std::string_view colour_of(const NodeRow& row) {
  const std::string_view health = health_of(row);
  return health == "bad" ? kBad : health == "warning" ? kWarning : health == "empty" ? kEmpty : kGood;
}

// Slices that name no node of their own.
std::string title_of(const NodeRow& row) { return row.name.empty() ? "(no single node)" : row.name; }

std::string age_of(const std::string& time, int64_t now_ms) {
  const int64_t then = status::ms_of_utc(time);
  return then == 0 ? "" : age_text((now_ms - then) / 1'000);
}

// An unknown value is an empty cell.
std::string known(bool is_known, size_t n) { return is_known ? count(n) : ""; }
bool knows_use(const NodeRow& row) { return row.knows_slices && row.knows_claims; }

std::vector<std::string> cells_of(const NodeRow& row, int64_t now_ms) {
  return {title_of(row),
          known(row.knows_slices, row.pools.size()),
          known(row.knows_slices, row.usage.devices),
          known(knows_use(row), row.usage.allocated),
          known(knows_use(row), row.usage.free),
          known(row.knows_slices, row.usage.tainted),
          row.report ? count(row.report->hidden + row.report->held_back) : "",
          row.report ? row.report->version : "",
          row.report ? age_of(row.report->changed, now_ms) : "",
          state_of(row)};
}

std::vector<std::string> cells_of(const NodeRow& row, const PoolRow& pool) {
  return {title_of(row),
          pool.driver,
          pool.name,
          std::to_string(pool.generation),
          std::to_string(pool.slices) + (pool.is_complete() ? "" : "/" + std::to_string(pool.slices_wanted)),
          count(pool.usage.devices),
          known(row.knows_claims, pool.usage.allocated),
          known(row.knows_claims, pool.usage.free),
          count(pool.usage.tainted),
          whole_state_of(row)};
}

std::string totals_text(const std::vector<NodeRow>& rows) {
  const FleetTotals all = totals_of(rows);
  std::string out = count_of(all.nodes, "node");
  if (all.without_slices > 0) out += ", " + count(all.without_slices) + " without slices";
  if (all.bad > 0) out += ", " + count(all.bad) + " failing";
  if (all.silent > 0) out += " (" + count(all.silent) + " with a silent daemon)";
  if (all.warning > 0) out += ", " + count(all.warning) + " with warnings";
  if (all.without_plugin > 0) out += ", " + count(all.without_plugin) + " without kubelet plugin";
  const bool knows_slices = rows.empty() || rows.front().knows_slices;
  if (!knows_slices) return out + "; devices unknown";
  out += ": " + count_of(all.usage.devices, "device");
  if (rows.empty() || rows.front().knows_claims)
    out += ", " + count(all.usage.allocated) + " allocated, " + count(all.usage.free) + " free";
  return out + ", " + count(all.usage.tainted) + " tainted";
}

kube::Json json_of(const Usage& usage, bool knows_claims) {
  kube::Json out = kube::Json::Object{{"devices", static_cast<int64_t>(usage.devices)}};
  if (knows_claims) {
    out.set("allocated", static_cast<int64_t>(usage.allocated));
    out.set("free", static_cast<int64_t>(usage.free));
  }
  out.set("tainted", static_cast<int64_t>(usage.tainted));
  if (usage.gone > 0) out.set("allocatedAndGone", static_cast<int64_t>(usage.gone));
  return out;
}

// A name may not be UTF-8, which JSON requires.
kube::Json json_text(const std::string& text) { return is_utf8(text) ? text : escaped(text); }
kube::Json json_texts(const std::vector<std::string>& texts) {
  kube::Json::Array out;
  for (const std::string& text : texts) out.push_back(json_text(text));
  return out;
}

kube::Json json_of(const NodeRow& row) {
  kube::Json out = kube::Json::Object{{"name", json_text(row.name)}};
  if (!row.is_there) out.set("isThere", false);
  if (row.knows_slices) out.set("usage", json_of(row.usage, row.knows_claims));
  kube::Json::Array pools;
  for (const PoolRow& pool : row.pools)
    pools.push_back(kube::Json::Object{{"driver", json_text(pool.driver)},
                                       {"name", json_text(pool.name)},
                                       {"generation", pool.generation},
                                       {"slices", pool.slices},
                                       {"slicesWanted", pool.slices_wanted},
                                       {"usage", json_of(pool.usage, row.knows_claims)}});
  out.set("pools", std::move(pools));
  if (row.report) {
    kube::Json report = kube::Json::Object{{"daemonVersion", json_text(row.report->version)},
                                           {"lastChange", json_text(row.report->changed)},
                                           {"hidden", static_cast<int64_t>(row.report->hidden)},
                                           {"heldBack", static_cast<int64_t>(row.report->held_back)}};
    if (!row.report->kubelet_plugin.empty())
      report.set("kubeletPlugin", json_text(row.report->kubelet_plugin));
    out.set("report", std::move(report));
  }
  if (row.silent_for) out.set("daemonSilentSeconds", *row.silent_for);
  kube::Json::Array behind;
  for (const PolicyLag& lag : row.behind) {
    kube::Json one = kube::Json::Object{{"kind", json_text(lag.kind)}, {"policy", json_text(lag.name)}};
    if (lag.reported > 0) one.set("reportedGeneration", lag.reported);
    if (lag.current > 0) one.set("generation", lag.current);
    behind.push_back(std::move(one));
  }
  if (!behind.empty()) out.set("behind", std::move(behind));
  out.set("health", health_of(row));
  if (!row.problems.empty()) out.set("problems", json_texts(row.problems));
  return out;
}

std::string_view colour_of(DeviceState state) {
  switch (state) {
    case DeviceState::kFree:
      return kGood;
    case DeviceState::kTainted:
    case DeviceState::kHidden:
    case DeviceState::kUsedUp:
      return kWarning;
    case DeviceState::kGone:
      return kBad;
    case DeviceState::kAllocated:
    case DeviceState::kUnknown:
      return "";
  }
  return "";
}

size_t percent(const Usage& usage) { return usage.devices == 0 ? 0 : 100 * usage.allocated / usage.devices; }

std::string bar(size_t percent) {
  constexpr size_t kWidth = 20;
  const size_t full = std::min(kWidth, (percent * kWidth + 50) / 100);
  return std::string(full, '#') + std::string(kWidth - full, '.') + " " + count(percent) + " %";
}

// Terminals wrap long lines, so that a frame would not fit. Color codes have no width.
std::string cut_line(std::string_view line, size_t columns_max) {
  std::string out;
  size_t columns = 0;
  bool has_codes = false;
  for (size_t at = 0; at < line.size();) {
    if (line[at] == '\x1b') {
      const size_t end = line.find('m', at);
      const size_t size = end == std::string_view::npos ? line.size() - at : end - at + 1;
      out += line.substr(at, size);
      at += size;
      has_codes = true;
      continue;
    }
    const size_t size = std::max<size_t>(1, utf8_length(line.substr(at)));
    columns += columns_of(line.substr(at, size));
    if (columns_max == 0 || columns <= columns_max) out += line.substr(at, size);
    at += size;
  }
  return has_codes && columns_max > 0 && columns > columns_max ? out + "\x1b[0m" : out;
}

std::string cut_lines(const std::string& text, size_t columns_max) {
  std::string out;
  for (const std::string_view line : split(text, '\n'))
    if (!line.empty()) out += cut_line(line, columns_max) + "\n";
  return out;
}

}  // namespace

std::string nodes_text(const std::vector<NodeRow>& rows, const TableStyle& style) {
  std::vector<std::vector<std::string>> cells;
  std::vector<const NodeRow*> nodes;  // of each line
  for (const NodeRow& row : rows) {
    if (!style.is_wide || row.pools.empty()) {
      cells.push_back(style.is_wide ? cells_of(row, PoolRow{}) : cells_of(row, style.now_ms));
      nodes.push_back(&row);
      continue;
    }
    for (const PoolRow& pool : row.pools) {
      cells.push_back(cells_of(row, pool));
      nodes.push_back(&row);
    }
  }
  const std::vector<std::string> heading =
      style.is_wide ? std::vector<std::string>{"NODE",    "DRIVER",    "POOL", "GENERATION", "SLICES",
                                               "DEVICES", "ALLOCATED", "FREE", "TAINTED",    "STATE"}
                    : std::vector<std::string>{"NODE",    "POOLS",  "DEVICES", "ALLOCATED", "FREE",
                                               "TAINTED", "HIDDEN", "VERSION", "CHANGED",   "STATE"};
  const auto paint = [&](size_t row, size_t column) -> std::string_view {
    return column + 1 == heading.size() ? colour_of(*nodes[row]) : "";
  };
  return table(heading, cells, style.has_colours ? Paint(paint) : Paint()) + totals_text(rows) + "\n";
}

kube::Json json_of(const std::vector<NodeRow>& rows) {
  kube::Json::Array nodes;
  for (const NodeRow& row : rows) nodes.push_back(json_of(row));
  const FleetTotals all = totals_of(rows);
  kube::Json totals = kube::Json::Object{{"nodes", static_cast<int64_t>(all.nodes)},
                                         {"withoutSlices", static_cast<int64_t>(all.without_slices)},
                                         {"bad", static_cast<int64_t>(all.bad)},
                                         {"warning", static_cast<int64_t>(all.warning)},
                                         {"silent", static_cast<int64_t>(all.silent)},
                                         {"withoutKubeletPlugin", static_cast<int64_t>(all.without_plugin)}};
  if (rows.empty() || rows.front().knows_slices)
    totals.set("usage", json_of(all.usage, rows.empty() || rows.front().knows_claims));
  return kube::Json::Object{{"nodes", std::move(nodes)}, {"totals", std::move(totals)}};
}

std::string devices_text(const std::vector<DeviceLine>& lines, const TableStyle& style) {
  std::vector<std::string> heading = {"DEVICE", "PCI", "PF", "INTERFACE", "DRIVER", "STATE", "DETAIL"};
  if (style.is_wide)
    heading = {"DEVICE", "PCI", "PF", "INTERFACE", "DRIVER", "DRA-DRIVER", "POOL", "STATE", "DETAIL"};
  std::vector<std::vector<std::string>> cells;
  for (const DeviceLine& line : lines) {
    std::vector<std::string> row = {line.entry, line.pci, line.pf, line.interface, line.kernel_driver};
    if (style.is_wide) row.insert(row.end(), {line.driver, line.pool});
    row.insert(row.end(), {std::string(name_of(line.state)), detail_of(line)});
    cells.push_back(std::move(row));
  }
  const auto paint = [&](size_t row, size_t column) -> std::string_view {
    return column + 2 == heading.size() ? colour_of(lines[row].state) : "";
  };
  return table(heading, cells, style.has_colours ? Paint(paint) : Paint());
}

kube::Json json_of(const std::vector<DeviceLine>& lines, const std::string& node) {
  kube::Json::Array items;
  for (const DeviceLine& line : lines) {
    kube::Json item = kube::Json::Object{};
    const auto set = [&](const char* key, const std::string& text) {
      if (!text.empty()) item.set(key, json_text(text));
    };
    set("entry", line.entry);
    set("draDriver", line.driver);
    set("pool", line.pool);
    set("pciAddress", line.pci);
    set("pf", line.pf);
    set("interface", line.interface);
    set("driver", line.kernel_driver);
    item.set("state", name_of(line.state));
    if (!line.claims.empty()) item.set("claims", json_texts(line.claims));
    if (!line.taints.empty()) item.set("taints", json_texts(line.taints));
    set("why", line.why);
    items.push_back(std::move(item));
  }
  return kube::Json::Object{{"node", json_text(node)}, {"devices", std::move(items)}};
}

std::string top_text(std::vector<NodeRow> rows, const Frame& frame) {
  const FleetTotals all = totals_of(rows);
  std::string out = totals_text(rows);
  if (rows.empty() || knows_use(rows.front())) out += " (" + count(percent(all.usage)) + " % allocated)";
  out += "\n";
  if (!frame.note.empty()) out += printable(frame.note, 1000) + "\n";
  std::stable_sort(rows.begin(), rows.end(), [](const NodeRow& a, const NodeRow& b) {
    const auto rank = [](const NodeRow& row) { return std::tuple(!row.is_bad, !row.has_slices()); };
    if (rank(a) != rank(b)) return rank(a) < rank(b);
    return a.usage.allocated * std::max<size_t>(1, b.usage.devices) >
           b.usage.allocated * std::max<size_t>(1, a.usage.devices);
  });
  const size_t shown = frame.rows_max == 0 ? rows.size() : std::min(rows.size(), frame.rows_max);
  std::vector<std::vector<std::string>> cells;
  for (size_t i = 0; i < shown; ++i)
    cells.push_back({title_of(rows[i]), known(rows[i].knows_slices, rows[i].usage.devices),
                     known(knows_use(rows[i]), rows[i].usage.allocated),
                     known(knows_use(rows[i]), rows[i].usage.free),
                     knows_use(rows[i]) ? bar(percent(rows[i].usage)) : "", state_of(rows[i])});
  const auto paint = [&](size_t row, size_t column) -> std::string_view {
    if (column == 5) return colour_of(rows[row]);
    const size_t used = percent(rows[row].usage);
    return column != 4 ? "" : used >= 95 ? kBad : used >= 75 ? kWarning : "";
  };
  out += table({"NODE", "DEVICES", "ALLOCATED", "FREE", "USED", "STATE"}, cells,
               frame.has_colours ? Paint(paint) : Paint());
  if (shown < rows.size()) out += and_more(rows.size() - shown, "node") + "\n";
  return cut_lines(out, frame.columns_max);
}

}  // namespace sliced::kubectl
