#include "policy/cel/walk.h"

#include <algorithm>

#include "policy/cel/library.h"

namespace sliced::cel {
namespace {

// cel-go's prices of making things (cost of an interpreter's steps, checked against upstream's own figures).
constexpr uint64_t kListCost = 10, kMapCost = 30;

bool ends_everything(const Value& value) {
  return value.is_error() &&
         (value.error->failure == Failure::kCost || value.error->failure == Failure::kNoMemory);
}

class Walk {
 public:
  Walk(Evaluation& in, const std::vector<Path>& paths, const Activation& activation)
      : in_(in), paths_(paths), activation_(activation) {}

  Value value(const Node& node) {
    switch (node.op) {
      case Op::kLiteral:
        return node.value;
      case Op::kLocal:
        in_.charge(1);
        return in_.locals[static_cast<size_t>(node.slot)];
      case Op::kVariable:
        return variable(node);
      case Op::kAttribute:
        return attribute(node);
      case Op::kHas:
        return has(node);
      case Op::kSelect:
        return select(node);
      case Op::kIndex:
        return index(node);
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
        break;
    }
    return fail(node, Failure::kUndeclared, node.name);
  }

 private:
  Value fail(const Node& node, Failure failure, std::string_view about = {}) {
    return in_.fail(failure, about, node.offset);
  }
  Value no_memory(const Node& node) { return fail(node, Failure::kNoMemory); }
  // Over the limits nothing counts any more.
  bool is_over(Value& out, const Node& node) {
    if (!in_.is_beyond()) return false;
    out = fail(node, in_.arena.is_exhausted() ? Failure::kNoMemory : Failure::kCost);
    return true;
  }

  // Variables and fields.

  Value variable(const Node& node) {
    in_.charge(1);
    if (node.slot < 0) return Value::opaque_of(Kind::kDevice, activation_.device);
    const auto at = static_cast<size_t>(node.slot);
    if (at < activation_.variables.size() && activation_.variables[at]) return *activation_.variables[at];
    return fail(node, Failure::kUndeclared, node.name);
  }

  Value attribute(const Node& node) {
    in_.charge(4);  // a variable, two fields, an index
    const Path& path = paths_[static_cast<size_t>(node.slot)];
    const Device& device = *activation_.device;
    if (node.is_optional && !device.has(path, in_.arena)) return in_.none();
    auto found = device.read(path, in_.arena);
    if (!found) return fail(node, Failure::kNoSuchKey, path.id);
    return node.is_optional ? in_.some(*found) : *found;
  }

