#include "cel/walk.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cel/library.h"
#include "cel/price.h"

namespace sliced::cel {
namespace {

// cel-go's prices of making things; it expands comprehensions, and charges for what they become.
constexpr uint64_t kListCost = 10, kMapCost = 30;

// Our own steps. A node takes one, literals and variables are part of those around them; these take more.
constexpr uint64_t kArgumentsAStep = 8, kOverloadsAStep = 4;
constexpr uint64_t kAttributeSteps = 4;  // reading a device
constexpr uint64_t kElementSteps = 2;    // of a comprehension: its variables, its conditions

bool ends_everything(const Value& value) { return value.is_error() && ends_evaluation(value.error->failure); }

// What cel-go reads as one with the selections and indexes that follow it. It charges a unit for the whole...
bool is_attribute(const Node& node) {
  switch (node.op) {
    case Op::kLocal:
    case Op::kVariable:
    case Op::kAttribute:
    case Op::kSelect:
    case Op::kIndex:
    case Op::kConditional:
      return true;
    default:
      return false;
  }
}
// ... but for a condition with two sides.
bool has_unit(const Node& node) { return is_attribute(node) && node.op != Op::kConditional; }

// Upstream's indexes of maps.
bool is_index(const Value& key) {
  return key.is_number() || key.kind == Kind::kString || key.kind == Kind::kBool;
}

class Walk {
 public:
  Walk(Evaluation& in, const std::vector<Path>& paths, const Activation& activation)
      : in_(in), paths_(paths), activation_(activation) {}

  Value value(const Node& node) {
    if (node.op == Op::kLiteral) {
      in_.charge(node.price);
      return node.value;
    }
    if (node.op == Op::kLocal) return read_local(local(node.slot));
    in_.step(1 + node.arg_count / kArgumentsAStep);
    if (depth_ == kNestedMax) return in_.arena.exceed_depth(), fail(node, Failure::kDepth);
    ++depth_;
    const Value out = evaluated(node);
    --depth_;
    return out;
  }

