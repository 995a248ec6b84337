#include "kubelet/preparer.h"

#include <algorithm>
#include <utility>

#include "kube/kinds.h"
#include "kubelet/checkpoint.h"
#include "kubelet/safety.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

constexpr Millis kStartAgain{1'000};
constexpr const char* kNoAnswer =
    "the kernel does not answer about its devices; it is asked again when the kubelet asks again";

bool is_bound(const PreparedClaim& claim) {
  return std::any_of(claim.devices.begin(), claim.devices.end(),
                     [](const PreparedDevice& device) { return device.vfio.has_value(); });
}

// Of a claim of before, what else nobody knows: who had the function before vfio-pci.
void keep_original_drivers(const PreparedClaim& before, PreparedClaim& now) {
  for (PreparedDevice& device : now.devices)
    for (const PreparedDevice& was : before.devices)
      if (device.vfio && was.vfio && was.pci == device.pci)
        device.vfio->original_driver = was.vfio->original_driver;
}

bool are_same_devices(const PreparedClaim& a, const PreparedClaim& b) {
  return std::equal(a.devices.begin(), a.devices.end(), b.devices.begin(), b.devices.end(),
                    [](const PreparedDevice& one, const PreparedDevice& other) {
                      return one.pool == other.pool && one.device == other.device &&
                             one.share_id == other.share_id && one.vfio.has_value() == other.vfio.has_value();
                    });
}

std::string names_of(const PreparedClaim& claim) {
  std::vector<std::string> names;
  for (const PreparedDevice& device : claim.devices) names.push_back(device.device);
  return join(names, " ");
}

}  // namespace

// One call of the kubelet, or several of the same.
struct ClaimPreparer::Task {
  bool is_prepare;
  std::string driver;
  PrepareRequest request;
  std::vector<std::function<void(PrepareAnswer)>> done;

  reactor::Ticket turn = {};
  kube::CallPtr call = {};
  std::unique_ptr<reactor::Job> job = {};
  PreparedClaim claim = {};
  std::vector<KnownEntry> known = {};        // by device of the claim
  std::optional<PreparedClaim> before = {};  // its record, as it was found
  // What workers found out, by device.
  struct Found {
    std::vector<Result<HostLook>> looks;
    std::vector<Result<std::string>> groups;
    std::string problem;
  };
  std::shared_ptr<Found> found = std::make_shared<Found>();
  bool is_on_disk = false;

  PreparedKey key() const { return {driver, request.uid}; }
};

ClaimPreparer::ClaimPreparer(Ports ports, Knowledge knowledge, Handlers handlers, Settings settings)
    : ports_(std::move(ports)),
      knowledge_(std::move(knowledge)),
      handlers_(std::move(handlers)),
      settings_(std::move(settings)),
      commits_(ports_.executor, ports_.host, [this] { return encode(); }) {}

ClaimPreparer::~ClaimPreparer() = default;

std::string ClaimPreparer::encode() const { return encode_checkpoint({knowledge_.boot_id(), prepared_}); }

// ---- calls, one after the other for each claim

void ClaimPreparer::prepare(const std::string& driver, PrepareRequest claim,
                            std::function<void(PrepareAnswer)> done) {
  enqueue(std::make_unique<Task>(Task{true, driver, std::move(claim), {std::move(done)}}));
}

void ClaimPreparer::unprepare(const std::string& driver, PrepareRequest claim,
                              std::function<void(std::string)> done) {
  enqueue(std::make_unique<Task>(
      Task{false, driver, std::move(claim), {[done = std::move(done)](PrepareAnswer answer) {
             done(std::move(answer.error));
           }}}));
}

void ClaimPreparer::enqueue(std::unique_ptr<Task> task) {
  auto& queue = tasks_[task->request.uid];
  if (!queue.empty()) {
    Task& last = *queue.back();
    if (last.is_prepare == task->is_prepare && last.driver == task->driver && last.request == task->request)
      return void(last.done.push_back(std::move(task->done.front())));
  }
  queue.push_back(std::move(task));
  if (has_started_ && queue.size() == 1) begin(*queue.front());
}

void ClaimPreparer::begin(Task& task) {
  task.turn = ports_.scheduler.after(
      Millis{0}, [this, &task] { task.is_prepare ? begin_prepare(task) : begin_unprepare(task); });
}

// The task is gone when this returns.
void ClaimPreparer::end(Task& task, PrepareAnswer answer) {
  const auto at = tasks_.find(task.request.uid);
  const std::unique_ptr<Task> ended = std::move(at->second.front());
  at->second.pop_front();
  if (at->second.empty())
    tasks_.erase(at);
  else
    begin(*at->second.front());
  for (const auto& done : ended->done) done(answer);
}

