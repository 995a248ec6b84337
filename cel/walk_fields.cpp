// Fields and keys: cel-go's attributes, with one unit of cost for the whole chain.
#include <cmath>
#include <utility>

#include "cel/walking.h"

namespace sliced::cel {
namespace {

constexpr uint64_t kAttributeSteps = 4;  // reading a device

// Returns whether cel-go evaluates the node together with the following selections and indexes as one
// attribute. It charges a unit for the whole...
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
// Returns whether the node costs a unit: an attribute, except a condition with two sides.
bool has_unit(const Node& node) { return is_attribute(node) && node.op != Op::kConditional; }

// Returns whether upstream accepts the key as an index of a map.
bool is_index(const Value& key) {
  return key.is_number() || key.kind == Kind::kString || key.kind == Kind::kBool;
}

// Returns nullopt if the key cannot be an index of a list.
std::optional<int64_t> position(const Value& key) {
  if (key.kind == Kind::kInt) return key.i;
  if (key.kind == Kind::kUint && std::in_range<int64_t>(key.u)) return static_cast<int64_t>(key.u);
  if (key.kind == Kind::kDouble && std::abs(key.d) < 0x1p63) {
    const auto at = static_cast<int64_t>(key.d);
    if (static_cast<double>(at) == key.d) return at;
  }
  return std::nullopt;
}

}  // namespace

Value Walk::attribute(const Node& node) {
  in_.charge(3);  // the whole, two fields
  in_.step(kAttributeSteps);
  const Path& path = paths_[static_cast<size_t>(node.slot)];
  const Device& device = *activation_.device;
  is_chain_optional_ = node.is_optional;
  if (node.is_optional && !device.has(path, in_.arena)) return in_.none();
  in_.charge(1);
  auto found = device.read(path, in_.arena);
  if (!found) return fail(node, Failure::kNoSuchKey, path.id());
  return node.is_optional ? in_.some(*found) : *found;
}

// Returns whether the next part of an attribute or a value is read through an optional, which is opened.
bool Walk::is_opened(const Node& on, Value& operand) {
  const bool is_chain = on.op == Op::kSelect || on.op == Op::kIndex || on.op == Op::kAttribute;
  if (operand.kind != Kind::kOptional || (is_chain && !is_chain_optional_)) return false;
  if (operand.optional == nullptr) return true;
  operand = *operand.optional;
  return true;
}

// A presence test costs as much as its operand: a unit less than reading. Through an optional, the side of a
// condition is the value and not a bool.
Value Walk::has(const Node& node, bool is_side) {
  if (node.slot >= 0) {
    in_.charge(3);
    in_.step(kAttributeSteps);
    const Path& path = paths_[static_cast<size_t>(node.slot)];
    if (activation_.device->is_unknown(path)) return fail(node, Failure::kNoSuchKey, path.id());
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

Value Walk::device_field(const Node& node, const Device& device) {
  switch (node.slot2) {
    case Node::kDriver:
      return Value::of(device.driver());
    case Node::kAllowMultipleAllocations:
      return Value::of(device.allow_multiple_allocations());
    case Node::kAttributes:
    case Node::kCapacity: {
      const Map* map =
          node.slot2 == Node::kAttributes ? device.attributes(in_.arena) : device.capacity(in_.arena);
      return map == nullptr ? no_memory(node) : Value::of(map);
    }
    default:
      return fail(node, Failure::kNoSuchKey, node.name);
  }
}

// Returns the value of a part of an attribute, whose unit pays for it.
Value Walk::part(const Node& node) {
  const Value out = node.op == Op::kHas ? has(node, true) : value(node);
  if (has_unit(node)) in_.recharge(in_.cost() - 1);
  return out;
}

// Evaluates operand[key] or operand.key. For an optional operand the result is an optional.
Value Walk::select(const Node& node) {
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

// Returns whether the optional syntax finds a value. An invalid index of a list is an error, which counts as
// present.
bool Walk::is_present(const Value& operand, const Value& key) {
  if (operand.kind == Kind::kMap) return operand.map->has(key, in_.arena);
  if (operand.kind != Kind::kList) return operand.kind == Kind::kDevice;
  const auto at = position(key);
  return !at || (*at >= 0 && static_cast<uint64_t>(*at) < operand.list->size);
}

Value Walk::element(const Node& node, const Value& operand, const Value& key) {
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

Value Walk::no_index(const Node& node, const Value& key) {
  return fail(node, Failure::kInvalidArgument,
              key.is_number() ? "the index is outside of the list" : "a list's index is a number");
}

std::string_view Walk::key_text(const Value& key) {
  if (key.kind == Kind::kString) return key.text();
  if (key.kind == Kind::kInt) return in_.arena.copy(std::to_string(key.i));
  return name_of(key.kind);
}

}  // namespace sliced::cel
