#include <iterator>

#include "cli/commands.h"
#include "cli/decide_once.h"
#include "cli/recorded_process.h"
#include "cli/show.h"
#include "policy/explain.h"
#include "reactor/base/first_few.h"

namespace sliced::cli {
namespace {

std::string rendered(const publishers::SliceChanges& plan, const publishers::ObservedSlices& observed,
                     config::OutputFormat format) {
  if (format == config::OutputFormat::kDiff) return plan_diff(plan, observed);
  if (format == config::OutputFormat::kTable) return plan_table(plan, observed);
  std::vector<kube::Json> items;
  for (const kube::ResourceSlice& slice : slices_after(plan, observed))
    items.push_back(kube::encode_resource_slice(slice));
  return formatted(kube::list_of(std::move(items)), format);
}

constexpr size_t kWarningsMax = 20;

// Warns on stderr, because programs read the plan on stdout.
void warn_of_shared_groups(const policy::Decision& decision) {
  size_t found = 0;
  for (const auto& [id, device] : decision.inputs->inventory->devices) {
    const std::string problem = policy::iommu_problem(device);
    if (problem.empty() || policy::explain(decision, id, /*rules_max=*/0).entry.empty()) continue;
    if (++found <= kWarningsMax) daemon::print_error("device " + id + " " + problem);
  }
  if (found > kWarningsMax)
    daemon::print_error(and_more(found - kWarningsMax, "device") + " with a shared IOMMU group");
}

}  // namespace

int plan(const config::Options& options) {
  auto process = open_process(options);
  if (!process) {
    daemon::print_error(process.error().what);
    return daemon::kExitError;
  }
  auto daemon = decide_once(**process, options);
  if (!daemon) return (*process)->leave(daemon::kExitError);
  publishers::SliceChanges plan;
  publishers::ObservedSlices observed;
  const auto append = [](auto& to, auto& from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  for (const daemon::PoolPublisher& offer : daemon->offers()) {
    publishers::SliceChanges more = offer.publisher().plan();
    append(plan.deletes, more.deletes);
    append(plan.updates, more.updates);
    append(plan.creates, more.creates);
    observed.insert(offer.publisher().observed().begin(), offer.publisher().observed().end());
  }
  warn_of_shared_groups(*daemon->decision());
  const bool printed = daemon::print(rendered(plan, observed, options.output));
  daemon.reset();
  return (*process)->leave(!printed       ? daemon::kExitError
                           : plan.empty() ? daemon::kExitSame
                                          : daemon::kExitChanges);
}

}  // namespace sliced::cli
