#pragma once
// Where no record tells what may be allocated: a pool that has no slice, too few of its slices, or one that
// could not be decoded.
#include <set>
#include <string>

namespace sliced::policy {

/// Pools of the exposure driver.
struct Doubt {
  bool is_any = false;                // every pool but those of `except`
  std::set<std::string> except = {};  // names
  bool is_of(const std::string& pool) const { return is_any && !except.contains(pool); }
};

/// Of both drivers, as it is found at a start.
/// publishers/find_doubt makes it of the first slices that are observed; the ledger ends it by what claims
/// show.
struct RecordDoubt {
  Doubt exposure;
  bool is_of_sriov = false;  // any VF may be allocated through the other driver
};

}  // namespace sliced::policy
