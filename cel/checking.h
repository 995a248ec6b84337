#pragma once
// One check of an expression during the visit of its tree. Each kind of node has its file: check_names,
// check_fields, check_calls, check_format, check_literals, check_macros; checking.cpp dispatches. A function
// that visits a node visits its children first, then sets the node's type and annotations. Functions that
// return a bool return false if the expression is refused: `mistake` then has place and reason, and the check
// ends. Without Environment::check types are not checked, and an unknown name fails at evaluation.
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
  /// The arguments must outlive it. New types, names and constants belong to the arena, which counts their
  /// memory and steps.
  Checker(const Environment& environment, Arena& arena, Checked& out, Mistake& mistake);
  /// Called once.
  bool run(Node& root);

 private:
  /// A variable of a macro, while its scope is visited.
  struct Scope {
    std::string_view name;
    const Type* type;
    int slot;  // in Evaluation::locals
  };

  bool visit(Node& node);
  // Visits all children in order; returns false at the first that is refused.
  bool visit_args(Node& node);

  /// Refuses the expression, and keeps the first mistake. Returns false.
  bool wrong(const Node& node, std::string what);
  /// Refuses it, or without checks changes the node to a literal that fails at evaluation.
  bool late(Node& node, Failure failure, std::string_view about, std::string what);
  /// Sets the node's type; returns false if it is nested too deep. nullptr: dyn.
  bool is(Node& node, const Type* type);
  /// Returns dyn without checks.
  const Type* or_dyn(const Type* type) const;
  // map(string, map(string, value)): the type of device.attributes and device.capacity.
  const Type* domains_of(const Type* value);

  // check_names.cpp
  // Resolves macros' variables, the innermost first; then variables, `device` and names of types.
  bool name(Node& node);
  // Returns nullptr if no macro around the node declares it.
  const Scope* local(std::string_view name) const;
  // Calls find(full name) for each name space of the container, the innermost first, until it returns true.
  template <class Find>
  bool look_up(std::string_view name, bool is_absolute, Find find) const;
  const Function* find_function(std::string_view name, bool is_absolute) const;
  bool resolve_variable(Node& node, std::string_view name, bool is_absolute);
  // Returns nullopt if the node is not a dotted name, or is longer than any declared one.
  std::optional<std::string> qualified(const Node& node, bool& is_absolute) const;
  // Assigns a new slot to each variable, because the value of cel.bind() is evaluated at its first use.
  int declare(std::string_view name, const Type* type);

  // check_fields.cpp
  // kSelect and kHas: a qualified name, a field of the device, a map's key, or any name of a dyn value.
  bool select(Node& node);
  bool index(Node& node);
  // Returns nullptr with a mistake if the device has no such field.
  const Type* device_field(Node& node);
  // Changes device.attributes["domain"].id to one node with one look-up; returns false if known attributes
  // lack that name.
  bool fold_path(Node& node, std::string_view id, const Type*& result);
  // Reports the mistake, with the nearest name or the existing ones. Returns false.
  bool unknown_attribute(const Node& node, const Path& path);

  // check_calls.cpp
  bool logic(Node& node);
  bool conditional(Node& node);
  // Finds the overloads with matching types: none is a mistake; a single one is annotated; the common type of
  // several is the result.
  bool call(Node& node);
  // Changes "sets.contains(...)", which is parsed as a call on `sets`: returns true if such a function
  // exists, and removes the receiver.
  bool resolve_namespace(Node& node);
  bool equality(Node& node);
  // Reports a mistake, or without checks sets a literal that fails at evaluation; names the types of at most
  // eight arguments.
  bool no_overload(Node& node);

  // check_format.cpp
  bool visit_format(Node& node);

  // check_literals.cpp
  bool list(Node& node);
  bool map(Node& node);
  // Returns the common type; nullptr if both must be equal and are not. Inside format() they may differ.
  const Type* common(const Type* before, const Type* type);
  // Returns the type inside an optional after ?; nullptr with a mistake if it is not an optional.
  const Type* element_type(Node& node, size_t arg, size_t mark);
  // Changes a list of literals to one literal; returns false without memory.
  bool fold_list(Node& node);

  // check_macros.cpp
  bool macro(Node& node);
  // By the type of the range; refuses types other than list, map and optional.
  bool declare_variables(Node& node, const Type& range);
  bool macro_result(Node& node);

  const Environment& environment_;
  Arena& arena_;
  Checked& out_;
  Mistake& mistake_;
  const Library& library_ = Library::kubernetes();
  // Variables of macros around the visited node, the innermost last.
  std::vector<Scope> scopes_;
  int formats_ = 0;  // calls of format() around the node: inside, lists and maps may have mixed types
  std::vector<const Type*> variable_types_;
  int name_parts_max_ = 3;  // "google.protobuf.Duration", "sets.contains"
  const Type* attributes_type_ = nullptr;
  const Type* capacity_type_ = nullptr;
};

/// Returns "; did you mean X?", or "".
std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace sliced::cel
