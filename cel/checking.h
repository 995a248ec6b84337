#pragma once
// One check of an expression, while its tree is visited. Each kind of node has its file: check_names,
// check_fields, check_calls, check_format, check_literals, check_macros; checking.cpp says which is whose.
//
// A function that visits a node first visits what is below it, then gives the node its type and notes on it
// what the evaluator needs. Functions that return a bool are false when the expression is refused: `mistake`
// then says where and why, and nobody goes on. Without Environment::check types are not asked, and a name
// that is not there fails when it is met.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cel/checker.h"
#include "cel/library.h"

namespace sliced::cel {

class Checker {
 public:
  /// What is given must outlive it. Types, names and constants that it makes are the arena's, which pays for
  /// them in memory and steps.
  Checker(const Environment& environment, Arena& arena, Checked& out, Mistake& mistake);
  /// Once.
  bool run(Node& root);

 private:
  /// A variable that a macro declares, as long as what it is seen from is visited.
  struct Scope {
    std::string_view name;
    const Type* type;
    int slot;  // of Evaluation::locals
  };

  bool visit(Node& node);
  // All that is below the node, in order; false at the first that is refused.
  bool visit_args(Node& node);

  /// Refuses the expression; what was wrong first is what is told. Always false.
  bool wrong(const Node& node, std::string what);
  /// Refuses it, or without checks makes the node a literal that fails when it is met.
  bool late(Node& node, Failure failure, std::string_view about, std::string what);
  /// The node's type; false when it is nested too deep. nullptr: dyn.
  bool is(Node& node, const Type* type);
  /// Without checks everything is dyn.
  const Type* or_dyn(const Type* type) const;
  // map(string, map(string, value)): what device.attributes and device.capacity are.
  const Type* domains_of(const Type* value);

  // check_names.cpp
  // A macro's variable, the innermost first; then variables, `device` and names of types.
  bool name(Node& node);
  // nullptr when no macro around the node declares it.
  const Scope* local(std::string_view name) const;
  // find(full name) for each name space of the container, the innermost first, until it says true.
  template <class Find>
  bool look_up(std::string_view name, bool is_absolute, Find find) const;
  const Function* find_function(std::string_view name, bool is_absolute) const;
  bool resolve_variable(Node& node, std::string_view name, bool is_absolute);
  // nullopt where the node spells no dotted name, or one longer than any that is declared.
  std::optional<std::string> qualified(const Node& node, bool& is_absolute) const;
  // A slot of its own for each, never used twice: what cel.bind() binds is evaluated where it is first read.
  int declare(std::string_view name, const Type* type);

  // check_fields.cpp
  // kSelect and kHas: a qualified name, a field of the device, a map's key, whatever dyn holds.
  bool select(Node& node);
  bool index(Node& node);
  // nullptr, and the mistake is told, where the device has no such field.
  const Type* device_field(Node& node);
  // device.attributes["domain"].id becomes one node with one lookup; false where known attributes have none
  // of that name.
  bool fold_path(Node& node, std::string_view id, const Type*& result);
  // Tells the mistake, with the nearest name or what there is. Always false.
  bool unknown_attribute(const Node& node, const Path& path);

  // check_calls.cpp
  bool logic(Node& node);
  bool conditional(Node& node);
  // The overloads that fit by type: none is a mistake, one that is sure is noted, of several the common type
  // is the result.
  bool call(Node& node);
  // "sets.contains(...)" reads as a call on `sets`: true where such a function exists, and the receiver is
  // gone.
  bool resolve_namespace(Node& node);
  bool equality(Node& node);
  // A mistake, or without checks a literal that fails when it is met; names the types of at most eight
  // arguments.
  bool no_overload(Node& node);

  // check_format.cpp
  bool visit_format(Node& node);

  // check_literals.cpp
  bool list(Node& node);
  bool map(Node& node);
  // nullptr where both must be of one type and are not; inside of format() they need not be.
  const Type* common(const Type* before, const Type* type);
  // Of what stands behind a ?, what the optional holds; nullptr and the mistake where it is none.
  const Type* element_type(Node& node, size_t arg, size_t mark);
  // A list of literals becomes one; false without memory.
  bool fold_list(Node& node);

  // check_macros.cpp
  bool macro(Node& node);
  // By what the macro goes over; refuses what is neither list, map nor optional.
  bool declare_variables(Node& node, const Type& range);
  bool macro_result(Node& node);

  const Environment& environment_;
  Arena& arena_;
  Checked& out_;
  Mistake& mistake_;
  const Library& library_ = Library::kubernetes();
  // Those of macros around the node that is visited, the innermost last.
  std::vector<Scope> scopes_;
  int formats_ = 0;  // calls of format() around the node: in them lists and maps may be mixed
  std::vector<const Type*> variable_types_;
  int name_parts_max_ = 3;  // "google.protobuf.Duration", "sets.contains"
  const Type* attributes_type_ = nullptr;
  const Type* capacity_type_ = nullptr;
};

/// "; did you mean X?", or "".
std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace sliced::cel
