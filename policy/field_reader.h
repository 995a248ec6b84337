#pragma once
// Reads the fields of a policy object one by one and collects every problem instead of stopping at the first.
// An invalid field reads as if it were absent, so that decoders need no extra branch. The problems decide how
// much the policy offers.
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/json.h"
#include "kube/objects/selector.h"
#include "policy/problem.h"

namespace sliced::policy {

/// A map of the object with its path. Unknown members and members of the wrong type are problems.
/// Ownership: owns the path only; value and problems must outlive it. Results point into value.
class FieldReader {
 public:
  /// value: null or nullptr is an empty map.
  FieldReader(const kube::Json* value, std::string path, Problems& problems);

  /// Declares the known members. Adds a problem for each other member, with the nearest known name.
  void only(std::span<const std::string_view> known);
  void only(std::initializer_list<std::string_view> known) { only(std::span(known.begin(), known.size())); }

  const kube::Json* member(std::string_view key) const;  // nullptr if absent or null
  /// Returns "" if absent.
  std::string text(std::string_view key);
  /// Returns `otherwise` if absent, not a number, or outside of [min, max].
  int64_t integer(std::string_view key, int64_t min, int64_t max, int64_t otherwise);
  bool boolean(std::string_view key, bool otherwise);
  /// Lists. Empty if absent; entries beyond count_max and of the wrong type are problems.
  std::vector<const kube::Json*> items(std::string_view key, size_t count_max);
  struct Entry {
    std::string text;
    int line = 0;
  };
  /// bytes_max: of each text; a longer one is a problem and left out.
  std::vector<Entry> texts(std::string_view key, size_t count_max, size_t bytes_max);
  /// Returns the members of a map with names that the author chose. Empty if absent; more than count_max is a
  /// problem.
  std::vector<const kube::Json::Member*> entries(std::string_view key, size_t count_max);
  /// Accepts both forms (kube/objects/selector.h). Absent: empty, as in a policy without one.
  kube::NodeSelector node_selector(std::string_view key);

  /// Returns the path as in problems, "spec.configs[0].resourceFilters".
  std::string path_of(std::string_view key) const;
  /// line: of the YAML text; 0: the line of the member, if it has one.
  void problem(std::string_view key, std::string what, int line = 0);
  /// Adds the problems that a decoder of kube/ found below the member.
  void adopt(std::string_view key, const kube::FieldProblems& found);

 private:
  Problem unknown(std::string_view key, std::span<const std::string_view> known, int line) const;

  const kube::Json* map_ = nullptr;
  std::string path_;
  Problems& problems_;
};

}  // namespace sliced::policy
