#pragma once
// What would have to be otherwise for claims to be allocated on a node: found by asking search() again with it changed,
// so that what is named is what stands in the way, and all of it.
//
// Ownership: Change::holder points into the claims that Scene::held was made of; everything else is a copy.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kubectl/why/scene.h"
#include "kubectl/why/search.h"
#include "kubectl/why/view.h"

namespace sliced::allocation {

/// In increasing order of the effort and harm of the change.
enum class Asks : uint8_t {
  kCompletePools,    // pools whose slices are not all there become complete
  kCorrectSelector,  // a selector reads the name that devices have and not one that is nearly it
  kRelease,          // another claim lets go of its devices
  kTolerate,         // the request tolerates a taint
  kLessCapacity,     // the request asks for as little of a capacity as it can
  kNoCapacity,       // the request does not ask for a capacity
  kNoConstraint,     // the claim does not have the constraint
  kFewer,            // the request asks for fewer devices
  kNoSelector,       // the request does not have the selector
  kNoClassSelector,  // the DeviceClass does not have the selector
  kMakeClass,        // there is such a DeviceClass
  kNoRequest,        // the claim does not have the request: nothing else would do
};

struct Change {
  Asks asks = Asks::kRelease;
  /// "namespace/name" (Claim::id()).
  std::string claim;    // whose request it is about; of kRelease: who lets go
  std::string request;  // "request" or "request/alternative"
  std::string
      device_class;    // of kNoClassSelector, kMakeClass; of kCorrectSelector where the selector is a class's
  size_t index = 0;    // of a selector or constraint
  bool fails = false;  // of kNoSelector, kNoClassSelector: the selector is an error on a device
  std::string expression;  // of kCorrectSelector: the corrected one
  std::string key;         // of a capacity
  int64_t count = 0;       // of kFewer
  kube::Taint taint;       // of kTolerate
  /// Of kTolerate: the DeviceTaintRules that give it, with commas, else the driver that does.
  std::string taint_rules, taint_driver;
  /// Of kLessCapacity: the most that is little enough; nullopt: it is not known, only that less would do.
  std::optional<Amount> most;
  std::vector<PoolId> pools;      // of kCompletePools
  const Claim* holder = nullptr;  // of kRelease
};
/// "release claim default/a (pod p)", "let request vf tolerate the taint x:NoSchedule".
/// scene: the one in which the change was found, unchanged: what the change is about is looked up there.
std::string describe(const Change& change, const Scene& scene);
/// What ends a claim's hold on its devices: "delete pod default/p, which has claim default/a". Without a pod the claim itself has to
/// go: the controller deallocates a claim when the last of its pods is gone, and no other one. Pods that do not run have their state in it,
/// and one that is being deleted is waited for.
std::string release_text(const Claim& claim);
/// The pods that lose the device when the claim is deleted: users_state, or kEnding if no pod uses the claim.
UsersState harm_of(const Claim& claim);
/// A word for scripts: "release", "tolerate". An interface: `kubectl sliced why -o json` has it.
std::string_view name_of(Asks asks);

/// The same scene with that otherwise. whole_pools: as the scene's, with all of them complete.
/// Indexes of other changes stay what they are: a selector becomes `true`, a constraint one of no request.
/// With kCompletePools the result points to whole_pools.
Scene with_change(Scene scene, const Change& change, const std::vector<Pool>& whole_pools);

struct Changes {
  /// Also where all changes together would not help, or the search with them is broken off.
  bool is_known = true;  // false: too much to be tried
  /// As few as can be: with all of them the claims are allocated, and leaving any out they are not. The least asked
  /// for first.
  std::vector<Change> all;
  std::vector<Change> alone;  // each of these is enough by itself; the least asked for first
};
/// Of a scene for which search() gives kNo or kError. Work: two search() for each change that might help, each of at
/// most tries_max.
/// Bounds: beyond 512 changes nothing is tried. Each search takes from scene.selectors: once those are spent
///         no change seems to help, and whoever asks drops what is returned.
/// views:  view_requests() of the scene, for how many devices are free.
/// kNoRequest is in `all` only, never in `alone`.
Changes find_changes(const Scene& scene, const std::vector<Pool>& whole_pools,
                     const std::vector<RequestView>& views, uint64_t tries_max = kTriesMax / 5);

}  // namespace sliced::allocation