 private:
  Value evaluated(const Node& node) {
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

  Value fail(const Node& node, Failure failure, std::string_view about = {}) {
    return in_.fail(failure, about, node.offset);
  }
  Value no_memory(const Node& node) { return fail(node, Failure::kNoMemory); }
  // Over the limits nothing counts any more.
  bool is_over(Value& out, const Node& node) {
    if (!in_.is_beyond()) return false;
    out = fail(node, in_.limit());
    return true;
  }

  // Variables and fields.

  Value read_local(Local& variable) {
    in_.charge(1 + variable.owed);
    variable.owed = 0;
    if (const Node* later = std::exchange(variable.later, nullptr)) variable.value = value(*later);
    return variable.value;
  }

  Value variable(const Node& node) {
    in_.charge(1);
    if (node.slot < 0) return Value::opaque_of(Kind::kDevice, activation_.device);
    const auto at = static_cast<size_t>(node.slot);
    if (at < activation_.variables.size() && activation_.variables[at]) return *activation_.variables[at];
    return fail(node, Failure::kUndeclared, node.name);
  }

  Value attribute(const Node& node) {
    in_.charge(3);  // the whole, two fields
    in_.step(kAttributeSteps);
    const Path& path = paths_[static_cast<size_t>(node.slot)];
    const Device& device = *activation_.device;
    is_chain_optional_ = node.is_optional;
    if (node.is_optional && !device.has(path, in_.arena)) return in_.none();
    in_.charge(1);
    auto found = device.read(path, in_.arena);
    if (!found) return fail(node, Failure::kNoSuchKey, path.id);
    return node.is_optional ? in_.some(*found) : *found;
  }

  // Whether what is read further on, of an attribute or a value, is read through an optional; which is
  // opened.
  bool is_opened(const Node& on, Value& operand) {
    const bool is_chain = on.op == Op::kSelect || on.op == Op::kIndex || on.op == Op::kAttribute;
    if (operand.kind != Kind::kOptional || (is_chain && !is_chain_optional_)) return false;
    if (operand.optional == nullptr) return true;
    operand = *operand.optional;
    if (!is_chain && operand.kind == Kind::kMap) operand.map = operand.map->plain();
    if (!is_chain && operand.kind >= Kind::kQuantity && operand.kind != Kind::kFormat)
      operand = fail(on, Failure::kNoSuchOverload,
                     "a field of what an optional has");  // it is no value of CEL there
    return true;
  }

  // A presence test costs what it tests: a unit less than reading. Through an optional, the side of a
  // condition is what is there and no bool.
  Value has(const Node& node, bool is_side = false) {
    if (node.slot >= 0) {
      in_.charge(3);
      in_.step(kAttributeSteps);
      const Path& path = paths_[static_cast<size_t>(node.slot)];
      if (activation_.device->is_unknown(path)) return fail(node, Failure::kNoSuchKey, path.id);
      return Value::of(activation_.device->has(path, in_.arena));
    }
    const Node& on = *node.arg_list[0];
    Value operand = value(on);
    const bool is_optional = is_opened(on, operand);
    if (operand.is_error()) {
      if (has_unit(on)) in_.recharge(in_.cost() - 1);
      return operand;
    }
    if (!is_attribute(on)) in_.charge(1);
    bool is_there = false;
    if (operand.kind == Kind::kDevice) is_there = node.slot2 >= 0;
    if (operand.kind == Kind::kMap) is_there = operand.map->has(Value::of(node.name), in_.arena);
    if (operand.kind == Kind::kList) return no_index(node, Value::of(node.name));
    if (is_optional && !is_there) in_.recharge(in_.cost() - 1);
    if (!is_optional || !is_side) return Value::of(is_there);
    return is_there ? in_.some(element(node, operand, Value::of(node.name))) : in_.none();
  }

  Value device_field(const Node& node, const Device& device) {
    switch (node.slot2) {
      case 0:
        return Value::of(device.driver());
      case 1:
        return Value::of(device.allow_multiple_allocations());
      case 2:
      case 3: {
        const Map* map = node.slot2 == 2 ? device.attributes(in_.arena) : device.capacity(in_.arena);
        return map == nullptr ? no_memory(node) : Value::of(map);
      }
      default:
        return fail(node, Failure::kNoSuchKey, node.name);
    }
  }

  // The value of what is part of an attribute, whose unit pays for it.
  Value part(const Node& node) {
    const Value out = node.op == Op::kHas ? has(node, true) : value(node);
    if (has_unit(node)) in_.recharge(in_.cost() - 1);
    return out;
  }

  // operand[key] or operand.key; through an optional, the answer is one too.
  Value select(const Node& node) {
    const Node& on = *node.arg_list[0];
    Value operand = value(on);
    if (!is_attribute(on)) in_.charge(1);
    if (operand.is_error()) return operand;
    const bool must_be = !is_opened(on, operand) && !node.is_optional;
    if (operand.is_error()) return operand;
    const bool is_none = !must_be && operand.kind == Kind::kOptional && operand.optional == nullptr;
    const Value key = is_none                 ? Value::of(false)
                      : node.op == Op::kIndex ? part(*node.arg_list[1])
                                              : Value::of(node.name);
    is_chain_optional_ = !must_be;
    if (is_none) return operand;
    if (must_be) in_.charge(1);
    if (key.is_error()) return key;
    if (!is_index(key))
      return fail(node, Failure::kInvalidArgument, "an index is a bool, a number or a string");
    if (must_be) return element(node, operand, key);
    if (!is_present(operand, key)) return in_.none();
    const Value found = element(node, operand, key);
    if (found.is_error()) return found;
    in_.charge(1);
    return in_.some(found);
  }

  // What the optional syntax asks. Of a list, what is no index of lists is an error, and so it is present.
  bool is_present(const Value& operand, const Value& key) {
    if (operand.kind == Kind::kMap) return operand.map->has(key, in_.arena);
    if (operand.kind != Kind::kList) return operand.kind == Kind::kDevice;
    const auto at = position(key);
    return !at || (*at >= 0 && static_cast<uint64_t>(*at) < operand.list->size);
  }

  Value element(const Node& node, const Value& operand, const Value& key) {
    if (operand.kind == Kind::kDevice) return device_field(node, *static_cast<const Device*>(operand.opaque));
    if (operand.kind == Kind::kMap) {
      if (const auto found = operand.map->get(key, in_.arena)) return *found;
      return fail(node, Failure::kNoSuchKey, key_text(key));
    }
    if (operand.kind == Kind::kList) {
      const auto at = position(key);
      if (!at) return no_index(node, key);
      if (*at >= 0 && static_cast<uint64_t>(*at) < operand.list->size) return operand.list->items[*at];
      return fail(node, Failure::kInvalidArgument, "the index is outside of the list");
    }
    return fail(node, Failure::kNoSuchKey, key_text(key));
  }

  Value no_index(const Node& node, const Value& key) {
    return fail(node, Failure::kInvalidArgument,
                key.is_number() ? "the index is outside of the list" : "a list's index is a number");
  }

  std::string_view key_text(const Value& key) {
    if (key.kind == Kind::kString) return key.text();
    if (key.kind == Kind::kInt) return in_.arena.copy(std::to_string(key.i));
    return name_of(key.kind);
  }

  // nullopt: no index of any list.
  static std::optional<int64_t> position(const Value& key) {
    if (key.kind == Kind::kInt) return key.i;
    if (key.kind == Kind::kUint && std::in_range<int64_t>(key.u)) return static_cast<int64_t>(key.u);
    if (key.kind == Kind::kDouble && std::abs(key.d) < 0x1p63) {
      const auto at = static_cast<int64_t>(key.d);
      if (static_cast<double>(at) == key.d) return at;
    }
    return std::nullopt;
  }

  // Operators and calls.

  Value equality(const Node& node) {
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

  // An operand that decides does so whatever the others are; without one the first that is no bool fails all.
  Value logic(const Node& node) {
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

  Value conditional(const Node& node) {
    const Value condition = value(*node.arg_list[0]);
    if (condition.kind == Kind::kBool) return part(*node.arg_list[condition.b ? 1 : 2]);
    return condition.is_error() ? condition : fail(node, Failure::kNoSuchOverload, "?:");
  }

  // What is no optional stands for itself.
  Value otherwise(const Node& node) {
    const Value optional = value(*node.arg_list[0]);
    if (optional.kind != Kind::kOptional) return optional;
    if (optional.optional == nullptr) return value(*node.arg_list[1]);
    return node.name == "or" ? optional : *optional.optional;
  }

  Value call(const Node& node) {
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
    // Of two arguments both are evaluated, but for a pattern that upstream compiles beforehand, and where it
    // does not know the overload of what is no operator.
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
    const Overload* overload =
        node.overload;  // what a condition gives may be an optional where none is expected
    if (overload == nullptr || !overload->accepts(args, node.arg_count)) overload = overload_for(node, args);
    if (overload == nullptr)
      return charge_for(node, nullptr, args, fail(node, Failure::kNoSuchOverload, node.name));
    in_.call = &node;
    const Value out = overload->run(in_, args);
    if (ends_everything(out)) return out;
    return node.is_lookup ? out : charge_for(node, overload, args, out);
  }

  const Overload* overload_for(const Node& node, const Value* args) {
    in_.step(1 + node.function->overloads.size() / kOverloadsAStep);
    for (const Overload& one : node.function->overloads)
      if (one.is_member == node.is_member && one.accepts(args, node.arg_count)) return &one;
    return nullptr;
  }

  // The result, or that it costs too much.
  Value charge_for(const Node& node, const Overload* overload, const Value* args, const Value& result) {
    for (const Overload& one :
         node.function->overloads)  // those of one style and size have one price by name
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

  // Literals.

  Value list(const Node& node) {
    if (!node.is_constant) in_.charge(kListCost);
    Value* items = in_.arena.array<Value>(std::max<size_t>(node.arg_count, 1));
    if (items == nullptr) return no_memory(node);
    size_t size = 0;
    for (uint32_t i = 0; i < node.arg_count; ++i) {
      Value item = value(*node.arg_list[i]);
      if (item.is_error()) return item;
      if (!unwrap(node, i, item)) return fail(*node.arg_list[i], Failure::kNoSuchOverload, "?");
      if (item.is_error()) continue;  // an absent optional
      items[size++] = item;
    }
    return in_.list(items, size);
  }

  // What an element written with ? stands for: absent ones become an error value that is not seen.
  bool unwrap(const Node& node, size_t mark, Value& item) {
    if (node.optional_args == nullptr || !node.optional_args[mark]) return true;
    if (item.kind != Kind::kOptional) return false;
    static constexpr EvalError kAbsent{Failure::kNoSuchKey, -1, {}};
    item = item.optional == nullptr ? Value::of(&kAbsent) : *item.optional;
    return true;
  }

  // A key that stands again replaces what was there, or with an absent optional takes it away.
  Value map(const Node& node) {
    if (!node.is_constant) in_.charge(kMapCost);
    auto* entries = in_.arena.array<EntryMap::Entry>(std::max<size_t>(node.arg_count / 2, 1));
    if (entries == nullptr) return no_memory(node);
    size_t size = 0;
    for (uint32_t i = 0; i < node.arg_count; i += 2) {
      const Value key = value(*node.arg_list[i]);
      if (key.is_error()) return key;
      if (node.is_strict && !is_strict_key(key.kind))
        return fail(*node.arg_list[i], Failure::kInvalidArgument, "unsupported key type");
      Value item = value(*node.arg_list[i + 1]);
      if (item.is_error()) return item;
      if (!unwrap(node, i / 2, item)) return fail(*node.arg_list[i + 1], Failure::kNoSuchOverload, "?");
      if (!is_hashable(key)) return fail(node, Failure::kBreaksOff, "a map's key");
      entries[size++] = {key, item};
    }
    return finish_map(node, EntryMap::make(entries, size, in_.arena), node.is_strict);
  }

  Value finish_map(const Node& node, const EntryMap* made, bool refuses_repeated) {
    if (made == nullptr) return no_memory(node);
    if (refuses_repeated && made->repeated())
      return fail(node, Failure::kInvalidArgument, "a key stands twice");
    return Value::of(static_cast<const Map*>(made));
  }

  // Comprehensions.

  Local& local(int slot) { return in_.locals[static_cast<size_t>(slot)]; }

  Value macro(const Node& node) {
    if (node.macro == Macro::kBind) {  // evaluated when it is read first, if ever
      local(node.slot) = {.later = node.arg_list[0]};
      return value(*node.arg_list[1]);
    }
    const uint64_t before = in_.cost();
    const Value range = value(*node.arg_list[0]);
    if (node.macro == Macro::kOptMap || node.macro == Macro::kOptFlatMap)
      return map_optional(node, range, in_.cost() - before);
    if (range.is_error() && node.macro == Macro::kSortBy && !ends_everything(range)) {
      in_.charge(3);  // the list, once more for its keys, and the order of both
      return node.is_only_overload ? fail(node, Failure::kBreaksOff, "sortBy") : range;
    }
    if (range.is_error()) return range;
    if (range.kind != Kind::kList && range.kind != Kind::kMap)
      return fail(node, Failure::kNoSuchOverload, "a comprehension goes over lists and maps");
    switch (node.macro) {
      case Macro::kAll:
      case Macro::kExists:
        return quantifier(node, range);
      case Macro::kExistsOne:
        return exists_one(node, range);
      case Macro::kTransformMap:
      case Macro::kTransformMapEntry:
        return transform_map(node, range);
      case Macro::kSortBy:
        return sort_by(node, range);
      default:
        return transform_list(node, range);
    }
  }

  // o.hasValue() ? optional.of(<o.value() as the variable, expression>) : optional.none()
  Value map_optional(const Node& node, const Value& optional, uint64_t price) {
    if (ends_everything(optional)) return optional;
    in_.charge(1);
    if (optional.is_error()) return optional;
    if (optional.kind != Kind::kOptional) return fail(node, Failure::kNoSuchOverload, "optMap");
    const bool wraps = node.macro == Macro::kOptMap;
    if (optional.optional == nullptr || wraps) in_.charge(1);
    if (optional.optional == nullptr) return optional;
    local(node.slot) = {.value = *optional.optional, .owed = price + 1};
    const Value out = value(*node.arg_list[1]);
    return wraps && !out.is_error() ? in_.some(out) : out;
  }

  size_t size_of(const Value& range) {
    in_.step(kMapSizeSteps);
    return range.kind == Kind::kList ? range.list->size : range.map->size();
  }

  // Sets the variables for the element at `at`.
  void bind(const Node& node, const Value& range, size_t at) {
    in_.step(kElementSteps);
    if (range.kind == Kind::kList) {
      const Value& item = range.list->items[at];
      local(node.slot) = {.value = node.has_two_variables ? Value::of(static_cast<int64_t>(at)) : item};
      if (node.has_two_variables) local(node.slot2) = {.value = item};
    } else {
      const auto [key, item] = range.map->at(at, in_.arena);
      local(node.slot) = {.value = key};
      if (node.has_two_variables) local(node.slot2) = {.value = item};
    }
  }

  // all() is a chain of &&, exists() of ||. An element costs the condition, which is asked once more before
  // what is left out, and the result so far.
  Value quantifier(const Node& node, const Value& range) {
    const bool decides = node.macro == Macro::kExists;
    const uint64_t condition_price = decides ? 3 : 2;
    Value pending, over;
    bool is_decided = false;
    const size_t size = size_of(range);
    for (size_t i = 0; i < size; ++i) {
      in_.charge(condition_price);
      if (is_decided) break;
      bind(node, range, i);
      in_.charge(1);
      if (is_over(over, node)) return over;
      const Value one = value(*node.arg_list[1]);
      is_decided = one.kind == Kind::kBool && one.b == decides;
      if (ends_everything(one)) return one;
      if (one.kind != Kind::kBool && !pending.is_error())
        pending = one.is_error() ? one : fail(*node.arg_list[1], Failure::kNoSuchOverload, "a condition");
    }
    in_.charge(1);
    if (is_decided) return Value::of(decides);
    return pending.is_error() ? pending : Value::of(!decides);
  }

  // What a step over an element has found: an error stands until the end, and the other elements are
  // evaluated all the same.
  struct Gathering {
    Value error;  // no error: null
    bool holds = true;
    bool ends = false;  // at once, with `error`
  };

  // The condition of an element, if it has one.
  void condition(const Node* body, const Node& node, Gathering& state) {
    state.holds = true;
    if (is_over(state.error, node)) {
      state.ends = true;
    } else if (body != nullptr) {
      const Value out = value(*body);
      state.holds = out.is_true();
      state.ends = ends_everything(out);
      if (out.kind != Kind::kBool)
        state.error = out.is_error() ? out : fail(*body, Failure::kNoSuchOverload, "a condition");
    }
  }

  Value exists_one(const Node& node, const Value& range) {
    size_t count = 0;
    const size_t size = size_of(range);
    Gathering state;
    for (size_t i = 0; i < size; ++i) {
      bind(node, range, i);
      condition(node.arg_list[1], node, state);
      if (state.ends) return state.error;
      if (state.holds) in_.charge(2);  // one more
      count += state.holds;
    }
    in_.charge(2);
    return state.error.is_error() ? state.error : Value::of(count == 1);
  }

  // map(), filter(), transformList(): the result so far and a list of one are joined.
  Value transform_list(const Node& node, const Value& range) {
    const bool is_filter = node.macro == Macro::kFilter;
    const Node* filter = is_filter || node.arg_count == 3 ? node.arg_list[1] : nullptr;
    const Node* transform = is_filter ? nullptr : node.arg_list[node.arg_count - 1];
    const uint64_t price = 2 + (transform == nullptr ? 1 : 0) + (is_free(transform) ? 0 : kListCost);
    const size_t size = size_of(range);
    Value* items = in_.arena.array<Value>(std::max<size_t>(size, 1));
    if (items == nullptr) return no_memory(node);
    size_t made = 0;
    Gathering state;
    for (size_t i = 0; i < size; ++i) {
      bind(node, range, i);
      const Value element = local(node.slot).value;  // nested expressions have slots of their own
      condition(filter, node, state);
      if (state.ends) return state.error;
      if (!state.holds) continue;
      in_.charge(price);
      const Value out = transform == nullptr ? element : value(*transform);
      if (ends_everything(out)) return out;
      if (out.is_error()) state.error = out;
      items[made++] = out;
    }
    in_.charge(1);
    return state.error.is_error() ? state.error : in_.list(items, made);
  }

  // A list of it is a constant.
  static bool is_free(const Node* node) { return node != nullptr && node->is_constant; }

  // The result so far and what is inserted, which no key may be twice in.
  Value transform_map(const Node& node, const Value& range) {
    const Node* filter = node.arg_count == 3 ? node.arg_list[1] : nullptr;
    const Node& transform = *node.arg_list[node.arg_count - 1];
    const bool is_entry = node.macro == Macro::kTransformMapEntry;
    const size_t size = size_of(range);
    std::vector<EntryMap::Entry> entries;
    Gathering state;
    for (size_t i = 0; i < size; ++i) {
      bind(node, range, i);
      const Value key = local(node.slot).value;
      condition(filter, node, state);
      if (state.ends) return state.error;
      if (!state.holds) continue;
      in_.charge(1);
      if (state.error.is_error() && !is_entry) continue;
      in_.charge(is_entry ? 1 : 2);
      const Value out = value(transform);
      if (ends_everything(out)) return out;
      if (out.is_error())
        state.error = out;
      else if (!is_entry)
        entries.push_back({key, out});
      else if (out.kind != Kind::kMap)
        state.error = fail(node, Failure::kNoSuchOverload, "transformMapEntry");
      else
        append(entries, *out.map);
      if (!in_.arena.charge(sizeof(EntryMap::Entry))) return no_memory(node);
    }
    in_.charge(1);
    return state.error.is_error() ? state.error : inserted(node, entries);
  }

  // One after the other, each for its memory: maps may be many times what was made of them.
  void append(std::vector<EntryMap::Entry>& entries, const Map& map) {
    in_.step(kMapSizeSteps);
    const size_t size = map.size();
    for (size_t i = 0; i < size && in_.step() && in_.arena.charge(sizeof(EntryMap::Entry)); ++i) {
      const auto [key, value] = map.at(i, in_.arena);
      entries.push_back({key, value});
    }
  }

  Value inserted(const Node& node, const std::vector<EntryMap::Entry>& entries) {
    auto* kept = in_.arena.array<EntryMap::Entry>(std::max<size_t>(entries.size(), 1));
    if (kept == nullptr) return no_memory(node);
    std::copy(entries.begin(), entries.end(), kept);
    return finish_map(node, EntryMap::make(kept, entries.size(), in_.arena), true);
  }

  // The list is bound to a variable, of which map() makes the keys.
  Value sort_by(const Node& node, const Value& range) {
    if (range.kind != Kind::kList) return fail(node, Failure::kNoSuchOverload, "sortBy");
    struct Keyed {
      Value key, item;
    };
    const size_t size = range.list->size;
    auto* keyed = in_.arena.array<Keyed>(std::max<size_t>(size, 1));
    Value* items = in_.arena.array<Value>(std::max<size_t>(size, 1));
    if (keyed == nullptr || items == nullptr) return no_memory(node);
    const uint64_t price = 2 + (is_free(node.arg_list[1]) ? 0 : kListCost);
    in_.charge(3);
    Gathering state;
    for (size_t i = 0; i < size; ++i) {
      bind(node, range, i);
      condition(nullptr, node, state);
      if (state.ends) return state.error;
      in_.charge(price);
      const Value key = value(*node.arg_list[1]);
      if (ends_everything(key)) return key;
      if (key.is_error()) state.error = key;
      keyed[i] = {key, range.list->items[i]};
      items[i] = key;
    }
    if (!node.is_only_overload)
      in_.charge(1);
    else if (state.error.is_error())
      return fail(node, Failure::kBreaksOff, "sortBy");
    else
      in_.charge(price_of_order({items, size}));
    if (state.error.is_error()) return state.error;
    if (Value out; is_over(out, node)) return out;
    for (size_t i = 0; i < size; ++i)
      if (keyed[0].key.kind != keyed[i].key.kind ||
          compare(keyed[0].key, keyed[i].key, in_.arena) == kMismatch)
        return fail(node, Failure::kNoSuchOverload, "sortBy wants keys of one type that has an order");
    std::stable_sort(keyed, keyed + size, [this](const Keyed& a, const Keyed& b) {
      return compare(a.key, b.key, in_.arena) == -1;
    });
    if (Value out; is_over(out, node)) return out;
    for (size_t i = 0; i < size; ++i) items[i] = keyed[i].item;
    return in_.list(items, size);
  }

  bool is_chain_optional_ = false;  // of the attribute that was read last
  int depth_ = 0;
  Evaluation& in_;
  const std::vector<Path>& paths_;
  const Activation& activation_;
};

}  // namespace

Value walk(const Node& node, Evaluation& in, const std::vector<Path>& paths, const Activation& activation) {
  return Walk(in, paths, activation).value(node);
}

}  // namespace sliced::cel
