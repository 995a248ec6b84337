#include "publishers/slice_cache.h"

#include <algorithm>
#include <set>

#include "reactor/base/text.h"

namespace sliced::publishers {
namespace {

using kube::ResourceSlice;

int64_t version_of(const ResourceSlice& slice) { return parse_int(slice.meta.resource_version).value_or(0); }

}  // namespace

bool SliceCache::put(const ResourceSlice& slice) {
  const auto [at, fresh] = slices_.try_emplace(slice.meta.name, slice);
  if (fresh) return true;
  if (at->second == slice) return false;
  at->second = slice;
  return true;
}

bool SliceCache::erase(const std::string& name) { return slices_.erase(name) > 0; }

bool SliceCache::on_event(const SourceEvent<ResourceSlice>& event, TimePoint now) {
  if (const auto* changed = std::get_if<Changed<ResourceSlice>>(&event)) {
    newest_ = std::max(newest_, version_of(changed->now));
    const auto own = unconfirmed_.find(changed->now.meta.name);
    if (own != unconfirmed_.end()) {
      const bool stale = own->second.deleted ? version_of(changed->now) <= own->second.version
                                             : version_of(changed->now) < own->second.version;
      if (stale) return false;
      unconfirmed_.erase(own);
    }
    return put(changed->now);
  }
  if (const auto* removed = std::get_if<Removed<ResourceSlice>>(&event)) {
    const auto own = unconfirmed_.find(removed->id.name);
    if (own != unconfirmed_.end() && !own->second.deleted) return false;  // it precedes our write
    if (own != unconfirmed_.end()) unconfirmed_.erase(own);
    return erase(removed->id.name);
  }
  const auto& relisted = std::get<Relisted<ResourceSlice>>(event);
  listed_ = true;
  newest_ = 0;
  bool different = false;
  std::set<std::string> shown;
  for (const ResourceSlice& slice : relisted.all) {
    shown.insert(slice.meta.name);
    const auto own = unconfirmed_.find(slice.meta.name);
    const bool older =
        own != unconfirmed_.end() && (own->second.deleted ? version_of(slice) <= own->second.version
                                                          : version_of(slice) < own->second.version);
    if (older) {
      own->second.expires_at = now + kListLagMax;
      own->second.list = slice;
    } else {
      if (own != unconfirmed_.end()) unconfirmed_.erase(own);
      different |= put(slice);
    }
  }
  for (auto at = unconfirmed_.begin(); at != unconfirmed_.end();) {
    if (shown.contains(at->first)) {
      ++at;
    } else if (at->second.deleted) {
      at = unconfirmed_.erase(at);
    } else {
      at->second.expires_at = now + kListLagMax;
      at->second.list.reset();
      ++at;
    }
  }
  for (auto at = slices_.begin(); at != slices_.end();) {
    const bool keep = shown.contains(at->first) || unconfirmed_.contains(at->first);
    if (!keep) different = true;
    at = keep ? std::next(at) : slices_.erase(at);
  }
  return different;
}

// In the order of versions: an own event is among the received ones, and absent slices were deleted after it.
void SliceCache::on_written(ResourceSlice stored) {
  const bool was_told = version_of(stored) > 0 && version_of(stored) <= newest_;
  if (!was_told || slices_.contains(stored.meta.name)) on_stored(std::move(stored));
}

void SliceCache::on_stored(ResourceSlice stored) {
  const std::string name = stored.meta.name;
  const auto known = slices_.find(name);
  const int64_t version = version_of(stored);
  // The watch may have been faster than the answer.
  if (known != slices_.end() && version_of(known->second) >= version && !unconfirmed_.contains(name)) {
    if (version_of(known->second) == version) known->second = std::move(stored);
    return;
  }
  unconfirmed_[name] = {.version = version};
  put(stored);
}

void SliceCache::on_delete_succeeded(const std::string& name, const std::string& resource_version) {
  const auto version = parse_int(resource_version);
  const auto known = slices_.find(name);
  if (!version || known == slices_.end() || version_of(known->second) <= *version) on_not_found(name);
}

void SliceCache::on_not_found(const std::string& name) {
  const auto known = slices_.find(name);
  if (known == slices_.end()) return;  // the watch was faster
  unconfirmed_[name] = {.version = version_of(known->second), .deleted = true};
  slices_.erase(known);
}

const ResourceSlice* SliceCache::find_written(const std::string& name, const std::string& uid,
                                              const std::string& resource_version) const {
  const auto own = unconfirmed_.find(name);
  if (own == unconfirmed_.end() || own->second.deleted || own->second.version == 0) return nullptr;
  const auto known = slices_.find(name);
  const bool is_it = known != slices_.end() && !uid.empty() && known->second.meta.uid == uid &&
                     known->second.meta.resource_version == resource_version;
  return is_it ? &known->second : nullptr;
}

std::optional<TimePoint> SliceCache::next_deadline() const {
  std::optional<TimePoint> first;
  for (const auto& [name, own] : unconfirmed_)
    if (own.expires_at && (!first || *own.expires_at < *first)) first = own.expires_at;
  return first;
}

bool SliceCache::expire_answers(TimePoint now) {
  bool different = false;
  for (auto at = unconfirmed_.begin(); at != unconfirmed_.end();) {
    if (!at->second.expires_at || *at->second.expires_at > now) {
      ++at;
      continue;
    }
    different |= at->second.list ? put(*at->second.list) : erase(at->first);
    at = unconfirmed_.erase(at);
  }
  return different;
}

void SliceCache::share(const std::vector<kube::DevicePtr>& entries) {
  for (auto& [name, slice] : slices_) share(entries, slice);
}

void SliceCache::share(const std::vector<kube::DevicePtr>& entries, const std::string& name) {
  if (const auto at = slices_.find(name); at != slices_.end()) share(entries, at->second);
}

void SliceCache::share(const std::vector<kube::DevicePtr>& entries, ResourceSlice& slice) {
  const auto before = [](const kube::DevicePtr& entry, const std::string& name) {
    return entry->name < name;
  };
  for (kube::DevicePtr& device : slice.devices) {
    const auto at = std::lower_bound(entries.begin(), entries.end(), device->name, before);
    if (at != entries.end() && *at == device) device = *at;
  }
}

}  // namespace sliced::publishers
