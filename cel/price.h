#pragma once
// What Kubernetes charges, to the unit: cel-go's interpreter/runtimecost.go, ext/lists.go, ext/sets.go, and
// k8s.io/apiserver pkg/cel/library/cost.go. Its scheduler ends an expression above kCostMax of them.
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "cel/ast.h"
#include "cel/types.h"

namespace sliced::cel {

/// How a call is charged for. Sizes are code points, bytes, elements; 1 of what has none.
enum class Pricing : uint8_t {
  kOne,
  kTraversal,    // all that is in the first argument
  kText,         // a tenth of the first argument
  kSecond,       // a tenth of the second argument
  kTextTwice,    // the same, twice
  kResultTwice,  // a tenth of the result, twice
  kSum,          // a tenth of both
  kLess,         // a tenth of the shorter
  kContains,     // a tenth of one times a tenth of the other
  kPattern,      // a tenth of the text times a quarter of the pattern
  kFormat,       // the same, with the length of the format's pattern
  kMembers,      // the second argument
  kNewList,      // the result
  kFlatten,      // the first argument times the depth
  kSelfCompare,  // the first argument with itself
  kPairs,        // each of one with each of the other
  kPairsTwice,
  kContainsIp,
  kContainsCidr
};

/// How a function is charged for, found once when the library is made.
struct PriceTag {
  Pricing pricing = Pricing::kOne;
  /// Whichever overload it is. Otherwise only where the types leave one; where they do not, upstream
  /// charges 1.
  bool is_by_name = false;
};
/// Of an overload: the function by its name as library.h has it, and what it takes.
PriceTag price_tag(std::string_view function, bool is_member, std::span<const Type* const> args);

/// args and the result may be errors. nullopt where upstream stumbles over one, which ends the evaluation.
/// Takes the arena's steps for what it has to walk through to know a size.
std::optional<uint64_t> price_of_call(const Node& call, PriceTag tag, const Value* args, const Value& result,
                                      Arena& arena);

/// sortBy(), of its keys.
/// What ext/lists.go charges for sorting that many.
uint64_t price_of_order(const List& keys);

/// == and !=. is_equal: ==, for which values of Kubernetes' own types have one price.
uint64_t price_of_equality(const Value& left, const Value& right, bool is_equal, Arena& arena);

}  // namespace sliced::cel
