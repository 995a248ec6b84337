#pragma once
// Compares the answer to a write of a ResourceSlice with the object that was sent: identity, dropped fields,
// refused entries. Pure; used by the publisher.
//
// Answers are not trusted: a proxy may answer in place of the API server, or return another object.
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/cluster.h"
#include "kube/objects/resource_slice.h"
#include "reactor/base/result.h"

namespace sliced::publishers {

/// A device entry that the server refused or stored without one of its fields.
struct RefusedEntry {
  std::string name;
  uint64_t content_hash = 0;  // policy::content_hash of the entry that was sent
  std::string why;
};

/// Errors: kTooLarge, kInvalid (kube/objects/json.h).
Result<kube::ResourceSlice> decode_slice_text(std::string_view text);
/// Returns the string at `path` of an object that may be too large to decode; "" if it cannot be read.
std::string text_in(std::string_view object, std::initializer_list<std::string_view> path);

/// Returns true if the text is this object in this version: uid, resourceVersion, name, driver, node and pool
/// are equal, and the object was decoded without loss. It need not be decoded then.
bool is_text_of(std::string_view object, const kube::ResourceSlice& slice);

/// Returns "" if name, uid, driver, node and pool are equal and `stored` has a resourceVersion; otherwise the
/// difference, for an error message.
std::string difference_of_identity(const kube::ResourceSlice& sent, const kube::ResourceSlice& stored);
/// Returns the entries that the server changed or dropped.
std::vector<RefusedEntry> mutilated_entries(const kube::ResourceSlice& sent,
                                            const kube::ResourceSlice& stored);

/// Returns the entries that a Status names in its causes (`spec.devices[12]...`), each once, with its
/// message.
std::vector<RefusedEntry> refused_entries(const kube::ResourceSlice& sent, const kube::Failure& failure);
/// Returns true for 422 with a field of metadata, and for 413 (object too large).
bool is_refused_for_metadata(const kube::Failure& failure);
/// Returns true if the server or a proxy refuses this request permanently: not busy, not a conflict.
bool is_refusal(const kube::Failure& failure);

}  // namespace sliced::publishers
