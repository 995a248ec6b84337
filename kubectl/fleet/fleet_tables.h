#pragma once
// The fleet as text and as data. Pure; table() escapes names.
#include <string>
#include <vector>

#include "kube/objects/json.h"
#include "kubectl/fleet/fleet.h"
#include "kubectl/fleet/node_devices.h"
#include "reactor/base/table.h"

namespace sliced::kubectl {

/// Returns NODE POOLS DEVICES ALLOCATED FREE TAINTED HIDDEN VERSION CHANGED STATE, a row per node; wide: a
/// row per pool, with driver, generation and slices. HIDDEN, VERSION and CHANGED are from the node's report.
/// The totals follow.
std::string nodes_text(const std::vector<NodeRow>& rows, const TableStyle& style);
/// Returns {"nodes":[...],"totals":{...}}: an interface (docs/command-line.md), as is that of devices.
/// Unknown values are omitted.
kube::Json json_of(const std::vector<NodeRow>& rows);

/// Returns DEVICE PCI PF INTERFACE DRIVER STATE DETAIL; wide: with DRA driver and pool.
std::string devices_text(const std::vector<DeviceLine>& lines, const TableStyle& style);
/// Returns {"node":...,"devices":[...]}
kube::Json json_of(const std::vector<DeviceLine>& lines, const std::string& node);

/// One frame of `top`: a headline, and nodes by the allocated share of their devices. rows_max: of nodes, the
/// others are counted; columns_max: width of lines, 0: unlimited. Bad nodes come first, those without slices
/// last.
struct Frame {
  size_t rows_max = 0, columns_max = 0;
  bool has_colours = false;
  std::string note;  // unknown information, in a line of its own; "" if none
};
std::string top_text(std::vector<NodeRow> rows, const Frame& frame);

}  // namespace sliced::kubectl
