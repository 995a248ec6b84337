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

std::span<const StepKind> host_steps();
std::span<const StepKind> policy_steps();
std::span<const StepKind> server_steps();
std::span<const StepKind> writer_steps();
std::span<const StepKind> claim_steps();

// What more than one group does.
std::string some_pf(World& world);
std::string some_vf(World& world);
void change_vfs(World& world);
void put_policy(World& world);
void change_policies(World& world);
/// As the kubelet does at its start: of all drivers of the node.
void wipe_slices(World& world);
/// Somebody writes into a slice of ours up to the last bytes that an object's annotations may have.
void fill_annotations(World& world);

}  // namespace sliced::sim
