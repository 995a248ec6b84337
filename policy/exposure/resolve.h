#pragma once
// Which policies of a node speak of a device, before conflicts between devices are resolved: excludes first,
// then per name suffix the first expose in order, and whether it waits for one before it.
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

/// The policies of one node, as indices into the list that was given.
/// A policy stands in one list at most; in none where it does not select the node, or offers nothing.
struct NodeExposures {
  std::vector<int32_t> excludes;  // with a selector that can be used, or one that could be earlier
  std::vector<int32_t> exposes;   // in order: higher priority first, then by name
  /// Excludes, or policies that may be some, whose selector is not known: they may mean any device.
  std::vector<int32_t> unreadable;
};

/// What the selectors of a node's policies say of its devices.
/// Immutable once made, and held by the decision that it is of and by the next one.
struct SelectorAnswers {
  NodeExposures node;
  /// By policy: why its selector is not used. What is wrong beside the selector is in the policy itself.
  std::map<int32_t, Problem> problems;
  /// By policy: the text that is asked; of an exclude that can no longer be understood, the last that could.
  std::vector<std::string> asked;
  SelectorMemory memory;
  /// Policies whose selector may ask for the MAC address of a device, ascending: of a VF without an interface its PF tells
  /// it, when it is asked.
  std::vector<int32_t> asking_for_mac;
  std::string exclude_record;  // of the excludes that ask for facts of interfaces, for DesiredPool::excludes
  SelectorProgramsPtr programs;
  /// Whether a selector was to be compiled, and could not be.
  bool refuses(const std::string& cel) const;
};

/// exposures: in order of evaluation. driver: the domain of our attributes. before: of the decision before,
/// or nullptr. published: for what is not known of interfaces that are elsewhere (answers.h). When stop is
/// requested, what is returned is of no use.
/// Selectors are compiled here, once per text, and asked about each device that has changed; a selector that
/// takes more than its share is in `problems`, and of an exclude that means that it may hold any device.
SelectorAnswersPtr ask_selectors(const std::vector<Shared<ExposurePolicy>>& exposures,
                                 const kube::NodeView& node, const std::string& driver,
                                 const hotplug::InventoryPtr& inventory, const SelectorAnswersPtr& before,
                                 const WorkBudgets& budgets, const std::stop_token& stop = {},
                                 const Published& published = {});

/// For each device, in the inventory's order. Who would offer more entries than there is room for offers
/// none, and is added to problems, by policy.
std::vector<Resolution> resolve(const std::vector<Shared<ExposurePolicy>>& exposures,
                                const SelectorAnswers& answers, const hotplug::Inventory& inventory,
                                Budget entries, std::map<int32_t, Problem>& problems);

}  // namespace sliced::policy