void ClaimPreparer::fail(Task& task, const std::string& why) {
  const std::string who = describe(task.request);
  ports_.log.warning(task.is_prepare ? "a claim is not prepared" : "a claim is not taken back",
                     {{"driver", task.driver}, {"claim", who}, {"problem", why}});
  end(task, {.error = why.starts_with(who) ? why : who + ": " + why});
}

// ---- the start

void ClaimPreparer::start() {
  auto recalled = std::make_shared<Records>();
  const auto work = [recalled, host = ports_.host, drivers = settings_.drivers,
                     boot_id = knowledge_.boot_id()] { *recalled = read_records(*host, drivers, boot_id); };
  start_job_ = ports_.executor.run(work, Millis{0}, [this, recalled](bool finished) {
    if (finished) return take_over(std::move(*recalled));
    // Whoever began without its record would hand over what pods have.
    ports_.log.warning("what was prepared before cannot be read", {{"problem", std::string(kNoAnswer)}});
    start_turn_ = ports_.scheduler.after(kStartAgain, [this] { start(); });
  });
}

void ClaimPreparer::take_over(Records recalled) {
  start_job_.reset();
  if (!recalled.problem.empty())
    ports_.log.warning("what was prepared before is not known by its record; CDI specs tell of it",
                       {{"problem", recalled.problem},
                        {"remedy", "none; pods that run go on, and the kubelet's next calls complete it"}});
  if (!recalled.claims.empty() || recalled.removed > 0)
    ports_.log.info(
        "what was prepared before is taken over",
        {{"claims", recalled.claims.size()}, {"from", recalled.from}, {"specs_removed", recalled.removed}});
  for (auto& [key, claim] : recalled.claims) reserve(std::move(claim));
  has_started_ = true;
  for (auto& [uid, queue] : tasks_) begin(*queue.front());
}

// ---- what is kept from others

void ClaimPreparer::reserve(PreparedClaim claim) {
  const PreparedKey key = key_of(claim);
  const PreparedClaim& kept = prepared_[key] = std::move(claim);
  for (const PreparedDevice& device : kept.devices)
    if (!device.is_admin)
      handlers_.on_prepared({{kept.driver, device.pool}, device.device, kept.uid, !device.share_id.empty()});
}

void ClaimPreparer::release(const PreparedKey& key) {
  const auto at = prepared_.find(key);
  if (at == prepared_.end()) return;
  const PreparedClaim gone = std::move(at->second);
  prepared_.erase(at);
  written_.erase(key);
  for (const PreparedDevice& device : gone.devices)
    if (!device.is_admin) handlers_.on_unprepared({{gone.driver, device.pool}, device.device, gone.uid});
}

// ---- prepare

void ClaimPreparer::begin_prepare(Task& task) {
  if (const auto record = prepared_.find(task.key()); record != prepared_.end()) task.before = record->second;
  get_claim(task);
}

void ClaimPreparer::get_claim(Task& task) {
  task.call = ports_.cluster.get(
      {.resource = kube::kResourceClaims, .namespace_ = task.request.namespace_, .name = task.request.name},
      {.on_done = [this, &task](std::string_view object) { plan_claim(task, object); },
       .on_failure =
           [this, &task](const kube::Failure& failure) {
             if (failure.code == Errc::kNotFound) return fail(task, "it is gone");
             fail(task, "it cannot be read: " + failure.what +
                            (failure.code == Errc::kDenied
                                 ? "; grant get on resourceclaims (config/deploy/rbac.yaml)"
                                 : ""));
           }});
}

void ClaimPreparer::plan_claim(Task& task, std::string_view object) {
  if (const std::string why = knowledge_.waits_for(); !why.empty())
    return fail(task, "its devices are not known yet (" + why + "); the kubelet asks again");
  const auto claim = decode_claim(object);
  if (!claim) return fail(task, claim.error().what);
  if (auto checked = check_claim(*claim, task.request, knowledge_.node()); !checked)
    return fail(task, checked.error().what);
  auto planned = plan(*claim, task.driver, knowledge_.find, interface_names(*claim), settings_.plan);
  if (!planned) return fail(task, planned.error().what);
  if (task.before && task.before->is_complete) return compare(task, std::move(*planned));
  pursue(task, std::move(*planned));
}

