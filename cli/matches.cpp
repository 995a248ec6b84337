#include "cli/matches.h"

#include <algorithm>

#include "cli/dearest.h"
#include "cli/show.h"
#include "cli/table.h"
#include "policy/cel/published_device.h"
#include "policy/exposure/selector.h"
#include "reactor/base/text.h"

namespace sliced::cli {
namespace {

using Is = cel::Answer::Is;

cel::Answer answer_of(cel::Evaluator& evaluator, const cel::Program& program, const cel::Device& device) {
  const Is is = evaluator.select(program, device);
  return {is, evaluator.cost(), evaluator.steps(), is == Is::kError ? evaluator.error_text(program) : ""};
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return out;
}

std::string result_of(const cel::Answer& answer) {
  if (answer.is == Is::kError) return "error: " + answer.error;
  return answer.is == Is::kTrue ? "true" : "false";
}

}  // namespace

bool Match::operator==(const Match& other) const {
  return subject == other.subject && answer.is == other.answer.is && answer.cost == other.answer.cost &&
         answer.steps == other.answer.steps && answer.error == other.answer.error;
}

size_t Matches::count(Is is) const {
  return static_cast<size_t>(
      std::count_if(rows.begin(), rows.end(), [is](const Match& row) { return row.answer.is == is; }));
}

Matches match_host(const cel::Program& program, const hotplug::Inventory& inventory,
                   const std::string& driver) {
  Matches out{{"device", "type", "interface"}, {}};
  cel::Evaluator evaluator;
  policy::HostDeviceView view(driver);
  for (const auto& [id, device] : inventory.devices) {
    view.look_at(policy::facts_of(device, inventory));
    out.rows.push_back(
        {{id, std::string(name_of(device.type)), device.netdev ? device.netdev->name : std::string()},
         answer_of(evaluator, program, view)});
  }
  return out;
}

Matches match_entries(const cel::Program& program, const std::vector<kube::ResourceSlice>& slices) {
  Matches out{{"driver", "pool", "device"}, {}};
  cel::Evaluator evaluator;
  for (const kube::ResourceSlice& slice : slices)
    for (const kube::Device& entry : slice.devices)
      out.rows.push_back({{slice.driver, slice.pool.name, entry.name},
                          answer_of(evaluator, program, cel::PublishedDevice(slice.driver, entry))});
  std::stable_sort(out.rows.begin(), out.rows.end(),
                   [](const Match& a, const Match& b) { return a.subject < b.subject; });
  return out;
}

std::string matches_table(const Matches& matches) {
  std::vector<std::string> heading;
  for (const std::string& column : matches.columns) heading.push_back(upper(column));
  heading.insert(heading.end(), {"COST", "STEPS", "RESULT"});
  std::vector<std::vector<std::string>> rows;
  Dearest dearest;
  for (const Match& match : matches.rows) {
    rows.push_back(match.subject);
    rows.back().push_back(std::to_string(match.answer.cost));
    rows.back().push_back(std::to_string(match.answer.steps));
    rows.back().push_back(result_of(match.answer));
    dearest.add(match.answer.cost, match.answer.steps);
  }
  return table(heading, rows) + std::to_string(matches.count(Is::kTrue)) + " of " +
         std::to_string(matches.rows.size()) + " devices match, " +
         std::to_string(matches.count(Is::kError)) + " errors; the dearest costs " + dearest.text() + "\n" +
         (dearest.is_near() ? "warning: " + std::string(kNearLimit) + "\n" : "");
}

kube::Json json_of(const Matches& matches) {
  std::vector<kube::Json> items;
  for (const Match& match : matches.rows) {
    kube::Json item = kube::Json::Object{};
    for (size_t i = 0; i < matches.columns.size(); ++i)
      if (const std::string& text = match.subject[i]; !text.empty())
        item.set(matches.columns[i], is_utf8(text) ? text : escaped(text));
    item.set("matches", match.answer.is == Is::kTrue);
    item.set("cost", static_cast<int64_t>(match.answer.cost));
    item.set("steps", static_cast<int64_t>(match.answer.steps));
    if (match.answer.is == Is::kError) item.set("error", match.answer.error);
    items.push_back(std::move(item));
  }
  return list_of(std::move(items));
}

}  // namespace sliced::cli
