#include <utility>
#include <vector>

#include "kubelet/preparer.h"

namespace sliced::kubelet {

std::span<const PrepareStep> ClaimPreparer::release_steps() {
  static constexpr PrepareStep kSteps[] = {
      &ClaimPreparer::detach,
      &ClaimPreparer::restore,
      &ClaimPreparer::commit_released,
      &ClaimPreparer::answer_released,
  };
  return kSteps;
}

// Its sandboxes have stopped by now, mostly. What a prepare gives up no sandbox has had.
void ClaimPreparer::detach(Task& task) {
  if (ports_.interfaces == nullptr || task.is_prepare || !task.before) return go_on(task);
  ports_.interfaces->detach(*task.before, [this, &task] { go_on(task); });
}

// Of an unprepare the claim is what its record says; of a prepare that gives up, as far as that has come.
void ClaimPreparer::restore(Task& task) {
  if (!task.is_prepare)
    task.claim = task.before ? *task.before : PreparedClaim{.driver = task.driver, .uid = task.request.uid};
  restore_devices(task, [this, &task](const std::string& problem) {
    if (problem.empty()) return go_on(task);
    fail(task,
         task.given_up.empty() ? problem : task.given_up + "; and it cannot be taken back yet: " + problem);
  });
}

void ClaimPreparer::restore_devices(Task& task, std::function<void(const std::string&)> next) {
  if (!is_bound(task.claim)) return next("");
  task.job = ports_.binder->run(Binding::kRestore, bound_devices(task.claim),
                                [next = std::move(next)](const std::vector<Result<std::string>>& restored) {
                                  for (const auto& one : restored)
                                    if (!one) return next(one.error().what);
                                  next("");
                                });
}

void ClaimPreparer::commit_released(Task& task) {
  release(task.key());
  commits_.add([this, claim = task.claim] { return removal_of(claim, prepared_, settings_.files); },
               [this, &task](const Result<Unit>& written) {
                 if (written) return go_on(task);
                 // Its files may be there still: nobody else gets its devices until they are gone.
                 if (!task.claim.devices.empty()) {
                   task.claim.is_complete = false;
                   reserve(task.claim);
                 }
                 fail(task, task.given_up.empty() ? written.error().what : task.given_up);
               });
}

void ClaimPreparer::answer_released(Task& task) {
  if (!task.claim.devices.empty() && handlers_.on_taken_back) handlers_.on_taken_back(task.claim);
  if (!task.given_up.empty()) return fail(task, task.given_up);
  if (!task.claim.devices.empty())
    ports_.log.info(
        "a claim is taken back",
        {{"driver", task.driver}, {"claim", describe(task.request)}, {"devices", names_of(task.claim)}});
  end(task, {});
}

}  // namespace sliced::kubelet
