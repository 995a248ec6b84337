#pragma once
// A Preparer before another one, that counts what the kubelet is answered.
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "kubelet/preparer_port.h"

namespace sliced::kubelet {

/// Reentry and ends are those of the one behind it, which outlives it; it may go before it has answered.
class CountedPreparer final : public Preparer {
 public:
  struct Counts {
    uint64_t prepared = 0, not_prepared = 0, unprepared = 0,
             not_unprepared = 0;  // claims, each time one is asked for
  };
  using ByDriver = std::map<std::string, Counts>;

  explicit CountedPreparer(Preparer& behind) : behind_(behind), counts_(std::make_shared<ByDriver>()) {}

  void prepare(const std::string& driver, PrepareRequest claim,
               std::function<void(PrepareAnswer)> done) override;
  void unprepare(const std::string& driver, PrepareRequest claim,
                 std::function<void(std::string error)> done) override;
  const ByDriver& counts() const { return *counts_; }

 private:
  Preparer& behind_;
  const std::shared_ptr<ByDriver> counts_;
};

}  // namespace sliced::kubelet
