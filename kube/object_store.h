#pragma once
// Objects with resource versions and the history of their changes: what an API server keeps, small enough for
// a directory of files. Pure: knows neither files nor time.
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kube/cluster.h"
#include "kube/json.h"
#include "kube/manifest.h"
#include "reactor/base/result.h"

namespace sliced::kube {

using ObjectPtr = std::shared_ptr<const Json>;

struct ObjectChange {
  uint64_t version = 0;
  ObjectKey key;
  ObjectPtr before, after;  // nullptr: was not, or is no longer, there
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

  bool selects(const ObjectKey& key, const Json& object) const;
  /// The object as the server would send it for this scope, as JSON text.
  std::string present(const ObjectKey& key, const Json& object) const;
};

class ObjectStore {
 public:
  /// Objects get uid (a stable hash of kind, namespace and name), generation and resourceVersion where the
  /// content has none; a resourceVersion in the content is ignored. False when the content is what is stored
  /// already.
  bool put(const ObjectKey& key, Json content);
  bool remove(const ObjectKey& key);

  ObjectPtr find(const ObjectKey& key) const;
  /// What put() would store now: for dry runs.
  Json preview(const ObjectKey& key, Json content) const;
  std::vector<std::pair<ObjectKey, ObjectPtr>> select(const ObjectFilter& filter) const;
  size_t size() const { return objects_.size(); }

  uint64_t version() const { return version_; }
  /// Whether every change after `version` is still known.
  bool remembers(uint64_t version) const { return version >= oldest_ && version <= version_; }
  /// The first change after `version`; nullptr when there is none. Valid until the store changes.
  const ObjectChange* change_after(uint64_t version) const;
  /// Watches cannot go on from any version before now.
  void forget_history();

 private:
  struct Entry {
    Json content;  // as it was put, without what the store itself sets
    ObjectPtr served;
  };
  void record(const ObjectKey& key, ObjectPtr before, ObjectPtr after);
  Json dress(const ObjectKey& key, Json content, uint64_t version) const;

  std::map<ObjectKey, Entry> objects_;
  std::deque<ObjectChange> history_;
  uint64_t version_ = 1, oldest_ = 1;
};

}  // namespace sliced::kube
