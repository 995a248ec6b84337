#include "kubelet/reconcile.h"

#include <algorithm>
#include <utility>

#include "kube/objects/json.h"
#include "kube/objects/kinds.h"
#include "kubelet/plan.h"
#include "kubelet/recall.h"

namespace sliced::kubelet {
namespace {

// Files that a reboot removed. Functions that pods use through vfio-pci are bound again at the kubelet's next
// prepare.
bool wants_files(const PreparedClaim& claim) {
  return !claim.is_complete &&
         std::any_of(claim.devices.begin(), claim.devices.end(),
                     [](const PreparedDevice& device) { return !device.edits.env.empty(); }) &&
         std::none_of(claim.devices.begin(), claim.devices.end(), [](const PreparedDevice& device) {
           return device.vfio || device.config.requires_vfio();
         });
}

bool is_info_of(const std::string& name, const std::string& pci) {
  return name.ends_with("-" + pci + "-device.json");
}

}  // namespace

FileChange unowned_files(const ExistingFiles& there, const PreparedClaims& prepared) {
  std::set<std::string> owned, functions, gone;
  bool are_pods_known = true;
  for (const auto& [key, claim] : prepared) {
    owned.insert({claim.uid, claim.cdi_pod_id});
    are_pods_known &= !is_nameless(claim);
    for (const PreparedDevice& device : claim.devices) functions.insert(device.pci);
  }
  FileChange out;
  for (const ExistingFiles::OfDriver& of : there.drivers) {
    for (const auto& [id, spec] : of.specs) {
      const auto claim = recall(of.driver, id, spec);
      if (owned.contains(id) || (!claim && !are_pods_known)) continue;
      out.removed_specs.push_back({cdi_kind(of.driver), id});
      if (!claim) continue;
      for (const PreparedDevice& device : claim->devices)
        if (!device.pci.empty() && !functions.contains(device.pci)) gone.insert(device.pci);
    }
    for (const MetadataFile& file : of.metadata)
      if (!owned.contains(file.uid)) out.removed_metadata.push_back(file);
  }
  for (const std::string& name : there.infos)
    if (std::any_of(gone.begin(), gone.end(), [&](const std::string& pci) { return is_info_of(name, pci); }))
      out.removed_infos.push_back(there.info_directory + "/" + name);
  return out;
}

struct Reconcile::Found {
  ExistingFiles files;
  std::map<PreparedKey, Result<std::string>> users;
};

Reconcile::Reconcile(ReconcilePorts ports, Handlers handlers, Settings settings)
    : ports_(std::move(ports)), handlers_(std::move(handlers)), settings_(std::move(settings)) {}

void Reconcile::begin() {
  if (std::exchange(is_running_, true)) {
    is_wanted_again_ = true;
    return;
  }
  to_ask_.clear();
  for (const auto& [key, claim] : handlers_.prepared())
    if (!is_nameless(claim)) to_ask_.push_back(key);
  turn_ = ports_.scheduler.after(Millis{0}, [this] { list_files(); });
}

// ---- files

void Reconcile::list_files() {
  auto found = std::make_shared<Found>();
  const auto work = [found, host = ports_.host, settings = settings_] {
    for (const std::string& driver : settings.drivers) {
      ExistingFiles::OfDriver of{.driver = driver, .specs = {}, .metadata = {}};
      const auto ids = host->spec_ids(cdi_kind(driver));
      for (const std::string& id : ids ? *ids : std::vector<std::string>())
        if (auto spec = host->read_spec(cdi_kind(driver), id)) of.specs.emplace(id, std::move(*spec));
      of.metadata = host->metadata_files(driver).value_or({});
      found->files.drivers.push_back(std::move(of));
    }
    found->files.info_directory = settings.device_info_directory;
    if (!settings.device_info_directory.empty())
      found->files.infos = host->names_in(settings.device_info_directory).value_or({});
  };
  job_ = ports_.executor.run(work, kLookMax, [this, found](bool finished) {
    const FileChange first = finished ? unowned_files(found->files, handlers_.prepared()) : FileChange{};
    if (!first.removed_specs.empty() || !first.removed_metadata.empty())
      handlers_.change_files([this, found] {
        FileChange change = unowned_files(found->files, handlers_.prepared());
        for (const auto& [kind, id] : change.removed_specs)
          ports_.log.info("CDI spec without a claim removed", {{"kind", kind}, {"id", id}});
        for (const MetadataFile& file : change.removed_metadata)
          ports_.log.info("metadata without a claim removed",
                          {{"driver", file.driver}, {"claim", file.folder}, {"request", file.request}});
        return change;
      });
    turn_ = ports_.scheduler.after(Millis{0}, [this] { ask_next(); });
  });
}

// ---- claims

void Reconcile::ask_next() {
  const PreparedClaims& prepared = handlers_.prepared();
  while (!to_ask_.empty() && !prepared.contains(to_ask_.front())) to_ask_.pop_front();
  if (to_ask_.empty()) return list_nameless();
  const PreparedKey key = to_ask_.front();
  to_ask_.pop_front();
  const PreparedClaim& claim = prepared.at(key);
  call_ = ask_claim(ports_.cluster, claim, [this, key](ClaimState state) { take(key, state); });
}

void Reconcile::take(const PreparedKey& key, ClaimState state) {
  note(key, state);
  const auto record = handlers_.prepared().find(key);
  if (state != ClaimState::kGone && record != handlers_.prepared().end() && wants_files(record->second))
    handlers_.write_files(record->second);
  turn_ = ports_.scheduler.after(Millis{0}, [this] { ask_next(); });
}

void Reconcile::note(const PreparedKey& key, ClaimState state) {
  if (state != ClaimState::kGone || !handlers_.prepared().contains(key))
    absent_.erase(key);
  else
    absent_.emplace(key, ports_.scheduler.now());
  handlers_.on_state(key, state);
}

// For a record that only has the claim's uid. Only a complete list shows that no claim has it.
void Reconcile::list_nameless() {
  std::set<PreparedKey> nameless;
  for (const auto& [key, claim] : handlers_.prepared())
    if (is_nameless(claim)) nameless.insert(key);
  if (nameless.empty()) return check_absent();
  auto uids = std::make_shared<std::set<std::string, std::less<>>>();
  call_ = ports_.cluster.list(
      {.scope = {.resource = kube::kResourceClaims, .metadata_only = true}},
      {.on_item =
           [uids](std::string_view object) {
             const auto item = kube::decode_json(object);
             const kube::Json* meta = item ? item->find("metadata") : nullptr;
             // An item that cannot be decoded may have any of the uids.
             uids->insert(meta == nullptr ? std::string() : std::string(meta->text("uid")));
           },
       .on_done =
           [this, uids, nameless](const std::string&) {
             for (const PreparedKey& key : nameless)
               note(key, uids->contains("")           ? ClaimState::kUnknown
                         : uids->contains(key.second) ? ClaimState::kExists
                                                      : ClaimState::kGone);
             turn_ = ports_.scheduler.after(Millis{0}, [this] { check_absent(); });
           },
       .on_failure =
           [this, nameless](const kube::Failure&) {
             for (const PreparedKey& key : nameless) note(key, ClaimState::kUnknown);
             turn_ = ports_.scheduler.after(Millis{0}, [this] { check_absent(); });
           }});
}

void Reconcile::check_absent() {
  std::erase_if(absent_, [this](const auto& one) { return !handlers_.prepared().contains(one.first); });
  std::vector<PreparedClaim> due;
  for (const auto& [key, since] : absent_) {
    const PreparedClaim& claim = handlers_.prepared().at(key);
    if (since + kAbsentMin <= ports_.scheduler.now() && claim.not_returned.empty()) due.push_back(claim);
  }
  if (due.empty()) return end();
  auto found = std::make_shared<Found>();
  const auto work = [found, due, host = ports_.host] {
    for (const PreparedClaim& claim : due) found->users.emplace(key_of(claim), host->user_of(claim));
  };
  job_ = ports_.executor.run(work, kLookMax, [this, found](bool finished) {
    if (!finished) return end();  // a worker that is late still writes there
    for (const auto& [key, user] : found->users) {
      const auto record = handlers_.prepared().find(key);
      if (record == handlers_.prepared().end()) continue;
      handlers_.on_user(key,
                        user ? *user : "unknown whether the device is in use (" + user.error().what + ")");
      if (!user || !user->empty()) continue;
      ports_.log.warning(
          "deleted claim is being released: the kubelet has not requested it, and its devices are unused",
          {{"driver", key.first}, {"claim", describe(request_of(record->second))}});
      handlers_.release_claim(record->second);
    }
    end();
  });
}

void Reconcile::end() {
  is_running_ = false;
  if (std::exchange(is_wanted_again_, false))
    turn_ = ports_.scheduler.after(Millis{0}, [this] { begin(); });
  else if (!absent_.empty())
    turn_ = ports_.scheduler.after(kAgain, [this] { begin(); });
}

}  // namespace sliced::kubelet
