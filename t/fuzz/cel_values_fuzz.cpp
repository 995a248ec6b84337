// What CEL's values are made of: every text may be an attribute that somebody published, or stand in a
// selector.
#include "cel/lib/cel_quantity.h"
#include "cel/lib/cidr.h"
#include "cel/lib/format_text.h"
#include "cel/lib/named_format.h"
#include "cel/lib/numbers.h"
#include "cel/lib/regex.h"
#include "cel/lib/semver.h"
#include "cel/lib/timestamp.h"
#include "cel/lib/url_text.h"
#include "cel/lib/utf8_text.h"
#include "t/fuzz/fuzz.h"

namespace sliced::fuzz::cel_values_target {
using namespace sliced::cel;

namespace {

template <class T>
bool understood(const Result<T>& result) {
  if (!result) fuzz::check(result.error());
  return result.ok();
}

void check_numbers(std::string_view text) {
  if (const auto number = to_int(text); understood(number))
    fuzz::must(to_int(std::to_string(*number)).value_or(0) == *number, "an int survives being written");
  if (const auto number = to_double(text); understood(number) && *number == *number)
    fuzz::must(to_double(double_text(*number)).value_or(0) == *number, "a double survives being written");
  const auto strict = decode_semver(text), loose = decode_loose_semver(text);
  if (understood(strict))
    fuzz::must(understood(loose) && *strict == *loose, "loose versions include strict ones");
}

void check_pairs(std::string_view left, std::string_view right) {
  if (const auto a = decode_semver(left), b = decode_semver(right); a && b)
    fuzz::must((*a < *b) == (*b > *a) && (*a == *b) == ((*a <=> *b) == 0), "versions have one order");
  if (const auto a = CelQuantity::decode(left), b = CelQuantity::decode(right);
      understood(a) && understood(b)) {
    const auto difference = a->sub(*b), sum = a->add(*b), other = b->add(*a);
    if (understood(difference))
      fuzz::must((difference->sign() < 0) == (*a < *b), "the lesser one lacks something");
    if (understood(sum) && understood(other)) fuzz::must(*sum == *other, "a sum does not know its order");
    (void)a->as_approximate_float();
  }
  if (const auto time = decode_timestamp(left); understood(time)) {
    const auto again = decode_timestamp(encode_timestamp(*time));
    fuzz::must(again && *again == *time, "a timestamp survives being written", encode_timestamp(*time));
    if (const auto span = decode_duration(right); understood(span)) {
      const auto later = add(*time, *span);
      if (understood(later))
        fuzz::must(subtract(*later, *time).value_or({}) == *span, "time goes back as it came");
    }
  }
  if (const auto a = decode_cidr(left); understood(a)) {
    fuzz::must(a->contains(a->ip) && a->contains(*a) && a->masked().contains(a->ip),
               "a network has its own address");
    fuzz::must(decode_cidr(encode_cidr(*a)).value_or({}) == *a, "a network survives being written");
  }
}

void check_url(std::string_view text) {
  const auto url = decode_url_text(text);
  if (!understood(url)) return;
  fuzz::must(is_url(text), "what is taken apart is a URL");
  for (const auto& part : {url->host, url->hostname(), url->port(), url->escaped_path})
    fuzz::must(is_utf8(part), "a part is UTF-8", part);
  for (const auto& [key, values] : url->query_values())
    fuzz::must(is_utf8(key) && !values.empty(), "a key has values");
}

void check_text(std::string_view text, std::string_view part) {
  const int64_t size = code_points(text);
  const auto pieces = split_text(text, part);
  fuzz::must(*join_texts(pieces, part) == text, "what is split can be joined");
  const int64_t at = *index_of(text, part), last = *last_index_of(text, part);
  fuzz::must((at < 0) == (last < 0) && at <= last, "the first is not behind the last");
  if (at >= 0) fuzz::must(substring(text, at)->starts_with(part), "it is where it was found");
  fuzz::must(*substring(text, 0, size) == text && !substring(text, size + 1), "a text ends");
  const auto replaced = replace_text(text, part, "", -1);
  fuzz::must(replaced && replaced->size() <= text.size(), "nothing makes nothing longer");
  fuzz::must(is_utf8(std::string(trim_text(text)) + quote_text(text)), "characters stay whole");
}

void check_regex(std::string_view pattern, std::string_view text) {
  const auto regex = Regex::compile(pattern);
  if (!understood(regex)) return;
  fuzz::must(regex->program_size() <= bound_of(pattern).instructions, "a pattern has a bound", pattern);
  const auto found = regex->find_all(text);
  if (!understood(found)) return;
  fuzz::must(found->empty() != regex->matches(text), "what matches is found");
  for (const auto match : *found) fuzz::must(is_utf8(match), "a match does not cut characters", match);
}

void check_format(std::string_view format, std::string_view text) {
  const auto pieces = decode_format(format);
  if (!understood(pieces)) return;
  const FormatArgument arguments[] = {int64_t{-5}, uint64_t{5}, 1234.5, true, text, FormatBytes{text}};
  for (const FormatPiece& piece : *pieces)
    for (const auto& argument : arguments)
      for (const auto style : {FormatStyle::kKubernetes, FormatStyle::kSpecification})
        if (const auto out = render_clause(piece, argument, style); understood(out))
          fuzz::must(is_utf8(*out), "what is formatted is UTF-8", *out);
}

}  // namespace

FUZZ_TARGET(cel_values) {
  fuzz::Input input(data, size);
  const std::string_view left = input.until('\n'), right = input.rest;
  if (!is_utf8(left) || !is_utf8(right)) return 0;
  check_numbers(left);
  check_pairs(left, right);
  check_url(left);
  check_text(left, right);
  check_regex(left, right);
  check_format(left, right);
  for (const char* name : {"dns1123Label", "dns1123SubdomainPrefix", "dns1035Label", "qualifiedName",
                           "labelValue", "uuid", "byte", "date", "datetime"})
    for (const std::string& problem : named_format(name)->validate(left)) fuzz::check_text(problem);
  (void)understood(decode_zone(left));
  return 0;
}

}  // namespace sliced::fuzz::cel_values_target
