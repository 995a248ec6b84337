// Operators and functions: selects the overload.
#include <algorithm>

#include "cel/checking.h"
#include "cel/library.h"

namespace sliced::cel {
namespace {

// Upstream has one of these for each ordered type of element, so for dyn it does not select one.
bool requires_order(const Node& node) {
  const bool is_one =
      node.name == "min" || node.name == "max" || node.name == "sort" || node.name == "isSorted";
  return node.is_member && node.arg_count == 1 && is_one;
}

bool is_per_type(const Node& node) {
  if (!requires_order(node) || node.name == "isSorted") return false;
  const Type& list = *node.arg_list[0]->type;
  return list.is_dyn() || list.first->tag == Type::Tag::kDyn;
}

bool has_order(const Type& list) { return list.is_dyn() || is_ordered(*list.first); }

bool is_format(const Node& node) { return node.is_member && node.name == "format" && node.arg_count == 2; }

std::string shown(std::string_view function) {
  if (function == "@in") return "operator in";
  if (function.find('_') != std::string_view::npos && !(function[0] >= 'a' && function[0] <= 'z')) {
    std::string sign(function);
    std::erase(sign, '_');
    return "operator " + sign;
  }
  return "function " + std::string(function);
}

}  // namespace

bool Checker::logic(Node& node) {
  if (!visit_args(node)) return false;
  for (const Node* arg : node.args()) {
    if (!environment_.check || arg->type->is_dyn() || arg->type->is(Kind::kBool)) continue;
    return wrong(*arg, std::string(node.op == Op::kAnd ? "&&" : "||") + " requires bool operands; this is " +
                           text_of(*arg->type));
  }
  return is(node, plain_type(Kind::kBool));
}

bool Checker::conditional(Node& node) {
  if (!visit_args(node)) return false;
  const Type* condition = node.arg_list[0]->type;
  if (environment_.check && !condition->is_dyn() && !condition->is(Kind::kBool))
    return wrong(node, "the condition before ? is a " + text_of(*condition) + ", expected a bool");
  const Type *if_true = node.arg_list[1]->type, *if_false = node.arg_list[2]->type;
  Bindings none;
  if (environment_.check && !fits(if_true, if_false, none))
    return wrong(node, "the two sides of : are a " + text_of(*if_true) + " and a " + text_of(*if_false) +
                           ", expected one type");
  const Type* one = unified(if_true, if_false, arena_);
  return is(node, one != nullptr ? one : is_general(if_false, if_true) ? if_false : if_true);
}

// "sets.contains(...)" is parsed as a call of contains on sets.
bool Checker::resolve_namespace(Node& node) {
  if (!node.is_member) return false;
  bool is_absolute = false;
  const auto space = qualified(*node.arg_list[0], is_absolute);
  if (!space) return false;
  node.function = find_function(*space + "." + std::string(node.name), is_absolute);
  if (node.function == nullptr) return false;
  node.name = node.function->name;
  node.is_member = false;
  ++node.arg_list;
  --node.arg_count;
  return true;
}

bool Checker::call(Node& node) {
  if (!resolve_namespace(node)) node.function = find_function(node.name, node.is_absolute || node.is_member);
  if (is_format(node) ? !visit_format(node) : !visit_args(node)) return false;
  if (node.name == "_==_" || node.name == "_!=_") return equality(node);
  if (node.function == nullptr)
    return late(node, Failure::kNoSuchOverload, node.name,
                "there is no function " + std::string(node.name) + did_you_mean(node.name, library_.names()));
  const Type* result = nullptr;
  const Overload* only = nullptr;
  int candidates = 0;
  bool is_one = true;
  for (const Node* arg : node.args()) arena_.step(arg->type->size);  // compared with each overload
  for (const Overload& overload : node.function->overloads) {
    if (overload.is_member != node.is_member || overload.args.size() != node.arg_count) continue;
    Bindings bindings;
    bool matches = true;
    for (size_t i = 0; matches && i < node.arg_count; ++i)
      matches = fits(node.arg_list[i]->type, overload.args[i], bindings);
    if (!matches) continue;
    const Type* type = bound(overload.result, bindings, arena_);
    if (only != nullptr) is_one = is_one && unified(result, type, arena_) != nullptr;
    result = only == nullptr ? type : joined(result, type, arena_);
    only = &overload;
    ++candidates;
  }
  if (candidates == 0) return no_overload(node);
  // [].sum() has any type.
  const auto may_be_any = [](const Node* arg) { return has_any(*arg->type); };
  if (!is_one && std::any_of(node.args().begin(), node.args().end(), may_be_any)) result = any_type();
  const bool is_sure = std::all_of(node.args().begin(), node.args().end(),
                                   [](const Node* arg) { return !arg->type->is_dyn(); });
  if (candidates == 1 && is_sure) node.overload = only;
  node.is_only_overload = candidates == 1 && !is_per_type(node);
  if (is_per_type(node)) result = dyn_type();
  if (environment_.check && requires_order(node) && !has_order(*node.arg_list[0]->type))
    return no_overload(node);
  if (node.is_member && node.arg_count == 2 && (node.name == "or" || node.name == "orValue"))
    node.op = Op::kOtherwise;
  return is(node, result);
}

bool Checker::no_overload(Node& node) {
  constexpr uint32_t kShownMax = 8;
  std::string given;
  for (const Node* arg : node.args().first(std::min(node.arg_count, kShownMax)))
    given += (given.empty() ? "" : ", ") + text_of(*arg->type);
  if (node.arg_count > kShownMax) given += ", ...";
  return late(node, Failure::kNoSuchOverload, node.name,
              "there is no " + shown(node.name) + " for (" + given + ")");
}

bool Checker::equality(Node& node) {
  const Type *left = node.arg_list[0]->type, *right = node.arg_list[1]->type;
  arena_.step(left->size);
  Bindings none;
  if (environment_.check && !fits(left, right, none) && !fits(right, left, none)) return no_overload(node);
  node.op = node.name == "_==_" ? Op::kEqual : Op::kNotEqual;
  return is(node, plain_type(Kind::kBool));
}

}  // namespace sliced::cel
