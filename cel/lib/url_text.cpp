#include "cel/lib/url_text.h"

#include <algorithm>
#include <optional>

#include "cel/lib/ascii.h"
#include "cel/lib/ip_address.h"
#include "reactor/base/text.h"

namespace sliced::cel {
namespace {

constexpr size_t kNowhereInUrl = std::string_view::npos;
constexpr size_t kParametersMax = 10'000;

bool is_one_of(char c, std::string_view set) { return set.find(c) != kNowhereInUrl; }
bool is_unreserved(char c) { return is_letter(c) || is_digit(c) || is_one_of(c, "-_.~"); }
bool is_host_char(char c) {
  return static_cast<unsigned char>(c) >= 0x80 || is_unreserved(c) || is_one_of(c, "!$&'()*+,;=:[]<>\"");
}
bool is_user_char(char c) { return is_unreserved(c) || is_one_of(c, ":!$&'()*+,;=%@"); }

// The permitted escapes depend on the part.
enum class In { kHost, kZone, kQuery, kElsewhere };

// "%HH" at the start of text.
std::optional<unsigned char> escape_at(std::string_view text) {
  const auto value = text.size() < 3 ? std::nullopt : parse_hex(text.substr(1, 2));
  return value ? std::optional(static_cast<unsigned char>(*value)) : std::nullopt;
}

// A host may only escape bytes beyond ASCII, a zone only ASCII characters that it could contain unescaped;
// both '%' itself.
bool may_be_escaped(unsigned char c, In component) {
  if (component == In::kHost) return c >= 0x80 || c == '%';
  return component != In::kZone || c == '%' || c == ' ' || (c < 0x80 && is_host_char(static_cast<char>(c)));
}

std::optional<std::string> unescaped(std::string_view text, In component) {
  std::string plain;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '%') {
      const auto byte = escape_at(text.substr(at));
      if (!byte || !may_be_escaped(*byte, component)) return std::nullopt;
      plain += static_cast<char>(*byte);
      at += 2;
    } else if ((component == In::kHost || component == In::kZone) && !is_host_char(c)) {
      return std::nullopt;
    } else {
      plain += c == '+' && component == In::kQuery ? ' ' : c;
    }
  }
  return plain;
}

void append_escaped(std::string& out, char c) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  out += '%';
  out += kDigits[byte >> 4];
  out += kDigits[byte & 15];
}

// Returns the text unchanged if it requires no escape; otherwise with exactly the required ones.
std::optional<std::string> escaped_part(std::string_view text, std::string_view fine, std::string_view kept) {
  const auto plain = unescaped(text, In::kElsewhere);
  if (!plain) return std::nullopt;
  if (std::all_of(text.begin(), text.end(), [&](char c) { return is_unreserved(c) || is_one_of(c, fine); }))
    return std::string(text);
  std::string out;
  for (const char c : *plain) {
    if (is_unreserved(c) || is_one_of(c, kept))
      out += c;
    else
      append_escaped(out, c);
  }
  return out;
}

// Each byte of invalid UTF-8 becomes U+FFFD.
std::string as_utf8(const std::string& bytes) {
  if (is_utf8(bytes)) return bytes;
  std::string text;
  for (size_t at = 0; at < bytes.size();) {
    size_t size = 1;
    while (size <= 4 && !is_utf8(std::string_view(bytes).substr(at, size))) ++size;
    text += size <= 4 ? bytes.substr(at, size) : "\ufffd";
    at += size <= 4 ? size : 1;
  }
  return text;
}

// ":8080", ":" or ""
bool is_optional_port(std::string_view text) {
  return text.empty() || (text[0] == ':' && std::all_of(text.begin() + 1, text.end(), is_digit));
}

// "::1", "fe80::1%25eth0"
std::optional<std::string> decode_literal(std::string_view text) {
  const size_t zone = std::min(text.find("%25"), text.size());
  const auto address = unescaped(text.substr(0, zone), In::kHost);
  const auto rest = unescaped(text.substr(zone), In::kZone);
  if (!address || !rest || !is_ipv6(*address) || *rest == "%") return std::nullopt;
  return *address + *rest;
}

std::optional<std::string> decode_host(std::string_view host, std::string_view scheme) {
  if (const size_t open = host.rfind('['); open != kNowhereInUrl) {
    const size_t close = host.rfind(']');
    if (open != 0 || close == kNowhereInUrl || !is_optional_port(host.substr(close + 1))) return std::nullopt;
    const auto literal = decode_literal(host.substr(1, close - 1));
    if (!literal) return std::nullopt;
    return "[" + *literal + "]" + std::string(host.substr(close + 1));
  }
  // Other schemes have lists of hosts with ports.
  const size_t colon = scheme == "http" || scheme == "https" ? host.find(':') : host.rfind(':');
  if (colon != kNowhereInUrl && !is_optional_port(host.substr(colon))) return std::nullopt;
  return unescaped(host, In::kHost);
}

