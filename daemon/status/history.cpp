#include "daemon/status/history.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <utility>

#include "policy/identity.h"
#include "reactor/base/text.h"

namespace sliced::status {
namespace {

using kube::Json;
using policy::OfferChange;

constexpr size_t kTextBytesMax = 256;

size_t bytes_of(const PastChange& past) {
  const OfferChange& change = past.change;
  size_t out = sizeof(PastChange) + 2 * sizeof(PastChangePtr);
  for (const std::string* text :
       {&change.driver, &change.policy, &change.manager, &change.outcome, &change.why})
    out += text->size();
  for (const std::string& device : change.devices) out += sizeof(std::string) + device.size();
  return out;
}

std::optional<OfferChange::Kind> kind_of(std::string_view name) {
  for (const OfferChange::Kind kind : {OfferChange::Kind::kFound, OfferChange::Kind::kOffered,
                                       OfferChange::Kind::kChanged, OfferChange::Kind::kWithdrawn})
    if (name == name_of(kind)) return kind;
  return std::nullopt;
}

// The five texts of a change by their keys in JSON.
constexpr std::pair<std::string_view, std::string OfferChange::*> kTexts[] = {
    {"driver", &OfferChange::driver},   {"policy", &OfferChange::policy}, {"manager", &OfferChange::manager},
    {"outcome", &OfferChange::outcome}, {"why", &OfferChange::why},
};

int64_t number_in(const Json& json, std::string_view key) {
  const Json* found = json.find(key);
  return found != nullptr && found->integer() != nullptr ? *found->integer() : 0;
}

}  // namespace

void History::add(int64_t at_ms, OfferChange change) {
  for (const auto& [key, text] : kTexts) change.*text = cut(std::move(change.*text), kTextBytesMax);
  auto past = std::make_shared<const PastChange>(PastChange{at_ms, std::move(change)});
  bytes_ += bytes_of(*past);
  changes_.push_back(std::move(past));
  while (changes_.size() > 1 && (changes_.size() > kChangesMax || bytes_ > kBytesMax)) {
    bytes_ -= bytes_of(*changes_.front());
    changes_.pop_front();
  }
}

Json json_of(const PastChange& past) {
  const OfferChange& change = past.change;
  Json out = Json::Object{};
  out.set("time", utc_text(past.at_ms));
  out.set("change", name_of(change.kind));
  Json::Array devices;
  for (const std::string& device : change.devices) devices.push_back(printable(device));
  out.set("devices", std::move(devices));
  if (change.left_out > 0) out.set("devicesLeftOut", static_cast<int64_t>(change.left_out));
  if (change.generation > 0) out.set("generation", change.generation);
  for (const auto& [key, text] : kTexts)
    if (!(change.*text).empty()) out.set(key, printable(change.*text, kTextBytesMax));
  return out;
}

std::optional<PastChange> past_change_of(const Json& json) {
  const auto kind = kind_of(json.text("change"));
  const int64_t at_ms = ms_of_utc(json.text("time"));
  if (!kind || at_ms == 0) return std::nullopt;
  PastChange out{at_ms, {.kind = *kind}};
  if (const Json* devices = json.find("devices"); devices != nullptr && devices->array() != nullptr)
    for (const Json& device : *devices->array())
      if (device.string() != nullptr && out.change.devices.size() < policy::kOfferChangeDevicesMax)
        out.change.devices.push_back(*device.string());
  out.change.left_out = static_cast<size_t>(std::max<int64_t>(number_in(json, "devicesLeftOut"), 0));
  out.change.generation = number_in(json, "generation");
  for (const auto& [key, text] : kTexts) out.change.*text = json.text(key);
  return out;
}

std::optional<PastChange> past_change_of_journal(std::string_view line) {
  if (line.find("\"SLICED_CHANGE\"") == std::string_view::npos) return std::nullopt;
  const auto json = kube::decode_json(line);
  if (!json) return std::nullopt;
  const auto kind = kind_of(json->text("SLICED_CHANGE"));
  const auto at_us = parse_int(json->text("__REALTIME_TIMESTAMP"));
  if (!kind || !at_us || *at_us < 0) return std::nullopt;
  PastChange out{*at_us / 1'000, {.kind = *kind}};
  for (const auto& [key, text] : kTexts) {
    std::string name = "SLICED_" + std::string(key);
    std::ranges::transform(name, name.begin(),
                           [](char c) { return 'a' <= c && c <= 'z' ? c - 'a' + 'A' : c; });
    out.change.*text = json->text(name);
  }
  for (const std::string_view device : split(json->text("SLICED_DEVICES"), ','))
    if (!device.empty() && out.change.devices.size() < policy::kOfferChangeDevicesMax)
      out.change.devices.emplace_back(device);
  const int64_t count = parse_int(json->text("SLICED_COUNT")).value_or(0);
  const auto named = static_cast<int64_t>(out.change.devices.size());
  out.change.left_out = static_cast<size_t>(std::max<int64_t>(count - named, 0));
  out.change.generation = parse_int(json->text("SLICED_GENERATION")).value_or(0);
  return out;
}

int64_t wall_ms() {
  return std::chrono::duration_cast<Millis>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string utc_text(int64_t ms) {
  const std::time_t seconds = static_cast<std::time_t>(ms / 1'000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[48] = "";
  const size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text + length, sizeof text - length, ".%03dZ", static_cast<int>(ms % 1'000));
  return text;
}

int64_t ms_of_utc(std::string_view text) {
  std::tm parts{};
  int millis = 0, length = 0;
  const std::string whole(text.substr(0, 32));
  if (std::sscanf(whole.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ%n", &parts.tm_year, &parts.tm_mon,
                  &parts.tm_mday, &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &millis, &length) != 7 ||
      static_cast<size_t>(length) != text.size())
    return 0;
  parts.tm_year -= 1'900;
  parts.tm_mon -= 1;
  return static_cast<int64_t>(::timegm(&parts)) * 1'000 + millis;
}

bool is_about(const OfferChange& change, std::string_view name) {
  if (name.empty() || change.policy == name) return true;
  std::string dashed(name);
  std::ranges::replace_if(dashed, [](char c) { return c == ':' || c == '.'; }, '-');
  const auto function = policy::function_named_by(dashed);
  const bool is_function = function && policy::function_name(*function) == dashed;
  if (std::ranges::any_of(change.devices, [&](const std::string& device) {
        return device == name || (is_function && policy::function_named_by(device) == function);
      }))
    return true;
  // The policy "policy ns/name" also matches "ns/name" and "name".
  const std::string_view policy = change.policy;
  return policy.ends_with(name) && policy.size() > name.size() &&
         (policy[policy.size() - name.size() - 1] == ' ' || policy[policy.size() - name.size() - 1] == '/');
}

}  // namespace sliced::status
