#include "daemon/problem_reporter.h"

#include "reactor/base/first_few.h"
#include "reactor/base/text.h"

namespace sliced::daemon {

void for_each_problem(const PolicyBook& policies, const policy::Decision* decision,
                      const std::function<void(const std::string&)>& say) {
  policies.for_each_problem(say);
  if (decision != nullptr)
    for (const auto& [policy, problem] : policy::problems_of(*decision))
      say(policy + ": " + (problem.field.empty() ? "" : problem.field + ": ") + problem.what);
  policies.for_each_left_out(say);
}

void ProblemReporter::say(const std::string& why) { log_.warning("policy problem", {{"why", why}}); }

void ProblemReporter::tell(const PolicyBook& policies, const policy::Decision& decision, bool are_devices) {
  const auto report_if_new = [this](RateLimitedLog& log, const std::string& text) {
    if (log.note(text)) say(cut(text, kMessageBytesMax));
  };
  for_each_problem(policies, &decision, [&](const std::string& text) { report_if_new(problems_, text); });
  for (const std::string& note : decision.notes)
    if (are_devices || !note.starts_with("device ")) report_if_new(notes_, note);
  if (const size_t more = decision.notes.more(); more > 0 && are_devices)
    report_if_new(notes_, and_more(more, "note"));
  for (const std::string& wait : decision.waits)
    if (waits_.note(wait)) log_.info("waiting", {{"for", wait}});
  // Once per reason: its number of devices changes while they appear.
  for (const auto& [reason, devices] : decision.unready)
    if (waits_.note(reason))
      log_.info(
          "waiting",
          {{"for", reason}, {"devices", devices.count}, {"such_as", devices.example}, {"why", devices.why}});
  if (const size_t unreported = waits_.end_round(); unreported > 0)
    log_.info("waiting", {{"for", and_more(unreported)}});
  if (const size_t unreported = problems_.end_round() + notes_.end_round(); unreported > 0)
    say(and_more(unreported));
}

}  // namespace sliced::daemon
