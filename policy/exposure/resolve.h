#pragma once
// Finds the policies that apply to each device, before conflicts between devices: excludes first, then the
// first expose of each name suffix, and whether it waits for a preceding one.
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "kube/objects/selector.h"
#include "policy/exposure/answers.h"
#include "policy/exposure/policy.h"
#include "policy/exposure/programs.h"
#include "policy/inputs.h"
#include "policy/problem.h"
#include "policy/resolution.h"
#include "reactor/base/shared.h"

namespace sliced::policy {

/// The policies of one node, as indices into the given list. A policy is in one list at most; in none if it
/// does not select the node or offers nothing.
struct NodeExposures {
  std::vector<int32_t> excludes;  // with a selector that is valid, or was earlier
  std::vector<int32_t> exposes;   // by priority, highest first, then by name
  /// Excludes, or possible ones, with an unknown selector: they may select any device.
  std::vector<int32_t> unreadable;
};

/// The answers of a node's selectors. Immutable; held by its decision and the next one.
struct SelectorResults {
  NodeExposures node;
  /// By policy: why its selector is not used. Other problems are in the policy.
  std::map<int32_t, Problem> problems;
  /// By policy: the evaluated text; of an invalid exclude, the last valid one.
  std::vector<std::string> asked;
  SelectorMemory memory;
  /// Policies whose selector may read the MAC address, ascending: for a VF without an interface it comes from
  /// a query of the PF.
  std::vector<int32_t> asking_for_mac;
  std::string exclude_record;  // of the excludes that read facts of interfaces, for DesiredPool::excludes
  SelectorProgramsPtr programs;
  /// Returns true if the selector was to be compiled and could not be.
  bool refuses(const std::string& cel) const;
};

/// Compiles each selector text once and evaluates it for each changed device. A selector beyond its share of
/// the budget is in `problems`; such an exclude may select any device.
/// exposures: in order of evaluation. driver: the domain of our attributes. before: of the previous decision,
/// or nullptr. published: for unknown facts of interfaces in other namespaces (answers.h). After a stop
/// request the result must not be used.
SelectorResultsPtr evaluate_selectors(const std::vector<Shared<ExposurePolicy>>& exposures,
                                      const kube::NodeView& node, const std::string& driver,
                                      const hotplug::InventoryPtr& inventory,
                                      const SelectorResultsPtr& before, const WorkBudgets& budgets,
                                      const std::stop_token& stop = {}, const Published& published = {});

/// Returns one resolution for each device, in the inventory's order. A policy with more entries than the
/// budget permits offers none, and is added to problems, by policy.
std::vector<Resolution> resolve(const std::vector<Shared<ExposurePolicy>>& exposures,
                                const SelectorResults& answers, const hotplug::Inventory& inventory,
                                Budget entries, std::map<int32_t, Problem>& problems);

}  // namespace sliced::policy
