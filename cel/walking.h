#pragma once
// One evaluation of a checked tree. Each kind of node has its file: walk_fields, walk_calls, walk_literals,
// walk_macros; walking.cpp dispatches. A function that evaluates a node returns its value, or an error value,
// which an operator may absorb, except those for which ends_everything() is true. Each charges cel-go's cost
// in cel-go's order, because a limit may end it anywhere.
#include <cstdint>
#include <string_view>
#include <vector>

#include "cel/walk.h"

namespace sliced::cel {

class Walk {
 public:
  /// The arguments must outlive it.
  Walk(Evaluation& in, const std::vector<Path>& paths, const Activation& activation)
      : in_(in), paths_(paths), activation_(activation) {}

  /// For any kind of node. At most kNestedMax nodes deep, including bindings and comprehensions.
  Value value(const Node& node);

 private:
  /// Result of one step over elements: an error stays until the end, and the other elements are still
  /// evaluated.
  struct Gathering {
    Value error;  // no error: null
    bool holds = true;
    bool ends = false;  // immediately, with `error`
  };

  // By the node's kind; value() has charged its step and checked the depth.
  Value evaluated(const Node& node);
  // With the node's place in the text.
  Value fail(const Node& node, Failure failure, std::string_view about = {});
  Value no_memory(const Node& node) { return fail(node, Failure::kNoMemory); }
  /// Returns true above the limits, and sets out to the exceeded one.
  bool is_over(Value& out, const Node& node);
  Local& local(int slot) { return in_.locals[static_cast<size_t>(slot)]; }
  // A bound expression is evaluated at its first use, and keeps its value; each use costs a unit.
  Value read_local(Local& variable);
  Value variable(const Node& node);

  // walk_fields.cpp
  // Reads a path of the device; charges upstream's cost of the whole chain.
  Value attribute(const Node& node);
  /// is_side: of a condition, which is part of an attribute.
  Value has(const Node& node, bool is_side = false);
  // operand.name and operand[key]; through an optional the result is one too.
  Value select(const Node& node);
  // Returns the value of a part of an attribute, and refunds its unit, which the attribute has paid.
  Value part(const Node& node);
  // Returns true if operand is an optional that is read through; operand is then its content, or still empty.
  bool is_opened(const Node& on, Value& operand);
  Value device_field(const Node& node, const Device& device);
  // For the ? syntax; for a list, whether the index is inside.
  bool is_present(const Value& operand, const Value& key);
  // Returns the element, or kNoSuchKey; for a list kInvalidArgument outside.
  Value element(const Node& node, const Value& operand, const Value& key);
  Value no_index(const Node& node, const Value& key);
  // For messages; in the arena, or the key's own.
  std::string_view key_text(const Value& key);

  // walk_calls.cpp
  Value equality(const Node& node);
  // && and || with their errors: a deciding operand decides regardless of the others.
  Value logic(const Node& node);
  Value conditional(const Node& node);
  // Evaluates the argument only if the optional is empty.
  Value otherwise(const Node& node);
  // Evaluates the arguments in order, then the overload that matches their values, and then charges the
  // price, which depends on the result.
  Value call(const Node& node);
  // By the values' kinds; nullptr if none accepts them.
  const Overload* overload_for(const Node& node, const Value* args);
  // Returns `result`, or the error of an exceeded limit, or of upstream's abort.
  Value charge_for(const Node& node, const Overload* overload, const Value* args, const Value& result);

  // walk_literals.cpp
  Value list(const Node& node);
  Value map(const Node& node);
  // Returns false if it is not an optional; an empty one becomes an error that the caller skips.
  bool unwrap(const Node& node, size_t mark, Value& item);
  Value finish_map(const Node& node, const EntryMap* made, bool refuses_repeated);

  // walk_macros.cpp
  Value macro(const Node& node);
  // optMap() and optFlatMap(); price is the optional's cost, which its first use is charged again.
  Value map_optional(const Node& node, const Value& optional, uint64_t price);
  // all() and exists(): end at the deciding element; errors count only if none decides.
  Value quantifier(const Node& node, const Value& range);
  Value exists_one(const Node& node, const Value& range);
  // map(), filter() and transformList(): memory for the range's size is allocated first.
  Value transform_list(const Node& node, const Value& range);
  Value transform_map(const Node& node, const Value& range);
  Value sort_by(const Node& node, const Value& range);
  size_t size_of(const Value& range);
  // Sets the macro's variables for one element.
  void bind(const Node& node, const Value& range, size_t at);
  // Sets `state.holds` to the body's result for the element; errors are kept in state, and end the loop only
  // if nothing absorbs them.
  void condition(const Node* body, const Node& node, Gathering& state);
  // Appends the entries of one more map, within memory and steps.
  void append(std::vector<EntryMap::Entry>& entries, const Map& map);
  // A repeated key is an error here, unlike in a literal.
  Value inserted(const Node& node, const std::vector<EntryMap::Entry>& entries);

  bool is_chain_optional_ = false;  // of the attribute that was read last
  int depth_ = 0;
  Evaluation& in_;
  const std::vector<Path>& paths_;
  const Activation& activation_;
};

/// cel-go's price of creating a list.
inline constexpr uint64_t kListCost = 10;

inline bool ends_everything(const Value& value) {
  return value.is_error() && ends_evaluation(value.error->failure);
}

}  // namespace sliced::cel
