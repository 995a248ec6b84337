#include "kubelet/refuser.h"

#include <utility>

namespace sliced::kubelet {

void Refuser::prepare(const std::string& driver, PrepareRequest claim,
                      std::function<void(PrepareAnswer)> done) {
  later([done = std::move(done),
         error = "not prepared: ResourceClaim " + claim.namespace_ + "/" + claim.name + ": sliced " +
                 SLICED_VERSION + " publishes devices of " + driver +
                 " and cannot hand them to containers yet"] { done({.error = error}); });
}

void Refuser::unprepare(const std::string&, PrepareRequest, std::function<void(std::string)> done) {
  later([done = std::move(done)] { done(""); });
}

void Refuser::later(reactor::Task task) {
  const uint64_t id = next_++;
  pending_[id] = scheduler_.after(Millis{0}, [this, id, task = std::move(task)] {
    const auto over = pending_.extract(id);
    task();
  });
}

}  // namespace sliced::kubelet
