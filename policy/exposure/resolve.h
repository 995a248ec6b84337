#pragma once
// Which policies of a node speak of a device, before devices are weighed against each other: excludes first,
// then per name suffix the first expose in order. Selectors are evaluated here and nowhere else.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "kube/selector.h"
#include "policy/cel/program.h"
#include "policy/exposure/policy.h"
#include "policy/exposure/selector.h"

namespace sliced::policy {

/// Cost of one policy's selector over all devices of a decision, in cel-go's units; beyond it the policy
/// cannot be used.
inline constexpr uint64_t kPolicyCostMax = 10'000'000;

/// The policies of one node, as indices into the list that was given.
struct NodeExposures {
  std::vector<int32_t> excludes;  // with a selector that can be used, or one that could be earlier
  std::vector<int32_t> exposes;   // in order: higher priority first, then by name
  /// Excludes, or policies that may be some, whose selector is not known: they may mean any device.
  std::vector<int32_t> unreadable;
};

struct Resolution {
  int32_t excluded_by = -1;           // the first exclude that selects the device
  bool is_excluded_by_error = false;  // its selector erred there, which hides the device too
  std::vector<int32_t> personas;      // the winner of each suffix, by suffix
  bool operator==(const Resolution&) const = default;
};

/// What selectors said of the functions of a node. While a function's interface is away, what they read of it
/// may be gone, and what they said before stands. By their text: no edit of anything else in a policy changes
/// it.
struct SelectorMemory {
  static constexpr uint8_t kNothing = 0;  // else 1 + cel::Answer::Is
  std::vector<std::string> selectors;     // sorted, none twice
  std::vector<std::string> devices;       // host device ids, sorted
  std::vector<uint8_t> answers;           // for each device one of each selector
  /// By selector; empty when nothing is known of the device.
  std::span<const uint8_t> of(const std::string& device) const;
};
using SelectorMemoryPtr = std::shared_ptr<const SelectorMemory>;

/// Whether and why a selector takes a device, for people.
struct SelectorAnswer {
  cel::Answer::Is is = cel::Answer::Is::kError;
  std::string error;  // with its column
  uint64_t cost = 0;
  bool is_remembered = false;  // of when its interface was here; error and cost are not known then
};

class ExposureResolver {
 public:
  /// exposures: in order of evaluation; must outlive this. driver: the domain of our attributes. before: of
  /// the decision before; nullptr nothing.
  ExposureResolver(const std::vector<ExposurePolicy>& exposures, const kube::NodeView& node,
                   std::string driver, SelectorMemoryPtr before);

  const NodeExposures& node() const { return node_; }
  /// Devices are asked for in order of their ids.
  Resolution of(const DeviceFacts& facts);
  /// Policies above kPolicyCostMax so far. What was resolved with them does not count: leave() them and
  /// resolve everything again.
  const std::set<int32_t>& spent() const { return spent_; }
  /// An expose no longer counts, an exclude becomes unreadable. Costs begin anew.
  void leave(const std::set<int32_t>& policies);

  SelectorAnswer ask(int32_t policy, const DeviceFacts& facts);
  /// What has been resolved.
  SelectorMemory take_memory() { return std::move(memory_); }

 private:
  void note_selectors();
  void look_at(const DeviceFacts& facts);
  uint8_t standing(size_t selector) const;
  cel::Answer::Is answer_of(int32_t policy);
  cel::Answer::Is evaluate(int32_t policy);
  std::optional<cel::Answer::Is> remembered(int32_t policy) const;

  const std::vector<ExposurePolicy>& exposures_;
  NodeExposures node_;
  HostDeviceView view_;
  cel::Evaluator evaluator_;
  std::vector<const cel::Program*> programs_;  // by policy; nullptr none
  std::vector<uint64_t> costs_;                // by policy
  std::set<int32_t> spent_;
  SelectorMemoryPtr before_;
  std::vector<size_t> selector_of_;    // by policy: its index in memory_.selectors
  std::vector<int32_t> index_before_;  // by selector: its index in before_->selectors; -1 none
  // Of the device that is looked at: what stands, when its interface is away, and where answers go.
  std::span<const uint8_t> standing_;
  uint8_t* told_ = nullptr;
  SelectorMemory memory_;
};

}  // namespace sliced::policy
