#pragma once
// From what all gates have let pass to pools: who excludes whom there, what is withdrawn and still counts, and
// the counters that make the scheduler see both.
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

/// What is offered of one pool, before its counters are known.
/// Pointers are into the decision's inputs and results, and into the drafts of ExposedEntries: all of them
/// outlive it.
struct Candidate {
  const hotplug::HostDevice* device;
  PersonaVerdict* verdict;
  const ExposurePolicy* policy;
  Holding holding;
  kube::DevicePtr entry;  // with the counters of before
  Draft* draft;           // that it comes from
  std::vector<kube::CounterConsumption> takes = {};
  const std::string& name() const { return holding.entry; }
};
using CandidatesByPool = std::map<std::string, std::vector<Candidate>>;

/// The pools of one decision: one for each PF with its VFs, and one of everything else. They come last, when all
/// gates have been asked, since what an entry takes of counters follows from what else is offered and withdrawn.
class ExposurePools {
 public:
  /// links: names of links without suffix, by id. All but candidates outlives this.
  ExposurePools(Deciding& deciding, const std::map<std::string, std::string>& links, const Settling& settling,
                CandidatesByPool candidates);
  /// Adds the pools and notes, and changes verdicts of what cannot be offered beside the rest. Once.
  void finish();

 private:
  /// candidates stand in the inventory's order until the pool is sorted by name for publishing.
  struct Pool {
    std::string pf;  // host device id, "" none
    std::vector<Candidate> candidates;
  };
  using Vfs = std::vector<const hotplug::HostDevice*>;

  // Which VFs each PF has, whether they are offered or not: counters count them all. And which pool is whose
  // PF's.
  void note_functions();
  // Holdings, then conflicts or counters, then what is left is published in name order. is_always: also when
  // it is empty, unless the pool is unverified.
  void finish_pool(const std::string& name, Pool& pool, bool is_always);
  // What goes on being offered under another exclusionGroup while it may be allocated under the one before is
  // held back until the claims show it free.
  void hold_back_contested(const std::string& name, Pool& pool, std::vector<Holding>& holdings);
  // Entries of the pool that may be allocated; of an unverified pool that is wanted, with one for any device.
  std::vector<Holding> holdings_of(const std::string& name);
  // What is not offered and still counts: its device is here, or is awaited.
  std::vector<Holding> without_offered(const std::vector<Holding>& holdings, const Pool& pool) const;
  bool is_here(const Holding& holding) const;
  // One line of Decision::waits for each reason, with at most 16 names. An unverified pool of which no entry is
  // wanted waits for nothing.
  void note_withdrawn(const std::string& name, const std::vector<Holding>& withdrawn);
  // Counters for all that excludes each other (exclusion.h). What cannot be counted is refused, and the rest
  // counted once more.
  void count(Pool& pool, const std::vector<Holding>& holdings, DesiredPool& desired);
  // Not VFs that are just being made and that nothing is said of yet.
  bool is_counted(const hotplug::HostDevice& vf, const Pool& pool) const;
  PoolMembers members_of(const Pool& pool) const;
  // Of a pool whose record is lost, each device as a whole and in any group.
  void charge_all(const std::string& pool, PoolMembers& members) const;
  // Where the server has no counters: of what excludes each other, first what is allocated, then by priority,
  // VFs before their PF, names.
  void keep_without_conflict(Pool& pool, const std::vector<Holding>& holdings);
  // Entries whose group was lost with the process before and that go on being offered: they are of today's
  // group.
  std::set<std::string_view> offered_of_any_group(const Pool& pool,
                                                  const std::vector<Holding>& holdings) const;
  // A PF that would be given whole and has a VF that the host uses.
  bool has_host_used_vf(const Candidate& candidate, const Pool& pool) const;
  // Empty for what is no PF.
  const Vfs& vfs_of(const hotplug::HostDevice& pf) const;

  const Inputs& in_;
  const std::string& exclude_record_;
  const std::map<std::string, std::string>& links_;
  const Settling& settling_;
  DecisionContext& now_;
  Decision& out_;
  std::map<std::string, Pool> pools_;       // by name
  std::map<hotplug::PciAddress, Vfs> vfs_;  // by PF
};

}  // namespace sliced::policy
