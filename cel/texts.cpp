// Strings: the standard functions and cel-go's extension in version 2, as Kubernetes has it.
#include <algorithm>

#include "cel/lib/utf8_text.h"
#include "cel/library.h"

namespace sliced::cel {
namespace {

// Returns whether there are steps for a search in so many bytes: in the worst case all but the last byte of
// the part match at each place.
bool step_for_search(Evaluation& in, size_t text, size_t part) {
  return in.step(1 + text / kReadBytes + text * std::min(part, text) / 1024);
}
// For calls that read each character of a text, and copy it.
bool step_for_text(Evaluation& in, const Value& text) { return in.step_for(text.s.size, kReadBytes / 2); }

Value starts_with(Evaluation& in, const Value* args) {
  in.step_for(args[1].s.size, kBlockBytes);
  return Value::of(args[0].text().starts_with(args[1].text()));
}
Value ends_with(Evaluation& in, const Value* args) {
  in.step_for(args[1].s.size, kBlockBytes);
  return Value::of(args[0].text().ends_with(args[1].text()));
}
Value contains(Evaluation& in, const Value* args) {
  if (!step_for_search(in, args[0].s.size, args[1].s.size)) return in.fail(Failure::kSteps);
  return Value::of(args[0].text().find(args[1].text()) != std::string_view::npos);
}

Value char_at_index(Evaluation& in, const Value* args) {
  if (!in.step_for(args[0].s.size)) return in.fail(Failure::kSteps);  // characters are counted from the start
  return in.answer(char_at(args[0].text(), args[1].i));
}

template <bool HasFrom>
Value index_of_text(Evaluation& in, const Value* args) {
  if (!step_for_text(in, args[0]) || !step_for_search(in, args[0].s.size, args[1].s.size))
    return in.fail(Failure::kSteps);
  return in.answer(index_of(args[0].text(), args[1].text(), HasFrom ? args[2].i : 0));
}
template <bool HasFrom>
Value last_index_of_text(Evaluation& in, const Value* args) {
  if (!step_for_text(in, args[0]) || !step_for_search(in, args[0].s.size, args[1].s.size))
    return in.fail(Failure::kSteps);
  return in.answer(
      last_index_of(args[0].text(), args[1].text(), HasFrom ? std::optional(args[2].i) : std::nullopt));
}

Value in_lower_case(Evaluation& in, const Value* args) {
  if (!step_for_text(in, args[0])) return in.fail(Failure::kSteps);
  return in.text(lower_ascii(args[0].text()));
}
Value in_upper_case(Evaluation& in, const Value* args) {
  if (!step_for_text(in, args[0])) return in.fail(Failure::kSteps);
  return in.text(upper_ascii(args[0].text()));
}
Value trimmed(Evaluation& in, const Value* args) {
  if (!in.step(1 + args[0].s.size))
    return in.fail(Failure::kSteps);  // each character may be one of many spaces
  return in.text(trim_text(args[0].text()));
}

template <bool HasLimit>
Value replace(Evaluation& in, const Value* args) {
  const size_t size = args[0].s.size;
  if (!in.step(1 + size / 2) || !step_for_search(in, size, args[1].s.size)) return in.fail(Failure::kSteps);
  const auto replaced =
      replace_text(args[0].text(), args[1].text(), args[2].text(), HasLimit ? args[3].i : -1);
  in.step_for(replaced ? replaced->size() : kTextBytesMax, kBlockBytes);
  return in.answer(replaced);
}

template <bool HasLimit>
Value split_method(Evaluation& in, const Value* args) {
  if (!in.step(1 + args[0].s.size / 2) || !step_for_search(in, args[0].s.size, args[1].s.size))
    return in.fail(Failure::kSteps);
  const auto room = static_cast<int64_t>(in.arena.room() / sizeof(Value));  // for so many parts
  const int64_t limit = HasLimit && args[2].i >= 0 ? args[2].i : room + 1;
  const auto parts = split_text(args[0].text(), args[1].text(), std::min(limit, room + 1));
  if (static_cast<int64_t>(parts.size()) > room) return in.fail(Failure::kNoMemory);
  std::vector<Value> out;
  for (const std::string_view part : parts) out.push_back(Value::of(part));
  return in.list(out);
}

Value part_from(Evaluation& in, const Value* args) {
  if (!step_for_text(in, args[0])) return in.fail(Failure::kSteps);
  return in.answer(substring(args[0].text(), args[1].i));
}
Value part_between(Evaluation& in, const Value* args) {
  if (!step_for_text(in, args[0])) return in.fail(Failure::kSteps);
  return in.answer(substring(args[0].text(), args[1].i, args[2].i));
}

Value join_list(Evaluation& in, const List& list, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (const Value& item : list) {
    if (item.kind != Kind::kString) return in.no_overload("join");
    parts.push_back(item.text());
    if (!in.step_for(item.s.size + separator.size(), kBlockBytes)) return in.fail(Failure::kSteps);
  }
  return in.answer(join_texts(parts, separator));
}
Value join_all(Evaluation& in, const Value* args) { return join_list(in, *args[0].list, ""); }
Value join_with(Evaluation& in, const Value* args) { return join_list(in, *args[0].list, args[1].text()); }

Value quote(Evaluation& in, const Value* args) {
  if (!in.step(1 + args[0].s.size / 4)) return in.fail(Failure::kSteps);
  return in.text(quote_text(args[0].text()));
}

constexpr Declaration kTexts[] = {
    {"string.startsWith(string): bool", starts_with},
    {"string.endsWith(string): bool", ends_with},
    {"string.contains(string): bool", contains},
    {"string.charAt(int): string", char_at_index},
    {"string.indexOf(string): int", index_of_text<false>},
    {"string.indexOf(string, int): int", index_of_text<true>},
    {"string.lastIndexOf(string): int", last_index_of_text<false>},
    {"string.lastIndexOf(string, int): int", last_index_of_text<true>},
    {"string.lowerAscii(): string", in_lower_case},
    {"string.upperAscii(): string", in_upper_case},
    {"string.replace(string, string): string", replace<false>},
    {"string.replace(string, string, int): string", replace<true>},
    {"string.split(string): list(string)", split_method<false>},
    {"string.split(string, int): list(string)", split_method<true>},
    {"string.substring(int): string", part_from},
    {"string.substring(int, int): string", part_between},
    {"string.trim(): string", trimmed},
    {"list(string).join(): string", join_all},
    {"list(string).join(string): string", join_with},
    {"strings.quote(string): string", quote},
};

}  // namespace

std::span<const Declaration> texts() { return kTexts; }

}  // namespace sliced::cel
