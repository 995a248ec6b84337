#pragma once
// The fields of ResourceClaim and DeviceClass (resource.k8s.io/v1) that affect allocation.
//
// Errors: kInvalid with its path for a field of the wrong type. An unknown kind of constraint or selector
// (from a later release) is listed in `unknown`: no certain answer is possible for its object.
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

namespace sliced::why {

/// A toleration of a request or of a pod; op: "Equal" (also if empty) or "Exists".
struct Toleration {
  std::string key, op, value, effect;
  bool operator==(const Toleration&) const = default;
};
/// As resourceclaim.ToleratesTaint: an empty key or effect matches any. An unknown operator tolerates
/// nothing. tolerationSeconds is not read: it affects eviction only.
bool tolerates(const Toleration& toleration, const kube::Taint& taint);

/// Configuration for drivers (spec.config) is omitted, as for claims.
struct DeviceClass {
  std::string name;
  std::vector<std::string> selectors;  // CEL
  std::string extended_resource;       // name for container requests without a claim; "" if none
  std::string created;                 // metadata.creationTimestamp, RFC 3339 in UTC
  std::vector<std::string> unknown;
  bool operator==(const DeviceClass&) const = default;
};

/// Devices of one kind: a request, or one alternative of a request with firstAvailable.
struct Request {
  std::string name;
  /// deviceClassName; search() checks whether it exists.
  std::string device_class;
  std::vector<std::string> selectors;  // CEL
  bool all = false;                    // allocationMode: All; count is unused then
  /// 1 if missing, as by the API server's defaulting, which files lack.
  int64_t count = 1;
  bool admin_access = false;
  std::vector<Toleration> tolerations;
  std::map<std::string, kube::Quantity> capacity;
  /// For extended resources: "container app asks for 2 of example.com/vf"; "" for a claim's own requests.
  std::string source;
  bool operator==(const Request&) const = default;
};

/// One of spec.devices.requests. Empty alternatives imply an entry in Claim::unknown. `exactly` has one
/// alternative; of firstAvailable the first available one is used.
struct RequestGroup {
  std::string name;
  bool is_list = false;
  std::vector<Request> alternatives;
  bool operator==(const RequestGroup&) const = default;
};

/// All devices of the requests (of all if empty) have the attribute, with one common value or with distinct
/// values.
struct Constraint {
  std::vector<std::string> requests;  // "request" or "request/alternative"
  bool is_distinct = false;
  std::string attribute;
  bool operator==(const Constraint&) const = default;
};

/// One of status.allocation.devices.results; request as in Constraint.
struct AllocationResult {
  std::string request, driver, pool, device;
  bool admin_access = false;
  bool is_share = false;  // has a shareID
  /// Reason why the scheduler does not bind the pod yet, by binding conditions (KEP-5007): "condition d/Ready
  /// is not True: ..."; "" if none.
  std::string held;
  std::optional<std::map<std::string, kube::Quantity>> consumed;  // consumedCapacity
  bool operator==(const AllocationResult&) const = default;
};

/// status.allocation. Configuration for drivers (devices.config) is omitted: it does not affect allocation.
struct Allocation {
  std::vector<AllocationResult> devices;
  std::optional<kube::NodeSelector> nodes;  // missing: everywhere
  bool operator==(const Allocation&) const = default;
};

/// State of the pods that use a claim, sorted by the harm of losing its devices.
enum class UsersState : uint8_t {
  kEnding,    // each has ended, is being deleted or does not exist
  kFailing,   // none runs, and a container of one of them cannot start or fails
  kStarting,  // none runs
  kRunning,   // one runs, or the state is unknown
};
/// Returns "ending", "failing", "starting", "running". An interface: `kubectl sliced why -o json` contains
/// it.
std::string_view name_of(UsersState state);

/// A ResourceClaim: spec, allocation and consumers. Of status.devices, which drivers write, only binding
/// conditions are read.
struct Claim {
  std::string namespace_, name;
  std::vector<RequestGroup> requests;
  std::vector<Constraint> constraints;
  std::optional<Allocation> allocation;
  std::vector<std::string>
      users;                 // names of the pods in status.reservedFor; other consumers as "plural/name"
  bool is_made = true;       // false: it will be created from a template or by the scheduler
  bool is_extended = false;  // for the pod's extended resources (kubectl/why/extended.h)
  bool is_deleted = false;   // metadata.deletionTimestamp is set
  /// State of `users`, if their pods were read (kubectl/why/users.h); users_note: a text about the most
  /// active one: "has ended (Failed)".
  UsersState users_state = UsersState::kRunning;
  std::string users_note;
  std::vector<std::string> unknown;
  std::string id() const { return namespace_ + "/" + name; }
  bool operator==(const Claim&) const = default;
};

/// resource.k8s.io/v1. For all requests of a claim together; more are an error of the scheduler.
inline constexpr size_t kResultsMax = 32;  // AllocationResultsMaxSize: devices of one claim

/// Errors of the three: kInvalid; the text begins with kind and name of the object, then the path of the
/// first wrong field. Other fields are not checked.
Result<DeviceClass> decode_device_class(const kube::Json& object);
Result<Claim> decode_claim(const kube::Json& object);
/// Decodes spec.spec of a ResourceClaimTemplate as the claim to be created. Name and namespace are the
/// template's.
Result<Claim> decode_claim_template(const kube::Json& object);

/// Returns "request", or "request/alternative".
std::string request_id(const RequestGroup& group, const Request& request);
/// Returns "all devices", "2 devices", "1 device", for people.
std::string describe_count(const Request& request);

}  // namespace sliced::why
