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
  struct Pool {
    std::string pf;  // host device id, "" none
    std::vector<Candidate> candidates;
  };
  using Vfs = std::vector<const hotplug::HostDevice*>;

  void note_functions();
  void finish_pool(const std::string& name, Pool& pool, bool is_always);
  void hold_back_contested(const std::string& name, Pool& pool, std::vector<Holding>& holdings);
  bool is_worth_a_record(const std::string& name, const std::vector<Holding>& withdrawn) const;
  std::vector<Holding> holdings_of(const std::string& name, bool is_always);
  std::vector<Holding> without_offered(const std::vector<Holding>& holdings, const Pool& pool) const;
  bool is_here(const Holding& holding) const;
  void note_withdrawn(const std::string& name, const std::vector<Holding>& withdrawn);
  void count(Pool& pool, const std::vector<Holding>& holdings, DesiredPool& desired);
  bool is_counted(const hotplug::HostDevice& vf, const Pool& pool) const;
  PoolMembers members_of(const Pool& pool) const;
  void charge_all(const std::string& pool, PoolMembers& members) const;
  void keep_without_conflict(Pool& pool, const std::vector<Holding>& holdings);
  std::set<std::string_view> offered_of_any_group(const Pool& pool,
                                                  const std::vector<Holding>& holdings) const;
  bool has_host_used_vf(const Candidate& candidate, const Pool& pool) const;
  const Vfs& vfs_of(const hotplug::HostDevice& pf) const;

  const Inputs& in_;
  const std::string& exclude_record_;
  const std::map<std::string, std::string>& links_;
  const Settling& settling_;
  Circumstances& now_;
  Decision& out_;
  std::map<std::string, Pool> pools_;       // by name
  std::map<hotplug::PciAddress, Vfs> vfs_;  // by PF
};

}  // namespace sliced::policy
