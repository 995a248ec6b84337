#include "daemon/status/device_rows.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "reactor/base/text.h"

namespace sliced::status {
namespace {

using kube::Json;

constexpr size_t kRowTextBytesMax = 1'024;

constexpr std::pair<std::string_view, std::string DeviceRow::*> kMembers[] = {
    {"id", &DeviceRow::id},
    {"type", &DeviceRow::type},
    {"kind", &DeviceRow::kind},
    {"interface", &DeviceRow::interface},
    {"link", &DeviceRow::link},
    {"driver", &DeviceRow::driver},
    {"disposition", &DeviceRow::disposition},
    {"claim", &DeviceRow::claim},
    {"why", &DeviceRow::why},
    {"group", &DeviceRow::group},
    {"order", &DeviceRow::order},
};

}  // namespace

void sort_rows(std::vector<DeviceRow>& rows) {
  std::ranges::sort(rows, [](const DeviceRow& a, const DeviceRow& b) {
    return std::tie(a.group, a.order, a.id) < std::tie(b.group, b.order, b.id);
  });
}

Json json_of(const DeviceRow& row) {
  Json out = Json::Object{};
  for (const auto& [key, text] : kMembers) out.set(key, printable(row.*text, kRowTextBytesMax));
  return out;
}

RowsDelta difference(const DeviceRows& before, const DeviceRows& now, size_t changes_max) {
  std::map<std::string_view, const DeviceRow*> old;
  for (const DeviceRow& row : before.rows) old.emplace(row.id, &row);
  Json::Array set, gone;
  size_t changes = 0;
  for (const DeviceRow& row : now.rows) {
    const auto at = old.find(row.id);
    const bool is_same = at != old.end() && *at->second == row;
    if (at != old.end()) old.erase(at);
    if (!is_same && ++changes <= changes_max) set.push_back(json_of(row));
  }
  for (const auto& [id, row] : old)
    if (++changes <= changes_max) gone.push_back(printable(id, kRowTextBytesMax));
  RowsDelta out{.json = Json::Object{}, .is_whole = changes <= changes_max, .is_empty = changes == 0};
  if (out.is_whole) out.json.set("from", static_cast<int64_t>(before.moment));
  out.json.set("to", static_cast<int64_t>(now.moment));
  if (!out.is_whole) return out;
  out.json.set("set", std::move(set));
  out.json.set("gone", std::move(gone));
  return out;
}

}  // namespace sliced::status
