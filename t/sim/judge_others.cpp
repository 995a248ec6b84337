// What is not ours: objects that others made, and what they wrote beside ours into our own.
#include <algorithm>

#include "kube/objects/kinds.h"
#include "t/sim/world.h"

namespace sliced::sim {
namespace {

using kube::Json;

const std::set<std::string> kOwnNotes = {"dra.networking/boot-id", "dra.networking/withdrawn",
                                         "dra.networking/excludes", "dra.networking/groups"};

// "" when `after` has all that others wrote into `before`.
std::string lost_of_others(const Json& before, const Json& after) {
  for (const char* field : {"labels", "annotations"}) {
    const Json *was = before.find({"metadata", field}), *is = after.find({"metadata", field});
    if (was == nullptr || was->object() == nullptr) continue;
    for (const auto& [key, value] : *was->object()) {
      if (kOwnNotes.contains(key)) continue;
      const Json* kept = is == nullptr ? nullptr : is->find(key);
      if (kept == nullptr || *kept != value) return std::string(field) + " " + key;
    }
  }
  const Json *was = before.find({"metadata", "finalizers"}), *is = after.find({"metadata", "finalizers"});
  if (was == nullptr || was->array() == nullptr) return "";
  for (const Json& finalizer : *was->array())
    if (is == nullptr || is->array() == nullptr ||
        std::find(is->array()->begin(), is->array()->end(), finalizer) == is->array()->end())
      return "finalizer " + kube::encode_json(finalizer);
  return "";
}

}  // namespace

// Before a write of the daemon replaces or deletes it; the server's preconditions hold.
void World::judge_touch(const fake::Request& request, const Json& before) {
  const auto what = [&] { return request.verb + "s " + request.plural + " " + request.name; };
  if (request.plural != "resourceslices") return fail("others", what());
  const StoredSlice slice = stored_slice(before);
  if ((slice.driver != kDriver && slice.driver != kExposureDriver) || slice.node != kNode)
    return fail("others", what() + " of driver " + slice.driver + " and node " + slice.node);
  if (request.verb != "update") return;
  if (const std::string lost = lost_of_others(before, request.body); !lost.empty())
    fail("others", what() + " without what somebody else wrote: " + lost);
}

void World::expect_writes(size_t before) {
  if (writes != before) fail("I3", std::to_string(writes - before) + " writes although nothing had changed");
}

}  // namespace sliced::sim
