#include "cel/price.h"

#include <algorithm>
#include <cmath>

#include "cel/evaluation.h"
#include "cel/lib/cidr.h"
#include "cel/lib/named_format.h"
#include "cel/lib/utf8_text.h"

namespace sliced::cel {
namespace {

constexpr uint64_t kCallPrice = 1, kNewListPrice = 10;
constexpr double kTenth = 0.1, kQuarter = 0.25;  // of cel-go: strings and patterns

struct Named {
  std::string_view function;
  PriceTag tag;
};
constexpr Named kByName[] = {
    {"isSorted", {Pricing::kTraversal, true}},
    {"sum", {Pricing::kTraversal, true}},
    {"max", {Pricing::kTraversal, true}},
    {"min", {Pricing::kTraversal, true}},
    {"indexOf", {Pricing::kTraversal, true}},
    {"lastIndexOf", {Pricing::kTraversal, true}},
    {"url", {Pricing::kText, true}},
    {"lowerAscii", {Pricing::kText, true}},
    {"upperAscii", {Pricing::kText, true}},
    {"substring", {Pricing::kText, true}},
    {"trim", {Pricing::kText, true}},
    {"cidr", {Pricing::kText, true}},
    {"isIP", {Pricing::kText, true}},
    {"isCIDR", {Pricing::kText, true}},
    {"quantity", {Pricing::kText, true}},
    {"isQuantity", {Pricing::kText, true}},
    {"semver", {Pricing::kText, true}},
    {"isSemver", {Pricing::kText, true}},
    {"replace", {Pricing::kTextTwice, true}},
    {"split", {Pricing::kTextTwice, true}},
    {"ip.isCanonical", {Pricing::kTextTwice, true}},
    {"join", {Pricing::kResultTwice, true}},
    {"find", {Pricing::kPattern, true}},
    {"findAll", {Pricing::kPattern, true}},
    {"validate", {Pricing::kFormat, true}},
    {"containsIP", {Pricing::kContainsIp, true}},
    {"containsCIDR", {Pricing::kContainsCidr, true}},
    {"includes", {Pricing::kTraversal, true}},
    {"startsWith", {Pricing::kSecond, false}},
    {"endsWith", {Pricing::kSecond, false}},
    {"matches", {Pricing::kPattern, false}},
    {"strings.quote", {Pricing::kText, false}},
    {"format", {Pricing::kText, false}},
    {"contains", {Pricing::kContains, false}},
    {"@in", {Pricing::kMembers, false}},
    {"slice", {Pricing::kNewList, false}},
    {"reverse", {Pricing::kNewList, false}},
    {"lists.range", {Pricing::kNewList, false}},
    {"flatten", {Pricing::kFlatten, false}},
    {"distinct", {Pricing::kSelfCompare, false}},
    {"sort", {Pricing::kSelfCompare, false}},
    {"sets.contains", {Pricing::kPairs, false}},
    {"sets.intersects", {Pricing::kPairs, false}},
    {"sets.equivalent", {Pricing::kPairsTwice, false}},
};

// Counting requires steps, which upstream's prices ignore.
uint64_t size_of(const Value& value, Arena& arena) {
  switch (value.kind) {
    case Kind::kString:
      if (!arena.step_for(value.s.size, kBlockBytes)) return 0;
      return static_cast<uint64_t>(code_points(value.text()));
    case Kind::kBytes:
      return value.s.size;
    case Kind::kList:
      return value.list->size;
    case Kind::kMap:
      arena.step(kMapSizeSteps);
      return value.map->size();
    case Kind::kIp:
      return static_cast<const IpAddress*>(value.opaque)->bits() / 8;
    case Kind::kCidr:
      return (static_cast<uint64_t>(static_cast<const Cidr*>(value.opaque)->prefix_length) + 7) / 8;
    default:
      return 1;
  }
}

uint64_t rounded_up(uint64_t size, double factor) {
  return static_cast<uint64_t>(std::ceil(static_cast<double>(size) * factor));
}
uint64_t tenth(uint64_t size) { return rounded_up(size, kTenth); }

// The size of all nested parts. Lists may share parts, so the visited number is limited by the remaining
// budget.
uint64_t traversal(const Value& value, uint64_t& visited, Arena& arena, int depth = 0) {
  if (depth > kDepthMax) arena.exceed_depth();
  if (++visited > kCostMax || !arena.step() || arena.is_too_deep()) return kCostMax;
  uint64_t total = 0;
  switch (value.kind) {
    case Kind::kString:
    case Kind::kBytes:
      return static_cast<uint64_t>(static_cast<double>(value.s.size) * kTenth);
    case Kind::kList:
      for (const Value& item : *value.list) {
        total += traversal(item, visited, arena, depth + 1);
        if (visited > kCostMax || total > kCostMax) break;
      }
      return total;
    case Kind::kMap:
      arena.step(kMapSizeSteps);
      for (size_t i = 0, all = value.map->size(); i < all && visited <= kCostMax && !arena.is_worn_out();
           ++i) {
        const auto [key, item] = value.map->at(i, arena);
        total += traversal(key, visited, arena, depth + 1) + traversal(item, visited, arena, depth + 1);
      }
      return total;
    default:
      return 1;
  }
}

uint64_t new_list(double factor, uint64_t size) {
  return static_cast<uint64_t>(static_cast<double>(size) * factor) + kCallPrice + kNewListPrice;
}

uint64_t pattern(uint64_t text, uint64_t length) { return tenth(1 + text) * rounded_up(length, kQuarter); }

}  // namespace

PriceTag price_tag(std::string_view function, bool is_member, std::span<const Type* const> args) {
  const auto is_argument = [&](size_t at, Kind kind) { return at < args.size() && args[at]->is(kind); };
  const bool is_text = is_argument(0, Kind::kString) || is_argument(0, Kind::kBytes);
  if (is_text && function == "_+_") return {Pricing::kSum, false};
  if (is_text && (function == "_<_" || function == "_<=_" || function == "_>_" || function == "_>=_"))
    return {Pricing::kLess, false};
  const bool is_recoded = (function == "bytes" && is_argument(0, Kind::kString)) ||
                          (function == "string" && is_argument(0, Kind::kBytes));
  if (is_recoded) return {Pricing::kText, false};
  if (function == "ip") return {is_member ? Pricing::kOne : Pricing::kText, true};
  if (function == "@in" && is_argument(1, Kind::kMap)) return {};
  for (const Named& named : kByName)
    if (named.function == function) return named.tag;
  return {};
}

uint64_t price_of_order(const List& keys) {
  const bool are_texts =
      keys.size > 0 && (keys.items[0].kind == Kind::kString || keys.items[0].kind == Kind::kBytes);
  return new_list(are_texts ? 2.0 + kTenth : 2.0, static_cast<uint64_t>(keys.size) * keys.size);
}

std::optional<uint64_t> price_of_call(const Node& call, PriceTag tag, const Value* args, const Value& result,
                                      Arena& arena) {
  if (!tag.is_by_name && !call.is_only_overload) return kCallPrice;
  uint64_t visited = 0;
  switch (tag.pricing) {
    case Pricing::kOne:
      break;
    case Pricing::kTraversal:
      return traversal(args[0], visited, arena);
    case Pricing::kText:
      return tenth(size_of(args[0], arena));
    case Pricing::kSecond:
      return tenth(size_of(args[1], arena));
    case Pricing::kTextTwice:
      return tenth(size_of(args[0], arena) * 2);
    case Pricing::kResultTwice:
      return tenth(size_of(result, arena) * 2);
    case Pricing::kSum:
      return tenth(size_of(args[0], arena) + size_of(args[1], arena));
    case Pricing::kLess:
      return tenth(std::min(size_of(args[0], arena), size_of(args[1], arena)));
    case Pricing::kContains:
      return tenth(size_of(args[0], arena)) * tenth(size_of(args[1], arena));
    case Pricing::kPattern:
      return pattern(size_of(args[0], arena), size_of(args[1], arena));
    case Pricing::kFormat:
      if (args[0].kind != Kind::kFormat) break;
      return pattern(size_of(args[1], arena), static_cast<const NamedFormat*>(args[0].opaque)->pattern_size);
    case Pricing::kMembers:
      return size_of(args[1], arena);
    case Pricing::kNewList:
      return new_list(1, size_of(result, arena));
    case Pricing::kFlatten:
      if (call.arg_count < 2) return new_list(1, size_of(args[0], arena));
      if (args[1].kind != Kind::kInt) return std::nullopt;
      if (args[1].i < 0) return new_list(0, 0);  // an error: the result's size is undefined
      return new_list(static_cast<double>(args[1].i), size_of(args[0], arena));
    case Pricing::kSelfCompare:
      if (args[0].kind != Kind::kList) return std::nullopt;
      return price_of_order(*args[0].list);
    case Pricing::kPairs:
      return kCallPrice + size_of(args[0], arena) * size_of(args[1], arena);
    case Pricing::kPairsTwice:
      return kCallPrice + 2 * size_of(args[0], arena) * size_of(args[1], arena);
    case Pricing::kContainsIp: {
      const bool is_read = call.is_only_overload && args[1].kind == Kind::kString;
      return tenth(2 * size_of(args[0], arena)) + (is_read ? tenth(size_of(args[1], arena)) : 0);
    }
    case Pricing::kContainsCidr: {
      const bool is_read = call.is_only_overload && args[1].kind == Kind::kString;
      const uint64_t network = size_of(args[0], arena);
      return tenth(2 * network) + tenth(network) + 1 + (is_read ? tenth(size_of(args[1], arena)) : 0);
    }
  }
  return kCallPrice;
}

uint64_t price_of_equality(const Value& left, const Value& right, bool is_equal, Arena& arena) {
  if (is_equal && left.kind >= Kind::kQuantity) return kCallPrice;
  const auto size = [&](const Value& value) {
    const Value* inner = &value;
    while (inner->kind == Kind::kOptional && inner->optional != nullptr && arena.step())
      inner = inner->optional;
    return size_of(*inner, arena);
  };
  return tenth(std::min(size(left), size(right)));
}

}  // namespace sliced::cel
