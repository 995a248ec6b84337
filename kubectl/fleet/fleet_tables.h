#pragma once
// The fleet as text for people and as data. Pure; every name of others' is escaped by table().
#include <string>
#include <vector>

#include "kube/objects/json.h"
#include "kubectl/fleet/fleet.h"
#include "kubectl/fleet/node_devices.h"
#include "reactor/base/table.h"

namespace sliced::cli {

/// NODE POOLS DEVICES ALLOCATED FREE TAINTED HIDDEN VERSION CHANGED STATE, a row a node; wide: a row a pool, with driver,
/// generation and slices. HIDDEN, VERSION and CHANGED are of the node's report. Below it the totals.
std::string nodes_text(const std::vector<NodeRow>& rows, const TableStyle& style);
/// {"nodes":[...],"totals":{...}}: an interface (docs/command-line.md), as that of devices is. What is not
/// known is left out.
kube::Json json_of(const std::vector<NodeRow>& rows);

/// DEVICE PCI PF INTERFACE DRIVER STATE DETAIL; wide: with DRA driver and pool.
std::string devices_text(const std::vector<DeviceLine>& lines, const TableStyle& style);
/// {"node":...,"devices":[...]}
kube::Json json_of(const std::vector<DeviceLine>& lines, const std::string& node);

/// One frame of `top`: a headline, and nodes by how much of their devices is allocated.
/// rows_max: of nodes, the others are counted; columns_max: lines are cut there, 0 nowhere.
/// Bad nodes come first, those without slices last, and else those of which the largest share is allocated.
struct Frame {
  size_t rows_max = 0, columns_max = 0;
  bool has_colours = false;
  std::string note;  // what is not known, in a line of its own; "" nothing
};
std::string top_text(std::vector<NodeRow> rows, const Frame& frame);

}  // namespace sliced::cli
