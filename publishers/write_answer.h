#pragma once
// What the answer to a write of a ResourceSlice says: whether it is about what was sent, what of it the server
// dropped, and which entries it refuses. Pure; who asks and what follows is the publisher's.
//
// Nothing in an answer is believed beyond what it is about: a proxy may answer for the server, or about another
// object.
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/cluster.h"
#include "kube/objects/resource_slice.h"
#include "reactor/base/result.h"

namespace sliced::publishers {

/// A device entry that the server refused, or stored without one of its fields.
struct RefusedEntry {
  std::string name;
  uint64_t content_hash = 0;  // policy::content_hash of what was sent
  std::string why;
};

/// Bounded as every object of the API server is. Errors: kTooLarge, kInvalid, in the words of the decoder.
Result<kube::ResourceSlice> decode_slice_text(std::string_view text);
/// A short text of an object, which may be too large to be decoded; "" where that cannot be read.
std::string text_in(std::string_view object, std::initializer_list<std::string_view> path);

/// "" when the server's answer is about the object that was sent: name, uid, driver, node, pool; and it has a
/// resourceVersion. Otherwise what differs, for people.
std::string difference_of_identity(const kube::ResourceSlice& sent, const kube::ResourceSlice& stored);
/// Entries that the server stored otherwise than they were sent, or not at all.
std::vector<RefusedEntry> mutilated_entries(const kube::ResourceSlice& sent,
                                            const kube::ResourceSlice& stored);

/// Entries that a Status names in its causes (`spec.devices[12]...`), each once, with what it says.
std::vector<RefusedEntry> refused_entries(const kube::ResourceSlice& sent, const kube::Failure& failure);
/// 422 about metadata; or 413, which is for the object as a whole.
bool is_refused_for_metadata(const kube::Failure& failure);
/// The server, or who stands before it, does not do this one thing; it is neither busy nor of another state.
bool is_refusal(const kube::Failure& failure);

}  // namespace sliced::publishers
