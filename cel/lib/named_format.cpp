#include "cel/lib/named_format.h"

#include <algorithm>
#include <iterator>

#include "cel/lib/regex.h"
#include "cel/lib/timestamp.h"
#include "cel/lib/url_text.h"
#include "kube/objects/names.h"
#include "reactor/base/text.h"

namespace sliced::cel {
namespace {

using Problems = std::vector<std::string>;

constexpr size_t kLabelBytesMax = 63;
constexpr size_t kSubdomainBytesMax = 253;

void add_unless(bool fine, std::string problem, Problems& problems) {
  if (!fine) problems.push_back(std::move(problem));
}

std::string at_most(size_t bytes) { return "must have at most " + std::to_string(bytes) + " bytes"; }

Problems subdomain(std::string_view text) {
  Problems problems;
  add_unless(text.size() <= kSubdomainBytesMax, at_most(kSubdomainBytesMax), problems);
  add_unless(
      kube::is_dns_subdomain(text, text.size()),
      "must be lower case letters, digits, '-' and '.', with a letter or digit at both ends of every part",
      problems);
  return problems;
}

Problems label(std::string_view text) {
  Problems problems;
  add_unless(text.size() <= kLabelBytesMax, at_most(kLabelBytesMax), problems);
  const bool fine = kube::is_dns_subdomain(text, text.size()) && text.find('.') == std::string_view::npos;
  add_unless(fine, "must be lower case letters, digits and '-', with a letter or digit at both ends",
             problems);
  return problems;
}

Problems label_1035(std::string_view text) {
  Problems problems;
  add_unless(text.size() <= kLabelBytesMax, at_most(kLabelBytesMax), problems);
  const bool fine = kube::is_dns_subdomain(text, text.size()) && text.find('.') == std::string_view::npos;
  add_unless(
      fine && !starts_with_digit(text),
      "must be lower case letters, digits and '-', with a letter at the beginning and no '-' at the end",
      problems);
  return problems;
}

// A prefix may end in '-', and the part before that is not checked (as upstream).
template <Problems (*kRule)(std::string_view)>
Problems prefix_of(std::string_view text) {
  if (text.size() < 2 || !text.ends_with('-')) return kRule(text);
  return kRule(std::string(text.substr(0, text.size() - 2)) + "a");
}

bool is_name_part(std::string_view text) {
  static const auto pattern = Regex::compile("^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$");
  return pattern->matches(text);
}

constexpr std::string_view kNamePart =
    "must be letters, digits, '-', '_' and '.', with a letter or digit at both ends";

Problems label_value(std::string_view text) {
  Problems problems;
  add_unless(text.size() <= kLabelBytesMax, at_most(kLabelBytesMax), problems);
  add_unless(text.empty() || is_name_part(text), "if not empty, " + std::string(kNamePart), problems);
  return problems;
}

Problems qualified_name(std::string_view text) {
  Problems problems;
  const auto parts = split(text, '/');
  if (parts.size() > 2) return {"must be a name, or a DNS subdomain, '/' and a name"};
  if (parts.size() == 2) {
    Problems of_prefix = parts[0].empty() ? Problems{"must not be empty"} : subdomain(parts[0]);
    for (std::string& problem : of_prefix) problems.push_back("the prefix " + problem);
  }
  const std::string_view name = parts.back();
  add_unless(!name.empty(), "the name must not be empty", problems);
  add_unless(name.size() <= kLabelBytesMax, "the name " + at_most(kLabelBytesMax), problems);
  add_unless(is_name_part(name), "the name " + std::string(kNamePart), problems);
  return problems;
}

Problems uri(std::string_view text) {
  if (is_url(text)) return {};
  return {"must be an absolute URI or an absolute path"};
}

Problems uuid(std::string_view text) {
  static const auto pattern = Regex::compile("(?i)^[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$");
  if (pattern->matches(text)) return {};
  return {"must be a UUID"};
}

Problems base64(std::string_view text) {
  static const auto pattern = Regex::compile("^[A-Za-z0-9+/]+={0,2}$");
  if (text.size() % 4 == 0 && pattern->matches(text)) return {};
  return {"must be base64 with its padding"};
}

bool is_date(std::string_view text) {
  // Timestamps have no year 0000; 2000 is as long.
  if (text.size() != 10) return false;
  const bool first = text.starts_with("0000");
  return decode_timestamp((first ? "2000" : "") + std::string(text.substr(first ? 4 : 0)) + "T00:00:00Z")
      .ok();
}

Problems date(std::string_view text) {
  if (is_date(text)) return {};
  return {"must be a date such as 2006-01-02"};
}

// Upstream's check accepts any character before the fraction, and stops at a second 'T'.
Problems datetime(std::string_view text) {
  static const auto time =
      Regex::compile("^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](.[0-9]+)?([zZ]|[+-][0-9]{2}:[0-9]{2})$");
  const size_t mark = text.find_first_of("tT");
  if (mark != std::string_view::npos && is_date(text.substr(0, mark))) {
    const std::string_view rest = text.substr(mark + 1);
    if (time->matches(rest.substr(0, rest.find_first_of("tT")))) return {};
  }
  return {"must be a time such as 2006-01-02T15:04:05Z"};
}

constexpr NamedFormat kNamedFormats[] = {
    {"dns1123Label", label, 30},
    {"dns1123Subdomain", subdomain, 60},
    {"dns1035Label", label_1035, 30},
    {"dns1123LabelPrefix", prefix_of<label>, 30},
    {"dns1123SubdomainPrefix", prefix_of<subdomain>, 60},
    {"dns1035LabelPrefix", prefix_of<label_1035>, 30},
    {"qualifiedName", qualified_name, 60},
    {"labelValue", label_value, 40},
    {"uri", uri, 1103},
    {"uuid", uuid, 70},
    {"byte", base64, 84},
    {"date", date, 71},
    {"datetime", datetime, 71},
};

}  // namespace

const NamedFormat* named_format(std::string_view name) {
  const auto* found = std::find_if(std::begin(kNamedFormats), std::end(kNamedFormats),
                                   [&](const NamedFormat& format) { return format.name == name; });
  return found == std::end(kNamedFormats) ? nullptr : found;
}

}  // namespace sliced::cel
