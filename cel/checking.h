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
  bool visit_args(Node& node);

  /// Refuses the expression; what was wrong first is what is told. Always false.
  bool wrong(const Node& node, std::string what);
  /// Refuses it, or without checks makes the node a literal that fails when it is met.
  bool late(Node& node, Failure failure, std::string_view about, std::string what);
  /// The node's type; false when it is nested too deep. nullptr: dyn.
  bool is(Node& node, const Type* type);
  /// Without checks everything is dyn.
  const Type* or_dyn(const Type* type) const;
  const Type* domains_of(const Type* value);

  // check_names.cpp
  bool name(Node& node);
  const Scope* local(std::string_view name) const;
  template <class Find>
  bool look_up(std::string_view name, bool is_absolute, Find find) const;
  const Function* find_function(std::string_view name, bool is_absolute) const;
  bool resolve_variable(Node& node, std::string_view name, bool is_absolute);
  std::optional<std::string> qualified(const Node& node, bool& is_absolute) const;
  int declare(std::string_view name, const Type* type);

  // check_fields.cpp
  bool select(Node& node);
  bool index(Node& node);
  const Type* device_field(Node& node);
  bool fold_path(Node& node, std::string_view id, const Type*& result);
  bool unknown_attribute(const Node& node, const Path& path);

  // check_calls.cpp
  bool logic(Node& node);
  bool conditional(Node& node);
  bool call(Node& node);
  bool resolve_namespace(Node& node);
  bool equality(Node& node);
  bool no_overload(Node& node);

  // check_format.cpp
  bool visit_format(Node& node);

  // check_literals.cpp
  bool list(Node& node);
  bool map(Node& node);
  const Type* common(const Type* before, const Type* type);
  const Type* element_type(Node& node, size_t arg, size_t mark);
  bool fold_list(Node& node);

  // check_macros.cpp
  bool macro(Node& node);
  bool declare_variables(Node& node, const Type& range);
  bool macro_result(Node& node);

  const Environment& environment_;
  Arena& arena_;
  Checked& out_;
  Mistake& mistake_;
  const Library& library_ = Library::kubernetes();
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
