#pragma once
// Pools whose record of withdrawn entries may be incomplete: without slices, with missing slices, or with an
// invalid one.
#include <set>
#include <string>

namespace sliced::policy {

/// Pools of the exposure driver.
struct UnverifiedPools {
  bool is_any = false;                // all pools except those in `except`
  std::set<std::string> except = {};  // names
  bool is_of(const std::string& pool) const { return is_any && !except.contains(pool); }
};

/// Unverified pools of both drivers at the start, from the first observed slices (publishers/restore.h).
struct UnverifiedRecords {
  UnverifiedPools exposure;
  bool is_of_sriov = false;  // any VF may be allocated through the other driver
};

}  // namespace sliced::policy
