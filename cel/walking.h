#pragma once
// One evaluation of a checked tree. Each kind of node has its file: walk_fields, walk_calls, walk_literals,
// walk_macros; walking.cpp says which is whose.
//
// A function that evaluates a node returns its value, or an error as one: errors are values until an
// operator absorbs them, but for those that end everything (ends_everything). Each charges the evaluation
// with what cel-go charges, in cel-go's order, since a limit may end it anywhere.
#include <cstdint>
#include <string_view>
#include <vector>

#include "cel/walk.h"

namespace sliced::cel {

class Walk {
 public:
  /// What is given must outlive it.
  Walk(Evaluation& in, const std::vector<Path>& paths, const Activation& activation)
      : in_(in), paths_(paths), activation_(activation) {}

  /// Of a node of any kind. kNestedMax nodes deep, what binds and comprehensions bind included.
  Value value(const Node& node);

 private:
  /// What a step over an element has found: an error stands until the end, and the other elements are
  /// evaluated all the same.
  struct Gathering {
    Value error;  // no error: null
    bool holds = true;
    bool ends = false;  // at once, with `error`
  };

  // By the node's kind; value() has charged its step and looked how deep it is.
  Value evaluated(const Node& node);
  // With the node's place in the text.
  Value fail(const Node& node, Failure failure, std::string_view about = {});
  Value no_memory(const Node& node) { return fail(node, Failure::kNoMemory); }
  /// Over the limits nothing counts any more: then true, and out says which limit.
  bool is_over(Value& out, const Node& node);
  Local& local(int slot) { return in_.locals[static_cast<size_t>(slot)]; }
  // What is bound is evaluated when it is first read, and keeps its value; each reading costs a unit.
  Value read_local(Local& variable);
  Value variable(const Node& node);

  // walk_fields.cpp
  // A path of the device, read in one: upstream's cost of the whole chain is charged here.
  Value attribute(const Node& node);
  /// is_side: of a condition, which is part of an attribute.
  Value has(const Node& node, bool is_side = false);
  // operand.name and operand[key]; through an optional the answer is one too.
  Value select(const Node& node);
  // The value of what is part of an attribute: its unit is given back, as the attribute's has paid for it.
  Value part(const Node& node);
  // True where operand is an optional that is read through; operand is then what is in it, or still none.
  bool is_opened(const Node& on, Value& operand);
  Value device_field(const Node& node, const Device& device);
  // What the ? syntax asks; of a list, whether the index is inside.
  bool is_present(const Value& operand, const Value& key);
  // What is there, or kNoSuchKey; of a list kInvalidArgument outside of it.
  Value element(const Node& node, const Value& operand, const Value& key);
  Value no_index(const Node& node, const Value& key);
  // For messages; the arena's, or the key's own.
  std::string_view key_text(const Value& key);

  // walk_calls.cpp
  Value equality(const Node& node);
  // && and || with their errors: an operand that decides does so whatever the others are.
  Value logic(const Node& node);
  Value conditional(const Node& node);
  // Evaluates the argument only where the optional holds nothing.
  Value otherwise(const Node& node);
  // Arguments in order, then the overload that fits their values, and at last the price, which depends on the
  // result.
  Value call(const Node& node);
  // By the values' kinds; nullptr where none accepts them.
  const Overload* overload_for(const Node& node, const Value* args);
  // `result`, or that the limit is passed, or that upstream breaks off there.
  Value charge_for(const Node& node, const Overload* overload, const Value* args, const Value& result);

  // walk_literals.cpp
  Value list(const Node& node);
  Value map(const Node& node);
  // False for what is no optional; an absent one becomes an error that the caller passes over.
  bool unwrap(const Node& node, size_t mark, Value& item);
  Value finish_map(const Node& node, const EntryMap* made, bool refuses_repeated);

  // walk_macros.cpp
  Value macro(const Node& node);
  // optMap() and optFlatMap(); price is what the optional has cost, which its first reading is charged again.
  Value map_optional(const Node& node, const Value& optional, uint64_t price);
  // all() and exists(): ends at the element that decides, and errors count only where none does.
  Value quantifier(const Node& node, const Value& range);
  Value exists_one(const Node& node, const Value& range);
  // map(), filter() and transformList(): memory for as many as the range has is taken beforehand.
  Value transform_list(const Node& node, const Value& range);
  Value transform_map(const Node& node, const Value& range);
  Value sort_by(const Node& node, const Value& range);
  size_t size_of(const Value& range);
  // Sets the macro's variables for one element.
  void bind(const Node& node, const Value& range, size_t at);
  // `state.holds` is what the body says of the element; errors are kept in state and end nothing but where
  // nothing absorbs them.
  void condition(const Node* body, const Node& node, Gathering& state);
  // Entries of one more map, as far as memory and steps go.
  void append(std::vector<EntryMap::Entry>& entries, const Map& map);
  // A key that stands twice is an error here, unlike in a literal.
  Value inserted(const Node& node, const std::vector<EntryMap::Entry>& entries);

  bool is_chain_optional_ = false;  // of the attribute that was read last
  int depth_ = 0;
  Evaluation& in_;
  const std::vector<Path>& paths_;
  const Activation& activation_;
};

/// cel-go's price of making a list.
inline constexpr uint64_t kListCost = 10;

inline bool ends_everything(const Value& value) {
  return value.is_error() && ends_evaluation(value.error->failure);
}

}  // namespace sliced::cel
