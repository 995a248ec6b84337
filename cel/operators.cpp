// Arithmetic, order, membership.
#include "cel/lib/numbers.h"
#include "cel/library.h"

namespace sliced::cel {
namespace {

template <auto Do>
Value of_ints(Evaluation& in, const Value* args) {
  return in.answer(Do(args[0].i, args[1].i));
}
template <auto Do>
Value of_uints(Evaluation& in, const Value* args) {
  return in.answer(Do(args[0].u, args[1].u));
}
using Ints = Result<int64_t> (*)(int64_t, int64_t);
using Uints = Result<uint64_t> (*)(uint64_t, uint64_t);

Value add_doubles(Evaluation&, const Value* args) { return Value::of(args[0].d + args[1].d); }
Value subtract_doubles(Evaluation&, const Value* args) { return Value::of(args[0].d - args[1].d); }
Value multiply_doubles(Evaluation&, const Value* args) { return Value::of(args[0].d * args[1].d); }
Value divide_doubles(Evaluation&, const Value* args) { return Value::of(args[0].d / args[1].d); }
Value negate_int(Evaluation& in, const Value* args) { return in.answer(negate(args[0].i)); }
Value negate_double(Evaluation&, const Value* args) { return Value::of(-args[0].d); }
Value negate_bool(Evaluation&, const Value* args) { return Value::of(!args[0].b); }

Value concatenate(Evaluation& in, const Value* args) {
  const std::string_view a = args[0].text(), b = args[1].text();
  auto* made = in.arena.array<char>(a.size() + b.size());
  if (made == nullptr) return in.fail(Failure::kNoMemory);
  a.copy(made, a.size());
  b.copy(made + a.size(), b.size());
  return Value::of(std::string_view(made, a.size() + b.size()), args[0].kind);
}

Value join_lists(Evaluation& in, const Value* args) {
  const List &a = *args[0].list, &b = *args[1].list;
  if (!in.step_for((a.size + b.size) * sizeof(Value), kBlockBytes)) return in.fail(Failure::kSteps);
  Value* made = in.arena.array<Value>(std::max<size_t>(a.size + b.size, 1));
  if (made == nullptr) return in.fail(Failure::kNoMemory);
  std::copy(a.begin(), a.end(), made);
  std::copy(b.begin(), b.end(), made + a.size);
  return in.list(made, a.size + b.size);
}

template <class Holds>
Value ordered(Evaluation& in, const Value* args, Holds holds) {
  const int order = compare(args[0], args[1], in.arena);
  if (order == kMismatch) return in.no_overload();
  if (order == kUnordered) return in.invalid("NaN values cannot be ordered");
  return Value::of(holds(order));
}
Value less(Evaluation& in, const Value* args) {
  return ordered(in, args, [](int order) { return order < 0; });
}
Value less_or_equal(Evaluation& in, const Value* args) {
  return ordered(in, args, [](int order) { return order <= 0; });
}
Value greater(Evaluation& in, const Value* args) {
  return ordered(in, args, [](int order) { return order > 0; });
}
Value greater_or_equal(Evaluation& in, const Value* args) {
  return ordered(in, args, [](int order) { return order >= 0; });
}

Value is_in_list(Evaluation& in, const Value* args) {
  for (const Value& item : *args[1].list) {
    if (equal(args[0], item, in.arena).value_or(false)) return Value::of(true);
    if (in.is_beyond()) break;
  }
  return Value::of(false);
}
Value is_in_map(Evaluation& in, const Value* args) {
  if (!is_hashable(args[0]) && args[1].map->is_hashed()) return in.fail(Failure::kBreaksOff, "in");
  return Value::of(args[1].map->contains(args[0], in.arena));
}

#define ORDERED(sign, run)                                                                \
  {"_" sign "_(int, int): bool", run}, {"_" sign "_(uint, uint): bool", run},             \
      {"_" sign "_(double, double): bool", run}, {"_" sign "_(int, uint): bool", run},    \
      {"_" sign "_(uint, int): bool", run}, {"_" sign "_(int, double): bool", run},       \
      {"_" sign "_(double, int): bool", run}, {"_" sign "_(uint, double): bool", run},    \
      {"_" sign "_(double, uint): bool", run}, {"_" sign "_(string, string): bool", run}, \
      {"_" sign "_(bytes, bytes): bool", run}, {"_" sign "_(bool, bool): bool", run},     \
      {"_" sign "_(timestamp, timestamp): bool", run}, {                                  \
    "_" sign "_(duration, duration): bool", run                                           \
  }

constexpr Declaration kOperators[] = {
    {"_+_(int, int): int", of_ints<static_cast<Ints>(add)>},
    {"_-_(int, int): int", of_ints<static_cast<Ints>(subtract)>},
    {"_*_(int, int): int", of_ints<static_cast<Ints>(multiply)>},
    {"_/_(int, int): int", of_ints<static_cast<Ints>(divide)>},
    {"_%_(int, int): int", of_ints<static_cast<Ints>(modulo)>},
    {"_+_(uint, uint): uint", of_uints<static_cast<Uints>(add)>},
    {"_-_(uint, uint): uint", of_uints<static_cast<Uints>(subtract)>},
    {"_*_(uint, uint): uint", of_uints<static_cast<Uints>(multiply)>},
    {"_/_(uint, uint): uint", of_uints<static_cast<Uints>(divide)>},
    {"_%_(uint, uint): uint", of_uints<static_cast<Uints>(modulo)>},
    {"_+_(double, double): double", add_doubles},
    {"_-_(double, double): double", subtract_doubles},
    {"_*_(double, double): double", multiply_doubles},
    {"_/_(double, double): double", divide_doubles},
    {"-_(int): int", negate_int},
    {"-_(double): double", negate_double},
    {"!_(bool): bool", negate_bool},
    {"_+_(string, string): string", concatenate},
    {"_+_(bytes, bytes): bytes", concatenate},
    {"_+_(list(A), list(A)): list(A)", join_lists},
    ORDERED("<", less),
    ORDERED("<=", less_or_equal),
    ORDERED(">", greater),
    ORDERED(">=", greater_or_equal),
    {"@in(A, list(A)): bool", is_in_list},
    {"@in(A, map(A, B)): bool", is_in_map},
};

}  // namespace

std::span<const Declaration> operators() { return kOperators; }

}  // namespace sliced::cel
