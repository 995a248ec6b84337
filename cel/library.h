#pragma once
// The functions for expressions, by name and signature: a table that the checker and the evaluator share.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cel/evaluation.h"
#include "cel/price.h"
#include "cel/types.h"

namespace sliced::cel {

/// args: as many as in the signature, none of them an error, each of a kind that matches its type. Returns a
/// value or an error value; counts work steps in `in`, and may return anything if in.is_beyond().
using Implementation = Value (*)(Evaluation& in, const Value* args);

/// One signature of a function. The first matching one is used, as upstream does.
struct Overload {
  bool is_member = false;
  std::vector<const Type*> args;  // the receiver first
  const Type* result = nullptr;
  Implementation run = nullptr;
  PriceTag price;

  /// Returns whether values of these kinds match its arguments.
  bool accepts(const Value* arguments, size_t count) const;
};

/// All overloads of one name, in the order of declaration. Valid during the whole process, as its overloads.
struct Function {
  std::string name;
  std::vector<Overload> overloads;
};

/// A function as its signature: "string.charAt(int): string" with a receiver, "size(string): int" without,
/// "sets.contains(list(A), list(A)): bool" in a name space.
struct Declaration {
  std::string_view signature;
  Implementation run;
};

/// Immutable, and created once: pointers into it stay valid.
class Library {
 public:
  /// The library of Kubernetes 1.36 for device selectors.
  static const Library& kubernetes();
  /// Returns nullptr if there is no such function.
  const Function* find(std::string_view name) const;
  std::vector<std::string_view> names() const;

 private:
  Library();
  void add(std::span<const Declaration> declarations);
  Arena types_;
  std::vector<Function> functions_;  // by name
};

// The declarations of this folder's libraries, each in its own file. Valid during the whole process;
// signatures are in types.h's form.
std::span<const Declaration> operators();
std::span<const Declaration> conversions();
std::span<const Declaration> texts();
std::span<const Declaration> collections();
std::span<const Declaration> times();
std::span<const Declaration> kubernetes_types();
std::span<const Declaration> formats();

/// Returns a timestamp or duration as string() does.
std::string time_text(const Value& value);

}  // namespace sliced::cel
