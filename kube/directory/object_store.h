#pragma once
// Objects with resource versions and the history of their changes: what an API server keeps, small enough for
// a directory of files. They are kept as text, for as data they take twenty times as much. Pure: knows
// neither files nor time.
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

/// An object as text; what a file says of it.
ContentPtr content_of(Json object);

/// One version of an object.
/// Immutable: a change is another one, and watches that have not heard of it hold both.
struct KeptObject {
  ContentPtr content;
  std::string uid;         // where the content has none
  int64_t generation = 0;  // likewise
  uint64_t version = 0;
  /// As the server has it.
  Json served() const;
};
using KeptPtr = std::shared_ptr<const KeptObject>;

/// One step of the history.
struct ObjectChange {
  uint64_t version = 0;
  ObjectKey key;
  KeptPtr before, after;  // nullptr: was not, or is no longer, there
};

/// One term of a field selector: metadata.name, metadata.namespace, spec.driver, spec.nodeName.
struct FieldTerm {
  std::string path, value;
  bool negated = false;
  bool operator==(const FieldTerm&) const = default;
};
/// "a=b,c==d,e!=f". kInvalid for any other field.
Result<std::vector<FieldTerm>> decode_field_selector(std::string_view text);

/// A scope made ready to be asked about many objects.
struct ObjectFilter {
  Scope scope;
  std::string default_namespace;
  std::vector<FieldTerm> fields;

  /// Whether the kind and the namespace are those of the scope: what is asked before an object is read.
  bool concerns(const ObjectKey& key) const;
  /// The field selector too, for which the object has to be read.
  bool selects(const ObjectKey& key, const Json& object) const;
  /// The object as the server would send it for this scope, as JSON text.
  std::string present(const ObjectKey& key, const Json& object) const;
};

/// Versions grow by one with each change, whichever object it is of. The history is bounded in bytes: what
/// is older than it goes back cannot be watched from, as with a real server (410).
class ObjectStore {
 public:
  /// Objects get uid (a stable hash of kind, namespace and name), generation and resourceVersion where the
  /// content has none; a resourceVersion in the content is ignored. False when the content is what is stored
  /// already.
  bool put(const ObjectKey& key, const ContentPtr& content);
  bool put(const ObjectKey& key, Json content) { return put(key, content_of(std::move(content))); }
  /// False when it was not there.
  bool remove(const ObjectKey& key);

  /// As the server has it, read anew.
  ObjectPtr find(const ObjectKey& key) const;
  /// What put() would store now: for dry runs.
  Json preview(const ObjectKey& key, Json content) const;
  /// Those that the filter may select; whether it does, the object itself says.
  std::vector<std::pair<ObjectKey, KeptPtr>> concerned(const ObjectFilter& filter) const;
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& [key, kept] : objects_) visit(key, *kept);
  }
  size_t size() const { return objects_.size(); }

  uint64_t version() const { return version_; }
  /// Whether every change after `version` is still known.
  bool remembers(uint64_t version) const { return version >= oldest_ && version <= version_; }
  /// The first change after `version`; nullptr when there is none. Valid until the store changes.
  const ObjectChange* change_after(uint64_t version) const;
  /// Watches cannot go on from any version before now.
  void forget_history();

 private:
  // The next version. What goes beyond 1,024 steps, or 4 MiB of contents that are not current any more, is
  // forgotten.
  void record(const ObjectKey& key, KeptPtr before, KeptPtr after);
  // generation grows where anything but metadata has changed, as with a server.
  KeptObject next(const ObjectKey& key, ContentPtr content) const;

  std::map<ObjectKey, KeptPtr> objects_;
  std::deque<ObjectChange> history_;
  size_t history_bytes_ = 0;  // of contents that came with it
  uint64_t version_ = 1, oldest_ = 1;
};

}  // namespace sliced::kube
