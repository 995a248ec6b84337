#pragma once
// A parsed expression, and what the checker notes on it. Nodes and their texts belong to one Arena, the program's;
// nothing points out of it but to the library and its types, which last as long as the process.
#include <cstdint>
#include <span>
#include <string_view>

#include "cel/value.h"

namespace sliced::cel {

struct Type;
struct Function;
struct Overload;
class Regex;

/// What a node is. The parser makes those above the line below; the checker turns some of them into the
/// others.
/// A node's op may change until compiling has ended, and does not afterwards.
enum class Op : uint8_t {
  kLiteral,
  kName,         // a variable, or the first part of a qualified name
  kSelect,       // operand.name, operand.?name
  kHas,          // has(operand.name)
  kIndex,        // operand[key], operand[?key]
  kCall,         // operators too: "_+_"
  kAnd,          // of two or more
  kOr,           // of two or more
  kConditional,  // condition, then, else
  kList,
  kMap,    // key, value, key, value ...
  kMacro,  // see Macro
  // What the checker makes of others:
  kLocal,      // a comprehension's variable: slot
  kVariable,   // a declared variable: slot
  kAttribute,  // device.attributes["domain"].id and the like: slot is an index into Program's paths
  kEqual,
  kNotEqual,
  kOtherwise  // optional.or(...), optional.orValue(...): the argument is evaluated for none alone
};

/// args: the range (or optional, or the value bound) first; then what is evaluated for each element.
/// Names and shapes are cel-go's: parser/macros.go and ext/ (comprehensions, bindings, lists).
enum class Macro : uint8_t {
  kNone,
  kAll,
  kExists,
  kExistsOne,
  kMap,     // range, [filter,] transform
  kFilter,  // range, predicate
  kTransformList,
  kTransformMap,
  kTransformMapEntry,
  kBind,        // value, expression
  kOptMap,      // optional, expression
  kOptFlatMap,  // optional, expression
  kSortBy       // list, key
};

/// One part of an expression. The parser fills in what was written, the checker what it means (type,
/// function, overload, slots), and folding turns what follows from constants into literals; evaluating
/// changes nothing.
/// Trivially destructible: the arena lets go of it without a call.
struct Node {
  /// What `device` has: slot2 of a selection on it.
  /// Not in any order of the API's: the checker sets them and the evaluator reads them.
  enum Field : int32_t { kDriver, kAllowMultipleAllocations, kAttributes, kCapacity };

  /// Of a literal that was an expression (folding), op and value are what it became; price keeps what
  /// upstream would charge.
  Op op = Op::kLiteral;
  Macro macro = Macro::kNone;
  // What the parser has seen, and what the checker has found out.
  bool is_optional = false;        // kSelect, kIndex: the ? syntax
  bool is_member = false;          // kCall: args[0] is the receiver
  bool is_absolute = false;        // kName: written with a leading dot
  bool has_two_variables = false;  // kMacro
  bool is_constant = false;        // upstream knows the value when it compiles, so that it costs nothing
  bool is_only_overload = false;   // kCall: the checker leaves one overload; upstream's prices depend on it
  bool is_strict = false;          // kMap: the language's, in which keys are few kinds and stand once
  bool is_lookup = false;          // kCall of `in`: a table of constants upstream, which costs nothing
  uint8_t height = 0;              // see parser.h, kRecursionMax
  uint32_t price = 0;              // kLiteral that was an expression: what upstream charges for it
  int32_t offset = 0;              // byte of the text
  /// kLocal and kMacro: the place in Evaluation::locals; kVariable: the index of Environment::variables, -1
  /// for `device`; kAttribute and kHas: the index of Program's paths. slot2: a macro's second variable, or a
  /// Field.
  int32_t slot = -1;
  int32_t slot2 = -1;
  /// Of arg_list: operand or receiver first, then arguments; a macro's as Macro says.
  uint32_t arg_count = 0;
  Node** arg_list = nullptr;
  bool* optional_args = nullptr;  // kList, kMap: which elements (entries) were written with ?; or nullptr
  std::string_view name;          // kName, kSelect, kHas, kCall; the first variable of a macro
  std::string_view name2;         // the second
  // Of a folded node as well; its list or map is the program's arena's.
  Value value;  // kLiteral
  /// Set by the checker, and never nullptr behind it; without checks dyn.
  const Type* type = nullptr;
  /// The library's, which lasts as long as the process.
  const Function* function = nullptr;
  const Overload* overload = nullptr;  // when the checker is sure of one
  const Regex* regex = nullptr;        // compiled with the expression where the pattern is a literal

  /// Valid as long as the node's arena.
  std::span<Node* const> args() const { return {arg_list, arg_count}; }
};

/// A string literal: what can be part of a path that is known beforehand.
inline bool is_text(const Node& node) { return node.op == Op::kLiteral && node.value.kind == Kind::kString; }

}  // namespace sliced::cel
