#pragma once
// What an object of every policy kind begins with: who it is, and its spec. What is wrong with them are the first
// of its problems.
#include "kube/objects/json.h"
#include "kube/objects/object_meta.h"
#include "policy/problem.h"
#include "reactor/base/result.h"

namespace sliced::policy {

/// Names that no API server takes: a file may have them. Of an object of any kind; a name that is missing is none.
void check_names(const kube::Json& object, Problems& problems);

/// meta: of the object (kube::decode_object_meta), decoded once by whoever has the object first. Empty where it
/// cannot be read: the policy then offers nothing, and is told of under the line of the object.
/// A copy: the object goes when it is decoded.
kube::ObjectMeta meta_of(const Result<kube::ObjectMeta>& meta, const kube::Json& object, Problems& problems);

/// False, and a problem, where a member may have been meant as spec ("Spec"): a server drops it, a file keeps it.
bool check_members(const kube::Json& object, Problems& problems);

/// nullptr where there is none, which is a problem: a policy without spec is not one that selects everything.
const kube::Json* spec_of(const kube::Json& object, Problems& problems);

}  // namespace sliced::policy
