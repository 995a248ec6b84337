// "...".format([...]) of the strings extension, as Kubernetes writes it.
#include "policy/cel/lib/format_text.h"
#include "policy/cel/library.h"

namespace sliced::cel {
namespace {

constexpr FormatStyle kStyle = FormatStyle::kKubernetes;

// What %s shows of a value; the text of lists, maps and times is made here and kept in the arena.
Result<FormatArgument> argument_of(Evaluation& in, const Value& value);

Result<std::string> element_text(Evaluation& in, const Value& value) {
  const auto argument = argument_of(in, value);
  if (!argument) return argument.error();
  return render_element(*argument, kStyle);
}

Result<std::string> list_text(Evaluation& in, const List& list) {
  std::vector<std::string> elements;
  for (const Value& item : list) {
    auto text = element_text(in, item);
    if (!text) return text.error();
    if (!in.charge_for(text->size()) || !in.arena.charge(text->size()))
      return Error{Errc::kTooLarge, "the text is too long"};
    elements.push_back(std::move(*text));
  }
  return render_list(elements);
}

Result<std::string> map_text(Evaluation& in, const Map& map) {
  std::vector<std::pair<std::string, std::string>> entries;
  for (size_t i = 0; i < map.size(); ++i) {
    const auto [key, value] = map.at(i, in.arena);
    if (!is_strict_key(key.kind))
      return Error{Errc::kInvalid, "format: no map with keys of type " + std::string(name_of(key.kind))};
    auto key_text = element_text(in, key);
    if (!key_text) return key_text.error();
    auto value_text = element_text(in, value);
    if (!value_text) return value_text.error();
    const size_t size = key_text->size() + value_text->size();
    if (!in.charge_for(size) || !in.arena.charge(size)) return Error{Errc::kTooLarge, "the text is too long"};
    entries.emplace_back(std::move(*key_text), std::move(*value_text));
  }
  return render_map(std::move(entries), kStyle);
}

Result<FormatArgument> argument_of(Evaluation& in, const Value& value) {
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
      return other(list_text(in, *value.list));
    case Kind::kMap:
      return other(map_text(in, *value.map));
    default:
      return Error{Errc::kInvalid, "no such overload: format of a " + std::string(name_of(value.kind))};
  }
}

Value format(Evaluation& in, const Value* args) {
  in.charge_for(args[0].s.size);
  const auto pieces = decode_format(args[0].text());
  if (!pieces) return in.answer(Result<int64_t>(pieces.error()));
  std::string out;
  size_t next = 0;
  for (const FormatPiece& piece : *pieces) {
    out += piece.literal;
    if (piece.clause == 0) continue;
    if (next >= args[1].list->size) return in.invalid("format: the list has too few arguments");
    const auto argument = argument_of(in, args[1].list->items[next++]);
    if (!argument) return in.answer(Result<int64_t>(argument.error()));
    const auto text = render_clause(piece, *argument, kStyle);
    if (!text) return in.answer(Result<int64_t>(text.error()));
    out += *text;
    if (!in.charge_for(text->size()) || out.size() > kMemoryMax) return in.fail(Failure::kNoMemory);
  }
  return in.text(out);
}

constexpr Declaration kFormats[] = {{"string.format(list(dyn)): string", format}};

}  // namespace

std::span<const Declaration> formats() { return kFormats; }

}  // namespace sliced::cel
