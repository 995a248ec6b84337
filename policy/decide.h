#pragma once
// The decision: (inventory, policies, node) -> verdicts and desired pools. Pure, deterministic, fail closed.
#include <memory>
#include <stop_token>

#include "policy/decision.h"

namespace sliced::policy {

/// Returns the decision for these inputs. After a stop request it returns early, and the result must not be
/// used.
/// Threads: any thread, one call at a time for an Inputs. Settings::budgets bounds work and memory.
Decision decide(std::shared_ptr<const Inputs> inputs, const std::stop_token& stop = {});

}  // namespace sliced::policy
