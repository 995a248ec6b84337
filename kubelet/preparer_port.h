#pragma once
// What the plugin's server asks for, as plain values: the messages of the DRAPlugin service without their
// encoding (k8s.io/kubelet/pkg/apis/dra/v1). Implemented by kubelet/preparer.h, and by tests.
#include <functional>
#include <string>
#include <vector>

namespace sliced::kubelet {

/// A claim as the kubelet names it. Foreign text, already bounded; uid is checked against the object's.
struct PrepareRequest {
  std::string namespace_, name, uid;
  bool operator==(const PrepareRequest&) const = default;
};

/// One device that is prepared.
/// As dra/v1 Device has it; cdi_ids in the order in which the runtime applies them.
struct AnsweredDevice {
  std::vector<std::string> request_names;  // without sub-requests
  std::string pool, device;
  std::vector<std::string> cdi_ids;  // "vendor/class=name"
  std::string share_id;              // "" none; v1 only
  bool operator==(const AnsweredDevice&) const = default;
};

/// Of one claim: its devices, or why they are not prepared. A claim without a result of the driver has neither.
struct PrepareAnswer {
  std::vector<AnsweredDevice> devices;
  std::string error;  // "" prepared
  bool operator==(const PrepareAnswer&) const = default;
};

/// Threads:  everything on the loop's thread.
/// Reentry:  done is called exactly once and never from within the call; it may ask for more. None is called
///           after the Preparer's end.
/// Repeated: both are idempotent. Calls for one claim are done one after the other, others beside each other.
class Preparer {
 public:
  virtual ~Preparer() = default;
  /// driver: whose results of the claim are meant. The answer is on disk when done is called.
  virtual void prepare(const std::string& driver, PrepareRequest claim,
                       std::function<void(PrepareAnswer)> done) = 0;
  /// Also when claim, pod or device are gone. error: "" nothing of the claim is prepared any more.
  virtual void unprepare(const std::string& driver, PrepareRequest claim,
                         std::function<void(std::string error)> done) = 0;
};

}  // namespace sliced::kubelet
