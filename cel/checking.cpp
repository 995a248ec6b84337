#include "cel/checking.h"

#include <algorithm>

namespace sliced::cel {
namespace {

constexpr uint64_t kNodeSteps = 6;

}  // namespace

Checker::Checker(const Environment& environment, Arena& arena, Checked& out, Mistake& mistake)
    : environment_(environment), arena_(arena), out_(out), mistake_(mistake) {
  if (environment.has_device) attributes_type_ = domains_of(dyn_type());
  if (environment.has_device) capacity_type_ = domains_of(plain_type(Kind::kQuantity));
  for (const Variable& variable : environment.variables) {
    variable_types_.push_back(or_dyn(parse_type(variable.type, arena)));
    const auto dots = std::count(variable.name.begin(), variable.name.end(), '.');
    name_parts_max_ = std::max(name_parts_max_, static_cast<int>(dots) + 1);
  }
}

bool Checker::run(Node& root) {
  if (!visit(root)) return false;
  const Type* type = root.type;
  if (environment_.requires_bool && environment_.check && !type->is_dyn() && !type->is(Kind::kBool))
    return wrong(root, "the expression gives " + text_of(*type) + ", expected bool");
  return true;
}

bool Checker::wrong(const Node& node, std::string what) {
  if (mistake_.what.empty()) mistake_ = {node.offset, std::move(what)};
  return false;
}

// Without checks, a mistake is an error at evaluation.
bool Checker::late(Node& node, Failure failure, std::string_view about, std::string what) {
  if (environment_.check) return wrong(node, std::move(what));
  node.op = Op::kLiteral;
  node.value = Value::of(arena_.make<EvalError>(EvalError{failure, node.offset, arena_.copy(about)}));
  return is(node, dyn_type());
}

const Type* Checker::or_dyn(const Type* type) const {
  return type == nullptr || !environment_.check ? dyn_type() : type;
}

bool Checker::is(Node& node, const Type* type) {
  node.type = or_dyn(type);
  if (node.type->depth > kTypeDepthMax)
    return wrong(node, "its type is nested more than " + std::to_string(kTypeDepthMax) + " deep");
  if (node.type->size > kTypeSizeMax)
    return wrong(node, "its type has more than " + std::to_string(kTypeSizeMax) + " parts");
  return true;
}

const Type* Checker::domains_of(const Type* value) {
  const Type* text = plain_type(Kind::kString);
  return map_of(text, map_of(text, value, arena_), arena_);
}

bool Checker::visit_args(Node& node) {
  return std::all_of(node.args().begin(), node.args().end(), [this](Node* arg) { return visit(*arg); });
}

bool Checker::visit(Node& node) {
  if (!arena_.step(kNodeSteps)) return wrong(node, "it takes too much work");
  switch (node.op) {
    case Op::kLiteral:
      return is(node, node.value.kind == Kind::kError ? dyn_type() : plain_type(node.value.kind));
    case Op::kName:
      return name(node);
    case Op::kSelect:
    case Op::kHas:
      return select(node);
    case Op::kIndex:
      return index(node);
    case Op::kCall:
      return call(node);
    case Op::kAnd:
    case Op::kOr:
      return logic(node);
    case Op::kConditional:
      return conditional(node);
    case Op::kList:
      return list(node);
    case Op::kMap:
      return map(node);
    case Op::kMacro:
      return macro(node);
    default:
      return true;  // made by the checker itself
  }
}

bool check(Node& root, const Environment& environment, Arena& arena, Checked& out, Mistake& mistake) {
  return Checker(environment, arena, out, mistake).run(root);
}

}  // namespace sliced::cel
