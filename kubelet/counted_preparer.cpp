#include "kubelet/counted_preparer.h"

#include <utility>

namespace sliced::kubelet {

void CountedPreparer::prepare(const std::string& driver, PrepareRequest claim,
                              std::function<void(PrepareAnswer)> done) {
  behind_.prepare(
      driver, std::move(claim),
      [counts = counts_, driver, now = now_, begun = now_(), done = std::move(done)](PrepareAnswer answer) {
        Counts& mine = (*counts)[driver];
        mine.prepare.add(now() - begun);
        ++(answer.error.empty() ? mine.prepared : mine.not_prepared);
        done(std::move(answer));
      });
}

void CountedPreparer::unprepare(const std::string& driver, PrepareRequest claim,
                                std::function<void(std::string)> done) {
  behind_.unprepare(driver, std::move(claim),
                    [counts = counts_, driver, done = std::move(done)](std::string error) {
                      Counts& mine = (*counts)[driver];
                      ++(error.empty() ? mine.unprepared : mine.not_unprepared);
                      done(std::move(error));
                    });
}

}  // namespace sliced::kubelet
