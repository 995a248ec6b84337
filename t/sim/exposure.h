#pragma once
// The second opinion on DeviceExposurePolicies: policies as they were generated, devices as whoever runs the
// machine knows them, and which two entries must never be allocated at the same time. Shares no code with
// policy/.
//
// An answer may be open: an interface that is in a pod has facts that the daemon may or may not know.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kube/objects/json.h"
#include "t/sim/dice.h"
#include "t/sim/oracle.h"

namespace sliced::sim {

inline constexpr const char* kExposureDriver = "dra.networking";

enum class Answer : uint8_t { kNo, kYes, kOpen };

/// A PF, VF or link. A VF without its link to its PF looks like any function: type "nic", pf "".
struct DeviceFacts {
  bool is_there = false;
  std::string id;    // PCI address; of a link the interface's name
  std::string type;  // pf vf nic bridge vlan virtual
  std::string pf;    // of a VF: the address of its PF
  std::string vendor, driver;
  int index = -1;
  std::string name;           // of the interface, "" none
  std::string master;         // the bridge, "" none
  bool is_away = false;       // the interface is in a pod
  bool is_name_open = false;  // it left before anybody read its name, or has come back under another one
  bool host_use = false;
  std::set<std::string> names;  // as in VfFacts
  uint64_t born = 0;            // no two devices are born at the same time, also where they have the same id
  bool operator==(const DeviceFacts&) const = default;
  bool is_function() const { return !vendor.empty(); }
};

/// A selector: a text for the daemon, and what it means.
struct Condition {
  enum class Of : uint8_t {
    kAnything,
    kType,
    kName,
    kAddress,
    kPfAddress,
    kPfName,
    kVendor,
    kDriver,
    kIndexBelow,
    kFree,
    kBoth,
    kEither,
    kNot,
  };
  Of of = Of::kAnything;
  std::string text;
  int number = 0;
  std::vector<Condition> parts = {};
  bool operator==(const Condition&) const = default;
};
std::string cel_of(const Condition& condition);
/// pf_names: those that its PF may have, as in PfFacts.
Answer answer_of(const Condition& condition, const DeviceFacts& device,
                 const std::set<std::string>& pf_names);

/// A DeviceExposurePolicy that exposes. No two texts of a history have the same rev, which their entries
/// tell.
struct Exposure {
  std::string name;
  int64_t rev = 0;
  int priority = 100;
  bool is_broken = false;  // has a field that nobody knows
  Condition selector;
  std::string suffix, group;
  bool is_shared = false;
  int64_t capacity = 0;  // of a shared one: how much there is of it; 0 does not say, which is 1000
  int64_t each = 1;      // of that: what a claim takes
  bool allow_host_use = false, include_virtual = false;
  std::optional<Millis> wants_mac_for;  // an admin MAC, for so long, where the device is a VF
  /// Of what stands, and has lost that MAC.
  enum class Lost : uint8_t { kGoes, kStays, kStaysTainted } lost = Lost::kGoes;
  Labels nodes;  // matchLabels; empty: every node
};
using ExposurePtr = std::shared_ptr<const Exposure>;
using Exposures = std::map<std::string, ExposurePtr>;  // by name
kube::Json object_of(const Exposure& exposure);

/// A policy that offers a device, or may.
struct Persona {
  ExposurePtr policy;
  bool is_sure = true;
};
/// By suffix; where it is open who wins, each that may. What excludes say is not asked.
std::vector<Persona> personas_of(const DeviceFacts& device, const std::set<std::string>& pf_names,
                                 const Exposures& policies, const Labels& node);

/// An entry of either driver, as its policy's author reads the policy.
struct Offer {
  std::string driver, pool, name;
  std::string device, type, pf;  // as in DeviceFacts
  uint64_t born = 0;
  bool is_exclusive = true;
  int64_t takes = 1;  // of a shared one: what a claim takes of its capacity
  std::string group, suffix;
  std::string id() const { return driver + "/" + pool + "/" + name; }
};
/// Why the two must not be allocated at the same time; "" when they may.
std::string why_not_both(const Offer& a, const Offer& b);

/// "<node>/<PF's address dashed>" of a PF and its VFs, "<node>/net" of the rest.
std::string pool_of(const DeviceFacts& device, const std::string& node);
/// What the entry's name begins with.
std::string base_of(const DeviceFacts& device);

}  // namespace sliced::sim
