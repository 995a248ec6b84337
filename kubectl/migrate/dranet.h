#pragma once
// From dranet (kubernetes-sigs/dranet, driver dra.net) to objects of ours: DeviceClasses, ResourceClaims and ResourceClaimTemplates that speak
// of it, and its DaemonSet, whose option --filter and node selection say what it publishes. Pure.
//
// All devices become those of DeviceExposurePolicies: dranet publishes PFs, NICs and links beside VFs. What has no counterpart is a warning with field,
// value, reason and remedy, and a comment above the object; a selector keeps such parts as they are written, so that it selects no device
// that it did not select before.
#include <string>
#include <vector>

#include "kube/objects/json.h"
#include "kubectl/migrate/objects.h"
#include "kubectl/migrate/pool.h"

namespace sliced::migrate {

/// Objects of dranet's users, until all files are read: a claim may name a class of another file.
class DranetObjects {
 public:
  /// False: the object is none of these kinds. Classes and claims of other drivers are kept, too: what a request is for depends on all
  /// files. They are not printed.
  bool add(const kube::Json& object, const std::string& file);
  bool empty() const { return objects_.empty(); }

  struct Out {
    std::vector<Made> objects;  // policies, classes, templates, claims
    size_t lost = 0;            // fields and parts of selectors without a counterpart
  };
  /// Once. Complains of all that is lost; with an error nothing may be used.
  Out convert(const Target& target, Complaints& complaints) const;

 private:
  struct Source {
    kube::Json object;
    std::string file;
  };
  std::vector<Source> objects_;
};

}  // namespace sliced::migrate
