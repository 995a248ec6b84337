#pragma once
// A Preparer that hands out nothing, and says so of each claim.
#include <cstdint>
#include <map>

#include "kubelet/preparer_port.h"
#include "reactor/scheduler.h"

namespace sliced::kubelet {

/// There is nothing to take back: each unprepare succeeds.
class Refuser final : public Preparer {
 public:
  explicit Refuser(reactor::Scheduler& scheduler) : scheduler_(scheduler) {}
  void prepare(const std::string& driver, PrepareRequest claim,
               std::function<void(PrepareAnswer)> done) override;
  void unprepare(const std::string& driver, PrepareRequest claim,
                 std::function<void(std::string)> done) override;

 private:
  void later(reactor::Task task);
  reactor::Scheduler& scheduler_;
  uint64_t next_ = 0;
  std::map<uint64_t, reactor::Ticket> pending_;
};

}  // namespace sliced::kubelet
