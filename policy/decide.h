#pragma once
// (inventory, policies, node) -> verdicts and desired pools. Pure, deterministic, fail closed.
#include <memory>
#include <stop_token>

#include "policy/decision.h"

namespace sliced::policy {

/// What takes it long is broken off once stop is requested; what is returned then is of no use.
/// Threads: any, one call at a time an Inputs; what takes long is bounded by Settings::budgets in work and
/// memory, not in time.
Decision decide(std::shared_ptr<const Inputs> inputs, const std::stop_token& stop = {});

}  // namespace sliced::policy
