// "...".format([...]) of the strings extension, as Kubernetes writes it.
#include <algorithm>

#include "cel/lib/format_text.h"
#include "cel/library.h"

namespace sliced::cel {
namespace {

constexpr FormatStyle kStyle = FormatStyle::kKubernetes;

// Returns the argument for %s; texts of lists, maps and times are built here and stored in the arena.
Result<FormatArgument> argument_of(Evaluation& in, const Value& value, int depth);

// For nested values; each level uses the stack.
constexpr int kShownDepthMax = 100;

// Steps of showing a number; of a text, for each byte.
constexpr uint64_t kNumberSteps = 64, kByteSteps = 2;

Error too_long() { return {Errc::kTooLarge, "the text is too long"}; }

bool step_to_show(Evaluation& in, const Value& value, uint64_t byte_steps) {
  const bool is_text = value.kind == Kind::kString || value.kind == Kind::kBytes;
  return in.step(is_text ? 4 + value.s.size * byte_steps : kNumberSteps);
}

Result<std::string> element_text(Evaluation& in, const Value& value, int depth) {
  if (!step_to_show(in, value, kByteSteps)) return too_long();
  const auto argument = argument_of(in, value, depth);
  if (!argument) return argument.error();
  return render_element(*argument, kStyle);
}

Result<std::string> list_text(Evaluation& in, const List& list, int depth) {
  std::vector<std::string> elements;
  for (const Value& item : list) {
    auto text = element_text(in, item, depth);
    if (!text) return text.error();
    if (!in.arena.charge(text->size())) return too_long();
    elements.push_back(std::move(*text));
  }
  return render_list(elements);
}

Result<std::string> map_text(Evaluation& in, const Map& map, int depth) {
  std::vector<std::pair<std::string, std::string>> entries;
  for (size_t i = 0; i < map.size(); ++i) {
    const auto [key, value] = map.at(i, in.arena);
    if (!is_strict_key(key.kind))
      return Error{Errc::kInvalid, "format: no map with keys of type " + std::string(name_of(key.kind))};
    auto key_text = element_text(in, key, depth);
    if (!key_text) return key_text.error();
    auto value_text = element_text(in, value, depth);
    if (!value_text) return value_text.error();
    const size_t size = key_text->size() + value_text->size();
    if (!in.arena.charge(size)) return too_long();
    entries.emplace_back(std::move(*key_text), std::move(*value_text));
  }
  return render_map(std::move(entries), kStyle);
}

Result<FormatArgument> argument_of(Evaluation& in, const Value& value, int depth) {
  if (depth > kShownDepthMax) {
    in.arena.exceed_depth();
    return too_long();
  }
  const auto other = [&](const Result<std::string>& text) -> Result<FormatArgument> {
    if (!text) return text.error();
    return FormatArgument(FormatOther{name_of(value.kind), in.arena.copy(*text)});
  };
  switch (value.kind) {
    case Kind::kBool:
      return FormatArgument(value.b);
    case Kind::kInt:
      return FormatArgument(value.i);
    case Kind::kUint:
      return FormatArgument(value.u);
    case Kind::kDouble:
      return FormatArgument(value.d);
    case Kind::kString:
      return FormatArgument(value.text());
    case Kind::kBytes:
      return FormatArgument(FormatBytes{value.text()});
    case Kind::kNull:
      return other(std::string("null"));
    case Kind::kType:
      return other(std::string(value.text()));
    case Kind::kTimestamp:
    case Kind::kDuration:
      return other(time_text(value));
    case Kind::kList:
      return other(list_text(in, *value.list, depth + 1));
    case Kind::kMap:
      return other(map_text(in, *value.map, depth + 1));
    default:
      return Error{Errc::kInvalid, "no such overload: format of a " + std::string(name_of(value.kind))};
  }
}

Value format(Evaluation& in, const Value* args) {
  if (!in.step(1 + args[0].s.size)) return in.fail(Failure::kSteps);
  const auto clauses = std::count(args[0].text().begin(), args[0].text().end(), '%');
  if (static_cast<size_t>(clauses) > in.arena.room() / sizeof(FormatPiece))
    return in.fail(Failure::kNoMemory);
  const auto pieces = decode_format(args[0].text());
  if (!pieces) return in.answer(Result<int64_t>(pieces.error()));
  std::string out;
  size_t next = 0;
  for (const FormatPiece& piece : *pieces) {
    out += piece.literal;
    if (piece.clause == 0) continue;
    if (next >= args[1].list->size) return in.invalid("format: the list has too few arguments");
    const Value& value = args[1].list->items[next++];
    if (!step_to_show(in, value, 1)) return in.fail(Failure::kSteps);
    const auto argument = argument_of(in, value, 0);
    if (!argument) return in.answer(Result<int64_t>(argument.error()));
    const auto text = render_clause(piece, *argument, kStyle);
    if (!text) return in.answer(Result<int64_t>(text.error()));
    out += *text;
    if (out.size() > kMemoryMax) return in.fail(Failure::kNoMemory);
  }
  return in.text(out);
}

constexpr Declaration kFormats[] = {{"string.format(list(dyn)): string", format}};

}  // namespace

std::span<const Declaration> formats() { return kFormats; }

}  // namespace sliced::cel
