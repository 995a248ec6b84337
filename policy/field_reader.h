#pragma once
// Reading the fields of a policy object one by one, collecting every problem instead of stopping at the
// first. What is wrong gives the value that is named for absence, so that decoders need no branch for it; that
// the policy then offers less is up to whoever looks at the problems.
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

/// A map of the object with its path. Unknown members are problems; so is every member of the wrong kind.
/// Ownership: of the path alone; value and problems outlive it, and what it returns points into value.
class FieldReader {
 public:
  /// value may be null or absent (nullptr): an empty map then.
  FieldReader(const kube::Json* value, std::string path, Problems& problems);

  /// The members this map may have; all others become problems, with the nearest known name.
  void only(std::span<const std::string_view> known);
  void only(std::initializer_list<std::string_view> known) { only(std::span(known.begin(), known.size())); }

  const kube::Json* member(std::string_view key) const;  // nullptr when absent or null
  /// "" when absent.
  std::string text(std::string_view key);
  /// otherwise: when absent, not a number, or outside of min and max (both included).
  int64_t integer(std::string_view key, int64_t min, int64_t max, int64_t otherwise);
  bool boolean(std::string_view key, bool otherwise);
  /// Lists. Empty when absent; entries beyond count_max and of the wrong kind are problems.
  std::vector<const kube::Json*> items(std::string_view key, size_t count_max);
  struct Entry {
    std::string text;
    int line = 0;
  };
  /// bytes_max: of each text; a longer one is a problem and not in the list.
  std::vector<Entry> texts(std::string_view key, size_t count_max, size_t bytes_max);
  /// A map with names of the author's choice. Empty when absent; more than count_max is a problem.
  std::vector<const kube::Json::Member*> entries(std::string_view key, size_t count_max);
  /// Either of its two forms (kube/objects/selector.h). Absent: empty, as in a policy without one.
  kube::NodeSelector node_selector(std::string_view key);

  /// "spec.configs[0].resourceFilters", as problems name it.
  std::string path_of(std::string_view key) const;
  /// line: of the YAML text; 0: the member's, where there is one.
  void problem(std::string_view key, std::string what, int line = 0);
  /// What a decoder of kube/ found below the member.
  void adopt(std::string_view key, const kube::FieldProblems& found);

 private:
  Problem unknown(std::string_view key, std::span<const std::string_view> known, int line) const;

  const kube::Json* map_ = nullptr;
  std::string path_;
  Problems& problems_;
};

}  // namespace sliced::policy
