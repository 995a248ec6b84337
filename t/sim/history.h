#pragma once
// One seed is one history: a list of steps, each with its own luck and the time that passes after it, so that
// a history with steps left out is still a history.
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "t/sim/world.h"

namespace sliced::sim {

struct Step {
  int kind = 0;  // index into the table of steps
  uint64_t luck = 0;
  Millis wait{0};
};
struct History {
  uint64_t seed = 0;
  Knobs knobs;
  std::vector<Step> steps;
  KubeAllocator* kubernetes = nullptr;  // none: the scheduler is simulated alone
};
struct Outcome {
  std::optional<Violation> violation;
  size_t step = 0;  // at which it was seen
  uint64_t trace = 0;
  std::map<std::string, size_t> seen;
  size_t writes = 0;
  std::vector<std::string> log;
};

/// Of kinds of steps by name, in place of their own.
using Weights = std::map<std::string, double, std::less<>>;

Knobs knobs_for(uint64_t seed);
/// Of histories that are all about claims: few faults, much rest, and servers of a release and those that lack something.
struct Release {
  std::string version = "v1.36.3";
  bool counters = true, shared = true;  // by default
};
Knobs knobs_of_claims(uint64_t seed, const Release& release);
History make_history(uint64_t seed, size_t steps, const Weights& weights = {});
History make_history(uint64_t seed, size_t steps, const Weights& weights, Knobs knobs);
bool is_step(std::string_view name);
Outcome run_history(const History& history, bool loud = false);
/// Leaves steps out as long as the same invariant still breaks.
History shortened(const History& history, const Outcome& outcome, double seconds_max);
std::string describe(const Step& step);

}  // namespace sliced::sim
