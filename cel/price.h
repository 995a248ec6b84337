#pragma once
// Kubernetes' exact cost model: cel-go's interpreter/runtimecost.go, ext/lists.go, ext/sets.go, and
// k8s.io/apiserver pkg/cel/library/cost.go. Its scheduler ends an expression above kCostMax.
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "cel/ast.h"
#include "cel/types.h"

namespace sliced::cel {

/// The formula of a call. Sizes are code points, bytes, elements; 1 for values without a size.
enum class Pricing : uint8_t {
  kOne,
  kTraversal,    // all parts of the first argument
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

/// The formula of a function, determined once when the library is created.
struct PriceTag {
  Pricing pricing = Pricing::kOne;
  /// Applies to every overload. Otherwise only if the types determine one; if they do not, upstream charges
  /// 1.
  bool is_by_name = false;
};
/// For an overload: the function's name in library.h, and its parameters.
PriceTag price_tag(std::string_view function, bool is_member, std::span<const Type* const> args);

/// args and the result may be errors. Returns nullopt if upstream's computation fails for one, which ends the
/// evaluation. Counts the arena's steps for values whose size must be computed.
std::optional<uint64_t> price_of_call(const Node& call, PriceTag tag, const Value* args, const Value& result,
                                      Arena& arena);

/// sortBy(): ext/lists.go's charge for sorting that many keys.
uint64_t price_of_order(const List& keys);

/// == and !=. is_equal: ==, for which values of Kubernetes' own types have one price.
uint64_t price_of_equality(const Value& left, const Value& right, bool is_equal, Arena& arena);

}  // namespace sliced::cel
