// Who else writes slices, and admission.
#include <algorithm>

#include "kube/objects/kinds.h"
#include "t/sim/server_faults.h"
#include "t/sim/steps.h"

namespace sliced::sim {

void wipe_slices(World& world) {
  world.tamper([&world] {
    world.cluster.remove_where(kube::kResourceSlices, std::string("spec.nodeName=") + World::kNode);
  });
}

namespace {

using kube::Failure;
using kube::Json;

constexpr Millis kQuarantineBound{420'000};  // the sync timer asks again for what was refused

bool is_slice_write(const fake::Request& request) {
  return request.plural == "resourceslices" && (request.verb == "create" || request.verb == "update");
}
void refuse_entries(World& world) {
  world.may_hide_devices = true;
  const size_t which = world.dice().below(4);
  world.fault(
      "admission", world.dice().millis(10, 5'000), kQuarantineBound,
      [&] {
        world.on_admit = [&world, which](const fake::Request& request,
                                         Json& object) -> std::optional<Failure> {
          const Json* devices = object.find({"spec", "devices"});
          if (!is_slice_write(request) || devices == nullptr || devices->array()->size() <= which)
            return std::nullopt;
          world.may_hide_devices = true;
          Failure why{Errc::kInvalid, 422, "Invalid", "the server refuses a device", std::nullopt};
          why.fields = {"spec.devices[" + std::to_string(which) + "].attributes"};
          return why;
        };
      },
      [&world] { world.on_admit = {}; });
}
void drop_fields(World& world) {
  world.may_hide_devices = true;
  world.fault(
      "admission", world.dice().millis(10, 5'000), kQuarantineBound,
      [&world] {
        world.on_admit = [&world](const fake::Request& request, Json& object) -> std::optional<Failure> {
          if (!is_slice_write(request)) return std::nullopt;
          world.may_hide_devices = true;
          Json spec = *object.find("spec");
          if (const Json* devices = spec.find("devices"); devices != nullptr && devices->array() != nullptr) {
            Json changed = *devices;
            for (Json& device : *changed.array())
              if (Json attributes = device.find("attributes") ? *device.find("attributes") : Json();
                  attributes.object() != nullptr) {
                std::erase_if(*attributes.object(),
                              [](const auto& one) { return one.first.ends_with("/resourceName"); });
                device.set("attributes", std::move(attributes));
              }
            spec.set("devices", std::move(changed));
            object.set("spec", std::move(spec));
          }
          return std::nullopt;
        };
      },
      [&world] { world.on_admit = {}; });
}
template <class Change>
void edit_a_slice(World& world, Change change) {
  const auto slices = world.stored();
  if (slices.empty()) return;
  const StoredSlice& one = world.dice().pick(slices);
  world.tamper([&] {
    Json object = *world.cluster.object(kube::kResourceSlices, one.name);
    Json spec = *object.find("spec");
    if (one.generation < 0) return;  // spoilt
    change(object, spec);
    object.set("spec", std::move(spec));
    world.cluster.put(kube::kResourceSlices, std::move(object));
  });
}
void edit_devices(World& world) {
  edit_a_slice(world, [](Json&, Json& spec) { spec.set("devices", Json::Array{}); });
}
void edit_pool(World& world) {
  const int64_t more = world.dice().chance(0.5) ? 1 : 40;
  edit_a_slice(world, [&](Json&, Json& spec) {
    Json pool = *spec.find("pool");
    pool.set("generation", *pool.find("generation")->integer() + more);
    spec.set("pool", std::move(pool));
  });
}
void edit_metadata(World& world) {
  edit_a_slice(world, [](Json& object, Json&) {
    Json meta = *object.find("metadata");
    meta.set("labels", Json::Object{{"by", "somebody"}});
    meta.set("ownerReferences", Json::Array{});
    object.set("metadata", std::move(meta));
  });
}
}  // namespace

void fill_annotations(World& world) {
  const size_t room = world.dice().below(2) * world.dice().below(60);
  edit_a_slice(world, [&](Json& object, Json&) {
    Json meta = *object.find("metadata");
    Json notes = meta.find("annotations") == nullptr ? Json(Json::Object{}) : *meta.find("annotations");
    notes.set("example.com/notes", "");
    size_t bytes = 0;
    for (const auto& [key, value] : *notes.object())
      bytes += key.size() + (value.string() == nullptr ? 0 : value.string()->size());
    if (bytes + room < world.cluster.annotations_max)
      notes.set("example.com/notes", std::string(world.cluster.annotations_max - bytes - room, 'x'));
    meta.set("annotations", std::move(notes));
    object.set("metadata", std::move(meta));
  });
  ++world.seen["annotations filled"];
}

namespace {

void spoil_a_slice(World& world) {
  const size_t part = world.dice().below(4);
  edit_a_slice(world, [&](Json&, Json& spec) {
    Json pool = *spec.find("pool");
    pool.set("generation", "no number");
    if (part == 0) spec.set("devices", "no list");
    if (part == 1) spec.set("sharedCounters", int64_t{5});
    if (part == 2) spec.set("pool", "no map");
    if (part == 3) spec.set("pool", std::move(pool));
  });
  ++world.seen["slice spoilt"];
}
// Somebody's controller holds a slice, and perhaps somebody deletes it then.
void hold_a_slice(World& world) {
  const bool deletes = world.dice().chance(0.5);
  world.fault(
      "finalizers", world.dice().millis(100, 20'000), kRelistBound,
      [&] {
        edit_a_slice(world, [&](Json& object, Json&) {
          Json meta = *object.find("metadata");
          meta.set("finalizers", Json::Array{"example.com/hold"});
          if (deletes) meta.set("deletionTimestamp", "2026-01-01T00:00:00Z");
          object.set("metadata", std::move(meta));
        });
        ++world.seen[deletes ? "slice terminating" : "slice held"];
      },
      [&world] {
        world.tamper([&world] {
          for (Json object : world.cluster.objects(kube::kResourceSlices)) {
            Json meta = *object.find("metadata");
            if (meta.find("finalizers") == nullptr) continue;
            const std::string name(meta.text("name"));
            const bool is_terminating = meta.find("deletionTimestamp") != nullptr;
            meta.set("finalizers", Json::Array{});
            object.set("metadata", std::move(meta));
            if (is_terminating)
              world.cluster.remove(kube::kResourceSlices, name);
            else
              world.cluster.put(kube::kResourceSlices, std::move(object));
          }
        });
      });
}
void delete_a_slice(World& world) {
  const auto slices = world.stored();
  if (slices.empty()) return;
  world.tamper([&] { world.cluster.remove(kube::kResourceSlices, world.dice().pick(slices).name); });
}
// Somebody else's object under a name of ours.
void squat(World& world) {
  const auto slices = world.stored();
  if (slices.empty()) return;
  const std::string name = world.dice().pick(slices).name;
  world.tamper([&] {
    world.cluster.remove(kube::kResourceSlices, name);
    world.cluster.put(
        kube::kResourceSlices,
        Json::Object{
            {"metadata", Json::Object{{"name", name}}},
            {"spec",
             Json::Object{
                 {"driver", "other.example.com"},
                 {"nodeName", "node-b"},
                 {"pool", Json::Object{{"name", "node-b"}, {"generation", 1}, {"resourceSliceCount", 1}}}}}});
  });
}
void end_squatting(World& world) {
  world.cluster.remove_where(kube::kResourceSlices, "spec.driver=other.example.com");
}
// A slice of our driver and node that we did not make.
void foreign_slice(World& world) {
  world.tamper([&world] {
    world.cluster.put(
        kube::kResourceSlices,
        Json::Object{
            {"metadata", Json::Object{{"name", "foreign-" + std::to_string(world.dice().below(3))}}},
            {"spec",
             Json::Object{
                 {"driver", World::kDriver},
                 {"nodeName", World::kNode},
                 {"pool", Json::Object{{"name", world.dice().chance(0.7) ? World::kNode : "p"},
                                       {"generation", static_cast<int64_t>(1 + world.dice().below(99))},
                                       {"resourceSliceCount", 1}}}}}});
  });
}

constexpr StepKind kWriterSteps[] = {
    {"refuse entries", &Knobs::tampering, 0.4, refuse_entries},
    {"drop fields", &Knobs::tampering, 0.4, drop_fields},
    {"wipe slices", &Knobs::tampering, 1, wipe_slices},
    {"edit devices", &Knobs::tampering, 1, edit_devices},
    {"edit pool", &Knobs::tampering, 1, edit_pool},
    {"edit metadata", &Knobs::tampering, 1, edit_metadata},
    {"fill annotations", &Knobs::troubles, 0.3, fill_annotations},
    {"spoil a slice", &Knobs::troubles, 0.5, spoil_a_slice},
    {"hold a slice", &Knobs::troubles, 0.7, hold_a_slice},
    {"delete slice", &Knobs::tampering, 1, delete_a_slice},
    {"squat on a name", &Knobs::tampering, 0.4, squat},
    {"end squatting", &Knobs::tampering, 0.6, end_squatting},
    {"foreign slice", &Knobs::tampering, 1, foreign_slice},
};

}  // namespace

std::span<const StepKind> writer_steps() { return kWriterSteps; }

}  // namespace sliced::sim
