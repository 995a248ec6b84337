// Names: variables, macros' variables, types.
#include <algorithm>

#include "cel/checking.h"
#include "reactor/base/text.h"

namespace sliced::cel {
namespace {

constexpr std::pair<std::string_view, Kind> kTypeNames[] = {{"bool", Kind::kBool},
                                                            {"int", Kind::kInt},
                                                            {"uint", Kind::kUint},
                                                            {"double", Kind::kDouble},
                                                            {"string", Kind::kString},
                                                            {"bytes", Kind::kBytes},
                                                            {"list", Kind::kList},
                                                            {"map", Kind::kMap},
                                                            {"null_type", Kind::kNull},
                                                            {"type", Kind::kType},
                                                            {"optional_type", Kind::kOptional},
                                                            {"google.protobuf.Timestamp", Kind::kTimestamp},
                                                            {"google.protobuf.Duration", Kind::kDuration},
                                                            {"net.IP", Kind::kIp},
                                                            {"net.CIDR", Kind::kCidr},
                                                            {"kubernetes.Quantity", Kind::kQuantity},
                                                            {"kubernetes.Semver", Kind::kSemver},
                                                            {"kubernetes.URL", Kind::kUrl},
                                                            {"kubernetes.NamedFormat", Kind::kFormat}};

}  // namespace

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates) {
  const std::string near = nearest(word, candidates);
  return near.empty() ? "" : "; did you mean " + near + "?";
}

const Checker::Scope* Checker::local(std::string_view name) const {
  arena_.step(scopes_.size() / 8);
  for (auto it = scopes_.rbegin(); it != scopes_.rend(); ++it)
    if (it->name == name) return &*it;
  return nullptr;
}

// In the container a.b, x is a.b.x, a.x or x, whichever is found first.
template <class Find>
bool Checker::look_up(std::string_view name, bool is_absolute, Find find) const {
  std::string container = is_absolute ? "" : environment_.container;
  while (!container.empty()) {
    if (find(container + "." + std::string(name))) return true;
    const size_t dot = container.rfind('.');
    container.resize(dot == std::string::npos ? 0 : dot);
  }
  return find(std::string(name));
}

const Function* Checker::find_function(std::string_view name, bool is_absolute) const {
  const Function* found = nullptr;
  look_up(name, is_absolute, [&](const std::string& full) {
    found = library_.find(full);
    return found != nullptr;
  });
  return found;
}

bool Checker::resolve_variable(Node& node, std::string_view name, bool is_absolute) {
  return look_up(name, is_absolute, [&](const std::string& full) {
    if (environment_.has_device && full == "device") {
      node.op = Op::kVariable;
      node.slot = -1;
      return is(node, plain_type(Kind::kDevice));
    }
    for (size_t i = 0; i < environment_.variables.size(); ++i) {
      if (environment_.variables[i].name != full) continue;
      node.op = Op::kVariable;
      node.slot = static_cast<int32_t>(i);
      node.name = environment_.variables[i].name;
      return is(node, variable_types_[i]);
    }
    for (const auto& [type, kind] : kTypeNames) {
      if (type != full) continue;
      node.op = Op::kLiteral;
      node.value = Value::type(name_of(kind));
      return is(node, type_of(plain_type(kind), arena_));
    }
    return false;
  });
}

bool Checker::name(Node& node) {
  if (const Scope* scope = node.is_absolute ? nullptr : local(node.name)) {
    node.op = Op::kLocal;
    node.slot = scope->slot;
    return is(node, scope->type);
  }
  if (resolve_variable(node, node.name, node.is_absolute)) return true;
  return late(node, Failure::kUndeclared, node.name,
              "there is no variable " + std::string(node.name) + did_you_mean(node.name, {"device"}));
}

// "a.b.c" when the node spells it and a is not a comprehension's variable.
std::optional<std::string> Checker::qualified(const Node& node, bool& is_absolute) const {
  if (node.height > name_parts_max_) return std::nullopt;  // longer than any name
  if (node.op == Op::kName) {
    is_absolute = node.is_absolute;
    if (!is_absolute && local(node.name) != nullptr) return std::nullopt;
    return std::string(node.name);
  }
  if (node.op != Op::kSelect || node.is_optional) return std::nullopt;
  auto before = qualified(*node.arg_list[0], is_absolute);
  if (before) *before += "." + std::string(node.name);
  return before;
}

int Checker::declare(std::string_view name, const Type* type) {
  const int slot = static_cast<int>(out_.locals++);  // each has its own, because bound expressions are
                                                     // evaluated late
  scopes_.push_back({name, or_dyn(type), slot});
  return slot;
}

}  // namespace sliced::cel
