// Comprehensions and bindings. cel-go expands them, and charges for the expansion.
#include <algorithm>

#include "cel/price.h"
#include "cel/walking.h"

namespace sliced::cel {
namespace {

constexpr uint64_t kElementSteps = 2;  // of an element: its variables, its conditions

// A list of such nodes is a constant.
bool is_free(const Node* node) { return node != nullptr && node->is_constant; }

}  // namespace

Value Walk::macro(const Node& node) {
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
Value Walk::map_optional(const Node& node, const Value& optional, uint64_t price) {
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

size_t Walk::size_of(const Value& range) {
  in_.step(kMapSizeSteps);
  return range.kind == Kind::kList ? range.list->size : range.map->size();
}

// Sets the variables for the element at `at`.
void Walk::bind(const Node& node, const Value& range, size_t at) {
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

// all() is a chain of &&, exists() of ||. An element costs the condition, which is tested once more before
// the remaining ones are skipped, and the result so far.
Value Walk::quantifier(const Node& node, const Value& range) {
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

// The condition of an element, if it has one.
void Walk::condition(const Node* body, const Node& node, Gathering& state) {
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

Value Walk::exists_one(const Node& node, const Value& range) {
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

// Implements map(), filter() and transformList(): each step joins the result so far with a list of one
// element.
Value Walk::transform_list(const Node& node, const Value& range) {
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

// The result so far and the inserted entry, whose key must be new.
Value Walk::transform_map(const Node& node, const Value& range) {
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

// Appends one entry at a time, each with its memory, because maps may be much larger than their source.
void Walk::append(std::vector<EntryMap::Entry>& entries, const Map& map) {
  in_.step(kMapSizeSteps);
  const size_t size = map.size();
  for (size_t i = 0; i < size && in_.step() && in_.arena.charge(sizeof(EntryMap::Entry)); ++i) {
    const auto [key, value] = map.at(i, in_.arena);
    entries.push_back({key, value});
  }
}

Value Walk::inserted(const Node& node, const std::vector<EntryMap::Entry>& entries) {
  auto* kept = in_.arena.array<EntryMap::Entry>(std::max<size_t>(entries.size(), 1));
  if (kept == nullptr) return no_memory(node);
  std::copy(entries.begin(), entries.end(), kept);
  return finish_map(node, EntryMap::make(kept, entries.size(), in_.arena), true);
}

// The list is bound to a variable, from which map() computes the keys.
Value Walk::sort_by(const Node& node, const Value& range) {
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
    if (keyed[0].key.kind != keyed[i].key.kind || compare(keyed[0].key, keyed[i].key, in_.arena) == kMismatch)
      return fail(node, Failure::kNoSuchOverload, "sortBy requires keys of one ordered type");
  std::stable_sort(keyed, keyed + size,
                   [this](const Keyed& a, const Keyed& b) { return compare(a.key, b.key, in_.arena) == -1; });
  if (Value out; is_over(out, node)) return out;
  for (size_t i = 0; i < size; ++i) items[i] = keyed[i].item;
  return in_.list(items, size);
}

}  // namespace sliced::cel