// Asked again, as after each start of the kubelet: the same answer, unless the claim has been given other devices
// meanwhile and nobody told us.
void ClaimPreparer::compare(Task& task, PreparedClaim planned) {
  task.claim = *task.before;
  if (!are_same_devices(task.claim, planned)) {
    return restore(task, [this, &task, planned = std::move(planned)](const std::string& problem) {
      if (!problem.empty()) return fail(task, problem);
      release(task.key());
      task.before.reset();
      pursue(task, planned);
    });
  }
  if (written_.contains(task.key())) return end(task, answer_of(task.claim));
  // Another process has prepared it; that its files are there is made sure once.
  commits_.add([this, claim = task.claim] { return files_of(claim); },
               [this, &task](const Result<Unit>& written) {
                 if (!written) return fail(task, written.error().what);
                 written_.insert(task.key());
                 end(task, answer_of(task.claim));
               });
}

void ClaimPreparer::pursue(Task& task, PreparedClaim planned) {
  if (planned.devices.empty()) return end(task, {});
  task.claim = std::move(planned);
  for (const PreparedDevice& device : task.claim.devices) {
    task.known.push_back(*knowledge_.find(task.driver, device.pool, device.device));
    if (const std::string why = refusal(task.claim, device, task.known.back(), prepared_); !why.empty())
      return fail(task, why);
  }
  if (const std::string why = conflict_within(task.claim); !why.empty()) return fail(task, why);
  if (task.before) keep_original_drivers(*task.before, task.claim);
  reserve(task.claim);
  look(task);
}

void ClaimPreparer::look(Task& task) {
  const auto work = [found = task.found, host = ports_.host, devices = task.claim.devices] {
    for (const PreparedDevice& device : devices) found->looks.push_back(host->look(device));
  };
  task.job = ports_.executor.run(work, kLookMax, [this, &task](bool finished) {
    finished ? judge_looks(task) : take_back(task, kNoAnswer);
  });
}

void ClaimPreparer::judge_looks(Task& task) {
  for (size_t i = 0; i < task.claim.devices.size(); ++i) {
    PreparedDevice& device = task.claim.devices[i];
    const Result<HostLook>& look = task.found->looks[i];
    if (!look) return take_back(task, look.error().what);
    if (const std::string why = refusal(device, task.known[i], *look); !why.empty())
      return take_back(task, why);
    if (!device.vfio || !device.vfio->original_driver.empty()) continue;
    const std::string& driver = look->driver == kVfioDriver ? task.known[i].device.driver : look->driver;
    device.vfio->original_driver = driver.empty() ? std::string(kNoDriver) : driver;
  }
  if (!is_bound(task.claim)) return commit_prepared(task);
  // Who had the function before must be known to whoever comes after us.
  prepared_[task.key()] = task.claim;
  task.is_on_disk = true;
  commits_.add([] { return FileChange{}; },
               [this, &task](const Result<Unit>& written) {
                 written ? bind(task) : take_back(task, written.error().what);
               });
}

void ClaimPreparer::bind(Task& task) {
  const auto work = [found = task.found, host = ports_.host, devices = task.claim.devices] {
    for (const PreparedDevice& device : devices)
      found->groups.push_back(device.vfio ? host->bind(device) : Result<std::string>(""));
  };
  task.job = ports_.executor.run(work, kBindMax, [this, &task](bool finished) {
    // What hangs may be done yet: it stays on record, and is not undone meanwhile.
    finished ? note_bound(task) : fail(task, kNoAnswer);
  });
}

void ClaimPreparer::note_bound(Task& task) {
  for (size_t i = 0; i < task.claim.devices.size(); ++i) {
    const Result<std::string>& group = task.found->groups[i];
    if (!group) return take_back(task, group.error().what);
    PreparedDevice& device = task.claim.devices[i];
    if (device.vfio) device.vfio->group = task.found->looks[i]->vfio_group = *group;
  }
  commit_prepared(task);
}

void ClaimPreparer::commit_prepared(Task& task) {
  for (size_t i = 0; i < task.claim.devices.size(); ++i)
    task.claim.devices[i].edits = edits_of(task.claim.devices[i], *task.found->looks[i]);
  if (settings_.plan.names_resources) add_resource_names(task.claim);
  task.claim.is_complete = true;
  prepared_[task.key()] = task.claim;
  task.is_on_disk = true;
  commits_.add([this, claim = task.claim] { return files_of(claim); },
               [this, &task](const Result<Unit>& written) {
                 if (!written) return take_back(task, written.error().what);
                 written_.insert(task.key());
                 ports_.log.info("a claim is prepared", {{"driver", task.driver},
                                                         {"claim", describe(task.request)},
                                                         {"devices", names_of(task.claim)}});
                 end(task, answer_of(task.claim));
               });
}

