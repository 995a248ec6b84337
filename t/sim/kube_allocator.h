#pragma once
// Kubernetes' own allocator, at the other end of standard output and input (t/worlds): one question a line, one answer a line, JSON.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kube/objects/json.h"

namespace sliced::sim {

/// A claim: a request for one device for each of the entries, or one request for devices of a class.
struct AskedClaim {
  std::vector<std::string> entries;  // "driver/pool/entry"
  std::string driver;                // the class: its devices that are shared, or are not
  bool is_shared = false;
  int64_t count = 0;                          // how many devices of the class; 0: all
  std::map<std::string, int64_t> capacities;  // that each request asks for

  kube::Json json() const;
  std::string text() const;  // for people
  bool is_of_class() const { return entries.empty(); }
};

class KubeAllocator {
 public:
  struct Question {
    kube::Json::Array slices;   // ResourceSlices
    kube::Json::Array results;  // what is allocated: DeviceRequestAllocationResults
    bool has_counters = true, has_shared = true;
    std::vector<AskedClaim> claims;
  };
  /// Of each claim: whether it would be allocated. Nothing is, so each answer is of the same state. Ends the program when nobody
  /// answers.
  std::vector<bool> ask(Question question);

 private:
  std::string told_;  // the slices as they were told last
};

}  // namespace sliced::sim