bool decode_authority(std::string_view authority, UrlText& url) {
  const size_t at = authority.rfind('@');
  const auto host = decode_host(authority.substr(at == kNowhereInUrl ? 0 : at + 1), url.scheme);
  if (!host) return false;
  url.host = as_utf8(*host);
  if (at == kNowhereInUrl) return true;
  const auto user = unescaped(authority.substr(0, at), In::kElsewhere);
  if (!user || !std::all_of(authority.begin(), authority.begin() + static_cast<long>(at), is_user_char))
    return false;
  url.user = *user + "@";
  return true;
}

// Cuts "https:" off the text; false when a scheme's place is empty.
bool take_scheme(std::string_view& text, std::string& scheme) {
  const size_t colon = text.find(':');
  if (colon == 0) return false;
  const std::string_view name = text.substr(0, colon);
  const bool is_scheme =
      colon != kNowhereInUrl && is_letter(name[0]) && std::all_of(name.begin(), name.end(), [](char c) {
        return is_letter(c) || is_digit(c) || is_one_of(c, "+-.");
      });
  if (!is_scheme) return true;
  scheme = lower(name);
  text.remove_prefix(colon + 1);
  return true;
}

// Go has two parsers. The one of requests accepts no relative paths and no host without scheme.
std::optional<UrlText> read_url(std::string_view text, bool of_request) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; };
  if (text.empty() || std::any_of(text.begin(), text.end(), is_control)) return std::nullopt;
  UrlText url;
  if (text == "*") {
    url.escaped_path = "*";
    return url;
  }
  if (!take_scheme(text, url.scheme)) return std::nullopt;
  if (const size_t mark = text.find('?'); mark != kNowhereInUrl) {
    url.has_query = true;
    url.query = text.substr(mark + 1);
    text = text.substr(0, mark);
  }
  if (!text.starts_with('/')) {
    if (url.scheme.empty()) return std::nullopt;
    url.opaque = text;
    return url;
  }
  const bool may_have_host = !url.scheme.empty() || (!of_request && !text.starts_with("///"));
  if (may_have_host && text.starts_with("//")) {
    const size_t slash = std::min(text.find('/', 2), text.size());
    if (!decode_authority(text.substr(2, slash - 2), url)) return std::nullopt;
    url.has_authority = true;
    text.remove_prefix(slash);
  }
  const auto path = escaped_part(text, "!$&'()*+,;=:@[]%/", "$&+,/:;=@");
  if (!path) return std::nullopt;
  url.escaped_path = *path;
  return url;
}

}  // namespace

std::string UrlText::hostname() const {
  std::string_view name = host;
  const size_t colon = name.rfind(':');
  if (colon != kNowhereInUrl && is_optional_port(name.substr(colon))) name = name.substr(0, colon);
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  return std::string(name);
}

std::string UrlText::port() const {
  const size_t colon = host.rfind(':');
  return colon != kNowhereInUrl && is_optional_port(std::string_view(host).substr(colon))
             ? host.substr(colon + 1)
             : "";
}

std::map<std::string, std::vector<std::string>> UrlText::query_values() const {
  std::map<std::string, std::vector<std::string>> values;
  const auto parts = split(query, '&');
  if (parts.size() > kParametersMax) return values;
  for (const std::string_view part : parts) {
    if (part.empty() || part.find(';') != kNowhereInUrl) continue;
    const size_t equals = std::min(part.find('='), part.size());
    const auto key = unescaped(part.substr(0, equals), In::kQuery);
    const auto value = unescaped(part.substr(std::min(equals + 1, part.size())), In::kQuery);
    if (key && value) values[as_utf8(*key)].push_back(as_utf8(*value));
  }
  return values;
}

bool is_url(std::string_view text) { return read_url(text, true).has_value(); }

Result<UrlText> decode_url_text(std::string_view text) {
  const size_t hash = std::min(text.find('#'), text.size());
  auto url = is_url(text) ? read_url(text.substr(0, hash), false) : std::nullopt;
  const auto fragment =
      escaped_part(text.substr(std::min(hash + 1, text.size())), "!$&'()*+,;=:@[]%/?", "$&+,/:;=?@!()*");
  if (!url || !fragment) return Error{Errc::kInvalid, "not a URL: " + in_quotes(text)};
  url->fragment = *fragment;
  return *std::move(url);
}

}  // namespace sliced::cel
