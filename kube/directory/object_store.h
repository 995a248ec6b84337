#pragma once
// Objects with resource versions and a history of changes, like an API server, small enough for a directory
// of files. Objects are stored as text, which takes a twentieth of decoded ones. Pure: independent of files
// and time.
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kube/directory/manifest.h"
#include "kube/objects/cluster.h"
#include "kube/objects/json.h"
#include "reactor/base/result.h"

namespace sliced::kube {

using ObjectPtr = std::shared_ptr<const Json>;
using ContentPtr = std::shared_ptr<const std::string>;  // an object as JSON text, without resourceVersion

/// Returns the object as text.
ContentPtr content_of(Json object);

/// One version of an object. Immutable: a change creates another one, and watches that have not seen it hold
/// both.
struct StoredObject {
  ContentPtr content;
  std::string uid;         // if the content has none
  int64_t generation = 0;  // likewise
  uint64_t version = 0;
  /// Returns the object as the server would send it.
  Json served() const;
};
using StoredPtr = std::shared_ptr<const StoredObject>;

/// One step of the history.
struct ObjectChange {
  uint64_t version = 0;
  ObjectKey key;
  StoredPtr before, after;  // nullptr: did not exist, or no longer exists
};

/// One term of a field selector: metadata.name, metadata.namespace, spec.driver, spec.nodeName.
struct FieldTerm {
  std::string path, value;
  bool negated = false;
  bool operator==(const FieldTerm&) const = default;
};
/// "a=b,c==d,e!=f". kInvalid for any other field.
Result<std::vector<FieldTerm>> decode_field_selector(std::string_view text);

/// A prepared scope, for many comparisons.
struct ObjectFilter {
  Scope scope;
  std::string default_namespace;
  std::vector<FieldTerm> fields;

  /// Returns true if kind and namespace match; does not read the object.
  bool concerns(const ObjectKey& key) const;
  /// The same including the field selector, which requires the object.
  bool selects(const ObjectKey& key, const Json& object) const;
  /// The object as the server would send it for this scope, as JSON text.
  std::string present(const ObjectKey& key, const Json& object) const;
};

/// Versions increase by one with each change of any object. The history is bounded in bytes: watches from
/// older versions get 410, as from a server.
class ObjectStore {
 public:
  /// Sets uid (a stable hash of kind, namespace and name), generation and resourceVersion if the content has
  /// none; ignores its resourceVersion. Returns false if the content is unchanged.
  bool put(const ObjectKey& key, const ContentPtr& content);
  bool put(const ObjectKey& key, Json content) { return put(key, content_of(std::move(content))); }
  /// Returns false if it did not exist.
  bool remove(const ObjectKey& key);

  /// Returns the object as the server would send it.
  ObjectPtr find(const ObjectKey& key) const;
  /// Returns the object that put() would store, for dry runs.
  Json preview(const ObjectKey& key, Json content) const;
  /// Returns the objects of the filter's kind and namespace; the field selector is not applied.
  std::vector<std::pair<ObjectKey, StoredPtr>> concerned(const ObjectFilter& filter) const;
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& [key, stored] : objects_) visit(key, *stored);
  }
  size_t size() const { return objects_.size(); }

  uint64_t version() const { return version_; }
  /// Returns true if all changes after `version` are stored.
  bool has_history_since(uint64_t version) const { return version >= oldest_ && version <= version_; }
  /// Returns the first change after `version`; nullptr if none. Valid until the store changes.
  const ObjectChange* change_after(uint64_t version) const;
  /// Ends the history: no watch can continue from an earlier version.
  void forget_history();

 private:
  // Adds a version. Versions beyond 1,024 steps, or 4 MiB of replaced contents, are forgotten.
  void record(const ObjectKey& key, StoredPtr before, StoredPtr after);
  // generation increases if anything except metadata changed, as in a server.
  StoredObject next(const ObjectKey& key, ContentPtr content) const;

  std::map<ObjectKey, StoredPtr> objects_;
  std::deque<ObjectChange> history_;
  size_t history_bytes_ = 0;  // of replaced contents
  uint64_t version_ = 1, oldest_ = 1;
};

}  // namespace sliced::kube
