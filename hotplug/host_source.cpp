#include "hotplug/host_source.h"

#include <algorithm>
#include <utility>

#include "hotplug/affected.h"
#include "hotplug/link.h"
#include "hotplug/pci_function.h"
#include "hotplug/read_value.h"
#include "reactor/base/first_few.h"
#include "reactor/base/text.h"

namespace sliced::hotplug {
namespace {

constexpr Millis kRetryDelayMax{60000};
constexpr Millis kRecheckMin{1000};

// A PF's answer, by the VFs' numbers.
struct VfAnswer {
  Result<std::map<int, VfConfig>> configs;
  std::map<int, VfConfig> guids = {};  // from sysfs, if `configs` is an error
  std::set<int> present = {};          // VFs that sysfs has after the answer
};

// Returns whether it changes the map.
template <class Value>
bool put(std::map<PciAddress, Value>& map, const PciAddress& key, const Value& value) {
  const auto at = map.find(key);
  if (at != map.end() && at->second == value) return false;
  map[key] = value;
  return true;
}

const VfConfig* find_vf(const std::map<int, VfConfig>& configs, int index) {
  const auto at = configs.find(index);
  return at == configs.end() ? nullptr : &at->second;
}

// Applies the answer to `readings`; returns false if nothing differs. A driver omits a VF while it resets it,
// and the kernel omits VFs without room. Neither removes a known setting.
bool take_vf_answer(const PciAddress& pf, const VfAnswer& answer, HostReadings& readings) {
  const FunctionReading* function = readings.functions.find(pf);
  if (function == nullptr) return false;
  const bool is_answer = answer.configs.ok();
  bool has_changed = false, is_reporting = is_answer && !answer.configs->empty();
  std::set<PciAddress> unread;
  for (const auto& [vf, index] : function->vfs) {
    const auto known = readings.enforced.find(vf);
    is_reporting |= known != readings.enforced.end();
    if (const VfConfig* config = is_answer ? find_vf(*answer.configs, index) : nullptr) {
      has_changed |= put(readings.enforced, vf, *config);
      continue;
    }
    if (!is_answer || answer.present.contains(index)) unread.insert(vf);
    if (const VfConfig* guids = find_vf(answer.guids, index)) {
      VfConfig config = known == readings.enforced.end() ? VfConfig() : known->second;
      config.node_guid = guids->node_guid;
      config.port_guid = guids->port_guid;
      has_changed |= put(readings.enforced, vf, config);
    }
  }
  if (is_answer && !is_reporting) unread.clear();  // its driver has no settings of VFs
  const size_t count = function->vfs.size();
  const std::string why = is_answer ? "the PF reports " + std::to_string(count - unread.size()) + " of " +
                                          std::to_string(count) + " VFs"
                                    : answer.configs.error().what;
  std::vector<PciAddress> all{pf};
  for (const auto& [vf, index] : function->vfs) all.push_back(vf);
  for (const PciAddress& one : all) {
    const bool is_unread = one == pf ? !unread.empty() : unread.contains(one);
    has_changed |=
        is_unread ? put(readings.settings_unread, one, why) : readings.settings_unread.erase(one) > 0;
  }
  return has_changed;
}

bool touches_interface_of(const PciAddress& function, const HostReadings& readings, const Touched& touched) {
  return std::any_of(touched.netdevs.begin(), touched.netdevs.end(), [&](const std::string& name) {
    const NetdevReading* netdev = readings.netdevs.find(name);
    return netdev != nullptr && netdev->is_functions_own && netdev->function == function;
  });
}

}  // namespace

HostSource::HostSource(HostSourcePorts ports, OnUpdate on_update)
    : ports_(std::move(ports)),
      on_update_(std::move(on_update)),
      entries_(ports_.executor, kReadDeadline),
      slow_(ports_.executor, kReadDeadline) {}

void HostSource::start() {
  if (std::exchange(has_started_, true)) return;
  for (const auto& source : ports_.events) {
    auto started = source->start([this](HostEvent event) { on_event(std::move(event)); });
    if (!started)
      ports_.log.warning("host events not available: relying on the periodic rescan",
                         {{"source", source->name()}, {"error", started.error().what}});
  }
  marks_.full = marks_.relisted = true;
  marks_.why = "start";
  start_reading();
}

void HostSource::rescan(std::string why, OnRescanned on_rescanned) {
  marks_.full = marks_.is_sync = true;
  if (on_rescanned) marks_.on_rescanned.push_back(std::move(on_rescanned));
  mark(std::move(why));
}

void HostSource::recover_sticky(std::vector<RecoveredNetdev> recovered) {
  book_.recover_sticky(std::move(recovered));
  if (has_reported_) assemble("netdevs recovered from published slices", marks_.changes, false);
}

// Readings.

void HostSource::Marks::merge(Marks other) {
  touched.functions.merge(other.touched.functions);
  touched.netdevs.merge(other.touched.netdevs);
  changes.left.merge(other.changes.left);
  changes.renamed_to.merge(other.changes.renamed_to);
  changes.ended.merge(other.changes.ended);
  touched.lists |= other.touched.lists;
  full |= other.full;
  relisted |= other.relisted;
  is_sync |= other.is_sync;
  if (why.empty()) why = std::move(other.why);
  std::move(other.on_rescanned.begin(), other.on_rescanned.end(), std::back_inserter(on_rescanned));
}

void HostSource::schedule() {
  if (!has_started_ || reading_ || coalesce_ || retry_ || marks_.is_empty()) return;
  coalesce_ = ports_.scheduler.after(kCoalesce, [this] {
    coalesce_.reset();
    start_reading();
  });
}

void HostSource::start_reading() {
  coalesce_.reset();
  reading_ = std::make_unique<Reading>();
  reading_->number = ++readings_started_;
  reading_->shortages = ports_.host->shortages();
  reading_->marks = std::exchange(marks_, Marks{});
  ++(reading_->marks.full ? counters_.full_scans : counters_.partial_scans);
  if (is_careful_)
    read_carefully();
  else
    read_at_once();
}

void HostSource::read_at_once() {
  const bool full = reading_->marks.full;
  auto result = std::make_shared<HostReadings>(readings_);
  auto work = [host = ports_.host, full, touched = reading_->marks.touched, result] {
    if (full)
      *result = read_host(*host, *result);
    else
      reread(*host, touched, *result);
  };
  const uint64_t number = reading_->number;
  auto job = ports_.executor.run(std::move(work), kScanDeadline, [this, number, result](bool finished) {
    if (!reading_ || reading_->number != number) return;
    const auto own_job = std::move(reading_->job);
    if (finished) {
      reading_->result = result;
      return on_read();
    }
    ++counters_.hung_reads;
    is_careful_ = true;
    ports_.log.warning("host read timed out: reading entries one by one",
                       {{"deadline_ms", static_cast<int64_t>(kScanDeadline.count())}});
    read_carefully();
  });
  if (reading_ && reading_->number == number && !reading_->is_read) reading_->job = std::move(job);
}

void HostSource::read_carefully() {
  const uint64_t number = reading_->number = ++readings_started_;
  reading_->marks.full = true;
  auto listing = std::make_shared<HostListing>();
  listing->lists.vlans = readings_.vlans;
  listing->lists.boot_id = readings_.boot_id;
  listing->lists.numa_neighbors = readings_.numa_neighbors;
  listing->lists.are_numa_nodes_read = readings_.are_numa_nodes_read;
  auto work = [host = ports_.host, listing] { *listing = list_host(*host, listing->lists); };
  auto job = ports_.executor.run(std::move(work), kScanDeadline, [this, number, listing](bool finished) {
    if (!reading_ || reading_->number != number) return;
    const auto own_job = std::move(reading_->job);
    if (finished) return read_entries(std::move(*listing));
    ++counters_.hung_reads;
    retry_later();
  });
  if (reading_ && reading_->number == number && !reading_->result) reading_->job = std::move(job);
}

void HostSource::retry_later() {
  const bool is_short = reading_->shortages != ports_.host->shortages();
  ports_.log.warning(is_short ? "no file descriptors left: keeping the last known devices, will retry"
                              : "host cannot be listed: keeping the last known devices, will retry",
                     {{"retry_ms", static_cast<int64_t>(retry_delay_.count())}});
  marks_.merge(std::move(reading_->marks));
  reading_.reset();
  retry_ = ports_.scheduler.after(retry_delay_, [this] {
    retry_.reset();
    schedule();
  });
  retry_delay_ = std::min(retry_delay_ * 2, kRetryDelayMax);
}

void HostSource::read_entries(HostListing listing) {
  reading_->result = std::make_shared<HostReadings>(std::move(listing.lists));
  std::vector<CarefulReads::Request> requests;
  for (const auto& [address, target] : listing.functions)
    requests.push_back(function_request(address, target));
  for (const auto& [name, target] : listing.netdevs) requests.push_back(netdev_request(name, target));
  entries_.request(std::move(requests), [this] { read_routes(); });
}

void HostSource::read_routes() {
  auto scratch = std::make_shared<HostReadings>(*reading_->result);
  keep_default_routes(readings_, *scratch);
  auto read = [this, host = ports_.host, scratch]() -> CarefulReads::Apply {
    const bool are_known = read_default_routes(*host, *scratch);
    return [this, host, scratch, are_known] {
      keep_default_routes(*scratch, *reading_->result);
      reading_->result->problems = scratch->problems;
      reading_->result->are_links_mixed =
          host->is_live() && (!are_known || has_unknown_links(*reading_->result));
    };
  };
  auto on_hung = [this] {
    report_hung("default routes");
    keep_default_routes(readings_, *reading_->result);
    reading_->result->are_routes_unknown = !readings_.were_routes_read;
    reading_->result->are_links_mixed = ports_.host->is_live() && has_unknown_links(*reading_->result);
  };
  std::vector<CarefulReads::Request> requests;
  requests.push_back({"default routes", std::move(read), std::move(on_hung)});
  entries_.request(std::move(requests), [this] {
    if (entries_.hung() == 0) is_careful_ = false;
    on_read();
  });
}

CarefulReads::Request HostSource::function_request(const PciAddress& address, const std::string& target) {
  auto read = [this, host = ports_.host, address, target]() -> CarefulReads::Apply {
    return [this, address, function = read_function(*host, address, target)] {
      if (function) reading_->result->functions[address] = *function;
    };
  };
  auto on_hung = [this, address] {
    report_hung(address.text());
    const FunctionReading* known = readings_.functions.find(address);
    FunctionReading& function = reading_->result->functions[address];
    if (known != nullptr)
      function = *known;
    else
      function = FunctionReading{.pci = address, .broken = "reading it gives no answer"};
  };
  return {address.text(), std::move(read), std::move(on_hung)};
}

CarefulReads::Request HostSource::netdev_request(const std::string& name, const std::string& target) {
  auto read = [this, host = ports_.host, name, target]() -> CarefulReads::Apply {
    return [this, name, netdev = read_netdev(*host, name, target)] {
      if (netdev) reading_->result->netdevs[name] = *netdev;
    };
  };
  auto on_hung = [this, name] {
    report_hung(name);
    if (const NetdevReading* known = readings_.netdevs.find(name)) reading_->result->netdevs[name] = *known;
  };
  return {"net " + name, std::move(read), std::move(on_hung)};
}

void HostSource::report_hung(const std::string& what) {
  ++counters_.hung_reads;
  if (logged_hung_.size() < kTouchedMax && logged_hung_.insert(what).second)
    ports_.log.warning("device read timed out: its last known facts are kept", {{"device", what}});
}

void HostSource::on_read() {
  // Logs each problem once while it lasts.
  const auto log_problem = [this](const std::string& problem) {
    ports_.log.warning("host only partly readable", {{"problem", problem}});
  };
  const std::set<std::string> problems(reading_->result->problems.begin(), reading_->result->problems.end());
  for (const std::string& problem : problems)
    if (problem_log_.note(problem)) log_problem(problem);
  if (const size_t unsaid = problem_log_.end_round(); unsaid > 0) log_problem(and_more(unsaid));
  // Keeps the former readings: without free descriptors any entry may appear to be missing.
  if (reading_->result->is_incomplete || reading_->shortages != ports_.host->shortages())
    return retry_later();
  retry_delay_ = Millis{1000};
  for (const Edit& late : std::exchange(reading_->edits, {})) apply(late, *reading_->result);
  keep_facts_of_late_reads(*reading_->result);
  reading_->is_read = true;
  auto requests = slow_facts_requests();
  const uint64_t number = reading_->number;
  const auto commit_this = [this, number] {
    if (reading_ && reading_->number == number) commit();
  };
  slow_.request(std::move(requests), commit_this);
  // The initial sync waits for them: each has a deadline of its own, and without them a restart would publish
  // guesses.
  if (reading_ && reading_->number == number && has_reported_)
    grace_ = ports_.scheduler.after(kSlowGrace, commit_this);
}

// Slow facts stay with an interface as long as it is the same one (ifindex).
void HostSource::keep_facts_of_late_reads(HostReadings& result) const {
  const auto read = result.netdevs;
  SharedMap<NetdevReading>::for_each_difference(
      readings_.netdevs, read,
      [&](const std::string& name, const NetdevReading* known, const NetdevReading* now) {
        if (known != nullptr && now != nullptr && known->ifindex == now->ifindex)
          result.netdevs.at(name).slow = known->slow;
      });
  result.pkeys = readings_.pkeys;
  result.pkeys_unread = readings_.pkeys_unread;
  const auto is_without_rdma = [&](const auto& entry) {
    const auto now = result.rdma_of_function.find(entry.first);
    const auto known = readings_.rdma_of_function.find(entry.first);
    return now == result.rdma_of_function.end() || known == readings_.rdma_of_function.end() ||
           now->second != known->second;
  };
  std::erase_if(result.pkeys, is_without_rdma);
  std::erase_if(result.pkeys_unread, is_without_rdma);
  result.enforced = readings_.enforced;
  result.can_query_pfs = static_cast<bool>(ports_.read_vf_configs);
  std::erase_if(result.enforced, [&](const auto& entry) { return !result.functions.contains(entry.first); });
  result.settings_unread = readings_.settings_unread;
  std::erase_if(result.settings_unread, [&](const auto& entry) {
    const FunctionReading* function = result.functions.find(entry.first);
    return function == nullptr || (!function->physfn && function->vfs.empty());
  });
}

template <class Change>
void HostSource::change_readings(Change change) {
  bool has_changed = change(readings_);
  if (reading_ && reading_->is_read) change(*reading_->result);
  if (has_changed && !(reading_ && reading_->is_read)) report_late_facts();
}

std::vector<CarefulReads::Request> HostSource::slow_facts_requests() {
  const HostReadings& result = *reading_->result;
  const Marks& marks = reading_->marks;
  std::vector<CarefulReads::Request> requests;
  for (const auto& [name, netdev] : result.netdevs)
    if (marks.full || !netdev.slow || marks.touched.netdevs.contains(name))
      requests.push_back(slow_facts_request(name, netdev.ifindex));
  for (const auto& [address, rdma_device] : result.rdma_of_function) {
    const auto known = readings_.rdma_of_function.find(address);
    const bool is_new = known == readings_.rdma_of_function.end() || known->second != rdma_device;
    if (marks.full || is_new || marks.touched.functions.contains(address) ||
        touches_interface_of(address, result, marks.touched))
      requests.push_back(pkeys_request(address, rdma_device));
  }
  if (!ports_.read_vf_configs) return requests;
  const auto ports = ports_of_functions(result);
  for (const auto& [address, function] : result.functions) {
    const NetdevReading* own = own_netdev(ports, address);
    if (function.vfs.empty() || own == nullptr) continue;
    if (marks.full || marks.touched.functions.contains(address) || marks.touched.netdevs.contains(own->name))
      requests.push_back(vf_configs_request(address, *own));
  }
  return requests;
}

CarefulReads::Request HostSource::slow_facts_request(const std::string& name, int ifindex) {
  const auto store = [this, name, ifindex](const auto& facts_after) {
    change_readings([&](HostReadings& readings) {
      const NetdevReading* known = readings.netdevs.find(name);
      if (known == nullptr || known->ifindex != ifindex) return false;
      std::optional<SlowFacts> slow = facts_after(known->slow);
      if (slow == known->slow) return false;
      readings.netdevs.at(name).slow = std::move(slow);
      return true;
    });
  };
  auto read = [host = ports_.host, name, store]() -> CarefulReads::Apply {
    const uint64_t shortages = host->shortages();
    return [store, facts = read_slow_facts(*host, name), is_short = host->shortages() != shortages] {
      store([&](const auto& before) { return is_short && before ? before : facts; });
    };
  };
  auto on_hung = [this, name, store] {
    report_hung(name);
    store([](const std::optional<SlowFacts>& before) {
      SlowFacts facts = before.value_or(SlowFacts{});
      facts.unreadable = {"operstate, speed, phys_port_name, phys_switch_id: no answer within " +
                          std::to_string(kReadDeadline.count()) + " ms"};
      return facts;
    });
  };
  return {"slow " + name, std::move(read), std::move(on_hung)};
}

// The subnet manager changes a table without an event of its own; IP over InfiniBand then reports its interface.
CarefulReads::Request HostSource::pkeys_request(const PciAddress& function, const std::string& rdma_device) {
  const auto store = [this, function, rdma_device](const Result<std::vector<std::string>>& keys) {
    change_readings([&](HostReadings& readings) {
      const auto known = readings.rdma_of_function.find(function);
      if (known == readings.rdma_of_function.end() || known->second != rdma_device) return false;
      if (!keys) return put(readings.pkeys_unread, function, keys.error().what);
      const bool was_unread = readings.pkeys_unread.erase(function) > 0;
      return (keys->empty() ? readings.pkeys.erase(function) > 0 : put(readings.pkeys, function, *keys)) ||
             was_unread;
    });
  };
  auto read = [host = ports_.host, rdma_device, store]() -> CarefulReads::Apply {
    return [store, keys = read_pkeys(*host, rdma_device)] {
      const bool is_gone = !keys && keys.error().code == Errc::kNotFound;
      store(is_gone ? Result<std::vector<std::string>>(std::vector<std::string>()) : keys);
    };
  };
  auto on_hung = [this, rdma_device, store] {
    report_hung("partition keys of " + rdma_device);
    store(Error{Errc::kTimeout, "no answer within " + std::to_string(kReadDeadline.count()) + " ms"});
  };
  return {"pkeys " + rdma_device, std::move(read), std::move(on_hung)};
}

CarefulReads::Request HostSource::vf_configs_request(const PciAddress& pf, const NetdevReading& own) {
  constexpr int kInfiniBand = 32;  // ARPHRD_INFINIBAND
  auto read = [this, reader = ports_.read_vf_configs, host = ports_.host, pf, ifindex = own.ifindex,
               is_infiniband = own.link_type == kInfiniBand,
               asked_at = ports_.scheduler.now()]() -> CarefulReads::Apply {
    VfAnswer answer{.configs = reader(ifindex)};
    if (answer.configs)
      add_guids(*host, pf, *answer.configs);
    else
      answer.guids = guids_of_vfs(*host, pf);
    answer.present = vfs_in_sysfs(*host, pf);
    // The only readiness condition that GUIDs can answer is for InfiniBand.
    const bool is_answer = answer.configs.ok() || (is_infiniband && !answer.guids.empty());
    return [this, pf, asked_at, is_answer, answer = std::move(answer)] {
      if (is_answer) note_answer(pf, asked_at);
      if (answer.configs || answer.configs.error().code != Errc::kNotFound)
        change_readings([&](HostReadings& readings) { return take_vf_answer(pf, answer, readings); });
    };
  };
  auto on_hung = [this, pf] {
    report_hung("VFs of " + pf.text());
    const VfAnswer answer{.configs =
                              Error{Errc::kTimeout, "RTM_GETLINK: no answer within " +
                                                        std::to_string(kReadDeadline.count()) + " ms"}};
    change_readings([&](HostReadings& readings) { return take_vf_answer(pf, answer, readings); });
  };
  return {"vfs " + pf.text(), std::move(read), std::move(on_hung)};
}

// Conclusions.

void HostSource::commit() {
  grace_.reset();
  Marks marks = std::move(reading_->marks);
  check_missing_links(*reading_->result, marks.full);
  readings_ = std::move(*reading_->result);
  reading_.reset();
  if (!unread_names_.empty())
    for (const auto& [name, netdev] : readings_.netdevs) unread_names_.erase(netdev.ifindex);
  late_.reset();
  is_assembly_due_ = false;
  NetdevChanges changes = marks.changes;
  changes.left.insert(marks_.changes.left.begin(), marks_.changes.left.end());
  changes.renamed_to.insert(marks_.changes.renamed_to.begin(), marks_.changes.renamed_to.end());
  changes.ended.insert(marks_.changes.ended.begin(), marks_.changes.ended.end());
  changes.is_complete = !marks.full;
  const InventoryDiff diff = assemble(marks.why, changes, marks.relisted);
  if (marks.is_sync) report_missed(marks, diff);
  schedule_recheck();
  schedule();
}

// A route may lead permanently to an interface that /sys does not list. An interface that is being renamed is
// found within moments.
void HostSource::check_missing_links(HostReadings& now, bool is_full) {
  now.are_missing_lasting = false;
  if (now.missing_links.empty() || !now.are_links_mixed) {
    missing_before_ = FunctionRelations();
    missing_readings_ = 0;
    return;
  }
  FunctionRelations relations = function_relations(now);
  if (relations != missing_before_) {
    missing_readings_ = 0;
    recheck_.reset();
    recheck_delay_ = kRecheckMin;
  }
  if (is_full) ++missing_readings_;
  missing_before_ = std::move(relations);
  now.are_missing_lasting = missing_readings_ >= kMissingReadings;
}

// No event reports that a file has become readable.
void HostSource::schedule_recheck() {
  const auto is_well = [](const auto& entry) {
    return entry.second.unreadable.empty() && entry.second.broken.empty();
  };
  const bool all_well = readings_.problems.empty() && !readings_.are_links_mixed &&
                        readings_.settings_unread.empty() && readings_.pkeys_unread.empty() &&
                        std::all_of(readings_.functions.begin(), readings_.functions.end(), is_well) &&
                        std::all_of(readings_.netdevs.begin(), readings_.netdevs.end(), is_well);
  if (all_well) {
    recheck_.reset();
    recheck_delay_ = kRecheckMin;
    return;
  }
  if (recheck_) return;
  recheck_ = ports_.scheduler.after(recheck_delay_, [this, is_well] {
    recheck_.reset();
    marks_.full |= !readings_.problems.empty() || readings_.are_links_mixed;
    for (const auto& entry : readings_.functions)
      if (!is_well(entry)) marks_.touched.functions.insert(entry.first);
    for (const auto& entry : readings_.netdevs)
      if (!is_well(entry)) marks_.touched.netdevs.insert(entry.first);
    for (const auto* unread : {&readings_.settings_unread, &readings_.pkeys_unread})
      for (const auto& entry : *unread) marks_.touched.functions.insert(entry.first);
    if (!marks_.is_empty()) mark("retry of facts that could not be read");
  });
  recheck_delay_ = std::min(recheck_delay_ * 2, kRetryDelayMax);
}

void HostSource::poll_pfs(std::set<PciAddress> pfs) {
  if (!ports_.read_vf_configs || pfs == polled_pfs_) return;
  polled_pfs_ = std::move(pfs);
  poll_delay_ = kPollIntervalMin;
  poll_.reset();
  arm_poll();
}

void HostSource::query_pfs(std::set<PciAddress> pfs, std::function<void()> on_answered) {
  on_answered_ = std::move(on_answered);
  if (!ports_.read_vf_configs) return;
  std::erase_if(queried_at_, [&](const auto& one) { return !pfs.contains(one.first); });
  bool is_any = false;
  for (const PciAddress& pf : pfs)
    if (queried_at_.emplace(pf, ports_.scheduler.now()).second)
      is_any = true, marks_.touched.functions.insert(pf);
  if (is_any) mark("PF facts that policies need now");
}

void HostSource::note_answer(const PciAddress& pf, TimePoint asked_at) {
  answered_[pf] = std::max(answered_[pf], asked_at);
  if (queried_at_.contains(pf) && !(reading_ && reading_->is_read)) report_late_facts();
}

// Called when the inventory contains everything of readings_.
void HostSource::notify_answers() {
  query_times_ = answered_;
  const size_t answered = std::erase_if(queried_at_, [this](const auto& one) {
    const auto at = query_times_.find(one.first);
    return at != query_times_.end() && at->second >= one.second;
  });
  if (answered > 0 && on_answered_) on_answered_();
}

void HostSource::read_again(const PciAddress& pf, std::string why) {
  marks_.touched.functions.insert(pf);
  mark(std::move(why));
}

void HostSource::arm_poll() {
  if (polled_pfs_.empty()) return;
  poll_ = ports_.scheduler.after(poll_delay_, [this] {
    marks_.touched.functions.insert(polled_pfs_.begin(), polled_pfs_.end());
    mark("retry of PF facts that VFs wait for");
    poll_delay_ = std::min(poll_delay_ * 2, poll_interval_max_);
    arm_poll();
  });
}

void HostSource::report_late_facts() {
  if (late_ || !has_reported_) return;
  late_ = ports_.scheduler.after(kCoalesce, [this] {
    late_.reset();
    assemble("facts that were slow to read", marks_.changes, false);
  });
}

InventoryDiff HostSource::assemble(const std::string& why, const NetdevChanges& changes, bool relisted) {
  const InventoryPtr before = book_.now();
  log_unread_settings();
  const auto use = has_unread_links() ? InventoryBook::HostUse::kMayGrow : InventoryBook::HostUse::kAsRead;
  ++counters_.concluded;
  InventoryDiff diff = book_.take(readings_, changes, use);
  if (book_.now() != before || !has_reported_) {  // only the boot id may differ
    has_reported_ = true;
    on_update_(InventoryUpdate{book_.now(), diff.added, diff.changed, diff.removed, relisted, why});
  }
  notify_answers();
  return diff;
}

void HostSource::log_unread_settings() {
  std::map<PciAddress, std::string> now;
  for (const auto& [address, why] : readings_.settings_unread) {
    const FunctionReading* function = readings_.functions.find(address);
    if (function != nullptr && !function->physfn) now.emplace(address, why);
  }
  for (const auto& [pf, why] : now) {
    const auto at = logged_unread_.find(pf);
    if (at == logged_unread_.end() || at->second != why)
      ports_.log.warning("settings of VFs cannot be read from their PF: known settings are kept",
                         {{"pf", pf.text()}, {"error", why}});
  }
  for (const auto& [pf, why] : logged_unread_)
    if (!now.contains(pf) && readings_.functions.contains(pf))
      ports_.log.info("settings of VFs are read from their PF again", {{"pf", pf.text()}});
  logged_unread_ = std::move(now);
}

// Events name interfaces one by one, without an order between sources. So readings_ may be a state that never
// existed.
bool HostSource::has_unread_links() const {
  const auto has_links = [](const Marks& marks) {
    return marks.full || marks.touched.lists || !marks.touched.netdevs.empty();
  };
  return has_links(marks_) || (reading_ && has_links(reading_->marks));
}

// Events during the rescan explain changes of their devices; other differences had been missed.
void HostSource::report_missed(const Marks& marks, const InventoryDiff& diff) {
  std::set<std::string> explained;
  const auto explain = [&](const Touched& touched) {
    for (const PciAddress& address : touched.functions) {
      explained.insert(address.text());
      if (const FunctionReading* function = readings_.functions.find(address))
        for (const auto& [vf, index] : function->vfs) explained.insert(vf.text());
    }
    for (const std::string& name : touched.netdevs) {
      explained.insert(name);
      const NetdevReading* netdev = readings_.netdevs.find(name);
      if (netdev == nullptr || !netdev->function) continue;
      explained.insert(netdev->function->text());
      if (netdev->sf_number) explained.insert(scalable_function_id(*netdev->function, *netdev->sf_number));
    }
  };
  explain(marks.touched);
  explain(marks_.touched);
  size_t missed = 0;
  for (const auto* ids : {&diff.added, &diff.changed, &diff.removed})
    missed += static_cast<size_t>(std::count_if(
        ids->begin(), ids->end(), [&](const std::string& id) { return !explained.contains(id); }));
  counters_.missed += missed;
  if (missed > 0) ports_.log.info("rescan found changes without events", {{"devices", missed}});
  for (const auto& on_rescanned : marks.on_rescanned) on_rescanned(missed);
}

}  // namespace sliced::hotplug
