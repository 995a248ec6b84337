// Conversions between types, and the type of a value.
#include "cel/lib/numbers.h"
#include "cel/library.h"
#include "reactor/base/text.h"

namespace sliced::cel {
namespace {

Value same(Evaluation&, const Value* args) { return args[0]; }
Value type_of_value(Evaluation&, const Value* args) { return Value::type(name_of(args[0].kind)); }

// Steps of decoding a number, of encoding one, and of refusing an invalid one, with the error text.
constexpr uint64_t kNoNumberSteps = 64;
constexpr size_t kNumberBytesAStep = 8;

// Decodes a number.
template <auto Read>
Value number_of_text(Evaluation& in, const Value* args) {
  if (!in.step_for(args[0].s.size, kNumberBytesAStep)) return in.fail(Failure::kSteps);
  const auto number = Read(args[0].text());
  if (!number) in.step(kNoNumberSteps);
  return in.answer(number);
}
using ToInt = Result<int64_t> (*)(std::string_view);
using ToUint = Result<uint64_t> (*)(std::string_view);
using ToDouble = Result<double> (*)(std::string_view);

Value int_of_uint(Evaluation& in, const Value* args) { return in.answer(to_int(args[0].u)); }
Value int_of_double(Evaluation& in, const Value* args) { return in.answer(to_int(args[0].d)); }
Value int_of_timestamp(Evaluation&, const Value* args) { return Value::of(args[0].time.seconds); }

Value uint_of_int(Evaluation& in, const Value* args) { return in.answer(to_uint(args[0].i)); }
Value uint_of_double(Evaluation& in, const Value* args) { return in.answer(to_uint(args[0].d)); }

Value double_of_int(Evaluation&, const Value* args) { return Value::of(static_cast<double>(args[0].i)); }
Value double_of_uint(Evaluation&, const Value* args) { return Value::of(static_cast<double>(args[0].u)); }

Value text_of_int(Evaluation& in, const Value* args) { return in.text(std::to_string(args[0].i)); }
Value text_of_uint(Evaluation& in, const Value* args) { return in.text(std::to_string(args[0].u)); }
Value text_of_double(Evaluation& in, const Value* args) {
  in.step(8);
  return in.text(double_text(args[0].d));
}
Value text_of_bool(Evaluation&, const Value* args) {
  return Value::of(std::string_view(args[0].b ? "true" : "false"));
}
Value text_of_bytes(Evaluation& in, const Value* args) {
  if (!in.step_for(args[0].s.size)) return in.fail(Failure::kSteps);
  return is_utf8(args[0].text()) ? Value::of(args[0].text()) : in.invalid("the bytes are not UTF-8");
}
Value bytes_of_text(Evaluation&, const Value* args) { return Value::of(args[0].text(), Kind::kBytes); }

constexpr Declaration kConversions[] = {
    {"dyn(A): dyn", same},
    {"type(A): type(A)", type_of_value},
    {"bool(bool): bool", same},
    {"bool(string): bool", number_of_text<to_bool>},
    {"int(int): int", same},
    {"int(uint): int", int_of_uint},
    {"int(double): int", int_of_double},
    {"int(string): int", number_of_text<static_cast<ToInt>(to_int)>},
    {"int(timestamp): int", int_of_timestamp},
    {"uint(uint): uint", same},
    {"uint(int): uint", uint_of_int},
    {"uint(double): uint", uint_of_double},
    {"uint(string): uint", number_of_text<static_cast<ToUint>(to_uint)>},
    {"double(double): double", same},
    {"double(int): double", double_of_int},
    {"double(uint): double", double_of_uint},
    {"double(string): double", number_of_text<static_cast<ToDouble>(to_double)>},
    {"string(string): string", same},
    {"string(bool): string", text_of_bool},
    {"string(int): string", text_of_int},
    {"string(uint): string", text_of_uint},
    {"string(double): string", text_of_double},
    {"string(bytes): string", text_of_bytes},
    {"bytes(bytes): bytes", same},
    {"bytes(string): bytes", bytes_of_text},
};

}  // namespace

std::span<const Declaration> conversions() { return kConversions; }

}  // namespace sliced::cel
