#pragma once
// Files of Kubernetes objects: YAML or JSON, several documents, Lists. Pure, except read_manifest().
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

/// The identity of an object. The namespace is "" for the default one, too, because a file may omit it.
struct ObjectKey {
  std::string api_version, kind, namespace_, name;
  auto operator<=>(const ObjectKey&) const = default;
};
std::string describe(const ObjectKey& key);  // "v1 Node worker-1"

/// The content of a file, in its order.
struct Manifest {
  // value: the object as in the file.
  struct Object {
    ObjectKey key;
    Json value;
    bool operator==(const Object&) const = default;
  };
  std::vector<Object> objects;
  FirstFew<YamlProblem> problems;  // the text is invalid: no part of the file is used
  FirstFew<YamlProblem> remarks;   // objects that were left out: without kind, name ...
  /// The first of those that may be meant as a DeviceExposurePolicy, and so as an exclude.
  std::optional<YamlProblem> possible_exclude;
};

/// Lists (kind "List", or "...List" with items) are split. An invalid document makes the whole file invalid.
/// An item that is not a Kubernetes object, or whose kind or apiVersion resembles that of a
/// DeviceExposurePolicy, is left out with a remark; the others count.
Manifest decode_manifest(std::string_view text, std::string_view default_namespace,
                         const JsonLimits& limits = {});

/// Returns the manifest of decoded objects, each as a separate document.
Manifest manifest_of(std::vector<Json> objects, std::string_view default_namespace);

/// Returns true if a text, also an invalid one, may contain DeviceExposurePolicies.
bool mentions_exposure_policy(std::string_view text);

/// Returns an unreadable DeviceExposurePolicy as a placeholder for an unreadable file or an object in it,
/// which may be an exclude. why: "the file cannot be read".
Manifest::Object placeholder_for(const std::string& file, std::string_view why);

/// Returns true for names of manifests: *.yaml, *.yml, *.json, without hidden files and backup or temporary
/// files of editors.
bool is_manifest_name(std::string_view name);

/// Returns the bytes of a regular file (through links). Never blocks on pipes.
/// Errors: kNotFound, kDenied, kTooLarge (JsonLimits.size_max), kInvalid (no regular file), kIo.
Result<std::string> read_manifest(const std::string& path);

}  // namespace sliced::kube
