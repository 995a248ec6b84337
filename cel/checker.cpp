#include "cel/checker.h"

#include <algorithm>
#include <optional>

#include "cel/lib/format_text.h"
#include "cel/library.h"
#include "reactor/base/text.h"

namespace sliced::cel {
namespace {

struct Field {
  std::string_view name;
  enum { kDriver, kAllowMultipleAllocations, kAttributes, kCapacity } slot;
};
constexpr Field kDeviceFields[] = {{"driver", Field::kDriver},
                                   {"allowMultipleAllocations", Field::kAllowMultipleAllocations},
                                   {"attributes", Field::kAttributes},
                                   {"capacity", Field::kCapacity}};

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

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates) {
  const std::string near = nearest(word, candidates);
  return near.empty() ? "" : "; did you mean " + near + "?";
}

constexpr uint64_t kNodeSteps = 6;

bool is_text(const Node& node) { return node.op == Op::kLiteral && node.value.kind == Kind::kString; }

class Checker {
 public:
  Checker(const Environment& environment, Arena& arena, Checked& out, Mistake& mistake)
      : environment_(environment), arena_(arena), out_(out), mistake_(mistake) {
    if (environment.has_device) attributes_type_ = domains_of(dyn_type());
    if (environment.has_device) capacity_type_ = domains_of(plain_type(Kind::kQuantity));
    for (const Variable& variable : environment.variables) {
      variable_types_.push_back(or_dyn(parse_type(variable.type, arena)));
      const auto dots = std::count(variable.name.begin(), variable.name.end(), '.');
      name_parts_max_ = std::max(name_parts_max_, static_cast<int>(dots) + 1);
    }
  }

  bool run(Node& root) {
    if (!visit(root)) return false;
    const Type* type = root.type;
    if (environment_.wants_bool && environment_.check && !type->is_dyn() && !type->is(Kind::kBool))
      return wrong(root, "the expression gives " + text_of(*type) + ", wants bool");
    return true;
  }

 private:
  struct Scope {
    std::string_view name;
    const Type* type;
    int slot;
  };

  bool wrong(const Node& node, std::string what) {
    if (mistake_.what.empty()) mistake_ = {node.offset, std::move(what)};
    return false;
  }
  // Without checks, what is wrong is wrong when it is met.
  bool late(Node& node, Failure failure, std::string_view about, std::string what) {
    if (environment_.check) return wrong(node, std::move(what));
    node.op = Op::kLiteral;
    node.value = Value::of(arena_.make<EvalError>(EvalError{failure, node.offset, arena_.copy(about)}));
    return is(node, dyn_type());
  }
  const Type* or_dyn(const Type* type) const {
    return type == nullptr || !environment_.check ? dyn_type() : type;
  }
  bool is(Node& node, const Type* type) {
    node.type = or_dyn(type);
    if (node.type->depth > kTypeDepthMax)
      return wrong(node, "its type is nested more than " + std::to_string(kTypeDepthMax) + " deep");
    return true;
  }
  const Type* domains_of(const Type* value) {
    const Type* text = plain_type(Kind::kString);
    return map_of(text, map_of(text, value, arena_), arena_);
  }

  bool visit_args(Node& node) {
    return std::all_of(node.args().begin(), node.args().end(), [this](Node* arg) { return visit(*arg); });
  }

