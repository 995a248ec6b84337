#pragma once
// One decision while it is made: what both kinds of policies get, and where they put what comes of it.
#include "policy/decision.h"
#include "policy/entry_memory.h"
#include "policy/gates/gates.h"
#include "policy/resolution.h"
#include "policy/same_facts.h"

namespace sliced::policy {

struct Deciding {
  const Inputs& in;
  const Resolutions& resolutions;
  const SameFacts& same;  // as when in.entries was made
  const Gates& gates;
  Circumstances& now;  // the gates'; what a kind of policies takes is noted there
  Decision& out;
  EntryMemory& memory;  // for the next decision
};

}  // namespace sliced::policy
