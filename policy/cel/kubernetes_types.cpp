// Kubernetes' own types: quantity, semver, IP, CIDR, URL, named formats; and regular expressions.
#include "policy/cel/lib/cel_quantity.h"
#include "policy/cel/lib/regex.h"
#include "policy/cel/lib/semver.h"
#include "policy/cel/library.h"

namespace sliced::cel {
namespace {

template <class T>
const T& as(const Value& value) {
  return *static_cast<const T*>(value.opaque);
}

// The value of a library's type, or the error of reading it.
template <class T>
Value made(Evaluation& in, Kind kind, const Result<T>& decoded) {
  return decoded ? in.opaque(kind, *decoded) : in.answer(Result<int64_t>(decoded.error()));
}

template <class T>
Value is_less(Evaluation&, const Value* args) {
  return Value::of(as<T>(args[0]) < as<T>(args[1]));
}
template <class T>
Value is_greater(Evaluation&, const Value* args) {
  return Value::of(as<T>(args[0]) > as<T>(args[1]));
}
template <class T>
Value compare_to(Evaluation&, const Value* args) {
  const auto order = as<T>(args[0]) <=> as<T>(args[1]);
  return Value::of(int64_t{order < 0 ? -1 : order > 0 ? 1 : 0});
}

// Quantities.

Value quantity(Evaluation& in, const Value* args) {
  in.charge_for(args[0].s.size);
  return made(in, Kind::kQuantity, CelQuantity::decode(args[0].text()));
}
Value is_quantity(Evaluation& in, const Value* args) {
  in.charge_for(args[0].s.size);
  return Value::of(CelQuantity::decode(args[0].text()).ok());
}
Value add_quantities(Evaluation& in, const Value* args) {
  return made(in, Kind::kQuantity, as<CelQuantity>(args[0]).add(as<CelQuantity>(args[1])));
}
Value add_int(Evaluation& in, const Value* args) {
  return made(in, Kind::kQuantity, as<CelQuantity>(args[0]).add(CelQuantity(args[1].i)));
}
Value subtract_quantities(Evaluation& in, const Value* args) {
  return made(in, Kind::kQuantity, as<CelQuantity>(args[0]).sub(as<CelQuantity>(args[1])));
}
Value subtract_int(Evaluation& in, const Value* args) {
  return made(in, Kind::kQuantity, as<CelQuantity>(args[0]).sub(CelQuantity(args[1].i)));
}
Value is_integer(Evaluation&, const Value* args) {
  return Value::of(as<CelQuantity>(args[0]).as_integer().has_value());
}
Value as_integer(Evaluation& in, const Value* args) {
  const auto value = as<CelQuantity>(args[0]).as_integer();
  return value ? Value::of(*value) : in.invalid("cannot convert value to integer");
}
Value as_float(Evaluation&, const Value* args) {
  return Value::of(as<CelQuantity>(args[0]).as_approximate_float());
}
Value sign(Evaluation&, const Value* args) { return Value::of(int64_t{as<CelQuantity>(args[0]).sign()}); }

// Versions.

Result<Semver> decode(const Value* args, bool is_loose) {
  return is_loose ? decode_loose_semver(args[0].text()) : decode_semver(args[0].text());
}
Value semver(Evaluation& in, const Value* args) {
  in.charge_for(args[0].s.size);
  return made(in, Kind::kSemver, decode(args, false));
}
Value semver_normalized(Evaluation& in, const Value* args) {
  in.charge_for(args[0].s.size);
  return made(in, Kind::kSemver, decode(args, args[1].b));
}
Value is_semver(Evaluation& in, const Value* args) {
  in.charge_for(args[0].s.size);
  return Value::of(decode(args, false).ok());
}
Value is_semver_normalized(Evaluation& in, const Value* args) {
  in.charge_for(args[0].s.size);
  return Value::of(decode(args, args[1].b).ok());
}
// Upstream reads the 64 bits as a signed number.
template <uint64_t Semver::* Part>
Value part_of(Evaluation&, const Value* args) {
  return Value::of(static_cast<int64_t>(as<Semver>(args[0]).*Part));
}

// Regular expressions. A pattern that is a literal was compiled with the expression.

template <class Use>
Value with_regex(Evaluation& in, const Value* args, Use use) {
  const size_t text = args[0].s.size, pattern = args[1].s.size;
  if (!in.charge((1 + text + 9) / 10 * ((pattern + 3) / 4))) return in.fail(Failure::kCost);
  if (in.call->regex != nullptr) return use(*in.call->regex);
  const auto compiled = Regex::compile(args[1].text());
  return compiled ? use(*compiled) : in.invalid(compiled.error().what);
}
Value matches(Evaluation& in, const Value* args) {
  return with_regex(in, args, [&](const Regex& regex) { return Value::of(regex.matches(args[0].text())); });
}
Value find(Evaluation& in, const Value* args) {
  return with_regex(in, args, [&](const Regex& regex) { return Value::of(regex.find(args[0].text())); });
}
template <bool HasLimit>
Value find_all(Evaluation& in, const Value* args) {
  return with_regex(in, args, [&](const Regex& regex) {
    const auto found = regex.find_all(args[0].text(), HasLimit ? args[2].i : -1);
    if (!found) return in.fail(Failure::kNoMemory);
    std::vector<Value> items;
    for (const std::string_view one : *found) items.push_back(Value::of(one));
    return in.list(items);
  });
}

constexpr Declaration kTypes[] = {
    {"string.matches(string): bool", matches},
    {"matches(string, string): bool", matches},
    {"string.find(string): string", find},
    {"string.findAll(string): list(string)", find_all<false>},
    {"string.findAll(string, int): list(string)", find_all<true>},
    {"quantity(string): Quantity", quantity},
    {"isQuantity(string): bool", is_quantity},
    {"Quantity.isLessThan(Quantity): bool", is_less<CelQuantity>},
    {"Quantity.isGreaterThan(Quantity): bool", is_greater<CelQuantity>},
    {"Quantity.compareTo(Quantity): int", compare_to<CelQuantity>},
    {"Quantity.add(Quantity): Quantity", add_quantities},
    {"Quantity.add(int): Quantity", add_int},
    {"Quantity.sub(Quantity): Quantity", subtract_quantities},
    {"Quantity.sub(int): Quantity", subtract_int},
    {"Quantity.isInteger(): bool", is_integer},
    {"Quantity.asInteger(): int", as_integer},
    {"Quantity.asApproximateFloat(): double", as_float},
    {"sign(Quantity): int", sign},
    {"semver(string): Semver", semver},
    {"semver(string, bool): Semver", semver_normalized},
    {"isSemver(string): bool", is_semver},
    {"isSemver(string, bool): bool", is_semver_normalized},
    {"Semver.isLessThan(Semver): bool", is_less<Semver>},
    {"Semver.isGreaterThan(Semver): bool", is_greater<Semver>},
    {"Semver.compareTo(Semver): int", compare_to<Semver>},
    {"Semver.major(): int", part_of<&Semver::major>},
    {"Semver.minor(): int", part_of<&Semver::minor>},
    {"Semver.patch(): int", part_of<&Semver::patch>},
};

}  // namespace

std::span<const Declaration> kubernetes_types() { return kTypes; }

std::optional<bool> equal_opaque(const Value& a, const Value& b) {
  switch (a.kind) {
    case Kind::kQuantity:
      return as<CelQuantity>(a) == as<CelQuantity>(b);
    case Kind::kSemver:
      return as<Semver>(a) == as<Semver>(b);
    default:
      return a.opaque == b.opaque;
  }
}

}  // namespace sliced::cel
