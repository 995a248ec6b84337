// Lists, maps, sets and optionals: the standard ones, cel-go's extensions (lists 3, sets) and Kubernetes'
// own.
#include <algorithm>

#include "cel/lib/numbers.h"
#include "cel/lib/utf8_text.h"
#include "cel/library.h"

namespace sliced::cel {
namespace {

Value size_of_text(Evaluation& in, const Value* args) {
  if (!in.step_for(args[0].s.size)) return in.fail(Failure::kSteps);
  return Value::of(code_points(args[0].text()));
}
Value size_of_bytes(Evaluation&, const Value* args) {
  return Value::of(static_cast<int64_t>(args[0].s.size));
}
Value size_of_list(Evaluation&, const Value* args) {
  return Value::of(static_cast<int64_t>(args[0].list->size));
}
Value size_of_map(Evaluation& in, const Value* args) {
  in.step(kMapSizeSteps);
  return Value::of(static_cast<int64_t>(args[0].map->size()));
}

// Lists.

// Returns the position, -1 if missing.
int64_t find(Evaluation& in, const List& list, const Value& target) {
  for (size_t i = 0; i < list.size && !in.is_beyond(); ++i)
    if (equal(list.items[i], target, in.arena).value_or(false)) return static_cast<int64_t>(i);
  return -1;
}

Value index_of_item(Evaluation& in, const Value* args) { return Value::of(find(in, *args[0].list, args[1])); }
Value last_index_of_item(Evaluation& in, const Value* args) {
  const List& list = *args[0].list;
  for (size_t i = list.size; i-- > 0 && !in.is_beyond();)
    if (equal(list.items[i], args[1], in.arena).value_or(false)) return Value::of(static_cast<int64_t>(i));
  return Value::of(int64_t{-1});
}

// Returns whether values of the kind are ordered. For two kinds upstream reports that neither is greater.
bool has_order(Kind kind) {
  return (kind >= Kind::kBool && kind <= Kind::kBytes) || kind == Kind::kTimestamp || kind == Kind::kDuration;
}

Value is_sorted(Evaluation& in, const Value* args) {
  const List& list = *args[0].list;
  for (size_t i = 0; i < list.size && !in.is_beyond(); ++i) {
    if (!has_order(list.items[i].kind)) return in.no_overload("isSorted");
    const int order = i == 0 ? 0 : compare(list.items[i - 1], list.items[i], in.arena);
    if (order == 1) return Value::of(false);  // NaN is not greater than anything
  }
  return Value::of(true);
}

template <int Order>
Value extreme(Evaluation& in, const Value* args) {
  const List& list = *args[0].list;
  if (list.size == 0) return in.invalid("min and max require a non-empty list");
  Value best = list.items[0];
  for (size_t i = 0; i < list.size && !in.is_beyond(); ++i) {
    if (!has_order(list.items[i].kind)) return in.no_overload(Order < 0 ? "min" : "max");
    const int order = compare(list.items[i], best, in.arena);
    if (order == Order) best = list.items[i];
  }
  return best;
}

// For an empty list, returns the zero of the list's type.
template <class Zero>
Value sum(Evaluation& in, const Value* args) {
  const List& list = *args[0].list;
  if (!in.step(list.size)) return in.fail(Failure::kSteps);
  if (list.size == 0) return Value::of(Zero{0});
  Value total = list.items[0];
  for (size_t i = 1; i < list.size; ++i) {
    const Value& item = list.items[i];
    if (item.kind != total.kind) return in.no_overload("sum");
    if (total.kind == Kind::kInt)
      total = in.answer(add(total.i, item.i));
    else if (total.kind == Kind::kUint)
      total = in.answer(add(total.u, item.u));
    else
      total = Value::of(total.d + item.d);
    if (total.is_error()) return total;
  }
  return total;
}
Value slice(Evaluation& in, const Value* args) {
  const List& list = *args[0].list;
  const int64_t from = args[1].i, to = args[2].i;
  if (from < 0 || to < from || static_cast<uint64_t>(to) > list.size)
    return in.invalid("slice requires 0 <= start <= end <= size");
  return in.list(list.items + from, static_cast<size_t>(to - from));  // a view
}

// level: the present depth of nesting.
bool flatten_into(Evaluation& in, const List& list, int64_t depth, int level, std::vector<Value>& out) {
  if (level > kDepthMax) return in.arena.exceed_depth();
  for (const Value& item : list) {
    if (!in.step()) return false;  // empty lists take time too
    if (item.kind == Kind::kList && depth > 0) {
      if (!flatten_into(in, *item.list, depth - 1, level + 1, out)) return false;
    } else if (!in.arena.charge(sizeof(Value))) {
      return false;
    } else {
      out.push_back(item);
    }
  }
  return true;
}
Value flatten_by(Evaluation& in, const Value& list, int64_t depth) {
  if (depth < 0) return in.invalid("flatten requires a depth of at least 0");
  std::vector<Value> out;
  if (!flatten_into(in, *list.list, depth, 0, out)) return in.fail(in.limit());
  return in.list(out);
}
Value flatten(Evaluation& in, const Value* args) { return flatten_by(in, args[0], 1); }
Value flatten_depth(Evaluation& in, const Value* args) { return flatten_by(in, args[0], args[1].i); }

Value sort(Evaluation& in, const Value* args) {
  const List& list = *args[0].list;
  if (!in.step(list.size)) return in.fail(Failure::kSteps);
  std::vector<Value> out(list.begin(), list.end());
  for (const Value& item : out)
    if (item.kind != out[0].kind || compare(out[0], item, in.arena) == kMismatch)
      return in.no_overload("sort");
  // Beyond the steps all are alike, and it ends soon.
  std::stable_sort(out.begin(), out.end(),
                   [&](const Value& a, const Value& b) { return compare(a, b, in.arena) == -1; });
  return in.list(out);
}

Value distinct(Evaluation& in, const Value* args) {
  std::vector<Value> out;
  for (const Value& item : *args[0].list) {
    if (!in.step()) return in.fail(Failure::kSteps);
    const bool is_known = std::any_of(out.begin(), out.end(), [&](const Value& seen) {
      return in.is_beyond() || equal(seen, item, in.arena).value_or(false);
    });
    if (!is_known) out.push_back(item);
  }
  return in.list(out);
}

Value reverse_list(Evaluation& in, const Value* args) {
  const List& list = *args[0].list;
  if (!in.step(list.size)) return in.fail(Failure::kSteps);
  std::vector<Value> out(list.begin(), list.end());
  std::reverse(out.begin(), out.end());
  return in.list(out);
}

Value range(Evaluation& in, const Value* args) {
  if (args[0].i < 0) return in.invalid("lists.range requires a number of at least 0");
  const auto size = static_cast<uint64_t>(args[0].i);
  if (size > kCostMax) return in.fail(Failure::kCost);  // its price depends on the size of the result
  if (size > in.arena.room() / sizeof(Value)) return in.fail(Failure::kNoMemory);
  if (!in.step_for(size, 4)) return in.fail(Failure::kSteps);
  Value* items = in.arena.array<Value>(std::max<uint64_t>(size, 1));
  for (uint64_t i = 0; items != nullptr && i < size; ++i) items[i] = Value::of(static_cast<int64_t>(i));
  return in.list(items, size);
}

Value first(Evaluation& in, const Value* args) {
  const List& list = *args[0].list;
  return list.size == 0 ? in.none() : Value::some_or_none(&list.items[0]);
}
Value last(Evaluation& in, const Value* args) {
  const List& list = *args[0].list;
  return list.size == 0 ? in.none() : Value::some_or_none(&list.items[list.size - 1]);
}

// Kubernetes, for attributes that are a list or a single value.
Value includes(Evaluation& in, const Value* args) {
  if (args[0].kind != Kind::kList) return Value::of(equal(args[0], args[1], in.arena).value_or(false));
  return Value::of(find(in, *args[0].list, args[1]) >= 0);
}

// Sets.

// Returns whether every element of a is in b.
bool is_subset(Evaluation& in, const List& a, const List& b) {
  return std::all_of(a.begin(), a.end(),
                     [&](const Value& item) { return in.step() && find(in, b, item) >= 0; });
}
Value set_contains(Evaluation& in, const Value* args) {
  return Value::of(is_subset(in, *args[1].list, *args[0].list));
}
Value set_equivalent(Evaluation& in, const Value* args) {
  return Value::of(is_subset(in, *args[1].list, *args[0].list) &&
                   is_subset(in, *args[0].list, *args[1].list));
}
Value set_intersects(Evaluation& in, const Value* args) {
  for (const Value& item : *args[0].list) {
    if (!in.step()) break;
    if (find(in, *args[1].list, item) >= 0) return Value::of(true);
  }
  return Value::of(false);
}

// Optionals.

Value some(Evaluation& in, const Value* args) { return in.some(args[0]); }
Value none(Evaluation& in, const Value*) { return in.none(); }
// The first moment of the year 1, which is Go's zero time. An optional is never zero, even an empty one.
constexpr int64_t kYearOne = -62'135'596'800;
bool is_zero(Evaluation& in, const Value& value) {
  switch (value.kind) {
    case Kind::kNull:
      return true;
    case Kind::kBool:
      return !value.b;
    case Kind::kInt:
    case Kind::kUint:
      return value.u == 0;
    case Kind::kDouble:
      return value.d == 0;
    case Kind::kString:
    case Kind::kBytes:
      return value.s.size == 0;
    case Kind::kList:
      return value.list->size == 0;
    case Kind::kMap:
      in.step(kMapSizeSteps);
      return value.map->size() == 0;
    case Kind::kDuration:
      return value.time == Time{0, 0, 0};
    case Kind::kTimestamp:
      return value.time == Time{kYearOne, 0, 0};
    default:
      return false;
  }
}
Value some_unless_zero(Evaluation& in, const Value* args) {
  return is_zero(in, args[0]) ? in.none() : in.some(args[0]);
}
Value has_value(Evaluation&, const Value* args) { return Value::of(args[0].optional != nullptr); }
Value value_of(Evaluation& in, const Value* args) {
  return args[0].optional == nullptr ? in.invalid("optional.none() dereference") : *args[0].optional;
}
Value unwrap(Evaluation& in, const Value* args) {
  if (!in.step(args[0].list->size)) return in.fail(Failure::kSteps);
  std::vector<Value> out;
  for (const Value& item : *args[0].list) {
    if (item.kind != Kind::kOptional) return in.no_overload("unwrap");
    if (item.optional != nullptr) out.push_back(*item.optional);
  }
  return in.list(out);
}

constexpr Declaration kCollections[] = {
    {"size(string): int", size_of_text},
    {"size(bytes): int", size_of_bytes},
    {"size(list(A)): int", size_of_list},
    {"size(map(A, B)): int", size_of_map},
    {"string.size(): int", size_of_text},
    {"bytes.size(): int", size_of_bytes},
    {"list(A).size(): int", size_of_list},
    {"map(A, B).size(): int", size_of_map},
    {"list(A).indexOf(A): int", index_of_item},
    {"list(A).lastIndexOf(A): int", last_index_of_item},
    {"list(A).isSorted(): bool", is_sorted},
    {"list(A).min(): A", extreme<-1>},
    {"list(A).max(): A", extreme<1>},
    {"list(int).sum(): int", sum<int64_t>},
    {"list(uint).sum(): uint", sum<uint64_t>},
    {"list(double).sum(): double", sum<double>},
    {"list(A).slice(int, int): list(A)", slice},
    {"list(list(A)).flatten(): list(A)", flatten},
    {"list(A).flatten(int): list(dyn)", flatten_depth},
    {"list(A).sort(): list(A)", sort},
    {"list(A).distinct(): list(A)", distinct},
    {"list(A).reverse(): list(A)", reverse_list},
    {"list(A).first(): optional(A)", first},
    {"list(A).last(): optional(A)", last},
    {"lists.range(int): list(int)", range},
    {"dyn.includes(dyn): bool", includes},
    {"sets.contains(list(A), list(A)): bool", set_contains},
    {"sets.equivalent(list(A), list(A)): bool", set_equivalent},
    {"sets.intersects(list(A), list(A)): bool", set_intersects},
    {"optional.of(A): optional(A)", some},
    {"optional.ofNonZeroValue(A): optional(A)", some_unless_zero},
    {"optional.none(): optional(A)", none},
    {"optional(A).hasValue(): bool", has_value},
    {"optional(A).value(): A", value_of},
    {"optional(A).or(optional(A)): optional(A)", nullptr},  // these two are Op::kOtherwise
    {"optional(A).orValue(A): A", nullptr},
    {"optional.unwrap(list(optional(A))): list(A)", unwrap},
    {"list(optional(A)).unwrapOpt(): list(A)", unwrap},
};

}  // namespace

std::span<const Declaration> collections() { return kCollections; }

}  // namespace sliced::cel
