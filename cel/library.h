#pragma once
// The functions that expressions may call, by name and signature: the table that the checker and the
// evaluator share.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cel/evaluation.h"
#include "cel/price.h"
#include "cel/types.h"

namespace sliced::cel {

/// args are as many as the signature says, none of them an error, each of a kind that fits its type.
/// Returns a value or an error as one; takes work steps of `in` for what it does, and answers anything once
/// in.is_beyond().
using Implementation = Value (*)(Evaluation& in, const Value* args);

/// One signature of a function. Of several that fit the first one is taken, as upstream does.
struct Overload {
  bool is_member = false;
  std::vector<const Type*> args;  // the receiver first
  const Type* result = nullptr;
  Implementation run = nullptr;
  PriceTag price;

  /// Whether values of these kinds may stand where its arguments do.
  bool accepts(const Value* given, size_t count) const;
};

/// All overloads of one name, in the order in which they were declared.
/// Lasts as long as the process, as its overloads do.
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

/// Immutable, and made once: whoever points into it may keep the pointer.
class Library {
 public:
  /// What Kubernetes 1.36 gives to device selectors.
  static const Library& kubernetes();
  /// nullptr when there is none of that name.
  const Function* find(std::string_view name) const;
  std::vector<std::string_view> names() const;

 private:
  Library();
  void add(std::span<const Declaration> declarations);
  Arena types_;
  std::vector<Function> functions_;  // by name
};

// What the room's libraries declare, each in its own file.
// Each lasts as long as the process; signatures are in types.h's form.
std::span<const Declaration> operators();
std::span<const Declaration> conversions();
std::span<const Declaration> texts();
std::span<const Declaration> collections();
std::span<const Declaration> times();
std::span<const Declaration> kubernetes_types();
std::span<const Declaration> formats();

/// A timestamp or duration as string() spells it.
std::string time_text(const Value& value);

}  // namespace sliced::cel
