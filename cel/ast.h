#pragma once
// A parsed expression with the checker's annotations. The program owns the nodes, and its Arena their texts;
// pointers lead to these, or to the library and its types, which exist during the whole process.
#include <cstdint>
#include <span>
#include <string_view>

#include "cel/value.h"

namespace sliced::cel {

struct Type;
struct Function;
struct Overload;
class Regex;

/// The kind of a node. The parser creates those in the first part; the checker changes some of them to the
/// others. A node's op is fixed after compilation.
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
  // Set by the checker:
  kLocal,      // a comprehension's variable: slot
  kVariable,   // a declared variable: slot
  kAttribute,  // device.attributes["domain"].id and similar paths: slot is an index into Program's paths
  kEqual,
  kNotEqual,
  kOtherwise  // optional.or(...), optional.orValue(...): the argument is evaluated only for an empty optional
};

/// args: the range (or optional, or bound value) first; then the parts that are evaluated for each element.
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

/// One part of an expression. The parser sets the syntax, the checker the meaning (type, function, overload,
/// slots); folding changes constant expressions to literals; evaluation changes nothing.
struct Node {
  /// The fields of `device`: slot2 of a selection on it.
  enum Field : int32_t { kDriver, kAllowMultipleAllocations, kAttributes, kCapacity };

  /// A literal from folding has op and value of its result; price is upstream's charge for it.
  Op op = Op::kLiteral;
  Macro macro = Macro::kNone;
  // Annotations of the parser and the checker.
  bool is_optional : 1 = false;        // kSelect, kIndex: the ? syntax
  bool is_member : 1 = false;          // kCall: args[0] is the receiver
  bool is_absolute : 1 = false;        // kName: written with a leading dot
  bool has_two_variables : 1 = false;  // kMacro
  bool is_constant : 1 = false;        // upstream knows the value at compilation, so it costs nothing
  bool is_only_overload : 1 = false;   // kCall: one overload is left; upstream's prices depend on it
  bool is_strict : 1 = false;          // kMap: the language's own, with few kinds of keys, which are unique
  bool is_lookup : 1 = false;          // kCall of `in`: a table of constants upstream, which costs nothing
  uint8_t height = 0;                  // see parser.h, kRecursionMax
  uint32_t price = 0;                  // literal from folding: upstream's charge for it
  int32_t offset = 0;                  // byte of the text
  /// kLocal and kMacro: the index in Evaluation::locals; kVariable: the index of Environment::variables, -1
  /// for `device`; kAttribute and kHas: the index of Program's paths. slot2: a macro's second variable, or a
  /// Field.
  int32_t slot = -1;
  int32_t slot2 = -1;
  /// For arg_list: operand or receiver first, then arguments; for a macro as in Macro.
  uint32_t arg_count = 0;
  Node** arg_list = nullptr;
  bool* optional_args = nullptr;  // kList, kMap: elements (entries) with ?; or nullptr
  std::string_view name;          // kName, kSelect, kHas, kCall; the first variable of a macro
  /// kLiteral, also of a folded node: its list or map belongs to the program's arena. kMacro with two
  /// variables: the name of the second one.
  Value value;
  /// Set by the checker, and not nullptr after it; dyn without checks.
  const Type* type = nullptr;
  /// Of the library, which exists during the whole process.
  const Function* function = nullptr;
  const Overload* overload = nullptr;  // if the checker has determined one
  const Regex* regex = nullptr;        // compiled with the expression if the pattern is a literal

  /// Valid as long as the node's arena.
  std::span<Node* const> args() const { return {arg_list, arg_count}; }
};

/// Returns whether the node is a string literal, which can be part of a path that is known at compilation.
inline bool is_text(const Node& node) { return node.op == Op::kLiteral && node.value.kind == Kind::kString; }

}  // namespace sliced::cel
