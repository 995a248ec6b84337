// Literals of lists and maps: the common type of their elements.
#include <algorithm>

#include "cel/checking.h"

namespace sliced::cel {
namespace {

bool are_literals(const Node& node) {
  return std::all_of(node.args().begin(), node.args().end(),
                     [](const Node* arg) { return arg->op == Op::kLiteral && !arg->value.is_error(); });
}

}  // namespace

// Returns the common type of several values; nullptr if they must have one and do not.
const Type* Checker::common(const Type* before, const Type* type) {
  arena_.step(type->size);
  const Type* one = unified(before, type, arena_);
  return one != nullptr || (environment_.is_homogeneous && formats_ == 0) ? one : dyn_type();
}

bool Checker::list(Node& node) {
  if (!visit_args(node)) return false;
  const Type* item = any_type();
  for (size_t i = 0; i < node.arg_count; ++i) {
    const Type* type = element_type(node, i, i);
    if (type == nullptr) return false;
    item = common(item, type);
    if (item == nullptr && environment_.check)
      return wrong(*node.arg_list[i], "list elements must have one type; this one is " + text_of(*type));
  }
  const bool is_constant = node.optional_args == nullptr && are_literals(node);
  if (is_constant && !fold_list(node)) return wrong(node, "the expression is too large");
  return is(node, list_of(or_dyn(item), arena_));
}

// Returns the type of the element, or of the content of an optional with ?.
const Type* Checker::element_type(Node& node, size_t arg, size_t mark) {
  const Type* type = node.arg_list[arg]->type;
  if (node.optional_args == nullptr || !node.optional_args[mark]) return type;
  const bool must_be_known = environment_.is_homogeneous && environment_.check && formats_ == 0;
  if (type->is_dyn() && !must_be_known) return type;
  if (type->is(Kind::kOptional)) return type->first;
  wrong(*node.arg_list[arg], "? requires an optional; this is " + text_of(*type));
  return nullptr;
}

bool Checker::fold_list(Node& node) {
  Value* items = arena_.array<Value>(std::max<size_t>(node.arg_count, 1));
  List* made = arena_.make<List>();
  if (items == nullptr || made == nullptr) return false;
  for (size_t i = 0; i < node.arg_count; ++i) items[i] = node.arg_list[i]->value;
  *made = {items, node.arg_count};
  node.op = Op::kLiteral;
  node.value = Value::of(made);
  return true;
}

bool Checker::map(Node& node) {
  if (!visit_args(node)) return false;
  const Type *key = any_type(), *value = any_type();
  node.is_strict = !environment_.has_device;
  for (size_t i = 0; i < node.arg_count; i += 2) {
    const Type* key_type = node.arg_list[i]->type;
    if (node.is_strict && environment_.check && !key_type->is_dyn() && !is_strict_key(key_type->kind))
      return wrong(*node.arg_list[i],
                   "a " + text_of(*key_type) + " cannot be a key; keys are bool, int, uint or string");
    const Type* value_type = element_type(node, i + 1, i / 2);
    if (value_type == nullptr) return false;
    key = common(key, key_type);
    value = common(value, value_type);
    if ((key == nullptr || value == nullptr) && environment_.check)
      return wrong(*node.arg_list[i], "map keys must have one type, and so must map values");
    key = or_dyn(key);
    value = or_dyn(value);
  }
  return is(node, map_of(key, value, arena_));
}

}  // namespace sliced::cel
