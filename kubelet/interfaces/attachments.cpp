#include "kubelet/interfaces/attachments.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "kubelet/cni/host_local.h"
#include "kubelet/interfaces/required_interfaces.h"
#include "kubelet/interfaces/shared_parent.h"
#include "kubelet/vf_config.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

constexpr Millis kReadRecordsAgain{1'000};
constexpr Millis kDiskMax{10'000};  // to write or remove one record
constexpr Millis kTailOfAdd{150};   // part of the deadline for recording the result of ADD
constexpr reactor::BackoffPolicy kDetachAgain{.initial = Millis{1'000},
                                              .factor = 2.0,
                                              .cap = Millis{60'000},
                                              .jitter = 0.2,
                                              .reset_after = Millis{600'000}};

std::string named(const cni::Attachment& attachment) {
  return "interface " + escaped(attachment.interface) + " of sandbox " + escaped(attachment.container_id);
}

Result<Unit> check_record(const cni::Record& record) {
  if (auto good = cni::check(record.attachment); !good) return good;
  // VfConfig refuses these; a checkpoint of an earlier release or of dra-driver-sriov may hold one. DEL still
  // runs for such a record.
  const std::string& name = record.attachment.interface;
  if (const std::string why = why_not_pod_interface(name); !why.empty())
    return Error{Errc::kInvalid, "ifName is " + in_quotes(name, 64) + ", " + why +
                                     "; set it in the VfConfig of the claim, and delete the pod"};
  const auto network = cni::decode_network(record.config, record.network);
  return network ? Result<Unit>(Unit{}) : Result<Unit>(network.error());
}

using Namespace = std::shared_ptr<const int>;

// The last holder closes it; null if it does not exist.
Namespace open_namespace(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return nullptr;
  return {new int(descriptor), [](const int* held) {
            close(*held);
            delete held;
          }};
}

// The path of an ended sandbox may lead to the host's namespace, as /proc/PID/ns/net of another process does:
// no plugin runs there, and nothing is moved out of it.
bool is_there(const std::string& path, const std::function<bool(const std::string&)>& is_namespace) {
  const Namespace now = open_namespace(path);
  if (now && !check_pod_namespace(*now)) return false;
  return is_namespace ? is_namespace(path) : access(path.c_str(), F_OK) == 0;
}

// The path by which a plugin, a child process, finds it.
std::string path_of(const Namespace& held) {
  return held ? "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(*held) : "";
}

using NamespaceKey = std::pair<std::string, std::string>;
NamespaceKey namespace_key(const cni::Attachment& attachment) {
  return {attachment.container_id, attachment.network_namespace};
}

std::string pod_namespace_of(const cni::Attachment& attachment) {
  return std::string(argument_of(attachment, "K8S_POD_NAMESPACE"));
}

std::string pod_key(const cni::Attachment& attachment) {
  const std::string_view pod = pod_uid_of(attachment);
  return pod.empty() ? "sandbox " + attachment.container_id : "pod " + std::string(pod);
}

std::set<std::string> device_keys(const cni::Attachment& attachment) {
  if (attachment.device.empty()) return {};
  return {"device " + attachment.device};
}

// Returns the exclusive keys of an ADD. The pod's key is shared by the attachments of one sandbox.
std::set<std::string> attach_keys(const cni::Record& record) {
  std::set<std::string> keys = device_keys(record.attachment);
  keys.insert("interface " + cni::record_name(record.attachment));
  if (const std::string parent = parent_of(record); !parent.empty())
    keys.insert("parent " + parent + " of " + pod_key(record.attachment));
  return keys;
}

}  // namespace

// One attach or detach in progress.
struct Attachments::Work {
  cni::Record record;
  TimePoint deadline{};
  OnAttached done;
  KeyedQueue::Done turn_ends;
  std::unique_ptr<reactor::Job> job = {};
  reactor::Semaphore::PermitPtr permit = {}, permit_of_namespace = {};
  std::unique_ptr<cni::Run> run = {};
  Namespace network_namespace = {};  // of an attaching
  bool is_refused = false;           // of an ADD: refused for the sake of the host
  bool has_namespace = true;         // detach: the namespace exists at the recorded path
  bool is_back = false;              // detach: the namespace is gone, and the function is in no other one

  // Cancels its job, its wait and its plugins, each of which holds the work.
  void stop() {
    job.reset();
    permit.reset();
    permit_of_namespace.reset();
    run.reset();
  }
};

Attachments::Attachments(AttachmentPorts ports)
    : ports_(std::move(ports)),
      queue_(ports_.scheduler),
      adds_(ports_.scheduler, ports_.bounds.adds_max),
      dels_(ports_.scheduler, ports_.bounds.dels_max) {}

Attachments::~Attachments() {
  // Running works hold themselves.
  for (const auto& work : running_) work->stop();
  cleaning_.clear();
}

void Attachments::start(std::function<void()> ready) {
  auto found = std::make_shared<Result<cni::Records::All>>(Error{Errc::kTimeout, "the disk does not answer"});
  auto open = std::make_shared<std::map<NamespaceKey, Namespace>>();
  start_job_ = ports_.executor.run(
      [found, open, records = ports_.records, base = ports_.addresses,
       is_namespace = ports_.host.is_namespace] {
        *found = records->read("");
        if (!*found) return;
        std::set<std::string> used;
        for (const cni::Record& record : (*found)->records)
          used.insert(cni::host_local_directory(record.config, record.network, base));
        if (!base.empty()) cni::remove_unused_networks(base, used);
        (void)records->remove_temporaries();  // files that remain are harmless
        for (const cni::Record& record : (*found)->records) {
          const std::string& path = record.attachment.network_namespace;
          if (Namespace& held = (*open)[namespace_key(record.attachment)];
              held == nullptr && is_there(path, is_namespace))
            held = open_namespace(path);
        }
      },
      kDiskMax,
      [this, found, open, ready = std::move(ready)](bool finished) {
        // A late worker continues, and owns the data that it reads.
        if (!finished || !*found) {
          // Without the records, interfaces would be left behind, or a device taken from a pod.
          ports_.log.warning("CNI attachment records not readable: no interface is attached until they are",
                             {{"problem", finished ? found->error().what : "the disk does not answer"}});
          start_turn_ = ports_.scheduler.after(kReadRecordsAgain, [this, ready] { start(ready); });
          return;
        }
        for (const std::string& why : (*found)->broken)
          ports_.log.warning("invalid CNI attachment record: its interface will not be detached",
                             {{"problem", why}, {"remedy", "remove the file once its pod has ended"}});
        for (cni::Record& record : (*found)->records) {
          const Namespace held = (*open)[namespace_key(record.attachment)];
          const std::string name = cni::record_name(record.attachment);
          std::string addresses = addresses_of(record);
          kept_[name] = {
              .record = std::move(record), .network_namespace = held, .addresses = std::move(addresses)};
        }
        ready();
      });
}

const Attachments::Kept* Attachments::find(const cni::Attachment& attachment) const {
  const auto at = kept_.find(cni::record_name(attachment));
  return at == kept_.end() ? nullptr : &at->second;
}

std::vector<cni::Attachment> Attachments::of_sandbox(std::string_view container_id) const {
  std::vector<cni::Attachment> out;
  for (const auto& [name, kept] : kept_)
    if (kept.record.attachment.container_id == container_id) out.push_back(kept.record.attachment);
  return out;
}

void Attachments::on_disk(const std::shared_ptr<Work>& work,
                          std::function<Result<Unit>(const cni::Records&)> act,
                          std::function<void(Result<Unit>)> next) {
  auto outcome = std::make_shared<Result<Unit>>(Unit{});
  // No deadline: the next work of this attachment waits for the outcome.
  work->job = ports_.executor.run(
      [outcome, act = std::move(act), records = ports_.records] { *outcome = act(*records); }, Millis{0},
      [outcome, next = std::move(next)](bool finished) {
        next(finished ? *outcome : Error{Errc::kBusy, "too many reads hang; no record is written"});
      });
}

void Attachments::end(const std::shared_ptr<Work>& ended, Result<cni::Attached> outcome) {
  const std::shared_ptr<Work> work = ended;  // the last reference may be released here
  running_.erase(work);
  work->stop();
  work->turn_ends();
  if (const auto done = std::exchange(work->done, nullptr)) done(std::move(outcome));
}

void Attachments::enqueue(std::shared_ptr<Work> work,
                          void (Attachments::*begin)(const std::shared_ptr<Work>&)) {
  // Only ADDs of one sandbox overlap. Names in a sandbox are sliced's until its containers run. Before each
  // DEL they are restored, which must not overlap with another DEL.
  const std::string pod = pod_key(work->record.attachment);
  const bool is_attach = begin == &Attachments::begin_attach;
  auto keys = is_attach ? attach_keys(work->record) : device_keys(work->record.attachment);
  std::map<std::string, std::string> shared;
  if (is_attach)
    shared[pod] = work->record.attachment.container_id;
  else
    keys.insert(pod);
  queue_.add(
      std::move(keys),
      [this, work = std::move(work), begin](KeyedQueue::Done ends) {
        work->turn_ends = std::move(ends);
        running_.insert(work);
        (this->*begin)(work);
      },
      std::move(shared));
}

void Attachments::run(const std::shared_ptr<Work>& work, reactor::Semaphore& permits,
                      void (Attachments::*begin)(const std::shared_ptr<Work>&)) {
  work->permit = permits.acquire([this, work, begin] { (this->*begin)(work); });
}

// ---- attach

std::shared_ptr<const int> Attachments::namespace_of(const cni::Attachment& attachment) const {
  for (const auto& [name, kept] : kept_)
    if (kept.network_namespace && namespace_key(kept.record.attachment) == namespace_key(attachment))
      return kept.network_namespace;
  return nullptr;
}

namespace {

// Returns a text with the cause before its consequence.
std::string with_cause(const std::string& add_problem, const std::string& consequence) {
  return add_problem.empty() ? consequence : add_problem + "; since then: " + consequence;
}

}  // namespace

// Returns the other holder of the device; "" if none.
std::string Attachments::conflict_text(const cni::Record& record) const {
  const cni::Attachment& wanted = record.attachment;
  for (const auto& [name, kept] : kept_) {
    const cni::Attachment& other = kept.record.attachment;
    if (wanted.device.empty() || other.device != wanted.device || name == cni::record_name(wanted)) continue;
    const std::string who = "device " + escaped(wanted.device) + " is " + named(other) +
                            (kept.is_leaving ? ", which cannot be undone yet: " + kept.problem
                                             : ": it can be had when that sandbox has ended");
    const std::string_view pod = pod_uid_of(wanted);
    return with_cause(!pod.empty() && pod_uid_of(other) == pod ? kept.add_problem : "", who);
  }
  return "";
}

void Attachments::attach(cni::Record record, TimePoint deadline, OnAttached done) {
  // Checked before anything is kept or undone: a DEL with arguments that fail here would fail for ever, too.
  if (Result<Unit> good = check_record(record); !good) {
    const auto refuse = [why = good.error(), done = std::move(done)](KeyedQueue::Done ends) {
      ends();
      done(Error(why));
    };
    return queue_.add({}, refuse);
  }
  // A pod has one sandbox at a time. Attachments of an earlier one, whose end was not reported, are undone
  // first.
  const std::string_view pod = pod_uid_of(record.attachment);
  std::vector<cni::Attachment> before;
  for (auto& [name, kept] : kept_) {
    const cni::Attachment& other = kept.record.attachment;
    if (other.container_id == record.attachment.container_id) continue;
    const bool is_same_pod = !pod.empty() && pod_uid_of(other) == pod;
    const bool is_same_device = !other.device.empty() && other.device == record.attachment.device;
    kept.is_wanted |= is_same_device;
    if (is_same_pod || (is_same_device && kept.is_leaving)) before.push_back(other);
  }
  for (const cni::Attachment& one : before) detach(one, [](const Result<Unit>&) {});
  enqueue(std::make_shared<Work>(
              Work{.record = std::move(record), .deadline = deadline, .done = std::move(done)}),
          &Attachments::begin_attach);
}

void Attachments::begin_attach(const std::shared_ptr<Work>& work) {
  const std::string name = cni::record_name(work->record.attachment);
  if (const Kept* kept = find(work->record.attachment)) {
    if (kept->is_attached() && are_of_one(kept->record, work->record)) return end(work, *kept->record.result);
    if (!are_of_one(kept->record, work->record))
      return end(work, Error{Errc::kBusy, named(work->record.attachment) + " is there already, of " +
                                              escaped(kept->record.owner, 256)});
    return end(work, Error{Errc::kBusy, with_cause(kept->add_problem,
                                                   named(work->record.attachment) + " is not undone yet" +
                                                       (kept->problem.empty() ? "" : ": " + kept->problem))});
  }
  if (const std::string who = conflict_text(work->record); !who.empty())
    return end(work, Error{Errc::kBusy, who});
  if (ports_.scheduler.now() >= work->deadline)
    return end(work, Error{Errc::kTimeout, named(work->record.attachment) +
                                               ": others of its sandbox or device were before it"});
  kept_[name] = {.record = work->record, .addresses = addresses_of(work->record)};
  work->network_namespace = namespace_of(work->record.attachment);
  on_disk(
      work,
      [work, prepare = ports_.host.prepare_host,
       read = ports_.host.host_addresses](const cni::Records& records) {
        if (!work->network_namespace)
          work->network_namespace = open_namespace(work->record.attachment.network_namespace);
        Result<Unit> prepared =
            work->network_namespace ? check_pod_namespace(*work->network_namespace) : Unit{};
        if (prepared) prepared = exclude_host_addresses(work->record, read);
        if (prepared && prepare) prepared = prepare(work->record);
        work->is_refused = !prepared;
        if (!prepared) return prepared;
        return records.write(work->record);
      },
      [this, work, name](Result<Unit> written) {
        kept_[name].record = work->record;  // even if unwritten: its DEL restores the recorded values
        if (!written && work->is_refused) return drop_unrun(work, std::move(written.error()));
        if (!written) return end(work, std::move(written.error()));
        // Another attachment of the sandbox may have opened it meanwhile.
        Namespace held = namespace_of(work->record.attachment);
        kept_[name].network_namespace = held ? std::move(held) : std::move(work->network_namespace);
        if (const auto cleaning = cleaning_.find(kept_[name].addresses); cleaning != cleaning_.end())
          return cleaning->second.waiting.push_back(work);
        run(work, adds_, &Attachments::run_add);
      });
}

void Attachments::run_add(const std::shared_ptr<Work>& work) {
  auto network = cni::decode_network(work->record.config, work->record.network);
  if (!network) return drop_unrun(work, std::move(network.error()));
  const Millis left =
      std::chrono::duration_cast<Millis>(work->deadline - ports_.scheduler.now()) - kTailOfAdd;
  if (left <= Millis{0})
    return drop_unrun(work, Error{Errc::kTimeout, named(work->record.attachment) +
                                                      ": the disk is too slow, or too many others are made"});
  cni::Attachment attachment = work->record.attachment;
  // sliced enters the namespace that is kept open, because the path may refer to another one meanwhile.
  if (cni::is_native(*network))
    attachment.network_namespace = path_of(kept_[cni::record_name(attachment)].network_namespace);
  work->run = ports_.run(*std::move(network), cni::Command::kAdd, attachment, std::nullopt, left,
                         [this, work, entered = attachment.network_namespace](Result<cni::Attached> made) {
                           work->run.reset();
                           work->permit.reset();
                           if (made)
                             for (cni::Interface& one : made->interfaces)
                               if (one.sandbox == entered)
                                 one.sandbox = work->record.attachment.network_namespace;
                           if (!made) {
                             const Errc code = made.error().code;
                             if (code == Errc::kNotFound || code == Errc::kDenied)
                               return drop_unrun(work, std::move(made.error()));
                             std::vector<const cni::Record*> others;
                             for (const auto& [name, kept] : kept_) others.push_back(&kept.record);
                             if (const std::string why = parent_conflict(work->record, others); !why.empty())
                               made.error().what = why + " (" + made.error().what + ")";
                             kept_[cni::record_name(work->record.attachment)].add_problem = made.error().what;
                             return end(work, std::move(made));
                           }
                           work->record.result = *std::move(made);
                           record_added(work);
                         });
}

// If the record remains, its DEL is run as usual, and finds nothing to undo.
void Attachments::drop_unrun(const std::shared_ptr<Work>& work, Error why) {
  kept_[cni::record_name(work->record.attachment)].add_problem = why.what;
  on_disk(
      work,
      [work, restore = ports_.host.restore_host_sysctls](const cni::Records& records) {
        if (restore) restore(work->record);
        return records.remove(work->record.attachment);
      },
      [this, work, why = std::move(why)](const Result<Unit>& removed) {
        if (removed) {
          const auto at = kept_.find(cni::record_name(work->record.attachment));
          const std::string addresses = at->second.addresses;
          kept_.erase(at);
          clean_addresses(addresses);
        }
        end(work, Error(why));
      });
}

void Attachments::record_added(const std::shared_ptr<Work>& work) {
  on_disk(
      work,
      [work, restore = ports_.host.restore_host_sysctls, read = ports_.host.host_addresses,
       note = ports_.host.on_interface_moved,
       there = kept_[cni::record_name(work->record.attachment)].network_namespace](
          const cni::Records& records) -> Result<Unit> {
        if (restore) restore(work->record);
        if (note && there) note(work->record, *there);
        auto good = check_result_addresses(work->record, read);
        work->is_refused = !good;
        return good ? records.write(work->record) : std::move(good);
      },
      [this, work](Result<Unit> written) {
        Kept& kept = kept_[cni::record_name(work->record.attachment)];
        if (!written && !work->is_refused) return end(work, std::move(written.error()));
        kept.record = work->record;
        if (written) return end(work, *work->record.result);
        kept.is_leaving = true;
        kept.add_problem = written.error().what;
        end(work, std::move(written.error()));
      });
}

// ---- attachments of another program

void Attachments::adopt(cni::Record record) {
  const auto [at, added] = kept_.try_emplace(cni::record_name(record.attachment),
                                             Kept{.record = record, .addresses = addresses_of(record)});
  if (!added) return;
  enqueue(std::make_shared<Work>(Work{.record = std::move(record)}), &Attachments::begin_adopt);
}

void Attachments::begin_adopt(const std::shared_ptr<Work>& work) {
  on_disk(
      work,
      [work](const cni::Records& records) {
        work->network_namespace = open_namespace(work->record.attachment.network_namespace);
        return records.write(work->record);
      },
      [this, work](const Result<Unit>& written) {
        if (!written)
          ports_.log.warning(
              "record of an adopted interface not written: only this process can detach the interface",
              {{"sandbox", work->record.attachment.container_id},
               {"interface", work->record.attachment.interface},
               {"problem", written.error().what}});
        kept_[cni::record_name(work->record.attachment)].network_namespace =
            std::move(work->network_namespace);
        end(work, cni::Attached{});
      });
}

// ---- detach

void Attachments::detach(const cni::Attachment& attachment, OnDetached done) {
  if (const auto at = kept_.find(cni::record_name(attachment)); at != kept_.end())
    at->second.is_leaving = true;
  enqueue(std::make_shared<Work>(Work{.record = {.attachment = attachment},
                                      .done =
                                          [done = std::move(done)](Result<cni::Attached> all) {
                                            done(all ? Result<Unit>(Unit{}) : std::move(all.error()));
                                          }}),
          &Attachments::begin_detach);
}

void Attachments::begin_detach(const std::shared_ptr<Work>& work) {
  const auto at = kept_.find(cni::record_name(work->record.attachment));
  if (at == kept_.end()) return end(work, cni::Attached{});
  at->second.is_leaving = true;  // the ADD may have started after this call
  work->record = at->second.record;
  // Passes no path of a missing file, because plugins would open it.
  on_disk(
      work,
      [work, path = work->record.attachment.network_namespace, device = work->record.attachment.device,
       held = at->second.network_namespace, is_back = ports_.host.is_back,
       is_namespace = ports_.host.is_namespace,
       before_del = ports_.host.before_del](const cni::Records&) -> Result<Unit> {
        work->has_namespace = is_there(path, is_namespace);
        // An interface on a shared link ends with its namespace.
        work->is_back = !work->has_namespace && !held && (device.empty() || (is_back && is_back(device)));
        const Namespace there = held || !work->has_namespace ? held : open_namespace(path);
        return before_del && there ? before_del(work->record, *there) : Result<Unit>(Unit{});
      },
      [this, work](const Result<Unit>& ready) { ready ? wait_for_del(work) : bring_back(work, ready); });
}

void Attachments::wait_for_del(const std::shared_ptr<Work>& work) {
  const auto of_namespace = dels_of_namespace_
                                .try_emplace(pod_namespace_of(work->record.attachment), ports_.scheduler,
                                             ports_.bounds.dels_of_namespace_max)
                                .first;
  work->permit_of_namespace =
      of_namespace->second.acquire([this, work] { run(work, dels_, &Attachments::run_del); });
}

void Attachments::end_del(const std::shared_ptr<Work>& work) {
  work->stop();
  const auto at = dels_of_namespace_.find(pod_namespace_of(work->record.attachment));
  if (at != dels_of_namespace_.end() && at->second.in_use() + at->second.waiting() == 0)
    dels_of_namespace_.erase(at);
}

void Attachments::run_del(const std::shared_ptr<Work>& work) {
  auto network = cni::decode_network(work->record.config, work->record.network);
  if (!network) {
    end_del(work);
    return end_detach(work, std::move(network.error()));
  }
  cni::Attachment attachment = work->record.attachment;
  // The runtime may have removed it while this waited.
  if (!work->has_namespace || !is_there(attachment.network_namespace, ports_.host.is_namespace))
    attachment.network_namespace = path_of(kept_[cni::record_name(attachment)].network_namespace);
  work->run = ports_.run(*std::move(network), cni::Command::kDel, std::move(attachment), work->record.result,
                         kDetachMax, [this, work](Result<cni::Attached> undone) {
                           end_del(work);
                           bring_back(work, undone ? Result<Unit>(Unit{}) : Result<Unit>(undone.error()));
                         });
}

// A plugin whose IPAM fails does not move the interface back. The kernel would return a function under its
// name in the pod, and delete a virtual link with the namespace.
void Attachments::bring_back(const std::shared_ptr<Work>& work, const Result<Unit>& undone) {
  const Namespace held = kept_[cni::record_name(work->record.attachment)].network_namespace;
  on_disk(
      work,
      [work, held, undone, bring = ports_.host.bring_back,
       restore = ports_.host.restore_host_sysctls](const cni::Records& records) -> Result<Unit> {
        // Restored once: a repeated DEL would overwrite later changes of an administrator.
        const bool has_sysctls = restore && !work->record.host_sysctls.empty();
        if (has_sysctls) {
          restore(work->record);
          (void)records.write(work->record);
        }
        Namespace there =
            held || !work->has_namespace ? held : open_namespace(work->record.attachment.network_namespace);
        auto back = bring && there ? bring(work->record, *there) : Result<Unit>(Unit{});
        if (!undone && !back)
          return Error{undone.error().code, undone.error().what + "; " + back.error().what};
        if (!undone) return undone;
        if (!back) return back;
        return records.remove(work->record.attachment);
      },
      [this, work](const Result<Unit>& outcome) { end_detach(work, outcome); });
}

void Attachments::end_detach(const std::shared_ptr<Work>& work, const Result<Unit>& outcome) {
  const std::string name = cni::record_name(work->record.attachment);
  if (outcome) {
    const std::string addresses = kept_[name].addresses;
    kept_.erase(name);
    retries_.erase(name);
    clean_addresses(addresses);
    return end(work, cni::Attached{});
  }
  kept_[name].record.host_sysctls = work->record.host_sysctls;
  // An open namespace would keep its interface unreachable. After it is closed, the kernel returns the
  // interface.
  if (!work->has_namespace) kept_[name].network_namespace.reset();
  std::string& problem = kept_[name].problem;
  if (problem != outcome.error().what)
    ports_.log.warning("interface not detached: will retry",
                       {{"sandbox", work->record.attachment.container_id},
                        {"interface", work->record.attachment.interface},
                        {"device", work->record.attachment.device},
                        {"problem", outcome.error().what}});
  problem = outcome.error().what;
  Kept& kept = kept_[name];
  if (work->is_back && (kept.is_wanted || ++kept.failures >= ports_.tries_max))
    return give_up_detach(work, problem);
  try_again(work->record.attachment);
  end(work, Error(outcome.error()));
}

void Attachments::give_up_detach(const std::shared_ptr<Work>& work, const std::string& problem) {
  const cni::Attachment& attachment = work->record.attachment;
  ports_.log.error("CNI DEL abandoned: the sandbox has ended and the device is back on the host",
                   {{"sandbox", attachment.container_id},
                    {"interface", attachment.interface},
                    {"device", attachment.device},
                    {"pod", std::string(pod_uid_of(attachment))},
                    {"network", work->record.network},
                    {"problem", problem},
                    {"left", "addresses that the IPAM plugin has assigned"}});
  on_disk(
      work, [attachment](const cni::Records& records) { return records.remove(attachment); },
      [this, work](Result<Unit> removed) {
        const std::string name = cni::record_name(work->record.attachment);
        if (!removed) {
          try_again(work->record.attachment);
          return end(work, std::move(removed.error()));
        }
        const std::string addresses = kept_[name].addresses;
        kept_.erase(name);
        retries_.erase(name);
        clean_addresses(addresses);
        end(work, cni::Attached{});
      });
}

std::string Attachments::addresses_of(const cni::Record& record) const {
  return ports_.addresses.empty()
             ? ""
             : cni::host_local_directory(record.config, record.network, ports_.addresses);
}

void Attachments::clean_addresses(const std::string& directory) {
  if (directory.empty() || cleaning_.contains(directory)) return;
  if (std::any_of(kept_.begin(), kept_.end(),
                  [&](const auto& one) { return one.second.addresses == directory; }))
    return;
  auto job = ports_.executor.run([directory] { (void)cni::remove_unused_network(directory); }, Millis{0},
                                 [this, directory](bool) {
                                   const Cleaning over = std::move(cleaning_.extract(directory).mapped());
                                   for (const auto& work : over.waiting)
                                     run(work, adds_, &Attachments::run_add);
                                 });
  cleaning_[directory].job = std::move(job);
}

void Attachments::try_again(const cni::Attachment& attachment) {
  const std::string name = cni::record_name(attachment);
  Retry& retry =
      retries_.try_emplace(name, Retry{reactor::Backoff(ports_.random, kDetachAgain)}).first->second;
  retry.next = ports_.scheduler.after(retry.backoff.next(ports_.scheduler.now()),
                                      [this, attachment] { detach_later(attachment); });
}

void Attachments::detach_later(const cni::Attachment& attachment) {
  const std::string name = cni::record_name(attachment);
  if (const auto at = kept_.find(name); at != kept_.end()) at->second.is_leaving = true;
  later_.emplace(name, attachment);
  begin_later();
}

void Attachments::begin_later() {
  while (!later_.empty() && later_running_ < ports_.bounds.later_max) {
    ++later_running_;
    detach(later_.extract(later_.begin()).mapped(), [this](const Result<Unit>&) {
      --later_running_;
      begin_later();
    });
  }
}

}  // namespace sliced::kubelet
