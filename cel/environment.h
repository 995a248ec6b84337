#pragma once
// What an expression may speak of, and by which rules it is read: the defaults are those of Kubernetes 1.36's
// device selectors (k8s.io/dynamic-resource-allocation/cel); conformance cases of the language set others.
#include <string>
#include <vector>

#include "cel/ast.h"
#include "cel/device.h"

namespace sliced::cel {

struct Variable {
  std::string name;  // may be qualified: "com.example.x"
  std::string type;  // as types.h reads it
};

struct Mistake;  // cel/parser.h

/// What an expression may speak of.
/// A value; programs keep nothing of it but what they were told. known outlives compiling.
struct Environment {
  /// Kubernetes refuses lists and maps of mixed types; the language does not.
  bool is_homogeneous = true;
  /// Formats and counts as Kubernetes 1.36 does where it differs from the language (cel-go's own versions).
  /// Also whether there is the variable `device` at all.
  bool has_device = true;
  const KnownAttributes* known = nullptr;  // asked while a program is compiled
  std::vector<Variable> variables;         // beside `device`
  /// In the container a.b the name x is a.b.x, a.x or x, whichever is found first.
  std::string container;  // name space in which names are looked up first
  /// false: has(), all() and the others are calls like any.
  bool macros = true;
  bool check = true;       // false: names and types are resolved when they are met
  bool wants_bool = true;  // the result
};

}  // namespace sliced::cel
