#include "policy/readiness/decode_readiness.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "policy/field_reader.h"
#include "reactor/base/duration.h"
#include "reactor/base/text.h"

namespace sliced::policy {
namespace {

constexpr size_t kWordBytesMax = 64;
constexpr std::array<std::string_view, 8> kReadinessFields = {"require",     "mtuAtLeast", "stableFor",
                                                              "onLoss",      "onLinkDown", "taintEffect",
                                                              "holdBinding", "setAdminMac"};
// mtuAtLeast is last and has a field of its own.
constexpr size_t kRequirable = kConditionCount - 1;

std::vector<std::string_view> requirable_names() {
  std::vector<std::string_view> out;
  for (size_t i = 0; i < kRequirable; ++i) out.push_back(name_of(static_cast<Condition>(i)));
  return out;
}

std::string listed(const std::vector<std::string_view>& names) {
  return join(std::vector<std::string>(names.begin(), names.end()), ", ");
}

ConditionSet read_require(FieldReader& reader) {
  const auto known = requirable_names();
  ConditionSet out;
  for (const auto& [text, line] : reader.texts("require", kRequirable, kWordBytesMax)) {
    const auto at = std::find(known.begin(), known.end(), text);
    if (at != known.end()) {
      out.set(static_cast<size_t>(at - known.begin()));
      continue;
    }
    const std::string near = nearest(text, known);
    reader.problem("require",
                   "has " + in_quotes(text, kWordBytesMax) +
                       (near.empty() ? "" : "; did you mean " + near + "?") + "; expected some of " +
                       listed(known),
                   line);
  }
  return out;
}

std::optional<Millis> read_stable_for(FieldReader& reader, const Problems& problems) {
  const size_t before = problems.size();
  const std::string text = reader.text("stableFor");
  if (reader.member("stableFor") == nullptr || problems.size() > before) return std::nullopt;
  const auto time = parse_duration(text);
  if (time && *time <= kStableForMax) return time;
  reader.problem("stableFor", "is " + in_quotes(text, kWordBytesMax) +
                                  ", expected a time such as 2s, at most " + format_duration(kStableForMax));
  return std::nullopt;
}

// Reads one of the values. expected: the values as text for people.
template <class Enum>
std::optional<Enum> read_enum(FieldReader& reader, const Problems& problems, const char* field,
                              std::initializer_list<Enum> values, const char* expected) {
  const size_t before = problems.size();
  const std::string text = reader.text(field);
  if (reader.member(field) == nullptr || problems.size() > before) return std::nullopt;
  for (const Enum one : values)
    if (text == name_of(one)) return one;
  reader.problem(field, "is " + in_quotes(text, kWordBytesMax) + ", expected " + expected);
  return std::nullopt;
}

std::optional<OnLoss> read_on_loss(FieldReader& reader, const Problems& problems, const char* field) {
  return read_enum(reader, problems, field, {OnLoss::kWithdraw, OnLoss::kTaint, OnLoss::kKeep},
                   "withdraw, taint or keep");
}

std::optional<bool> read_flag(FieldReader& reader, const Problems& problems, const char* field) {
  const size_t before = problems.size();
  const bool value = reader.boolean(field, false);
  if (reader.member(field) == nullptr || problems.size() > before) return std::nullopt;
  return value;
}

}  // namespace

Readiness decode_readiness(const kube::Json* value, const std::string& path, Problems& problems) {
  FieldReader reader(value, path, problems);
  reader.only(kReadinessFields);
  Readiness out;
  const size_t before = problems.size();
  if (reader.member("require") != nullptr) out.require = read_require(reader);
  if (problems.size() > before) out.require.reset();
  if (reader.member("mtuAtLeast") != nullptr)
    out.mtu_at_least = static_cast<int>(reader.integer("mtuAtLeast", 0, kMtuMax, 0));
  out.stable_for = read_stable_for(reader, problems);
  out.on_loss = read_on_loss(reader, problems, "onLoss");
  out.on_link_down = read_on_loss(reader, problems, "onLinkDown");
  out.taint_effect = read_enum(reader, problems, "taintEffect",
                               {TaintEffect::kNoSchedule, TaintEffect::kNoExecute, TaintEffect::kNone},
                               "NoSchedule, NoExecute or None");
  out.hold_binding = read_flag(reader, problems, "holdBinding");
  out.set_admin_mac = read_flag(reader, problems, "setAdminMac");
  return out;
}

std::vector<std::string> readiness_fields() {
  std::vector<std::string> out;
  for (const std::string_view field : kReadinessFields) out.push_back("spec.readiness." + std::string(field));
  return out;
}

}  // namespace sliced::policy
