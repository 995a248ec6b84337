#include "kube/directory/recorded_cluster.h"

#include <utility>

namespace sliced::kube {

RecordedCluster::RecordedCluster(reactor::Scheduler& scheduler, Log& log, std::vector<Json> objects,
                                 std::string default_namespace, std::string from)
    : StoreCluster(scheduler, std::move(default_namespace)), from_(std::move(from)) {
  Manifest manifest = manifest_of(std::move(objects), default_namespace_);
  for (const YamlProblem& remark : manifest.remarks)
    log.warning("object in the snapshot ignored", {{"of", from_}, {"why", remark.what}});
  if (const size_t more = manifest.remarks.more(); more > 0)
    log.warning("objects in the snapshot ignored", {{"of", from_}, {"why", and_more(more, "object")}});
  for (Manifest::Object& object : manifest.objects)
    if (store_.find(object.key) == nullptr) store_.put(object.key, std::move(object.value));
  if (manifest.possible_exclude) {
    Manifest::Object placeholder = placeholder_for(from_, "an object in it is invalid");
    store_.put(placeholder.key, std::move(placeholder.value));
  }
}

std::string RecordedCluster::why_not_writable(const WriteRequest& request, const ObjectKey&) const {
  return request.dry_run ? "" : does_not_change().what;
}
Result<Unit> RecordedCluster::store(const WriteRequest&, const ObjectKey&, const Json&) {
  return does_not_change();
}
Result<Unit> RecordedCluster::forget(const ObjectKey&) { return does_not_change(); }

}  // namespace sliced::kube