  Value has(const Node& node) {
    if (node.slot >= 0) {
      in_.charge(3);
      return Value::of(activation_.device->has(paths_[static_cast<size_t>(node.slot)], in_.arena));
    }
    Value operand = value(*node.arg_list[0]);
    if (operand.kind == Kind::kOptional) {
      if (operand.optional == nullptr) return Value::of(false);
      operand = *operand.optional;
    }
    if (operand.is_error()) return operand;
    if (operand.kind == Kind::kDevice) return Value::of(node.slot2 >= 0);
    if (operand.kind != Kind::kMap) return Value::of(false);
    return Value::of(operand.map->has(Value::of(node.name), in_.arena));
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

  Value select(const Node& node) {
    Value operand = value(*node.arg_list[0]);
    in_.charge(1);
    return read(node, operand, Value::of(node.name));
  }

  Value index(const Node& node) {
    Value operand = value(*node.arg_list[0]);
    const Value key = value(*node.arg_list[1]);
    in_.charge(1);
    if (operand.is_error()) return operand;
    if (key.is_error()) return key;
    return read(node, operand, key);
  }

  // operand[key] or operand.key; through an optional, the answer is one too.
  Value read(const Node& node, Value operand, const Value& key) {
    if (operand.is_error()) return operand;
    const bool through_optional = operand.kind == Kind::kOptional;
    if (through_optional) {
      if (operand.optional == nullptr) return operand;
      operand = *operand.optional;
    }
    if (!node.is_optional && !through_optional) return element(node, operand, key);
    if (operand.kind == Kind::kMap && !operand.map->has(key, in_.arena)) return in_.none();
    if (operand.kind != Kind::kMap && operand.kind != Kind::kList && operand.kind != Kind::kDevice)
      return in_.none();
    const Value found = element(node, operand, key);
    if (!found.is_error()) return in_.some(found);
    return operand.kind == Kind::kList && !ends_everything(found) ? in_.none() : found;
  }

  Value element(const Node& node, const Value& operand, const Value& key) {
    if (operand.kind == Kind::kDevice) return device_field(node, *static_cast<const Device*>(operand.opaque));
    if (operand.kind == Kind::kMap) {
      if (const auto found = operand.map->get(key, in_.arena)) return *found;
      return fail(node, Failure::kNoSuchKey, key_text(key));
    }
    if (operand.kind == Kind::kList && node.op == Op::kIndex) {
      const auto at = position(key);
      if (at && *at < operand.list->size) return operand.list->items[*at];
      return fail(node, Failure::kInvalidArgument,
                  at || key.is_number() ? "the index is outside of the list" : "a list's index is a number");
    }
    return fail(node, Failure::kNoSuchKey, key_text(key));
  }

  std::string_view key_text(const Value& key) {
    if (key.kind == Kind::kString) return key.text();
    if (key.kind == Kind::kInt) return in_.arena.copy(std::to_string(key.i));
    return name_of(key.kind);
  }

  static std::optional<size_t> position(const Value& key) {
    if (key.kind == Kind::kInt && key.i >= 0) return static_cast<size_t>(key.i);
    if (key.kind == Kind::kUint) return static_cast<size_t>(key.u);
    if (key.kind == Kind::kDouble && key.d >= 0 && key.d < 1e9) {
      const auto at = static_cast<size_t>(key.d);
      if (static_cast<double>(at) == key.d) return at;
    }
    return std::nullopt;
  }

  // Operators and calls.

  Value equality(const Node& node) {
    const Value left = value(*node.arg_list[0]);
    if (left.is_error()) return left;
    const Value right = value(*node.arg_list[1]);
    if (right.is_error()) return right;
    charge_comparison(left, right);
    const auto same = equal(left, right, in_.arena);
    const bool is_equality = node.op == Op::kEqual;
    if (!same && is_equality) return fail(node, Failure::kNoSuchOverload, "==");
    return Value::of(same.value_or(false) == is_equality);
  }

  void charge_comparison(const Value& left, const Value& right) {
    const bool are_texts =
        left.kind == right.kind && (left.kind == Kind::kString || left.kind == Kind::kBytes);
    if (are_texts)
      in_.charge(std::max<uint64_t>(1, (std::min(left.s.size, right.s.size) + 9) / 10));
    else if (left.kind == Kind::kList && right.kind == Kind::kList)
      in_.charge(1 + std::min(left.list->size, right.list->size));
    else if (left.kind == Kind::kMap && right.kind == Kind::kMap)
      in_.charge(1 + std::min(left.map->size(), right.map->size()));
    else
      in_.charge(1);
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
    if (condition.kind == Kind::kBool) return value(*node.arg_list[condition.b ? 1 : 2]);
    return condition.is_error() ? condition : fail(node, Failure::kNoSuchOverload, "?:");
  }

  Value otherwise(const Node& node) {
    const Value optional = value(*node.arg_list[0]);
    if (optional.is_error()) return optional;
    const bool is_or = node.name == "or";
    in_.charge(1);
    if (optional.kind != Kind::kOptional) return fail(node, Failure::kNoSuchOverload, node.name);
    if (optional.optional != nullptr) return is_or ? optional : *optional.optional;
    const Value other = value(*node.arg_list[1]);
    const bool fits = !is_or || other.is_error() || other.kind == Kind::kOptional;
    return fits ? other : fail(node, Failure::kNoSuchOverload, node.name);
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
    for (uint32_t i = 0; i < node.arg_count; ++i) {
      args[i] = value(*node.arg_list[i]);
      if (args[i].is_error()) return args[i];
    }
    Value out;
    in_.charge(1);
    if (is_over(out, node)) return out;
    const Overload* overload = node.overload;
    if (overload == nullptr) {
      for (const Overload& one : node.function->overloads) {
        if (one.is_member != node.is_member || !one.accepts(args, node.arg_count)) continue;
        overload = &one;
        break;
      }
    }
    if (overload == nullptr) return fail(node, Failure::kNoSuchOverload, node.name);
    in_.call = &node;
    out = overload->run(in_, args);
    is_over(out, node);
    return out;
  }

  // Literals.

  Value list(const Node& node) {
    in_.charge(kListCost);
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

  Value map(const Node& node) {
    in_.charge(kMapCost);
    auto* entries = in_.arena.array<EntryMap::Entry>(std::max<size_t>(node.arg_count / 2, 1));
    if (entries == nullptr) return no_memory(node);
    size_t size = 0;
    for (uint32_t i = 0; i < node.arg_count; i += 2) {
      const Value key = value(*node.arg_list[i]);
      if (key.is_error()) return key;
      if (!is_key(key)) return fail(*node.arg_list[i], Failure::kInvalidArgument, "unsupported key type");
      Value item = value(*node.arg_list[i + 1]);
      if (item.is_error()) return item;
      if (!unwrap(node, i / 2, item)) return fail(*node.arg_list[i + 1], Failure::kNoSuchOverload, "?");
      if (item.is_error()) continue;
      entries[size++] = {key, item};
    }
    return finish_map(node, entries, size);
  }

  Value finish_map(const Node& node, EntryMap::Entry* entries, size_t size) {
    const EntryMap* made = EntryMap::make(entries, size, in_.arena);
    if (made == nullptr) return no_memory(node);
    if (made->repeated()) return fail(node, Failure::kInvalidArgument, "a key stands twice");
    return Value::of(static_cast<const Map*>(made));
  }

  // Comprehensions.

  Value& local(int slot) { return in_.locals[static_cast<size_t>(slot)]; }

  Value macro(const Node& node) {
    const Value range = value(*node.arg_list[0]);
    switch (node.macro) {
      case Macro::kBind:  // what is bound fails when it is used
        if (ends_everything(range)) return range;
        local(node.slot) = range;
        return value(*node.arg_list[1]);
      case Macro::kOptMap:
      case Macro::kOptFlatMap:
        return map_optional(node, range);
      default:
        break;
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

  Value map_optional(const Node& node, const Value& optional) {
    if (optional.is_error()) return optional;
    if (optional.kind != Kind::kOptional) return fail(node, Failure::kNoSuchOverload, "optMap");
    if (optional.optional == nullptr) return optional;
    local(node.slot) = *optional.optional;
    const Value out = value(*node.arg_list[1]);
    if (out.is_error()) return out;
    if (node.macro == Macro::kOptMap) return in_.some(out);
    return out.kind == Kind::kOptional ? out : fail(node, Failure::kNoSuchOverload, "optFlatMap");
  }

  static size_t size_of(const Value& range) {
    return range.kind == Kind::kList ? range.list->size : range.map->size();
  }

  // Sets the variables for the element at `at`.
  void bind(const Node& node, const Value& range, size_t at) {
    if (range.kind == Kind::kList) {
      const Value& item = range.list->items[at];
      local(node.slot) = node.has_two_variables ? Value::of(static_cast<int64_t>(at)) : item;
      if (node.has_two_variables) local(node.slot2) = item;
    } else {
      const auto [key, item] = range.map->at(at, in_.arena);
      local(node.slot) = key;
      if (node.has_two_variables) local(node.slot2) = item;
    }
  }

  // all() is a chain of &&, exists() of ||.
  Value quantifier(const Node& node, const Value& range) {
    const bool decides = node.macro == Macro::kExists;
    Value pending, over;
    const size_t size = size_of(range);
    in_.charge(1);
    for (size_t i = 0; i < size; ++i) {
      bind(node, range, i);
      in_.charge(decides ? 4 : 3);
      if (is_over(over, node)) return over;
      const Value one = value(*node.arg_list[1]);
      if (one.kind == Kind::kBool) {
        if (one.b == decides) return one;
        continue;
      }
      if (ends_everything(one)) return one;
      if (!pending.is_error())
        pending = one.is_error() ? one : fail(*node.arg_list[1], Failure::kNoSuchOverload, "a condition");
    }
    return pending.is_error() ? pending : Value::of(!decides);
  }

  // The condition of an element; false with `out` set when it is an error.
  bool condition(const Node& body, bool& holds, Value& out) {
    if (is_over(out, body)) return false;
    out = value(body);
    if (out.is_error()) return false;
    if (out.kind != Kind::kBool) {
      out = fail(body, Failure::kNoSuchOverload, "a condition");
      return false;
    }
    holds = out.b;
    return true;
  }

  Value exists_one(const Node& node, const Value& range) {
    size_t count = 0;
    const size_t size = size_of(range);
    in_.charge(2);
    for (size_t i = 0; i < size; ++i) {
      bind(node, range, i);
      bool holds = false;
      Value out;
      if (!condition(*node.arg_list[1], holds, out)) return out;
      in_.charge(holds ? 2 : 1);
      count += holds;
    }
    return Value::of(count == 1);
  }

  // map(), filter(), transformList().
  Value transform_list(const Node& node, const Value& range) {
    const bool is_filter = node.macro == Macro::kFilter;
    const Node* filter = is_filter || node.arg_count == 3 ? node.arg_list[1] : nullptr;
    const Node* transform = is_filter ? nullptr : node.arg_list[node.arg_count - 1];
    const size_t size = size_of(range);
    Value* items = in_.arena.array<Value>(std::max<size_t>(size, 1));
    if (items == nullptr) return no_memory(node);
    size_t made = 0;
    for (size_t i = 0; i < size; ++i) {
      bind(node, range, i);
      const Value element = local(node.slot);  // nested expressions have slots of their own
      bool holds = true;
      Value out;
      in_.charge(2);
      if (filter != nullptr && !condition(*filter, holds, out)) return out;
      if (!holds) continue;
      if (is_over(out, node)) return out;
      out = transform == nullptr ? element : value(*transform);
      if (out.is_error()) return out;
      in_.charge(kListCost);
      items[made++] = out;
    }
    return in_.list(items, made);
  }

  Value transform_map(const Node& node, const Value& range) {
    const Node* filter = node.arg_count == 3 ? node.arg_list[1] : nullptr;
    const Node& transform = *node.arg_list[node.arg_count - 1];
    const size_t size = size_of(range);
    std::vector<EntryMap::Entry> entries;
    for (size_t i = 0; i < size; ++i) {
      bind(node, range, i);
      const Value key = local(node.slot);
      bool holds = true;
      Value out;
      in_.charge(2);
      if (filter != nullptr && !condition(*filter, holds, out)) return out;
      if (!holds) continue;
      if (is_over(out, node)) return out;
      out = value(transform);
      if (out.is_error()) return out;
      if (node.macro == Macro::kTransformMap) {
        entries.push_back({key, out});
      } else {
        if (out.kind != Kind::kMap) return fail(node, Failure::kNoSuchOverload, "transformMapEntry");
        for (size_t k = 0; k < out.map->size(); ++k) {
          const auto [its_key, its_value] = out.map->at(k, in_.arena);
          entries.push_back({its_key, its_value});
        }
      }
      if (!in_.arena.charge(sizeof(EntryMap::Entry))) return no_memory(node);
    }
    auto* kept = in_.arena.array<EntryMap::Entry>(std::max<size_t>(entries.size(), 1));
    if (kept == nullptr) return no_memory(node);
    std::copy(entries.begin(), entries.end(), kept);
    return finish_map(node, kept, entries.size());
  }

  Value sort_by(const Node& node, const Value& range) {
    if (range.kind != Kind::kList) return fail(node, Failure::kNoSuchOverload, "sortBy");
    struct Keyed {
      Value key, item;
    };
    const size_t size = range.list->size;
    auto* keyed = in_.arena.array<Keyed>(std::max<size_t>(size, 1));
    Value* items = in_.arena.array<Value>(std::max<size_t>(size, 1));
    if (keyed == nullptr || items == nullptr) return no_memory(node);
    for (size_t i = 0; i < size; ++i) {
      bind(node, range, i);
      Value out;
      in_.charge(2 * (2 + kListCost));  // the keys are a list first, and the result another
      if (is_over(out, node)) return out;
      out = value(*node.arg_list[1]);
      if (out.is_error()) return out;
      if (i > 0 && (keyed[0].key.kind != out.kind || compare(keyed[0].key, out) == kMismatch))
        return fail(node, Failure::kNoSuchOverload, "sortBy wants keys of one type that has an order");
      keyed[i] = {out, range.list->items[i]};
    }
    std::stable_sort(keyed, keyed + size,
                     [](const Keyed& a, const Keyed& b) { return compare(a.key, b.key) == -1; });
    for (size_t i = 0; i < size; ++i) items[i] = keyed[i].item;
    return in_.list(items, size);
  }

  Evaluation& in_;
  const std::vector<Path>& paths_;
  const Activation& activation_;
};

}  // namespace

Value walk(const Node& node, Evaluation& in, const std::vector<Path>& paths, const Activation& activation) {
  return Walk(in, paths, activation).value(node);
}

}  // namespace sliced::cel
