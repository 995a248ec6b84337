#pragma once
// A file of Kubernetes objects as people keep them: YAML or JSON, several documents, Lists. Pure but for
// read_manifest().
#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/json.h"
#include "kube/objects/yaml.h"
#include "reactor/base/result.h"

namespace sliced::kube {

/// What an object is known by. The namespace is "" for the default one, too: a file need not name it.
struct ObjectKey {
  std::string api_version, kind, namespace_, name;
  auto operator<=>(const ObjectKey&) const = default;
};
std::string describe(const ObjectKey& key);  // "v1 Node worker-1"

/// What a file says, in its order.
struct Manifest {
  // The value is the object as it stands in the file.
  struct Object {
    ObjectKey key;
    Json value;
    bool operator==(const Object&) const = default;
  };
  std::vector<Object> objects;
  FirstFew<YamlProblem> problems;  // the text is broken: nothing of the file can be relied on
  FirstFew<YamlProblem> remarks;   // objects that were left out: no kind, no name ...
  /// The first of those that may have been meant as a DeviceExposurePolicy, and so as an exclude.
  std::optional<YamlProblem> lost_exclude;
};

/// Lists (kind "List", or "...List" with items) are taken apart.
/// One document that is broken makes the whole file one; an object that is no object of Kubernetes is left
/// out with a remark, and the others count. So is one whose kind or apiVersion is almost that of a DeviceExposurePolicy.
Manifest decode_manifest(std::string_view text, std::string_view default_namespace,
                         const JsonLimits& limits = {});

/// Of objects that are decoded already, each as a document of its own.
Manifest manifest_of(std::vector<Json> objects, std::string_view default_namespace);

/// Whether a text, also one that is broken, may speak of DeviceExposurePolicies.
bool mentions_exposure_policy(std::string_view text);

/// A DeviceExposurePolicy that cannot be understood, in place of a file that cannot be read, or of an object in it: it may be
/// an exclude. why: "the file cannot be read".
Manifest::Object stand_in_of(const std::string& file, std::string_view why);

/// Whether a file of that name is one: *.yaml, *.yml, *.json, neither hidden nor an editor's backup or
/// scratch file.
bool is_manifest_name(std::string_view name);

/// The bytes of a regular file (through links). Never blocks on pipes.
/// Errors: kNotFound, kDenied, kTooLarge (JsonLimits.size_max), kInvalid (no regular file), kIo.
Result<std::string> read_manifest(const std::string& path);

}  // namespace sliced::kube
