#pragma once
// The kinds of steps, by what they touch. A step without an effect here and now has none, so that any subset
// of a history can be run.
#include <span>
#include <string>

#include "t/sim/world.h"

namespace sliced::sim {

struct StepKind {
  const char* name;
  double Knobs::* lively;  // nullptr: by itself
  double weight;
  void (*run)(World&);
};

std::span<const StepKind> claim_steps();

}  // namespace sliced::sim
