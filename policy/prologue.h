#pragma once
// The common start of every policy kind: metadata and spec. Their problems come first.
#include "kube/objects/json.h"
#include "kube/objects/object_meta.h"
#include "policy/problem.h"
#include "reactor/base/result.h"

namespace sliced::policy {

/// Adds problems for names that an API server refuses, which a file may contain. A missing name is one.
void check_names(const kube::Json& object, Problems& problems);

/// Returns a copy of the metadata. meta: the result of kube::decode_object_meta(). If it is an error, returns
/// empty metadata and adds a problem with the line of the object; the policy then offers nothing.
kube::ObjectMeta meta_of(const Result<kube::ObjectMeta>& meta, const kube::Json& object, Problems& problems);

/// Returns false, and adds a problem, if a member may have been meant as spec ("Spec"): a server drops it, a
/// file keeps it.
bool check_members(const kube::Json& object, Problems& problems);

/// Returns nullptr, and adds a problem, if there is none: a policy without spec does not select everything.
const kube::Json* spec_of(const kube::Json& object, Problems& problems);

}  // namespace sliced::policy
