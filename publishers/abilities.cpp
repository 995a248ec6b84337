#include "publishers/abilities.h"

#include <utility>

#include "kube/kinds.h"
#include "kube/resource_slice.h"
#include "reactor/base/text.h"

namespace sliced::publishers {
namespace {

// A slice of one device with one list attribute. Its name and pool are ours and nobody else's; it is never
// stored.
kube::ResourceSlice probe_slice(const std::string& driver, const std::string& node) {
  kube::ResourceSlice slice;
  slice.meta.name = "probe-" + hex(stable_hash(driver + "/" + node), 16);
  slice.driver = driver;
  slice.node_name = node;
  slice.pool = {"probe", 1, 1};
  slice.devices.push_back(kube::Device{
      .name = "probe", .attributes = {{"dra.networking/probe", std::vector<std::string>{"a", "b"}}}});
  return slice;
}

}  // namespace

Abilities::Abilities(Ports ports, std::string driver, std::string node, std::function<void()> on_changed)
    : ports_(std::move(ports)),
      driver_(std::move(driver)),
      node_(std::move(node)),
      on_changed_(std::move(on_changed)),
      backoff_(ports_.random) {}

void Abilities::want_list_attributes() {
  if (!std::exchange(wanted_, true))
    give_up_ = ports_.scheduler.after(kAnswerMax, [this] {
      if (list_attributes_) return;
      gave_up_ = true;
      ports_.log.warning("whether the API server takes list attributes is not known yet; they are left out",
                         {});
      on_changed_();
    });
  if (!list_attributes_ && !call_ && !retry_) ask_version();
}

void Abilities::server_may_have_changed() {
  if (wanted_ && !call_ && !retry_) ask_version();
}

void Abilities::ask_version() {
  call_ = ports_.cluster.server_info(
      [this](kube::ServerInfo info) {
        call_.reset();
        if (list_attributes_ && info.git_version == version_) return;
        version_ = std::move(info.git_version);
        probe();
      },
      [this](const kube::Failure& failure) { retry(failure); });
}

void Abilities::probe() {
  const kube::ResourceSlice sent = probe_slice(driver_, node_);
  call_ = ports_.cluster.write({.verb = kube::Verb::kCreate,
                                .resource = kube::kResourceSlices,
                                .name = sent.meta.name,
                                .body = kube::encode_json(kube::encode_resource_slice(sent)),
                                .dry_run = true},
                               {.on_done =
                                    [this, devices = sent.devices](std::string_view object) {
                                      const auto json = kube::decode_json(object);
                                      const auto stored = json ? kube::decode_resource_slice(*json)
                                                               : Result<kube::ResourceSlice>(json.error());
                                      conclude(stored && stored->devices == devices);
                                    },
                                .on_failure =
                                    [this](const kube::Failure& failure) {
                                      if (failure.code == Errc::kInvalid) return conclude(false);
                                      retry(failure);
                                    }});
}

void Abilities::conclude(bool able) {
  call_.reset();
  backoff_.reset();
  const std::optional<bool> before = std::exchange(list_attributes_, able);
  ports_.log.info(able ? "the API server takes list attributes"
                       : "the API server takes no list attributes; they are left out",
                  {{"server_version", version_}});
  if (before != list_attributes_) on_changed_();
}

void Abilities::retry(const kube::Failure& failure) {
  call_.reset();
  ports_.log.debug("what the API server can do is not known yet", {{"problem", failure.what}});
  retry_ = ports_.scheduler.after(backoff_.next(ports_.scheduler.now()), [this] {
    retry_.reset();
    ask_version();
  });
}

}  // namespace sliced::publishers
