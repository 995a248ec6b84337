// Lists and maps that are written out.
#include <algorithm>

#include "cel/walking.h"

namespace sliced::cel {
namespace {

constexpr uint64_t kMapCost = 30;  // cel-go's price of making one

}  // namespace

Value Walk::list(const Node& node) {
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

// Returns the content of an element with ?: empty ones become an error value that is skipped.
bool Walk::unwrap(const Node& node, size_t mark, Value& item) {
  if (node.optional_args == nullptr || !node.optional_args[mark]) return true;
  if (item.kind != Kind::kOptional) return false;
  static constexpr EvalError kAbsent{Failure::kNoSuchKey, -1, {}};
  item = item.optional == nullptr ? Value::of(&kAbsent) : *item.optional;
  return true;
}

// A repeated key replaces the earlier one, or removes it with an empty optional.
Value Walk::map(const Node& node) {
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

Value Walk::finish_map(const Node& node, const EntryMap* made, bool refuses_repeated) {
  if (made == nullptr) return no_memory(node);
  if (refuses_repeated && made->repeated())
    return fail(node, Failure::kInvalidArgument, "a key occurs twice");
  return Value::of(static_cast<const Map*>(made));
}

}  // namespace sliced::cel
