#include "kubelet/counted_preparer.h"

#include <algorithm>
#include <utility>

namespace sliced::kubelet {

void CountedPreparer::prepare(const std::string& driver, PrepareRequest claim,
                              std::function<void(PrepareAnswer)> done) {
  const std::string uid = claim.uid;
  behind_.prepare(driver, std::move(claim),
                  [counts = counts_, failing = failing_, driver, uid, now = now_, begun = now_(),
                   done = std::move(done)](PrepareAnswer answer) {
                    Counts& mine = (*counts)[driver];
                    mine.prepare.add(now() - begun);
                    ++(answer.error.empty() ? mine.prepared : mine.not_prepared);
                    auto& known = (*failing)[driver];
                    std::erase_if(known,
                                  [at = now()](const auto& one) { return one.second + kFailingFor < at; });
                    if (answer.error.empty())
                      known.erase(uid);
                    else if (known.size() < kFailingMax || known.contains(uid))
                      known[uid] = now();
                    done(std::move(answer));
                  });
}

void CountedPreparer::unprepare(const std::string& driver, PrepareRequest claim,
                                std::function<void(std::string)> done) {
  const std::string uid = claim.uid;
  behind_.unprepare(
      driver, std::move(claim),
      [counts = counts_, failing = failing_, driver, uid, done = std::move(done)](std::string error) {
        Counts& mine = (*counts)[driver];
        ++(error.empty() ? mine.unprepared : mine.not_unprepared);
        if (error.empty()) (*failing)[driver].erase(uid);
        done(std::move(error));
      });
}

size_t CountedPreparer::failing(const std::string& driver) const {
  const auto at = failing_->find(driver);
  if (at == failing_->end()) return 0;
  const TimePoint now = now_();
  return static_cast<size_t>(std::count_if(at->second.begin(), at->second.end(),
                                           [&](const auto& one) { return one.second + kFailingFor >= now; }));
}

}  // namespace sliced::kubelet
