// Comprehensions and bindings: types of their variables and results.
#include "cel/checking.h"

namespace sliced::cel {

bool Checker::macro(Node& node) {
  Node& range = *node.arg_list[0];
  if (!visit(range)) return false;
  const size_t outside = scopes_.size();
  if (!declare_variables(node, *range.type)) return false;
  for (size_t i = 1; i < node.arg_count; ++i)
    if (!visit(*node.arg_list[i])) return false;
  scopes_.resize(outside);
  return macro_result(node);
}

bool Checker::declare_variables(Node& node, const Type& range) {
  const Type *first = dyn_type(), *second = dyn_type();
  const auto refuse = [&](std::string_view expected) {
    return wrong(node, "this goes over " + std::string(expected) + ", not over a " + text_of(range));
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
  if (node.has_two_variables) node.slot2 = declare(node.value.text(), second);
  return true;
}

bool Checker::macro_result(Node& node) {
  const Type& range = *node.arg_list[0]->type;
  const Type* last = node.arg_list[node.arg_count - 1]->type;
  const auto requires_bool = [&](const Node& body) {
    if (!environment_.check || body.type->is_dyn() || body.type->is(Kind::kBool)) return true;
    return wrong(body, "a condition must be bool; this is " + text_of(*body.type));
  };
  const bool has_filter =
      (node.macro == Macro::kMap && node.arg_count == 3) ||
      (node.has_two_variables && node.arg_count == 3 && node.macro >= Macro::kTransformList);
  if (has_filter && !requires_bool(*node.arg_list[1])) return false;
  switch (node.macro) {
    case Macro::kAll:
    case Macro::kExists:
    case Macro::kExistsOne:
      return requires_bool(*node.arg_list[1]) && is(node, plain_type(Kind::kBool));
    case Macro::kFilter:
      if (!requires_bool(*node.arg_list[1])) return false;
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
        return wrong(node, "transformMapEntry() requires a map with one entry; this is " + text_of(*last));
      return is(node, last);
    case Macro::kBind:
      return is(node, last);
    case Macro::kOptMap:
      return is(node, optional_of(last, arena_));
    case Macro::kOptFlatMap:
      if (environment_.check && !last->is_dyn() && !last->is(Kind::kOptional))
        return wrong(node, "optFlatMap() requires an optional; this is " + text_of(*last));
      return is(node, last);
    case Macro::kSortBy:
      if (environment_.check && !is_ordered(*last))
        return wrong(node, "sortBy() requires keys of an ordered type; this is " + text_of(*last));
      node.is_only_overload = last->tag != Type::Tag::kDyn;
      return is(node, range.is_dyn() && !last->is_dyn() ? list_of(any_type(), arena_) : &range);
    case Macro::kNone:
      break;
  }
  return true;
}

}  // namespace sliced::cel
