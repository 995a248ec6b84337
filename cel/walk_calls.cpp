// Operators and functions.
#include "cel/library.h"
#include "cel/price.h"
#include "cel/walking.h"

namespace sliced::cel {
namespace {

constexpr uint64_t kOverloadsAStep = 4;

}  // namespace

Value Walk::equality(const Node& node) {
  const bool is_equality = node.op == Op::kEqual;
  const Value left = value(*node.arg_list[0]);
  if (ends_everything(left)) return left;
  const Value right = value(*node.arg_list[1]);
  if (ends_everything(right)) return right;
  in_.charge(price_of_equality(left, right, is_equality, in_.arena));
  if (left.is_error()) return left;
  if (right.is_error()) return right;
  const auto same = equal(left, right, in_.arena);
  if (Value out; is_over(out, node)) return out;
  if (!same && is_equality) return fail(node, Failure::kNoSuchOverload, "==");
  return Value::of(same.value_or(false) == is_equality);
}

// A deciding operand decides regardless of the others; without one the first that is not a bool fails.
Value Walk::logic(const Node& node) {
  const bool decides = node.op == Op::kOr;
  Value pending;
  for (const Node* arg : node.args()) {
    const Value operand = value(*arg);
    if (operand.kind == Kind::kBool) {
      if (operand.b == decides) return operand;
      continue;
    }
    if (ends_everything(operand)) return operand;
    if (!pending.is_error())
      pending = operand.is_error() ? operand : fail(*arg, Failure::kNoSuchOverload, decides ? "||" : "&&");
  }
  return pending.is_error() ? pending : Value::of(!decides);
}

Value Walk::conditional(const Node& node) {
  const Value condition = value(*node.arg_list[0]);
  if (condition.kind == Kind::kBool) return part(*node.arg_list[condition.b ? 1 : 2]);
  return condition.is_error() ? condition : fail(node, Failure::kNoSuchOverload, "?:");
}

Value Walk::otherwise(const Node& node) {
  const Value optional = value(*node.arg_list[0]);
  if (optional.is_error()) return optional;
  if (optional.kind != Kind::kOptional) return fail(node, Failure::kNoSuchOverload, node.name);
  if (optional.optional == nullptr) return value(*node.arg_list[1]);
  return node.name == "or" ? optional : *optional.optional;
}

Value Walk::call(const Node& node) {
  constexpr uint32_t kFew = 4;
  Value few[kFew];
  std::vector<Value> many;
  Value* args = few;
  if (node.arg_count > kFew) {
    many.resize(node.arg_count);
    args = many.data();
  }
  const Value* failed = nullptr;
  uint32_t given = 0;
  // With two arguments both are evaluated, except for a pattern that upstream compiles, and for a function
  // (not an operator) with an unknown overload.
  const bool is_known = node.is_only_overload || node.name[0] == '_' || node.name[0] == '@';
  const bool has_both = node.arg_count == 2 && node.regex == nullptr && is_known;
  for (; given < node.arg_count && (failed == nullptr || has_both); ++given) {
    args[given] = value(*node.arg_list[given]);
    if (!args[given].is_error()) continue;
    if (ends_everything(args[given])) return args[given];
    if (failed == nullptr) failed = &args[given];
  }
  if (failed != nullptr)
    return given < node.arg_count || node.is_lookup ? *failed : charge_for(node, nullptr, args, *failed);
  if (Value out; is_over(out, node)) return out;
  if (node.is_lookup && !is_hashable(args[0])) return fail(node, Failure::kBreaksOff, "in");
  const Overload* overload = node.overload;  // a condition may yield an optional where none is expected
  if (overload == nullptr || !overload->accepts(args, node.arg_count)) overload = overload_for(node, args);
  if (overload == nullptr)
    return charge_for(node, nullptr, args, fail(node, Failure::kNoSuchOverload, node.name));
  in_.call = &node;
  const Value out = overload->run(in_, args);
  if (ends_everything(out)) return out;
  return node.is_lookup ? out : charge_for(node, overload, args, out);
}

const Overload* Walk::overload_for(const Node& node, const Value* args) {
  in_.step(1 + node.function->overloads.size() / kOverloadsAStep);
  for (const Overload& one : node.function->overloads)
    if (one.is_member == node.is_member && one.accepts(args, node.arg_count)) return &one;
  return nullptr;
}

// The result, or that it costs too much.
Value Walk::charge_for(const Node& node, const Overload* overload, const Value* args, const Value& result) {
  for (const Overload& one : node.function->overloads)  // those of one style and size have one price by name
    if (overload == nullptr && one.is_member == node.is_member && one.args.size() == node.arg_count)
      overload = &one;
  const auto price = overload == nullptr ? std::optional<uint64_t>(1)
                                         : price_of_call(node, overload->price, args, result, in_.arena);
  if (!price) return fail(node, Failure::kBreaksOff, node.name);
  in_.charge(*price);
  Value out = result;
  is_over(out, node);
  return out;
}

}  // namespace sliced::cel
