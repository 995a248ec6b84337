#pragma once
// The calls of the DRAPlugin service as plain values (k8s.io/kubelet/pkg/apis/dra/v1). kubelet/preparer.h and
// tests implement them.
#include <functional>
#include <string>
#include <vector>

namespace sliced::kubelet {

/// A claim in a call of the kubelet. The texts are unescaped, but of limited length; uid is compared with the
/// object's.
struct PrepareRequest {
  std::string namespace_, name, uid;
  bool operator==(const PrepareRequest&) const = default;
};

/// One prepared device, as in dra/v1 Device. cdi_ids are in the order in which the runtime applies them.
struct AnsweredDevice {
  std::vector<std::string> request_names;  // without subrequests
  std::string pool, device;
  std::vector<std::string> cdi_ids;  // "vendor/class=name"
  std::string share_id;              // "" if none; v1 only
  bool operator==(const AnsweredDevice&) const = default;
};

/// Answer for one claim: its devices, or an error. Both are empty for a claim without results of the driver.
struct PrepareAnswer {
  std::vector<AnsweredDevice> devices;
  std::string error;  // "" if prepared
  bool operator==(const PrepareAnswer&) const = default;
};

/// Threads: everything on the loop's thread.
/// Reentry: `done` is called exactly once and never from within the call; it may start further calls. It is
/// not called after the Preparer's destruction.
/// Idempotence: both calls may be repeated. Calls for one claim run one after the other, those for different
/// claims concurrently.
class Preparer {
 public:
  virtual ~Preparer() = default;
  /// driver: selects the results of the claim. The result is on disk when `done` is called.
  virtual void prepare(const std::string& driver, PrepareRequest claim,
                       std::function<void(PrepareAnswer)> done) = 0;
  /// Also succeeds if the claim, pod or device no longer exists. error: "" if nothing of the claim is
  /// prepared.
  virtual void unprepare(const std::string& driver, PrepareRequest claim,
                         std::function<void(std::string error)> done) = 0;
};

}  // namespace sliced::kubelet
