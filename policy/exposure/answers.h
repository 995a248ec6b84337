#pragma once
// What selectors say of host devices, and what it takes to ask them. Selectors are evaluated here and nowhere
// else; each is asked about every device, whatever others say, so that what a policy spends is its own
// affair.
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

/// What a selector says of a device and how many steps that takes, in two bytes: there are as many as
/// policies times devices. Steps above 1,023 are rounded up by a thousandth at most.
class KeptAnswer {
 public:
  KeptAnswer() = default;  // nothing is known
  KeptAnswer(cel::Answer::Is is, uint64_t steps);
  bool is_known() const { return (bits_ & 3) != 0; }
  cel::Answer::Is is() const { return static_cast<cel::Answer::Is>((bits_ & 3) - 1); }
  bool says_yes() const { return (bits_ & 3) == static_cast<unsigned>(cel::Answer::Is::kTrue) + 1; }
  uint64_t steps() const { return static_cast<uint64_t>(bits_ >> 6) << ((bits_ >> 2) & 15); }
  bool operator==(const KeptAnswer&) const = default;

 private:
  uint16_t bits_ = 0;  // 10 bits of steps, 4 of their exponent, 2 of the answer
};

/// What selectors said of the devices of a node. It stands while the facts stay the same: asking again would
/// say the same. And while a function's interface is away, what they read of it may be gone, and what those that
/// may ask for it said before stands. By their text: no edit of anything else in a policy changes it.
struct SelectorMemory {
  std::vector<std::string> selectors;  // sorted, none twice
  /// By selector: it was asked as an exclude's, about each port and with nothing taken for absent. What the
  /// others said is no answer of an exclude.
  std::vector<bool> of_excludes;
  std::vector<std::string> devices;  // host device ids, sorted
  std::vector<KeptAnswer> answers;   // for each device one of each selector
  hotplug::InventoryPtr inventory;   // whose facts they are of; nullptr: only what is away stands
  std::vector<bool> is_published;    // by device: it stood in our slices, which decides what is not known
  /// By selector: of all its answers together, when it had been asked about each device (other virtual links
  /// too, where is_about_virtual); kNotAll.
  static constexpr uint64_t kNotAll = ~uint64_t{0};
  std::vector<uint64_t> steps;
  std::vector<bool> is_about_virtual;
  /// Beside answers: the fact that was asked for and that nobody can tell now, as an index of
  /// known_attributes() plus 1; 0 none. The answer is kError then, or, with kReadAsAbsent added, what an expose
  /// says without that fact of a function that stands in our slices: no word about what is new. Empty: all is
  /// known.
  static constexpr uint8_t kReadAsAbsent = 128;
  std::vector<uint8_t> unknown;
  /// "": it is known.
  std::string_view unknown_fact(const std::string& device, const std::string& selector) const;
  KeptAnswer of(const std::string& device, const std::string& selector) const;
  /// Index in selectors; -1 none.
  int32_t index_of(const std::string& selector) const;
  /// Where what is kept of a device begins in answers and unknown; -1 nothing is.
  ptrdiff_t row_of(const std::string& device) const;
  bool is_unknown(size_t place) const {
    return !unknown.empty() && unknown[place] != 0 && unknown[place] < kReadAsAbsent;
  }
  /// Whether an answer stands when the interface leaves, or what is published changes.
  bool is_of_facts(size_t place) const { return unknown.empty() || unknown[place] == 0; }
};

/// A selector that is asked.
struct Question {
  std::string cel;
  const cel::Program* program = nullptr;
  bool is_about_virtual = true;  // false: other virtual links are passed over
  bool is_exclude = false;
  bool is_of_own_interface = true;  // it may ask for facts that leave with the device's own interface
};

struct Survey {
  /// Columns: of the questions, and of kept that were not asked.
  SelectorMemory memory;
  std::vector<bool> is_answered;  // by question; false: it takes more than there was for it
  uint64_t worked = 0;            // as counted for the budget, with what was begun again
};

/// Asks each question about each device, within the budget; those to whom the rest goes first come first.
/// driver: the domain of our attributes. before: of the decision before, or nullptr. kept: texts whose former
/// answers about what is away are kept although they are not asked. When stop is requested, what is returned
/// is of no use.
///
/// An exclude means a function when it means any of its ports. One whose answer is not known (is_unknown() of
/// attributes.h) means it too, unless the function is published and the exclude is known not to have meant it
/// before: by the decision before, or by the record of the slice that it stands in (exclude_record.h; record:
/// of today). An expose whose answer is not known takes nothing that is not published, and reads the rest as
/// absent.
Survey survey(const hotplug::Inventory& inventory, const std::vector<Question>& questions,
              const std::string& driver, const SelectorMemory* before, const std::vector<std::string>& kept,
              Budget budget, const std::stop_token& stop, const Published& published = {},
              const std::string& record = "");

/// Whether the interface of a device is away: then what was said of it before stands.
bool is_away(const hotplug::HostDevice& device);

}  // namespace sliced::policy
