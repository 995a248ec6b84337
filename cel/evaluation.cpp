#include "cel/evaluation.h"

#include <algorithm>

namespace sliced::cel {
namespace {

constexpr size_t kAboutMax = 512;  // bytes of an error's text

}  // namespace

Failure Evaluation::limit() const {
  if (arena.is_exhausted()) return Failure::kNoMemory;
  if (arena.is_too_deep()) return Failure::kDepth;
  return arena.is_worn_out() ? Failure::kSteps : Failure::kCost;
}

Value Evaluation::fail(Failure failure, std::string_view about, int32_t offset) {
  if (ends_evaluation(failure) && is_beyond()) failure = limit();
  // Without memory for an error object, returns this constant.
  static constexpr EvalError kNoRoom{Failure::kNoMemory, -1, {}};
  if (arena.is_exhausted()) return Value::of(&kNoRoom);
  const std::string_view stored = arena.copy(about.substr(0, kAboutMax));
  const auto* error = arena.make<EvalError>(
      EvalError{failure, offset < 0 && call != nullptr ? call->offset : offset, stored});
  return Value::of(error == nullptr ? &kNoRoom : error);
}

// The caller has built the text.
Value Evaluation::invalid(std::string_view why) {
  step(1 + std::min(why.size(), kAboutMax) / 2);
  return fail(Failure::kInvalidArgument, why);
}

Value Evaluation::text(std::string_view text, Kind kind) {
  const std::string_view stored = arena.copy(text);
  return stored.size() == text.size() ? Value::of(stored, kind) : fail(Failure::kNoMemory);
}

Value Evaluation::list(const Value* items, size_t size) {
  const List* made = items == nullptr ? nullptr : arena.make<List>(List{items, size});
  return made == nullptr ? fail(Failure::kNoMemory) : Value::of(made);
}

Value Evaluation::list(const std::vector<Value>& items) {
  Value* stored = arena.array<Value>(std::max<size_t>(items.size(), 1));
  if (stored != nullptr) std::copy(items.begin(), items.end(), stored);
  return list(stored, items.size());
}

Value Evaluation::some(const Value& value) {
  const Value* stored = arena.make<Value>(value);
  return stored == nullptr ? fail(Failure::kNoMemory) : Value::some_or_none(stored);
}

}  // namespace sliced::cel