  bool visit(Node& node) {
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

  // Names.

  const Scope* local(std::string_view name) const {
    arena_.step(scopes_.size() / 8);
    for (auto it = scopes_.rbegin(); it != scopes_.rend(); ++it)
      if (it->name == name) return &*it;
    return nullptr;
  }

  // In the container a.b, x is a.b.x, a.x or x, whichever is found first.
  template <class Find>
  bool look_up(std::string_view name, bool is_absolute, Find find) const {
    std::string container = is_absolute ? "" : environment_.container;
    while (!container.empty()) {
      if (find(container + "." + std::string(name))) return true;
      const size_t dot = container.rfind('.');
      container.resize(dot == std::string::npos ? 0 : dot);
    }
    return find(std::string(name));
  }

  bool resolve_variable(Node& node, std::string_view name, bool is_absolute) {
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

  bool name(Node& node) {
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
  std::optional<std::string> qualified(const Node& node, bool& is_absolute) const {
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

  // Fields, keys.

  bool select(Node& node) {
    bool is_absolute = false;
    if (node.op == Op::kSelect)
      if (const auto full = qualified(node, is_absolute))
        if (resolve_variable(node, *full, is_absolute)) return true;
    Node& operand = *node.arg_list[0];
    if (!visit(operand)) return false;
    const Type* type = operand.type;
    const bool is_optional = type->is(Kind::kOptional);
    if (is_optional) type = type->first;
    const Type* result = nullptr;
    if (type->is(Kind::kDevice)) {
      result = device_field(node);
      if (result == nullptr) return false;
    } else if (type->is(Kind::kMap)) {
      result = type->second;
    } else if (type->is_dyn()) {
      result = dyn_type();
    } else if (environment_.check) {
      return wrong(node, "a " + text_of(*type) + " has no fields, so none named " + std::string(node.name));
    }
    if (!fold_path(node, node.name, result)) return false;
    if (node.op == Op::kHas) return is(node, plain_type(Kind::kBool));
    return is(node, is_optional || node.is_optional ? optional_of(or_dyn(result), arena_) : result);
  }

  const Type* device_field(Node& node) {
    std::vector<std::string_view> names;
    for (const Field& field : kDeviceFields) {
      names.push_back(field.name);
      if (field.name != node.name) continue;
      node.slot2 = field.slot;
      switch (field.slot) {
        case Field::kDriver:
          return plain_type(Kind::kString);
        case Field::kAllowMultipleAllocations:
          return plain_type(Kind::kBool);
        case Field::kAttributes:
          return attributes_type_;
        case Field::kCapacity:
          return capacity_type_;
      }
    }
    wrong(node, "device has no field " + std::string(node.name) + did_you_mean(node.name, names));
    return nullptr;
  }

  bool index(Node& node) {
    Node& operand = *node.arg_list[0];
    Node& key = *node.arg_list[1];
    if (!visit(operand) || !visit(key)) return false;
    const Type* type = operand.type;
    const bool is_optional = type->is(Kind::kOptional);
    if (is_optional) type = type->first;
    const Type* result = dyn_type();
    if (type->is(Kind::kMap) || type->is(Kind::kList)) {
      Bindings none;
      const Type* wanted = type->is(Kind::kMap) ? type->first : plain_type(Kind::kInt);
      if (environment_.check && !fits(key.type, wanted, none))
        return wrong(node, "a " + text_of(*type) + " has no index of type " + text_of(*key.type) +
                               ", wants " + text_of(*wanted));
      result = type->is(Kind::kMap) ? type->second : type->first;
    } else if (type->is(Kind::kNull) && !is_optional && environment_.has_device &&
               environment_.check) {  // an optional's type fits
      return is(node, key.type->is(Kind::kInt) ? dyn_type() : optional_of(any_type(), arena_));
    } else if (!type->is_dyn() && environment_.check) {
      return wrong(node, "a " + text_of(*type) + " has no index");
    }
    if (is_text(key) && !fold_path(node, key.value.text(), result)) return false;
    // Upstream has several of these for what it does not know, and lists and maps behind an optional are two.
    const bool may_be_several = !is_optional || key.type->is(Kind::kInt) || key.type->is_dyn();
    if (environment_.has_device && type->is_dyn() && may_be_several) return is(node, dyn_type());
    return is(node, is_optional || node.is_optional ? optional_of(or_dyn(result), arena_) : result);
  }

  // device.attributes["domain"].id -> one lookup. result becomes the type of a known attribute.
  bool fold_path(Node& node, std::string_view id, const Type*& result) {
    const Node& domain = *node.arg_list[0];
    std::string_view name;
    if (domain.op == Op::kIndex && is_text(*domain.arg_list[1]))
      name = domain.arg_list[1]->value.text();
    else if (domain.op == Op::kSelect)
      name = domain.name;
    else
      return true;
    const Node& field = *domain.arg_list[0];
    const bool is_attribute = field.op == Op::kSelect && field.slot2 == Field::kAttributes;
    const bool is_capacity = field.op == Op::kSelect && field.slot2 == Field::kCapacity;
    const bool is_field = (is_attribute || is_capacity) && field.arg_list[0]->op == Op::kVariable &&
                          !field.is_optional && !domain.is_optional;
    if (!is_field) return true;
    Path path{.is_capacity = is_capacity,
              .domain = std::string(name),
              .id = std::string(id),
              .key = std::string(name) + "/" + std::string(id)};
    if (environment_.known != nullptr && is_attribute) {
      const auto known = environment_.known->find(path.domain, path.id);
      if (!known) return unknown_attribute(node, path);
      path.known = known->index;
      result = plain_type(known->kind);
    }
    const auto same = [&](const Path& other) {
      return other.is_capacity == is_capacity && other.domain == path.domain && other.id == path.id;
    };
    auto at = std::find_if(out_.paths.begin(), out_.paths.end(), same);
    if (at == out_.paths.end()) at = out_.paths.insert(at, std::move(path));
    node.slot = static_cast<int32_t>(at - out_.paths.begin());
    if (node.op == Op::kHas) return true;
    node.name = arena_.copy(id);
    node.op = Op::kAttribute;
    return true;
  }

  bool unknown_attribute(const Node& node, const Path& path) {
    const auto domains = environment_.known->domains();
    if (std::find(domains.begin(), domains.end(), path.domain) == domains.end()) {
      std::string all;
      for (const auto& domain : domains) all += (all.empty() ? "" : " and ") + std::string(domain);
      return wrong(node, "there are no attributes of " + in_quotes(path.domain, 64) + " here" +
                             did_you_mean(path.domain, domains) + " (there are those of " + all + ")");
    }
    return wrong(node, "there is no attribute " + escaped(path.id, 64) + " of " + path.domain +
                           did_you_mean(path.id, environment_.known->ids(path.domain)));
  }

  // Operators and functions.

  bool logic(Node& node) {
    if (!visit_args(node)) return false;
    for (const Node* arg : node.args()) {
      if (!environment_.check || arg->type->is_dyn() || arg->type->is(Kind::kBool)) continue;
      return wrong(*arg, std::string(node.op == Op::kAnd ? "&&" : "||") + " wants bools, this is a " +
                             text_of(*arg->type));
    }
    return is(node, plain_type(Kind::kBool));
  }

  bool conditional(Node& node) {
    if (!visit_args(node)) return false;
    const Type* condition = node.arg_list[0]->type;
    if (environment_.check && !condition->is_dyn() && !condition->is(Kind::kBool))
      return wrong(node, "the condition before ? is a " + text_of(*condition) + ", wants a bool");
    const Type *then = node.arg_list[1]->type, *otherwise = node.arg_list[2]->type;
    Bindings none;
    if (environment_.check && !fits(then, otherwise, none))
      return wrong(node, "the two sides of : are a " + text_of(*then) + " and a " + text_of(*otherwise) +
                             ", want one type");
    const Type* one = unified(then, otherwise, arena_);
    return is(node, one != nullptr ? one : is_general(otherwise, then) ? otherwise : then);
  }

  // "sets.contains(...)" is parsed as a call of contains on sets.
  bool resolve_namespace(Node& node) {
    if (!node.is_member) return false;
    bool is_absolute = false;
    const auto space = qualified(*node.arg_list[0], is_absolute);
    if (!space) return false;
    const bool found =
        look_up(*space + "." + std::string(node.name), is_absolute, [&](const std::string& full) {
          node.function = library_.find(full);
          return node.function != nullptr;
        });
    if (!found) return false;
    node.name = node.function->name;
    node.is_member = false;
    ++node.arg_list;
    --node.arg_count;
    return true;
  }

  bool call(Node& node) {
    if (!resolve_namespace(node)) {
      look_up(node.name, node.is_absolute || node.is_member, [&](const std::string& full) {
        node.function = library_.find(full);
        return node.function != nullptr;
      });
    }
    if (is_format(node) ? !visit_format(node) : !visit_args(node)) return false;
    if (node.name == "_==_" || node.name == "_!=_") return equality(node);
    if (node.function == nullptr)
      return late(
          node, Failure::kNoSuchOverload, node.name,
          "there is no function " + std::string(node.name) + did_you_mean(node.name, library_.names()));
    const Type* result = nullptr;
    const Overload* only = nullptr;
    int candidates = 0;
    bool is_one = true;
    for (const Node* arg : node.args()) arena_.step(arg->type->depth);  // held against each overload
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
    // [].sum() is whatever it has to be.
    const auto may_be_any = [](const Node* arg) { return has_any(*arg->type); };
    if (!is_one && std::any_of(node.args().begin(), node.args().end(), may_be_any)) result = any_type();
    const bool is_sure = std::all_of(node.args().begin(), node.args().end(),
                                     [](const Node* arg) { return !arg->type->is_dyn(); });
    if (candidates == 1 && is_sure) node.overload = only;
    node.is_only_overload = candidates == 1 && !is_per_type(node);
    if (is_per_type(node)) result = dyn_type();
    if (environment_.check && wants_order(node) && !has_order(*node.arg_list[0]->type))
      return no_overload(node);
    if (node.is_member && node.arg_count == 2 && (node.name == "or" || node.name == "orValue"))
      node.op = Op::kOtherwise;
    return is(node, result);
  }

  // Upstream has one of these for each type of element that has an order, so where that is a dyn it knows
  // nothing.
  static bool wants_order(const Node& node) {
    const bool is_one =
        node.name == "min" || node.name == "max" || node.name == "sort" || node.name == "isSorted";
    return node.is_member && node.arg_count == 1 && is_one;
  }
  static bool is_per_type(const Node& node) {
    if (!wants_order(node) || node.name == "isSorted") return false;
    const Type& list = *node.arg_list[0]->type;
    return list.is_dyn() || list.first->tag == Type::Tag::kDyn;
  }
  static bool has_order(const Type& list) { return list.is_dyn() || is_ordered(*list.first); }
  static bool is_ordered(const Type& type) {
    constexpr Kind kOrdered[] = {Kind::kInt,    Kind::kUint,  Kind::kDouble,    Kind::kBool,
                                 Kind::kString, Kind::kBytes, Kind::kTimestamp, Kind::kDuration};
    return type.is_dyn() ||
           std::any_of(std::begin(kOrdered), std::end(kOrdered), [&](Kind kind) { return type.is(kind); });
  }

  // "...".format([...]): where the text and the list are literals, Kubernetes holds one against the other.

  static bool is_format(const Node& node) {
    return node.is_member && node.name == "format" && node.arg_count == 2;
  }

  bool visit_format(Node& node) {
    ++formats_;
    const bool is_good = visit_args(node);
    --formats_;
    const Node &text = *node.arg_list[0], &list = *node.arg_list[1];
    const bool is_list = list.op == Op::kList || (list.op == Op::kLiteral && list.type->is(Kind::kList));
    if (!is_good || !environment_.has_device || !is_text(text) || !is_list) return is_good;
    const auto pieces = decode_format(text.value.text());
    if (!pieces) return wrong(text, pieces.error().what);
    const bool is_folded = list.op == Op::kLiteral;
    const size_t size = is_folded ? list.value.list->size : list.arg_count;
    size_t next = 0;
    for (const FormatPiece& piece : *pieces) {
      if (piece.clause == 0) continue;
      if (next == size) return wrong(list, "format: the list has too few arguments");
      const bool fits = is_folded ? takes(piece.clause, plain_type(list.value.list->items[next].kind))
                                  : takes(piece.clause, *list.arg_list[next]);
      ++next;
      if (!fits) return wrong(list, std::string("format: %") + piece.clause + " does not take its argument");
    }
    return next == size || wrong(list, "format: the list has too many arguments");
  }

  static bool takes(char clause, const Type* type) {
    if (type->is_dyn()) return true;
    switch (type->kind) {
      case Kind::kInt:
      case Kind::kUint:
        return clause != 'f' && clause != 'e';
      case Kind::kDouble:
        return clause == 's' || clause == 'f' || clause == 'e';
      case Kind::kString:
        return clause != 'd' && clause != 'b' && clause != 'o';
      case Kind::kBytes:
        return clause == 's' || clause == 'x' || clause == 'X';
      case Kind::kBool:
        return clause == 's' || clause == 'b';
      default:
        return clause == 's' && type->kind < Kind::kOptional;
    }
  }
  static bool takes(char clause, const Node& node) {
    const bool is_literal = node.op == Op::kList || node.op == Op::kMap;
    return takes(clause, node.type) &&
           (!is_literal || std::all_of(node.args().begin(), node.args().end(),
                                       [&](const Node* arg) { return takes(clause, *arg); }));
  }

  bool no_overload(Node& node) {
    constexpr uint32_t kShownMax = 8;
    std::string given;
    for (const Node* arg : node.args().first(std::min(node.arg_count, kShownMax)))
      given += (given.empty() ? "" : ", ") + text_of(*arg->type);
    if (node.arg_count > kShownMax) given += ", ...";
    return late(node, Failure::kNoSuchOverload, node.name,
                "there is no " + shown(node.name) + " for (" + given + ")");
  }

  static std::string shown(std::string_view function) {
    if (function == "@in") return "operator in";
    if (function.find('_') != std::string_view::npos && !(function[0] >= 'a' && function[0] <= 'z')) {
      std::string sign(function);
      std::erase(sign, '_');
      return "operator " + sign;
    }
    return "function " + std::string(function);
  }

  bool equality(Node& node) {
    const Type *left = node.arg_list[0]->type, *right = node.arg_list[1]->type;
    arena_.step(left->depth);
    Bindings none;
    if (environment_.check && !fits(left, right, none) && !fits(right, left, none)) return no_overload(node);
    node.op = node.name == "_==_" ? Op::kEqual : Op::kNotEqual;
    return is(node, plain_type(Kind::kBool));
  }

  // Literals of lists and maps.

  // The one type of several values; nullptr where they must be of one and are not.
  const Type* common(const Type* before, const Type* type) {
    arena_.step(type->depth);
    const Type* one = unified(before, type, arena_);
    return one != nullptr || (environment_.is_homogeneous && formats_ == 0) ? one : dyn_type();
  }

  bool list(Node& node) {
    if (!visit_args(node)) return false;
    const Type* item = any_type();
    for (size_t i = 0; i < node.arg_count; ++i) {
      const Type* type = element_type(node, i, i);
      if (type == nullptr) return false;
      item = common(item, type);
      if (item == nullptr && environment_.check)
        return wrong(*node.arg_list[i],
                     "a list of one type wants elements of one type: this is a " + text_of(*type));
    }
    const bool is_constant = node.optional_args == nullptr && are_literals(node);
    if (is_constant && !fold_list(node)) return wrong(node, "the expression is too large");
    return is(node, list_of(or_dyn(item), arena_));
  }

  // Of the element, or of what is in the optional that was written with ?.
  const Type* element_type(Node& node, size_t arg, size_t mark) {
    const Type* type = node.arg_list[arg]->type;
    if (node.optional_args == nullptr || !node.optional_args[mark]) return type;
    const bool must_be_known = environment_.is_homogeneous && environment_.check && formats_ == 0;
    if (type->is_dyn() && !must_be_known) return type;
    if (type->is(Kind::kOptional)) return type->first;
    wrong(*node.arg_list[arg], "after ? an optional is wanted, this is a " + text_of(*type));
    return nullptr;
  }

  static bool are_literals(const Node& node) {
    return std::all_of(node.args().begin(), node.args().end(),
                       [](const Node* arg) { return arg->op == Op::kLiteral && !arg->value.is_error(); });
  }

  bool fold_list(Node& node) {
    Value* items = arena_.array<Value>(std::max<size_t>(node.arg_count, 1));
    List* made = arena_.make<List>();
    if (items == nullptr || made == nullptr) return false;
    for (size_t i = 0; i < node.arg_count; ++i) items[i] = node.arg_list[i]->value;
    *made = {items, node.arg_count};
    node.op = Op::kLiteral;
    node.value = Value::of(made);
    return true;
  }

  bool map(Node& node) {
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
        return wrong(*node.arg_list[i], "a map wants keys of one type and values of one type");
      key = or_dyn(key);
      value = or_dyn(value);
    }
    return is(node, map_of(key, value, arena_));
  }

  // Comprehensions and bindings.

  int declare(std::string_view name, const Type* type) {
    const int slot = static_cast<int>(out_.locals++);  // each has one of its own: what is bound is read late
    scopes_.push_back({name, or_dyn(type), slot});
    return slot;
  }

  bool macro(Node& node) {
    Node& range = *node.arg_list[0];
    if (!visit(range)) return false;
    const size_t outside = scopes_.size();
    if (!declare_variables(node, *range.type)) return false;
    for (size_t i = 1; i < node.arg_count; ++i)
      if (!visit(*node.arg_list[i])) return false;
    scopes_.resize(outside);
    return macro_result(node);
  }

  bool declare_variables(Node& node, const Type& range) {
    const Type *first = dyn_type(), *second = dyn_type();
    const auto refuse = [&](std::string_view wanted) {
      return wrong(node, "this goes over " + std::string(wanted) + ", not over a " + text_of(range));
    };
    switch (node.macro) {
      case Macro::kBind:
        first = &range;
        break;
      case Macro::kOptMap:
      case Macro::kOptFlatMap:
        if (!range.is_dyn() && !range.is(Kind::kOptional)) return refuse("an optional");
        if (!range.is_dyn()) first = range.first;
        break;
      case Macro::kSortBy:
        if (!range.is_dyn() && !range.is(Kind::kList)) return refuse("a list");
        if (!range.is_dyn()) first = range.first;
        break;
      default:
        if (range.is(Kind::kList)) {
          first = node.has_two_variables ? plain_type(Kind::kInt) : range.first;
          second = range.first;
        } else if (range.is(Kind::kMap)) {
          first = range.first;
          second = range.second;
        } else if (!range.is_dyn() && environment_.check) {
          return refuse("lists and maps");
        }
    }
    node.slot = declare(node.name, first);
    if (node.has_two_variables) node.slot2 = declare(node.name2, second);
    return true;
  }

  bool macro_result(Node& node) {
    const Type& range = *node.arg_list[0]->type;
    const Type* last = node.arg_list[node.arg_count - 1]->type;
    const auto wants_bool = [&](const Node& body) {
      if (!environment_.check || body.type->is_dyn() || body.type->is(Kind::kBool)) return true;
      return wrong(body, "a condition wants a bool, this is a " + text_of(*body.type));
    };
    const bool has_filter =
        (node.macro == Macro::kMap && node.arg_count == 3) ||
        (node.has_two_variables && node.arg_count == 3 && node.macro >= Macro::kTransformList);
    if (has_filter && !wants_bool(*node.arg_list[1])) return false;
    switch (node.macro) {
      case Macro::kAll:
      case Macro::kExists:
      case Macro::kExistsOne:
        return wants_bool(*node.arg_list[1]) && is(node, plain_type(Kind::kBool));
      case Macro::kFilter:
        if (!wants_bool(*node.arg_list[1])) return false;
        return is(node, list_of(range.is_dyn() ? dyn_type() : range.first, arena_));
      case Macro::kMap:
      case Macro::kTransformList:
        return is(node, list_of(last, arena_));
      case Macro::kTransformMap:
        return is(node, map_of(range.is(Kind::kMap)    ? range.first
                               : range.is(Kind::kList) ? plain_type(Kind::kInt)
                                                       : dyn_type(),
                               last, arena_));
      case Macro::kTransformMapEntry:
        if (environment_.check && !last->is_dyn() && !last->is(Kind::kMap))
          return wrong(node, "transformMapEntry() wants a map of one entry, this is a " + text_of(*last));
        return is(node, last);
      case Macro::kBind:
        return is(node, last);
      case Macro::kOptMap:
        return is(node, optional_of(last, arena_));
      case Macro::kOptFlatMap:
        if (environment_.check && !last->is_dyn() && !last->is(Kind::kOptional))
          return wrong(node, "optFlatMap() wants an optional, this is a " + text_of(*last));
        return is(node, last);
      case Macro::kSortBy:
        if (environment_.check && !is_ordered(*last))
          return wrong(node, "sortBy() wants keys that have an order, this is a " + text_of(*last));
        node.is_only_overload = last->tag != Type::Tag::kDyn;
        return is(node, range.is_dyn() && !last->is_dyn() ? list_of(any_type(), arena_) : &range);
      case Macro::kNone:
        break;
    }
    return true;
  }

  const Environment& environment_;
  Arena& arena_;
  Checked& out_;
  Mistake& mistake_;
  const Library& library_ = Library::kubernetes();
  std::vector<Scope> scopes_;
  int formats_ = 0;  // calls of format() around the node: in them lists and maps may be mixed
  std::vector<const Type*> variable_types_;
  int name_parts_max_ = 3;  // "google.protobuf.Duration", "sets.contains"
  const Type* attributes_type_ = nullptr;
  const Type* capacity_type_ = nullptr;
};

}  // namespace

bool check(Node& root, const Environment& environment, Arena& arena, Checked& out, Mistake& mistake) {
  return Checker(environment, arena, out, mistake).run(root);
}

}  // namespace sliced::cel
