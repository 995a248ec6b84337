#pragma once
// Converts objects of dranet's users (kubernetes-sigs/dranet, driver dra.net) to objects for sliced:
// DeviceClasses, ResourceClaims and ResourceClaimTemplates that refer to dranet, and dranet's DaemonSet,
// whose option --filter and node selection determine the published devices. Pure.
//
// The devices become those of DeviceExposurePolicies, because dranet publishes PFs, NICs and links beside
// VFs. A part without counterpart is a warning with field, value, reason and remedy, and a comment above the
// object. A selector keeps such a part unchanged, so it selects no device that it did not select before.
#include <string>
#include <vector>

#include "kube/objects/json.h"
#include "kubectl/migrate/objects.h"
#include "kubectl/migrate/pool.h"

namespace sliced::migrate {

/// Collects the objects until all files are read: a claim may name a class of another file.
class DranetObjects {
 public:
  /// Returns false if the object is of none of these kinds. Classes and claims of other drivers are kept (the
  /// driver of a request depends on all files) but not printed.
  bool add(const kube::Json& object, const std::string& file);
  bool empty() const { return objects_.empty(); }
  /// Whether an object is for dranet, and not only a class or claim of another driver.
  bool has_any(const Target& target) const;

  struct Out {
    std::vector<ConvertedObject> objects;  // policies, classes, templates, claims
    size_t lost = 0;                       // fields and parts of selectors without a counterpart
  };
  /// Converts all collected objects. Adds a complaint for each lost part. After an error no object may be
  /// used.
  Out convert(const Target& target, Complaints& complaints) const;

 private:
  struct Source {
    kube::Json object;
    std::string file;
  };
  std::vector<Source> objects_;
};

}  // namespace sliced::migrate
