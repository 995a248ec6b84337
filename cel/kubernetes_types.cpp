// Kubernetes' own types: quantity, semver, IP, CIDR, URL, named formats; and regular expressions.
#include <algorithm>

#include "cel/comparing.h"
#include "cel/lib/cel_quantity.h"
#include "cel/lib/cidr.h"
#include "cel/lib/ip_address.h"
#include "cel/lib/named_format.h"
#include "cel/lib/regex.h"
#include "cel/lib/semver.h"
#include "cel/lib/url_text.h"
#include "cel/library.h"

namespace sliced::cel {
namespace {

// Steps of decoding a text as one of the types, and of building the error text.
constexpr uint64_t kRefusedSteps = 96;
constexpr uint64_t kReadSteps = 8, kWriteSteps = 16;
constexpr uint64_t kQuantitySteps = 96;  // of calculating with 1,100 digits
bool step_to_read(Evaluation& in, const Value& text, size_t bytes_a_step = 4) {
  return in.step(kReadSteps + text.s.size / bytes_a_step);
}

template <class T>
bool is_read(Evaluation& in, const Result<T>& decoded) {
  if (!decoded) in.step(kRefusedSteps);
  return decoded.ok();
}
// Returns the value of a library's type, or the error of decoding it.
template <class T>
Value made(Evaluation& in, Kind kind, const Result<T>& decoded) {
  return is_read(in, decoded) ? in.opaque(kind, *decoded) : in.answer(Result<int64_t>(decoded.error()));
}

template <class T>
Value is_less(Evaluation& in, const Value* args) {
  step_for_both(as<T>(args[0]), as<T>(args[1]), in.arena);
  return Value::of(as<T>(args[0]) < as<T>(args[1]));
}
template <class T>
Value is_greater(Evaluation& in, const Value* args) {
  step_for_both(as<T>(args[0]), as<T>(args[1]), in.arena);
  return Value::of(as<T>(args[0]) > as<T>(args[1]));
}
template <class T>
Value compare_to(Evaluation& in, const Value* args) {
  step_for_both(as<T>(args[0]), as<T>(args[1]), in.arena);
  const auto order = as<T>(args[0]) <=> as<T>(args[1]);
  return Value::of(int64_t{order < 0 ? -1 : order > 0 ? 1 : 0});
}

// Quantities.

Value quantity(Evaluation& in, const Value* args) {
  if (!step_to_read(in, args[0], 2)) return in.fail(Failure::kSteps);
  return made(in, Kind::kQuantity, CelQuantity::decode(args[0].text()));
}
Value is_quantity(Evaluation& in, const Value* args) {
  if (!step_to_read(in, args[0], 2)) return in.fail(Failure::kSteps);
  return Value::of(is_read(in, CelQuantity::decode(args[0].text())));
}
Value add_quantities(Evaluation& in, const Value* args) {
  in.step(kQuantitySteps);
  return made(in, Kind::kQuantity, as<CelQuantity>(args[0]).add(as<CelQuantity>(args[1])));
}
Value add_int(Evaluation& in, const Value* args) {
  in.step(kQuantitySteps);
  return made(in, Kind::kQuantity, as<CelQuantity>(args[0]).add(CelQuantity(args[1].i)));
}
Value subtract_quantities(Evaluation& in, const Value* args) {
  in.step(kQuantitySteps);
  return made(in, Kind::kQuantity, as<CelQuantity>(args[0]).sub(as<CelQuantity>(args[1])));
}
Value subtract_int(Evaluation& in, const Value* args) {
  in.step(kQuantitySteps);
  return made(in, Kind::kQuantity, as<CelQuantity>(args[0]).sub(CelQuantity(args[1].i)));
}
Value is_integer(Evaluation& in, const Value* args) {
  in.step(kQuantitySteps);
  return Value::of(as<CelQuantity>(args[0]).as_integer().has_value());
}
Value as_integer(Evaluation& in, const Value* args) {
  in.step(kQuantitySteps);
  const auto value = as<CelQuantity>(args[0]).as_integer();
  return value ? Value::of(*value) : in.invalid("cannot convert value to integer");
}
Value as_float(Evaluation& in, const Value* args) {
  in.step(kQuantitySteps);
  return Value::of(as<CelQuantity>(args[0]).as_approximate_float());
}
Value sign(Evaluation&, const Value* args) { return Value::of(int64_t{as<CelQuantity>(args[0]).sign()}); }

// Versions.

Result<Semver> decode(Evaluation& in, const Value* args, bool is_loose) {
  if (!step_to_read(in, args[0], 2)) return Error{Errc::kTooLarge, ""};
  return is_loose ? decode_loose_semver(args[0].text()) : decode_semver(args[0].text());
}
Value semver(Evaluation& in, const Value* args) { return made(in, Kind::kSemver, decode(in, args, false)); }
Value semver_normalized(Evaluation& in, const Value* args) {
  return made(in, Kind::kSemver, decode(in, args, args[1].b));
}
Value is_semver(Evaluation& in, const Value* args) { return Value::of(is_read(in, decode(in, args, false))); }
Value is_semver_normalized(Evaluation& in, const Value* args) {
  return Value::of(is_read(in, decode(in, args, args[1].b)));
}
// Upstream reads the 64 bits as a signed number.
template <uint64_t Semver::* Part>
Value part_of(Evaluation&, const Value* args) {
  return Value::of(static_cast<int64_t>(as<Semver>(args[0]).*Part));
}

// Addresses and networks.

Result<IpAddress> read_ip(Evaluation& in, const Value& text) {
  if (!step_to_read(in, text, kReadBytes)) return Error{Errc::kTooLarge, ""};
  auto address = decode_ip(text.text());
  is_read(in, address);
  return address;
}
Result<Cidr> read_cidr(Evaluation& in, const Value& text) {
  if (!step_to_read(in, text, kReadBytes)) return Error{Errc::kTooLarge, ""};
  auto network = decode_cidr(text.text());
  if (!is_read(in, network)) in.step(kRefusedSteps);  // about the address, and about the network
  return network;
}

Value ip(Evaluation& in, const Value* args) { return made(in, Kind::kIp, read_ip(in, args[0])); }
Value is_ip(Evaluation& in, const Value* args) { return Value::of(read_ip(in, args[0]).ok()); }
Value is_canonical(Evaluation& in, const Value* args) {
  in.step(kWriteSteps);
  const auto address = read_ip(in, args[0]);
  return address ? Value::of(encode_ip(*address) == args[0].text()) : in.invalid(address.error().what);
}
Value family(Evaluation&, const Value* args) { return Value::of(int64_t{as<IpAddress>(args[0]).family}); }
template <bool (IpAddress::*Is)() const>
Value ip_is(Evaluation&, const Value* args) {
  return Value::of((as<IpAddress>(args[0]).*Is)());
}
Value text_of_ip(Evaluation& in, const Value* args) {
  in.step(kWriteSteps);
  return in.text(encode_ip(as<IpAddress>(args[0])));
}

Value cidr(Evaluation& in, const Value* args) { return made(in, Kind::kCidr, read_cidr(in, args[0])); }
Value is_cidr(Evaluation& in, const Value* args) { return Value::of(read_cidr(in, args[0]).ok()); }
Value contains_ip(Evaluation&, const Value* args) {
  return Value::of(as<Cidr>(args[0]).contains(as<IpAddress>(args[1])));
}
Value contains_ip_text(Evaluation& in, const Value* args) {
  const auto address = read_ip(in, args[1]);
  return address ? Value::of(as<Cidr>(args[0]).contains(*address)) : in.invalid(address.error().what);
}
Value contains_cidr(Evaluation&, const Value* args) {
  return Value::of(as<Cidr>(args[0]).contains(as<Cidr>(args[1])));
}
Value contains_cidr_text(Evaluation& in, const Value* args) {
  const auto other = read_cidr(in, args[1]);
  return other ? Value::of(as<Cidr>(args[0]).contains(*other)) : in.invalid(other.error().what);
}
Value ip_of_cidr(Evaluation& in, const Value* args) { return in.opaque(Kind::kIp, as<Cidr>(args[0]).ip); }
Value masked(Evaluation& in, const Value* args) { return in.opaque(Kind::kCidr, as<Cidr>(args[0]).masked()); }
Value prefix_length(Evaluation&, const Value* args) {
  return Value::of(int64_t{as<Cidr>(args[0]).prefix_length});
}
Value text_of_cidr(Evaluation& in, const Value* args) {
  in.step(kWriteSteps);
  return in.text(encode_cidr(as<Cidr>(args[0])));
}

// URLs.

Value url(Evaluation& in, const Value* args) {
  if (!step_to_read(in, args[0], 1)) return in.fail(Failure::kSteps);
  return made(in, Kind::kUrl, decode_url_text(args[0].text()));
}
Value is_url_text(Evaluation& in, const Value* args) {
  if (!step_to_read(in, args[0], 1)) return in.fail(Failure::kSteps);
  return Value::of(is_url(args[0].text()));
}
template <std::string UrlText::* Part>
Value url_part(Evaluation& in, const Value* args) {
  return in.text(as<UrlText>(args[0]).*Part);
}
template <std::string (UrlText::*Part)() const>
Value url_made(Evaluation& in, const Value* args) {
  in.step_for(as<UrlText>(args[0]).host.size(), kReadBytes);
  return in.text((as<UrlText>(args[0]).*Part)());
}
Value url_query(Evaluation& in, const Value* args) {
  const std::string& query = as<UrlText>(args[0]).query;
  constexpr int kParameterSteps = 32;
  const auto parameters = static_cast<uint64_t>(1 + std::count(query.begin(), query.end(), '&'));
  if (!in.step(query.size() + kParameterSteps * parameters)) return in.fail(Failure::kSteps);
  const auto values = as<UrlText>(args[0]).query_values();
  auto* entries = in.arena.array<EntryMap::Entry>(std::max<size_t>(values.size(), 1));
  if (entries == nullptr) return in.fail(Failure::kNoMemory);
  size_t size = 0;
  for (const auto& [key, texts] : values) {
    std::vector<Value> items;
    for (const std::string& text : texts) items.push_back(in.text(text));
    entries[size++] = {in.text(key), in.list(items)};
  }
  const EntryMap* made = in.arena.is_exhausted() ? nullptr : EntryMap::make(entries, size, in.arena);
  return made == nullptr ? in.fail(Failure::kNoMemory) : Value::of(static_cast<const Map*>(made));
}

// Named formats.

Value format_named(Evaluation& in, const Value* args) {
  const NamedFormat* found = named_format(args[0].text());
  return found == nullptr ? in.none() : in.some(Value::opaque_of(Kind::kFormat, found));
}
// Implements format.uuid() and similar functions: the function's name is the name of the format.
Value format_called(Evaluation& in, const Value*) {
  const std::string_view name = in.call->function->name;
  const NamedFormat* found = named_format(name.substr(name.find('.') + 1));
  return found == nullptr ? in.no_overload(name) : Value::opaque_of(Kind::kFormat, found);
}
Value validate(Evaluation& in, const Value* args) {
  if (!in.step(kRefusedSteps + args[1].s.size)) return in.fail(Failure::kSteps);
  const auto problems = as<NamedFormat>(args[0]).validate(args[1].text());
  if (problems.empty()) return in.none();
  std::vector<Value> texts;
  for (const std::string& problem : problems) texts.push_back(in.text(problem));
  return in.some(in.list(texts));
}

// Regular expressions. A pattern that is a literal was compiled with the expression.

template <class Use>
Value with_regex(Evaluation& in, const Value* args, Use use) {
  if (in.call->regex != nullptr) return use(*in.call->regex);
  const PatternBound bound = bound_of(args[1].text());
  if (!in.step(bound.compile_steps)) return in.fail(Failure::kSteps);
  const auto compiled = Regex::compile(args[1].text(), bound);
  if (!compiled) in.step(kRefusedSteps);
  return compiled ? use(*compiled) : in.invalid(compiled.error().what);
}
Value matches(Evaluation& in, const Value* args) {
  return with_regex(in, args, [&](const Regex& regex) {
    if (!in.step(regex.search_steps(args[0].s.size))) return in.fail(Failure::kSteps);
    return Value::of(regex.matches(args[0].text()));
  });
}
Value find(Evaluation& in, const Value* args) {
  return with_regex(in, args, [&](const Regex& regex) {
    if (!in.step(2 * regex.search_steps(args[0].s.size))) return in.fail(Failure::kSteps);
    return Value::of(regex.find(args[0].text()));
  });
}
constexpr size_t kFoundMax = 10'000;
template <bool HasLimit>
Value find_all(Evaluation& in, const Value* args) {
  return with_regex(in, args, [&](const Regex& regex) {
    const auto may_search = [&](size_t bytes) { return in.step(2 * regex.search_steps(bytes)); };
    const auto found = regex.find_all(args[0].text(), HasLimit ? args[2].i : -1, kFoundMax, may_search);
    if (!found) return in.fail(Failure::kNoMemory);
    if (!in.step(found->size())) return in.fail(Failure::kSteps);
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
    {"ip(string): IP", ip},
    {"isIP(string): bool", is_ip},
    {"ip.isCanonical(string): bool", is_canonical},
    {"string(IP): string", text_of_ip},
    {"IP.family(): int", family},
    {"IP.isUnspecified(): bool", ip_is<&IpAddress::is_unspecified>},
    {"IP.isLoopback(): bool", ip_is<&IpAddress::is_loopback>},
    {"IP.isLinkLocalMulticast(): bool", ip_is<&IpAddress::is_link_local_multicast>},
    {"IP.isLinkLocalUnicast(): bool", ip_is<&IpAddress::is_link_local_unicast>},
    {"IP.isGlobalUnicast(): bool", ip_is<&IpAddress::is_global_unicast>},
    {"cidr(string): CIDR", cidr},
    {"isCIDR(string): bool", is_cidr},
    {"string(CIDR): string", text_of_cidr},
    {"CIDR.containsIP(IP): bool", contains_ip},
    {"CIDR.containsIP(string): bool", contains_ip_text},
    {"CIDR.containsCIDR(CIDR): bool", contains_cidr},
    {"CIDR.containsCIDR(string): bool", contains_cidr_text},
    {"CIDR.ip(): IP", ip_of_cidr},
    {"CIDR.masked(): CIDR", masked},
    {"CIDR.prefixLength(): int", prefix_length},
    {"url(string): URL", url},
    {"isURL(string): bool", is_url_text},
    {"URL.getScheme(): string", url_part<&UrlText::scheme>},
    {"URL.getHost(): string", url_part<&UrlText::host>},
    {"URL.getHostname(): string", url_made<&UrlText::hostname>},
    {"URL.getPort(): string", url_made<&UrlText::port>},
    {"URL.getEscapedPath(): string", url_part<&UrlText::escaped_path>},
    {"URL.getQuery(): map(string, list(string))", url_query},
    {"format.named(string): optional(Format)", format_named},
    {"Format.validate(string): optional(list(string))", validate},
    {"format.dns1123Label(): Format", format_called},
    {"format.dns1123Subdomain(): Format", format_called},
    {"format.dns1035Label(): Format", format_called},
    {"format.qualifiedName(): Format", format_called},
    {"format.dns1123LabelPrefix(): Format", format_called},
    {"format.dns1123SubdomainPrefix(): Format", format_called},
    {"format.dns1035LabelPrefix(): Format", format_called},
    {"format.labelValue(): Format", format_called},
    {"format.uri(): Format", format_called},
    {"format.uuid(): Format", format_called},
    {"format.byte(): Format", format_called},
    {"format.date(): Format", format_called},
    {"format.datetime(): Format", format_called},
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

}  // namespace sliced::cel