// What was begun is undone, or stays on record until it can be.
void ClaimPreparer::take_back(Task& task, const std::string& why) {
  task.claim.is_complete = false;
  if (auto at = prepared_.find(task.key()); at != prepared_.end()) at->second = task.claim;
  if (!task.is_on_disk) {
    release(task.key());
    if (task.before) reserve(*task.before);
    return fail(task, why);
  }
  restore(task, [this, &task, why](const std::string& problem) {
    if (!problem.empty()) return fail(task, why + "; and it cannot be taken back yet: " + problem);
    commit_unprepared(task, [this, &task, why](const Result<Unit>&) { fail(task, why); });
  });
}

// ---- unprepare

void ClaimPreparer::begin_unprepare(Task& task) {
  const auto record = prepared_.find(task.key());
  if (record != prepared_.end())
    task.claim = record->second;
  else
    task.claim = {.driver = task.driver, .uid = task.request.uid};
  restore(task, [this, &task](const std::string& problem) {
    if (!problem.empty()) return fail(task, problem);
    commit_unprepared(task, [this, &task](const Result<Unit>& written) {
      if (!written) return fail(task, written.error().what);
      if (!task.claim.devices.empty())
        ports_.log.info(
            "a claim is taken back",
            {{"driver", task.driver}, {"claim", describe(task.request)}, {"devices", names_of(task.claim)}});
      end(task, {});
    });
  });
}

void ClaimPreparer::restore(Task& task, std::function<void(const std::string&)> next) {
  if (!is_bound(task.claim)) return next("");
  task.found->problem.clear();
  const auto work = [found = task.found, host = ports_.host, devices = task.claim.devices] {
    for (const PreparedDevice& device : devices) {
      if (!device.vfio) continue;
      const auto restored = host->restore(device);
      if (!restored && found->problem.empty()) found->problem = restored.error().what;
    }
  };
  task.job = ports_.executor.run(work, kBindMax, [&task, next = std::move(next)](bool finished) {
    next(finished ? task.found->problem : kNoAnswer);
  });
}

void ClaimPreparer::commit_unprepared(Task& task, std::function<void(const Result<Unit>&)> next) {
  release(task.key());
  commits_.add([this, claim = task.claim] { return removal_of(claim); },
               [this, &task, next = std::move(next)](const Result<Unit>& written) {
                 // Its files may be there still: nobody else gets its devices until they are gone.
                 if (!written && !task.claim.devices.empty()) {
                   task.claim.is_complete = false;
                   reserve(task.claim);
                 }
                 next(written);
               });
}

// ---- files

void ClaimPreparer::put_pod_specs(const std::string& pod_id, FileChange& change) const {
  for (const std::string& driver : settings_.drivers) {
    if (auto spec = pod_spec(driver, pod_id, prepared_))
      change.specs.push_back({std::move(*spec), pod_id});
    else
      change.removed_specs.push_back({cdi_kind(driver), pod_id});
  }
}

FileChange ClaimPreparer::files_of(const PreparedClaim& claim) const {
  FileChange change;
  cdi::Spec spec = claim_spec(claim);
  if (claim.cdi_pod_id == claim.uid) {
    if (const auto own = pod_spec(claim.driver, claim.uid, prepared_))
      spec.devices.push_back(own->devices.front());
  } else {
    put_pod_specs(claim.cdi_pod_id, change);
  }
  change.specs.push_back({std::move(spec), claim.uid});
  if (settings_.device_info_directory.empty()) return change;
  for (const PreparedDevice& device : claim.devices)
    if (auto info = device_info(device, settings_.device_info_directory))
      change.infos.push_back(std::move(*info));
  return change;
}

FileChange ClaimPreparer::removal_of(const PreparedClaim& claim) const {
  FileChange change;
  change.removed_specs.push_back({cdi_kind(claim.driver), claim.uid});
  if (!claim.cdi_pod_id.empty() && claim.cdi_pod_id != claim.uid) put_pod_specs(claim.cdi_pod_id, change);
  if (settings_.device_info_directory.empty()) return change;
  for (const PreparedDevice& device : claim.devices)
    if (const auto info = device_info(device, settings_.device_info_directory))
      change.removed_infos.push_back(info->path);
  return change;
}

std::set<std::string> ClaimPreparer::interface_names(const Claim& claim) const {
  std::set<std::string> names;
  for (const auto& [key, other] : prepared_) {
    const bool is_of_pod = std::any_of(other.pods.begin(), other.pods.end(), [&](const ReservingPod& pod) {
      return std::find_if(claim.pods.begin(), claim.pods.end(),
                          [&](const ReservingPod& own) { return own.uid == pod.uid; }) != claim.pods.end();
    });
    if (!is_of_pod || other.uid == claim.uid) continue;
    for (const PreparedDevice& device : other.devices)
      if (!device.config.if_name.empty()) names.insert(device.config.if_name);
  }
  return names;
}

}  // namespace sliced::kubelet
