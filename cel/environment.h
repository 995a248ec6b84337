#pragma once
// Declarations and rules for expressions. The defaults are those of Kubernetes 1.36's device selectors
// (k8s.io/dynamic-resource-allocation/cel); conformance tests of the language set others.
#include <string>
#include <vector>

#include "cel/ast.h"
#include "cel/device.h"

namespace sliced::cel {

struct Variable {
  std::string name;  // may be qualified: "com.example.x"
  std::string type;  // in the form of types.h
};

struct Mistake;  // cel/parser.h

/// A value; programs keep no reference to it. known outlives compilation.
struct Environment {
  /// Kubernetes refuses lists and maps of mixed types; the language does not.
  bool is_homogeneous = true;
  /// Formats and counts as Kubernetes 1.36 does, where it differs from the language (cel-go's own versions).
  /// Also declares the variable `device`.
  bool has_device = true;
  const KnownAttributes* known = nullptr;  // used during compilation
  std::vector<Variable> variables;         // besides `device`
  /// In the container a.b the name x is the first existing one of a.b.x, a.x and x.
  std::string container;  // name space in which names are looked up first
  /// false: has(), all() and the others are ordinary calls.
  bool macros = true;
  bool check = true;          // false: names and types are resolved at evaluation
  bool requires_bool = true;  // the result must be bool
};

}  // namespace sliced::cel
