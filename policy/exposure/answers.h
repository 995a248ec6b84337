#pragma once
// Evaluates selectors over host devices and stores their answers. Each selector is evaluated for every
// device, independent of other selectors, so that its cost depends on its own policy only.
#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "cel/program.h"
#include "hotplug/facts.h"
#include "policy/budget.h"
#include "policy/published.h"

namespace sliced::policy {

/// An answer and the work steps that it cost, in two bytes, because there are policies times devices of them.
/// Steps above 1,023 are rounded up by at most a thousandth.
class StoredResult {
 public:
  StoredResult() = default;  // unknown
  StoredResult(cel::Answer::Is is, uint64_t steps);
  bool is_known() const { return (bits_ & 3) != 0; }
  cel::Answer::Is is() const { return static_cast<cel::Answer::Is>((bits_ & 3) - 1); }
  bool is_true() const { return (bits_ & 3) == static_cast<unsigned>(cel::Answer::Is::kTrue) + 1; }
  uint64_t steps() const { return static_cast<uint64_t>(bits_ >> 6) << ((bits_ >> 2) & 15); }
  bool operator==(const StoredResult&) const = default;

 private:
  uint16_t bits_ = 0;  // 10 bits of steps, 4 of their exponent, 2 of the answer
};

/// Stored answers for the devices of a node. An answer is valid while the facts of the device are unchanged.
/// While a function's interface is in another namespace, answers that depend on it remain valid. Identified
/// by the selector's text, so that other edits of a policy do not invalidate them.
struct SelectorMemory {
  std::vector<std::string> selectors;  // sorted, unique
  /// By selector: evaluated as an exclude: for each port, without reading unknown facts as absent. Other
  /// answers are not valid for an exclude.
  std::vector<bool> of_excludes;
  std::vector<std::string> devices;   // host device ids, sorted
  std::vector<StoredResult> answers;  // for each device, one for each selector
  hotplug::InventoryPtr inventory;    // facts of the answers; nullptr: only answers about interfaces in other
                                      // namespaces are valid
  std::vector<bool> is_published;     // by device: it was in our slices, which decides how unknown facts are
                                      // read
  /// By selector: steps of all answers together, if it was evaluated for each device (for other virtual links
  /// only if is_about_virtual); otherwise kNotAll.
  static constexpr uint64_t kNotAll = ~uint64_t{0};
  std::vector<uint64_t> steps;
  std::vector<bool> is_about_virtual;
  /// By answer: the unknown fact that the selector read, as an index of known_attributes() plus 1; 0 if none.
  /// Its answer is kError or, with kReadAsAbsent added, the answer of an expose without that fact for a
  /// published function, which is not valid for a new entry. Empty: all facts are known.
  static constexpr uint8_t kReadAsAbsent = 128;
  std::vector<uint8_t> unknown;
  /// Returns the unknown fact; "" if known.
  std::string_view unknown_fact(const std::string& device, const std::string& selector) const;
  StoredResult of(const std::string& device, const std::string& selector) const;
  /// Returns the index in selectors; -1 if absent.
  int32_t index_of(const std::string& selector) const;
  /// Returns the start of the device's row in answers and unknown; -1 if absent.
  ptrdiff_t row_of(const std::string& device) const;
  bool is_unknown(size_t place) const {
    return !unknown.empty() && unknown[place] != 0 && unknown[place] < kReadAsAbsent;
  }
  /// Returns true if the answer remains valid when the interface leaves or the published entries change.
  bool is_of_facts(size_t place) const { return unknown.empty() || unknown[place] == 0; }
};

/// A selector to evaluate.
struct Question {
  std::string cel;
  const cel::Program* program = nullptr;
  bool is_about_virtual = true;  // false: other virtual links are skipped
  bool is_exclude = false;
  bool is_of_own_interface = true;  // it may read facts that leave with the device's own interface
};

struct Survey {
  /// Columns: the questions, and those of `kept` that were not evaluated.
  SelectorMemory memory;
  std::vector<bool> is_answered;  // by question; false: its budget did not suffice
  uint64_t worked = 0;            // steps as counted for the budget, including repeated ones
};

/// Evaluates each question for each device, within the budget; earlier questions get the rest first.
/// driver: the domain of our attributes. before: of the previous decision, or nullptr. kept: texts whose
/// answers about interfaces in other namespaces are kept without an evaluation. After a stop request the
/// result must not be used.
///
/// An exclude selects a function if it selects any of its ports. If its answer is unknown (is_unknown() of
/// attributes.h), it selects the function, unless the function is published and the exclude is known not to
/// have selected it: by the previous decision, or by the record of the function's slice (exclude_record.h;
/// record: the present one). An expose with an unknown answer selects nothing that is not published, and
/// reads unknown facts of published functions as absent.
Survey survey(const hotplug::Inventory& inventory, const std::vector<Question>& questions,
              const std::string& driver, const SelectorMemory* before, const std::vector<std::string>& kept,
              Budget budget, const std::stop_token& stop, const Published& published = {},
              const std::string& record = "");

/// Returns true if the device's interface is in another namespace: earlier answers remain valid.
bool is_away(const hotplug::HostDevice& device);

}  // namespace sliced::policy
