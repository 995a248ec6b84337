#pragma once
// Builds pools from the offers that passed all gates: conflicts between entries, withdrawn entries that stay
// reserved, and the counters for both.
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "policy/deciding.h"
#include "policy/exposure/exclusion.h"
#include "policy/exposure/policy.h"
#include "policy/gates/settling.h"

namespace sliced::policy {

/// One offered entry before its counters are known. Pointers refer to the decision's inputs and results, and
/// to drafts of ExposedEntries, which outlive it.
struct Candidate {
  const hotplug::HostDevice* device;
  PersonaVerdict* verdict;
  const ExposurePolicy* policy;
  Holding holding;
  kube::DevicePtr entry;  // with its former counters
  Draft* draft;           // its source
  std::vector<kube::CounterConsumption> consumes = {};
  const std::string& name() const { return holding.entry; }
};
using CandidatesByPool = std::map<std::string, std::vector<Candidate>>;

/// The pools of one decision: one for each PF with its VFs, and one for links. Built after all gates, because
/// the counters of an entry depend on other offered and withdrawn entries.
class ExposurePools {
 public:
  /// links: names of links without suffix, by id. Requires: all arguments but candidates outlive this object.
  ExposurePools(Deciding& deciding, const std::map<std::string, std::string>& links,
                const SettlingDevices& settling, CandidatesByPool candidates);
  /// Adds pools and notes, and changes verdicts of entries that conflict with others. Called once.
  void finish();

 private:
  /// candidates are in the inventory's order, and sorted by name for publishing.
  struct Pool {
    std::string pf;  // host device id; "" if none
    std::vector<Candidate> candidates;
  };
  using Vfs = std::vector<const hotplug::HostDevice*>;

  // Finds the VFs of each PF, offered or not, because counters include them all; and the PF of each pool.
  void note_functions();
  // Computes holdings, then conflicts or counters, and publishes the rest by name. is_always: also an empty
  // pool, unless it is unverified.
  void finish_pool(const std::string& name, Pool& pool, bool is_always);
  // Withholds offers whose exclusionGroup changed while they may be allocated under the former one, until the
  // claims show them free.
  void hold_back_contested(const std::string& name, Pool& pool, std::vector<Holding>& holdings);
  // Returns the entries of the pool that may be allocated; for an unverified pool that is needed, also one
  // for any device.
  std::vector<Holding> holdings_of(const std::string& name);
  // Returns holdings that are not offered and stay reserved: the device exists or is awaited.
  std::vector<Holding> without_offered(const std::vector<Holding>& holdings, const Pool& pool) const;
  bool is_for_present_device(const Holding& holding) const;
  // Adds one line of Decision::waits for each reason, with at most 16 names. An unverified pool without a
  // needed entry waits for nothing.
  void note_withdrawn(const std::string& name, const std::vector<Holding>& withdrawn);
  // Computes counters for all exclusions (exclusion.h). An entry without a possible counter is refused, and
  // the others are counted again.
  void count(Pool& pool, const std::vector<Holding>& holdings, DesiredPool& desired);
  // Returns false for VFs that are being created and have no entry.
  bool is_counted(const hotplug::HostDevice& vf, const Pool& pool) const;
  PoolMembers members_of(const Pool& pool) const;
  // Reserves each device of a pool whose record is lost, as a whole and in any group.
  void charge_all(const std::string& pool, PoolMembers& members) const;
  // For a server without counters: of entries that exclude each other, allocated ones have precedence, then
  // priority, VFs before their PF, names.
  void keep_unless_conflicting(Pool& pool, const std::vector<Holding>& holdings);
  // Returns offered entries whose group the previous process did not record: they count as in their present
  // group.
  std::set<std::string_view> offered_of_any_group(const Pool& pool,
                                                  const std::vector<Holding>& holdings) const;
  // Returns true if the candidate offers a PF as a whole and the host uses one of its VFs.
  bool has_host_used_vf(const Candidate& candidate, const Pool& pool) const;
  // Empty if the device is not a PF.
  const Vfs& vfs_of(const hotplug::HostDevice& pf) const;

  const Inputs& in_;
  const std::string& exclude_record_;
  const std::map<std::string, std::string>& links_;
  const SettlingDevices& settling_;
  DecisionContext& now_;
  Decision& out_;
  std::map<std::string, Pool> pools_;       // by name
  std::map<hotplug::PciAddress, Vfs> vfs_;  // by PF
};

}  // namespace sliced::policy
