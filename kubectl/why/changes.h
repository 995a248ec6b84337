#pragma once
// Finds the changes with which claims could be allocated on a node, by repeating search() with each change.
// So the named changes are the actual obstacles, and complete. Ownership: Change::holder points into the
// claims of Scene::held; everything else is a copy.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kubectl/why/scene.h"
#include "kubectl/why/search.h"
#include "kubectl/why/view.h"

namespace sliced::why {

/// In increasing order of the effort and harm of the change.
enum class ChangeKind : uint8_t {
  kCompletePools,    // incomplete pools become complete
  kCorrectSelector,  // a selector reads the devices' name instead of a misspelled one
  kGuardSelector,    // a selector that fails on a device does not match it
  kRelease,          // another claim releases its devices
  kTolerate,         // the request tolerates a taint
  kLessCapacity,     // the request asks for the minimum of a capacity
  kNoCapacity,       // the request does not ask for a capacity
  kNoConstraint,     // the claim does not have the constraint
  kFewer,            // the request asks for fewer devices
  kNoSelector,       // the request does not have the selector
  kNoClassSelector,  // the DeviceClass does not have the selector
  kMakeClass,        // the DeviceClass exists
  kNoRequest,        // the claim does not have the request: no other change is sufficient
};

struct Change {
  ChangeKind asks = ChangeKind::kRelease;
  /// "namespace/name" (Claim::id()).
  std::string claim;    // the claim of the request; for kRelease: the holder
  std::string request;  // "request" or "request/alternative"
  std::string
      device_class;  // for kNoClassSelector, kMakeClass; for kCorrectSelector and kGuardSelector if the selector is a class's
  size_t index = 0;  // of a selector or constraint
  bool fails =
      false;  // for kNoSelector, kNoClassSelector: the selector fails on a device, and a guard is not enough
  std::string expression;  // for kCorrectSelector: the corrected one
  std::string key;         // of a capacity
  int64_t count = 0;       // for kFewer
  kube::Taint taint;       // for kTolerate
  /// For kTolerate: the DeviceTaintRules with the taint, separated by commas, otherwise its driver.
  std::string taint_rules, taint_driver;
  /// For kLessCapacity: the largest sufficient amount; nullopt: unknown, only that less would be sufficient.
  std::optional<Amount> most;
  std::vector<PoolId> pools;      // for kCompletePools
  const Claim* holder = nullptr;  // for kRelease
};
/// Returns "release claim default/a (pod p)", "let request vf tolerate the taint x:NoSchedule". scene: the
/// unchanged one in which the change was found, for look-ups.
std::string describe(const Change& change, const Scene& scene);
/// Returns how a claim can be released: "delete pod default/p, which has claim default/a". Without a pod the
/// claim itself must be deleted: the controller deallocates a claim only when its last pod is deleted. The
/// text includes the state of pods that do not run; one that is being deleted is waited for.
std::string release_text(const Claim& claim);
/// Returns the state of the pods that lose the device if the claim is deleted: users_state, or kEnding
/// without users.
UsersState release_impact(const Claim& claim);
/// Returns a word for scripts: "release", "tolerate". An interface: `kubectl sliced why -o json` contains it.
std::string_view name_of(ChangeKind asks);

/// Returns the scene with that change. whole_pools: the scene's, with all of them complete. Indexes of other
/// changes stay valid: a removed selector becomes `true`, a removed constraint one of no request. With
/// kCompletePools the result points to whole_pools.
Scene with_change(Scene scene, const Change& change, const std::vector<Pool>& whole_pools);

struct Changes {
  /// Also valid if all changes together are not sufficient, or their search is aborted.
  bool is_known = true;  // false: too many to be tried
  /// A minimal set: with all of them the claims can be allocated, and without any one they cannot. The least
  /// effort first.
  std::vector<Change> all;
  std::vector<Change> alone;  // each of these is sufficient alone; the least effort first
  /// kGuardSelector: each ends an error alone, also if no device matches then.
  std::vector<Change> guards;
};
/// For a scene with search() result kNo or kError. Work: two search() for each possible change, each of at
/// most tries_max.
/// Bounds: beyond 512 changes nothing is tried. Each search uses scene.selectors: when their budget is used
/// up, no change seems sufficient, and the caller drops the result.
/// views: view_requests() of the scene, for the number of free devices. kNoRequest is only in `all`, never in
/// `alone`.
Changes find_changes(const Scene& scene, const std::vector<Pool>& whole_pools,
                     const std::vector<RequestView>& views, uint64_t tries_max = kTriesMax / 5);

}  // namespace sliced::why
