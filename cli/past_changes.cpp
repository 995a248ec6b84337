#include "cli/past_changes.h"

#include <ctime>

#include "cli/show.h"
#include "reactor/base/table.h"
#include "reactor/base/text.h"

namespace sliced::cli {
namespace {

constexpr size_t kNamesShown = 3;

std::string local_text(int64_t ms) {
  const auto seconds = static_cast<std::time_t>(ms / 1'000);
  std::tm parts{};
  char text[32] = "";
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", ::localtime_r(&seconds, &parts));
  return text;
}

std::string devices_text(const policy::OfferChange& change) {
  std::vector<std::string> names(
      change.devices.begin(),
      change.devices.begin() + static_cast<long>(std::min(change.devices.size(), kNamesShown)));
  const size_t more = change.devices.size() - names.size() + change.left_out;
  return join(names, ",") + (more == 0 ? "" : " and " + std::to_string(more) + " more");
}

}  // namespace

std::string past_changes_table(const std::vector<status::PastChange>& changes) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [at_ms, change] : changes)
    rows.push_back({local_text(at_ms), std::string(name_of(change.kind)), devices_text(change), change.policy,
                    change.generation > 0 ? std::to_string(change.generation) : "", change.manager,
                    change.outcome.empty() ? change.why : change.outcome + ": " + change.why});
  return table({"TIME", "CHANGE", "DEVICES", "POLICY", "GENERATION", "MANAGER", "WHY"}, rows);
}

kube::Json past_changes_list(const std::vector<status::PastChange>& changes) {
  std::vector<kube::Json> items;
  for (const status::PastChange& past : changes) items.push_back(json_of(past));
  return kube::list_of(std::move(items));
}

}  // namespace sliced::cli
