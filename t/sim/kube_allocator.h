#pragma once
// Kubernetes' own allocator, at the other end of standard output and input (t/worlds): one question a line, one answer a line, JSON.
#include <string>
#include <vector>

#include "kube/objects/json.h"

namespace sliced::sim {

class KubeAllocator {
 public:
  struct Question {
    kube::Json::Array slices;   // ResourceSlices
    kube::Json::Array results;  // what is allocated: DeviceRequestAllocationResults
    bool has_counters = true, has_shared = true;
    std::vector<std::vector<std::string>> claims;  // each: the entries that it asks for, "driver/pool/entry"
  };
  /// Of each claim: whether it would be allocated. Nothing is, so each answer is of the same state. Ends the program when nobody
  /// answers.
  std::vector<bool> ask(Question question);

 private:
  std::string told_;  // the slices as they were told last
};

}  // namespace sliced::sim
