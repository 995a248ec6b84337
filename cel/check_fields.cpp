// Fields and keys: operand.name, operand[key], has(); attributes of the device, which become one look-up.
#include <algorithm>

#include "cel/checking.h"
#include "reactor/base/text.h"

namespace sliced::cel {
namespace {

struct Field {
  std::string_view name;
  Node::Field slot;
};
constexpr Field kDeviceFields[] = {{"driver", Node::kDriver},
                                   {"allowMultipleAllocations", Node::kAllowMultipleAllocations},
                                   {"attributes", Node::kAttributes},
                                   {"capacity", Node::kCapacity}};

}  // namespace

bool Checker::select(Node& node) {
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

const Type* Checker::device_field(Node& node) {
  std::vector<std::string_view> names;
  for (const Field& field : kDeviceFields) {
    names.push_back(field.name);
    if (field.name != node.name) continue;
    node.slot2 = field.slot;
    switch (field.slot) {
      case Node::kDriver:
        return plain_type(Kind::kString);
      case Node::kAllowMultipleAllocations:
        return plain_type(Kind::kBool);
      case Node::kAttributes:
        return attributes_type_;
      case Node::kCapacity:
        return capacity_type_;
    }
  }
  wrong(node, "device has no field " + std::string(node.name) + did_you_mean(node.name, names));
  return nullptr;
}

bool Checker::index(Node& node) {
  Node& operand = *node.arg_list[0];
  Node& key = *node.arg_list[1];
  if (!visit(operand) || !visit(key)) return false;
  const Type* type = operand.type;
  const bool is_optional = type->is(Kind::kOptional);
  if (is_optional) type = type->first;
  const Type* result = dyn_type();
  if (type->is(Kind::kMap) || type->is(Kind::kList)) {
    Bindings none;
    const Type* expected = type->is(Kind::kMap) ? type->first : plain_type(Kind::kInt);
    if (environment_.check && !fits(key.type, expected, none))
      return wrong(node, "a " + text_of(*type) + " has no index of type " + text_of(*key.type) +
                             ", expected " + text_of(*expected));
    result = type->is(Kind::kMap) ? type->second : type->first;
  } else if (type->is(Kind::kNull) && !is_optional && environment_.has_device &&
             environment_.check) {  // an optional's type fits
    return is(node, key.type->is(Kind::kInt) ? dyn_type() : optional_of(any_type(), arena_));
  } else if (!type->is_dyn() && environment_.check) {
    return wrong(node, "a " + text_of(*type) + " has no index");
  }
  if (is_text(key) && !fold_path(node, key.value.text(), result)) return false;
  // Upstream has several of these for unknown types, and two for lists and maps in an optional.
  const bool may_be_several = !is_optional || key.type->is(Kind::kInt) || key.type->is_dyn();
  if (environment_.has_device && type->is_dyn() && may_be_several) return is(node, dyn_type());
  return is(node, is_optional || node.is_optional ? optional_of(or_dyn(result), arena_) : result);
}

// Folds device.attributes["domain"].id into one look-up. Sets result to the type of a known attribute.
bool Checker::fold_path(Node& node, std::string_view id, const Type*& result) {
  const Node& domain = *node.arg_list[0];
  std::string_view name;
  if (domain.op == Op::kIndex && is_text(*domain.arg_list[1]))
    name = domain.arg_list[1]->value.text();
  else if (domain.op == Op::kSelect)
    name = domain.name;
  else
    return true;
  const Node& field = *domain.arg_list[0];
  const bool is_attribute = field.op == Op::kSelect && field.slot2 == Node::kAttributes;
  const bool is_capacity = field.op == Op::kSelect && field.slot2 == Node::kCapacity;
  const bool is_field = (is_attribute || is_capacity) && field.arg_list[0]->op == Op::kVariable &&
                        !field.is_optional && !domain.is_optional;
  if (!is_field) return true;
  Path path{.is_capacity = is_capacity,
            .domain_size = name.size(),
            .key = std::string(name) + "/" + std::string(id)};
  if (environment_.known != nullptr && is_attribute) {
    const auto known = environment_.known->find(path.domain(), path.id());
    if (!known) return unknown_attribute(node, path);
    path.known = known->index;
    result = plain_type(known->kind);
  }
  const auto same = [&](const Path& other) {
    return other.is_capacity == is_capacity && other.domain_size == path.domain_size && other.key == path.key;
  };
  auto at = std::find_if(out_.paths.begin(), out_.paths.end(), same);
  if (at == out_.paths.end()) at = out_.paths.insert(at, std::move(path));
  node.slot = static_cast<int32_t>(at - out_.paths.begin());
  if (node.op == Op::kHas) return true;
  node.name = arena_.copy(id);
  node.op = Op::kAttribute;
  return true;
}

bool Checker::unknown_attribute(const Node& node, const Path& path) {
  const auto domains = environment_.known->domains();
  if (std::find(domains.begin(), domains.end(), path.domain()) == domains.end()) {
    std::string all;
    for (const auto& domain : domains) all += (all.empty() ? "" : " and ") + std::string(domain);
    return wrong(node, "there are no attributes of " + in_quotes(path.domain(), 64) + " here" +
                           did_you_mean(path.domain(), domains) + " (there are those of " + all + ")");
  }
  return wrong(node, "there is no attribute " + escaped(path.id(), 64) + " of " + std::string(path.domain()) +
                         did_you_mean(path.id(), environment_.known->ids(path.domain())));
}

}  // namespace sliced::cel
