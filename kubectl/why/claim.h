#pragma once
// ResourceClaim and DeviceClass (resource.k8s.io/v1) as far as allocating looks at them.
//
// Errors: what is of a wrong shape is kInvalid with its path. What is of a kind that is not known here (a
//         constraint or a selector of a later release) is kept as a word in `unknown`: nothing may be said for
//         sure of whoever has any.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/json.h"
#include "kube/objects/quantity.h"
#include "kube/objects/resource_slice.h"
#include "kube/objects/selector.h"
#include "reactor/base/result.h"

namespace sliced::allocation {

/// Of a request or of a pod; operator "Equal" (also when it is empty) or "Exists".
struct Toleration {
  std::string key, op, value, effect;
  bool operator==(const Toleration&) const = default;
};
/// As resourceclaim.ToleratesTaint: empty key and effect are any. An operator that is not known tolerates
/// nothing. tolerationSeconds is not read: it says when a pod is evicted, not whether a device is picked.
bool tolerates(const Toleration& toleration, const kube::Taint& taint);

/// Configuration for drivers (spec.config) is not kept, as of claims.
struct DeviceClass {
  std::string name;
  std::vector<std::string> selectors;  // CEL
  std::string extended_resource;       // by whose name containers ask for it without a claim; "" none
  std::string created;                 // metadata.creationTimestamp, RFC 3339 in UTC
  std::vector<std::string> unknown;
  bool operator==(const DeviceClass&) const = default;
};

/// Devices of one kind: a request, or one alternative of a request with firstAvailable.
struct Request {
  std::string name;
  /// deviceClassName; whether there is one of that name is search()'s to say.
  std::string device_class;
  std::vector<std::string> selectors;  // CEL
  bool all = false;                    // allocationMode: All; count means nothing then
  /// 1 where the object has none, as the API server's defaulting has it: files have not been through that.
  int64_t count = 1;
  bool admin_access = false;
  std::vector<Toleration> tolerations;
  std::map<std::string, kube::Quantity> capacity;
  /// Of extended resources: "container app asks for 2 of example.com/vf"; "" of a claim's own requests.
  std::string source;
  bool operator==(const Request&) const = default;
};

/// One of spec.devices.requests. Without alternatives only where Claim::unknown says so.
/// exactly has one alternative; of firstAvailable the first that can be had is taken.
struct RequestGroup {
  std::string name;
  bool is_list = false;
  std::vector<Request> alternatives;
  bool operator==(const RequestGroup&) const = default;
};

/// All devices of the requests (of all, where none is named) have the attribute, with one value or each with its own.
struct Constraint {
  std::vector<std::string> requests;  // "request" or "request/alternative"
  bool is_distinct = false;
  std::string attribute;
  bool operator==(const Constraint&) const = default;
};

/// One of status.allocation.devices.results; request as in Constraint.
struct AllocatedDevice {
  std::string request, driver, pool, device;
  bool admin_access = false;
  bool is_share = false;                                          // has a shareID
  std::optional<std::map<std::string, kube::Quantity>> consumed;  // consumedCapacity
  bool operator==(const AllocatedDevice&) const = default;
};

/// status.allocation. Configuration for drivers (devices.config) is not kept: it does not decide who has what.
struct Allocation {
  std::vector<AllocatedDevice> devices;
  std::optional<kube::NodeSelector> nodes;  // absent: everywhere
  bool operator==(const Allocation&) const = default;
};

/// How far the pods are that use a claim, from those that miss its devices least.
enum class UsersState : uint8_t {
  kEnding,    // each has ended, is being deleted or does not exist
  kFailing,   // none runs, and a container of one of them cannot start or fails
  kStarting,  // none runs
  kRunning,   // one runs, or it is not known
};
/// "ending", "failing", "starting", "running". An interface: `kubectl sliced why -o json` has it.
std::string_view name_of(UsersState state);

/// A ResourceClaim: spec, and of the status what is allocated and for whom. status.devices, which drivers
/// write, is not kept.
struct Claim {
  std::string namespace_, name;
  std::vector<RequestGroup> requests;
  std::vector<Constraint> constraints;
  std::optional<Allocation> allocation;
  std::vector<std::string>
      users;                 // names of the pods in status.reservedFor; other consumers as "plural/name"
  bool is_made = true;       // false: it will be, from a template or by the scheduler
  bool is_extended = false;  // of the pod's extended resources (kubectl/why/extended.h)
  bool is_deleted = false;   // metadata.deletionTimestamp is set
  /// Of `users`, where their pods were read (kubectl/why/users.h); note: in words, of the one that is furthest: "has ended (Failed)".
  UsersState users_state = UsersState::kRunning;
  std::string users_note;
  std::vector<std::string> unknown;
  std::string id() const { return namespace_ + "/" + name; }
  bool operator==(const Claim&) const = default;
};

/// resource.k8s.io/v1. Of all requests of a claim together; more than that is an error of the scheduler's.
inline constexpr size_t kResultsMax = 32;  // AllocationResultsMaxSize: devices of one claim

/// Errors of the three: kInvalid; the text begins with kind and name of the object, then the path of the
/// first field that is wrong. Fields that are not looked at may have any shape.
Result<DeviceClass> decode_device_class(const kube::Json& object);
Result<Claim> decode_claim(const kube::Json& object);
/// spec.spec of a ResourceClaimTemplate, as the claim that is made of it. Name and namespace are the template's.
Result<Claim> decode_claim_template(const kube::Json& object);

/// "request", or "request/alternative".
std::string request_id(const RequestGroup& group, const Request& request);
/// For people: "all devices", "2 devices", "1 device".
std::string describe_count(const Request& request);

}  // namespace sliced::allocation
