#include "t/sim/server_faults.h"

#include <algorithm>

#include "kube/objects/kinds.h"

namespace sliced::sim {
namespace {

using kube::Json;

constexpr Millis kTakenAsAbsent{25'000};  // a little less than what the daemon takes

void end_watches_of(World& world, const std::set<std::string>& plurals) {
  for (const std::string& plural : plurals) world.cluster.end_watches(plural);
}

bool is_installed(const World& world, const kube::Resource& kind) {
  if (kind == kube::kSriovResourcePolicies) return world.crd_is_there;
  if (kind == kube::kDeviceAttributes) return world.attributes_crd_is_there;
  if (kind == kube::kDeviceExposurePolicies) return world.exclude_crd_is_there;
  return true;
}

bool is_hidden_by_exclude(const World& world) {
  for (const auto& [address, function] : world.machine.functions()) {
    if (function.pf.empty()) continue;
    const VfFacts vf = world.machine.vf_facts(address);
    const PfFacts pf = world.machine.pf_facts(function.pf);
    if (!vf.is_there || pf.names.size() != 1 || vf.names.size() != 1) continue;
    if (said_by(world.excludes, asked_of(vf, address), *pf.names.begin(), *vf.names.begin(), world.labels) !=
        Said::kNo)
      return true;
  }
  return false;
}

}  // namespace

const std::vector<std::string>& watched_plurals() {
  static const std::vector<std::string> kAll = {"nodes", "resourceslices", "sriovresourcepolicies",
                                                "deviceattributes", "deviceexposurepolicies"};
  return kAll;
}

void answer_not_found(World& world, const std::set<std::string>& asked, double share, Millis time) {
  world.fault(
      "not found", time, kRelistBound,
      [&] {
        world.refusals["not found"] = [&world, asked,
                                       share](const fake::Request& request) -> std::optional<kube::Failure> {
          if (!asked.contains(request.verb == "discover" ? "discovery" : request.plural) ||
              !world.dice().chance(share))
            return std::nullopt;
          return kube::Failure{Errc::kNotFound, 404, "", request.verb + ": default backend - 404",
                               std::nullopt};
        };
        end_watches_of(world, asked);
      },
      [&world] { world.refusals.erase("not found"); });
}

void refuse_kinds(World& world, const std::set<std::string>& plurals, Millis time) {
  world.fault(
      "refused kinds", time, kRelistBound,
      [&] {
        world.refusals["refused kinds"] =
            [plurals](const fake::Request& request) -> std::optional<kube::Failure> {
          if (!plurals.contains(request.plural)) return std::nullopt;
          return kube::Failure{Errc::kBusy, 503, "ServiceUnavailable", request.verb + ": no", std::nullopt};
        };
        end_watches_of(world, plurals);
      },
      [&world] { world.refusals.erase("refused kinds"); });
}

void forget_kinds(World& world, const std::vector<kube::Resource>& kinds, Millis time) {
  world.fault(
      "forgotten kinds", time, kRelistBound,
      [&] {
        for (const kube::Resource& kind : kinds) {
          if (!is_installed(world, kind)) continue;
          world.cluster.unserve(kind);
          world.cluster.end_watches(kind.plural);
          world.miss(kind);
          if (time < kTakenAsAbsent) continue;
          world.later(kTakenAsAbsent, [&world, plural = kind.plural] { world.note_absence(plural); });
        }
      },
      [&world, kinds] {
        for (const kube::Resource& kind : kinds) {
          world.find(kind);
          if (is_installed(world, kind)) world.cluster.install(kind);
        }
      });
}

void lose_excludes(World& world, Millis time) {
  if (world.excludes.empty() || !world.daemon || world.daemon->decision() == nullptr) return;
  world.fault(
      "lost excludes", time, kRelistBound,
      [&] {
        world.forget_seen_excludes(false);
        if (!is_hidden_by_exclude(world)) world.note_absence("deviceexposurepolicies");
        world.cluster.end_watches("deviceexposurepolicies");
        for (const auto& [name, exclude] : world.excludes)
          world.cluster.lose(kube::kDeviceExposurePolicies, name);
        world.miss(kube::kDeviceExposurePolicies);
        ++world.seen["lost excludes"];
      },
      [&world] {
        world.find(kube::kDeviceExposurePolicies);
        for (const auto& [name, exclude] : world.excludes)
          world.cluster.put(kube::kDeviceExposurePolicies, object_of(exclude));
      });
}

void ignore_selectors(World& world, Millis time) {
  world.fault(
      "selectors", time, kRelistBound,
      [&world] {
        world.cluster.ignores_scopes = true;
        world.cluster.end_watches();
      },
      [&world] { world.cluster.ignores_scopes = false; });
}

void serve_the_past(World& world, int64_t versions, bool breaks_promises, Millis time) {
  world.fault(
      "past", time, kRelistBound,
      [&] {
        world.cluster.stale_by = versions;
        world.cluster.breaks_promises = breaks_promises;
        if (breaks_promises) world.hear_of_the_past();
      },
      [&world] {
        world.cluster.stale_by = 0;
        world.cluster.breaks_promises = false;
      });
}

void answer_anything(World& world, double share, Millis time) {
  using kube::Failure;
  static const std::vector<Failure> kAnswers = {
      {Errc::kGone, 410, "Expired", "too old resource version", std::nullopt},
      {Errc::kConflict, 409, "Conflict", "the object has been modified", std::nullopt},
      {Errc::kConflict, 409, "AlreadyExists", "already exists", std::nullopt},
      {Errc::kNotFound, 404, "", "404 page not found", std::nullopt},
      {Errc::kDenied, 401, "Unauthorized", "Unauthorized", std::nullopt},
      {Errc::kDenied, 403, "Forbidden", "forbidden", std::nullopt},
      {Errc::kInvalid, 400, "BadRequest", "bad request", std::nullopt},
      {Errc::kBusy, 429, "TooManyRequests", "too many requests", Millis{1'000}},
      {Errc::kBusy, 500, "InternalError", "internal error", std::nullopt},
      {Errc::kBusy, 504, "Timeout", "the server was unable to answer in time", std::nullopt},
      {Errc::kIo, 0, "", "connection reset", std::nullopt},
      {Errc::kTimeout, 0, "", "no answer", std::nullopt}};
  world.fault(
      "anything", time, kRelistBound,
      [&] {
        world.refusals["anything"] = [&world, share](const fake::Request& request) -> std::optional<Failure> {
          if (!world.dice().chance(share)) return std::nullopt;
          Failure why = world.dice().pick(kAnswers);
          why.what = request.verb + ": " + why.what;
          ++world.seen["any answer"];
          return why;
        };
      },
      [&world] { world.refusals.erase("anything"); });
}

void put_others_objects(World& world) {
  const auto slice = [&](const std::string& name, const std::string& driver, const std::string& node) {
    world.cluster.put(
        kube::kResourceSlices,
        Json::Object{
            {"metadata", Json::Object{{"name", name}}},
            {"spec", Json::Object{{"driver", driver},
                                  {"nodeName", node},
                                  {"pool", Json::Object{{"name", node},
                                                        {"generation",
                                                         static_cast<int64_t>(1 + world.dice().below(9))},
                                                        {"resourceSliceCount", 1}}},
                                  {"devices", Json::Array{Json::Object{{"name", "d"}}}}}}});
  };
  slice("others-0", "gpu.example.com", World::kNode);
  slice("others-1", World::kDriver, "node-b");
  slice("others-2", World::kExposureDriver, "node-b");
  world.cluster.put(
      kube::kNodes,
      Json::Object{{"metadata",
                    Json::Object{{"name", "node-b"},
                                 {"labels", Json::Object{{"zone", world.dice().chance(0.5) ? "a" : "b"}}}}}});
  // A policy for all, which is for another daemon.
  Policy all{.name = "p0", .priority = 9};
  all.configs.emplace_back();
  if (world.crd_is_there) world.cluster.put(kube::kSriovResourcePolicies, object_of(all, "elsewhere"));
  if (world.attributes_crd_is_there)
    world.cluster.put(
        kube::kDeviceAttributes,
        object_of(Attributes{"a0", {{"kind", "x"}}, {{"example.com/color", "elsewhere"}}}, "elsewhere"));
}

}  // namespace sliced::sim
