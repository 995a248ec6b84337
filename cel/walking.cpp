#include "cel/walking.h"

#include <utility>

namespace sliced::cel {
namespace {

// A node counts one step, including its literals and variables; these count more.
constexpr uint64_t kArgumentsAStep = 8;

}  // namespace

Value Walk::value(const Node& node) {
  if (node.op == Op::kLiteral) {
    in_.charge(node.price);
    return node.value;
  }
  if (node.op == Op::kLocal) return read_local(local(node.slot));
  in_.step(1 + node.arg_count / kArgumentsAStep);
  if (depth_ == kNestedMax) {
    in_.arena.exceed_depth();
    return fail(node, Failure::kDepth);
  }
  ++depth_;
  const Value out = evaluated(node);
  --depth_;
  return out;
}

Value Walk::evaluated(const Node& node) {
  switch (node.op) {
    case Op::kVariable:
      return variable(node);
    case Op::kAttribute:
      return attribute(node);
    case Op::kHas:
      return has(node);
    case Op::kSelect:
    case Op::kIndex:
      return select(node);
    case Op::kEqual:
    case Op::kNotEqual:
      return equality(node);
    case Op::kAnd:
    case Op::kOr:
      return logic(node);
    case Op::kConditional:
      return conditional(node);
    case Op::kOtherwise:
      return otherwise(node);
    case Op::kCall:
      return call(node);
    case Op::kList:
      return list(node);
    case Op::kMap:
      return map(node);
    case Op::kMacro:
      return macro(node);
    case Op::kName:
    case Op::kLiteral:
    case Op::kLocal:
      break;
  }
  return fail(node, Failure::kUndeclared, node.name);
}

Value Walk::fail(const Node& node, Failure failure, std::string_view about) {
  return in_.fail(failure, about, node.offset);
}

// Above the limits results are ignored.
bool Walk::is_over(Value& out, const Node& node) {
  if (!in_.is_beyond()) return false;
  out = fail(node, in_.limit());
  return true;
}

Value Walk::read_local(Local& variable) {
  in_.charge(1 + variable.owed);
  variable.owed = 0;
  if (const Node* later = std::exchange(variable.later, nullptr)) variable.value = value(*later);
  return variable.value;
}

Value Walk::variable(const Node& node) {
  in_.charge(1);
  if (node.slot < 0) return Value::opaque_of(Kind::kDevice, activation_.device);
  const auto at = static_cast<size_t>(node.slot);
  if (at < activation_.variables.size() && activation_.variables[at]) return *activation_.variables[at];
  return fail(node, Failure::kUndeclared, node.name);
}

Value walk(const Node& node, Evaluation& in, const std::vector<Path>& paths, const Activation& activation) {
  return Walk(in, paths, activation).value(node);
}

}  // namespace sliced::cel
