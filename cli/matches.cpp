#include "cli/matches.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "cel/published_device.h"
#include "cli/show.h"
#include "policy/exposure/max_cost.h"
#include "policy/exposure/selector.h"
#include "reactor/base/table.h"
#include "reactor/base/text.h"

namespace sliced::cli {
namespace {

using Is = cel::Answer::Is;

// Evaluates one expression for one device after the other within the work budget.
class Asking {
 public:
  Asking(const cel::Program& program, uint64_t steps_max, Matches& out)
      : program_(program), steps_max_(steps_max), room_(steps_max), out_(out) {}

  void ask(const cel::Device& device, std::vector<std::string> subject) {
    if (left_out_ > 0) return leave_out(subject);
    const Is is =
        evaluator_.select(program_, device, std::min(cel::kCostMax, room_), std::min(cel::kStepsMax, room_));
    const uint64_t took = std::max(evaluator_.cost(), evaluator_.steps());
    if (took > room_) return leave_out(subject);
    room_ -= took;
    out_.rows.push_back({std::move(subject),
                         {is, evaluator_.cost(), evaluator_.steps(),
                          is == Is::kError ? evaluator_.error_text(program_) : ""}});
  }
  /// what: singular of the evaluated objects.
  void finish(const std::string& what, const std::string& meaning) {
    if (left_out_ == 0) return;
    out_.left_out = std::to_string(left_out_) + " of " + std::to_string(out_.rows.size() + left_out_) + " " +
                    what + " were not asked, the first of them " + first_ + ": the expression may take " +
                    std::to_string(steps_max_) + " work steps or cost units over all of them" + meaning +
                    "; make it simpler";
  }

 private:
  void leave_out(const std::vector<std::string>& subject) {
    if (left_out_++ == 0) first_ = escaped(join(subject, " "));
  }

  const cel::Program& program_;
  const uint64_t steps_max_;
  uint64_t room_;
  Matches& out_;
  cel::Evaluator evaluator_;
  size_t left_out_ = 0;
  std::string first_;
};

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
                   const std::string& driver, uint64_t steps_max) {
  Matches out{{"device", "type", "interface"}, {}, ""};
  Asking asking(program, steps_max, out);
  policy::HostDeviceView view(driver);
  for (const auto& [id, device] : inventory.devices) {
    view.set_device(policy::facts_of(device, inventory));
    asking.ask(view,
               {id, std::string(name_of(device.type)), device.netdev ? device.netdev->name : std::string()});
  }
  asking.finish("devices", ", and a policy with it is not used on this host");
  return out;
}

Matches match_entries(const cel::Program& program, const std::vector<kube::ResourceSlice>& slices,
                      uint64_t steps_max) {
  Matches out{{"driver", "pool", "device"}, {}, ""};
  std::vector<std::pair<const kube::ResourceSlice*, const kube::Device*>> entries;
  for (const kube::ResourceSlice& slice : slices)
    for (const kube::Device& entry : slice.devices) entries.emplace_back(&slice, &entry);
  const auto name = [](const auto& one) {
    return std::tie(one.first->driver, one.first->pool.name, one.second->name);
  };
  std::stable_sort(entries.begin(), entries.end(),
                   [&](const auto& a, const auto& b) { return name(a) < name(b); });
  Asking asking(program, steps_max, out);
  for (const auto& [slice, entry] : entries)
    asking.ask(cel::PublishedDevice(slice->driver, *entry), {slice->driver, slice->pool.name, entry->name});
  asking.finish("entries", " here, though a scheduler limits it for each alone");
  return out;
}

std::string matches_table(const Matches& matches) {
  std::vector<std::string> heading;
  for (const std::string& column : matches.columns) heading.push_back(upper(column));
  heading.insert(heading.end(), {"COST", "STEPS", "RESULT"});
  std::vector<std::vector<std::string>> rows;
  policy::MaxCost dearest;
  for (const Match& match : matches.rows) {
    rows.push_back(match.subject);
    rows.back().push_back(std::to_string(match.answer.cost));
    rows.back().push_back(std::to_string(match.answer.steps));
    rows.back().push_back(result_of(match.answer));
    dearest.add(match.answer.cost, match.answer.steps);
  }
  return table(heading, rows) + std::to_string(matches.count(Is::kTrue)) + " of " +
         std::to_string(matches.rows.size()) + " devices match, " +
         std::to_string(matches.count(Is::kError)) + (matches.count(Is::kError) == 1 ? " error" : " errors") +
         "; the most expensive evaluation costs " + dearest.text() + "\n" +
         (dearest.is_near() ? "warning: " + std::string(policy::kNearLimit) + "\n" : "");
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
  return kube::list_of(std::move(items));
}

}  // namespace sliced::cli
