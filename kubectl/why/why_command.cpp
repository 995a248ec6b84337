#include <string_view>

#include "cli/show.h"
#include "kube/client/credentials.h"
#include "kube/objects/kinds.h"
#include "kubectl/commands.h"
#include "kubectl/fleet/ask_cluster.h"
#include "kubectl/fleet/cluster_objects.h"
#include "kubectl/page/questions.h"
#include "kubectl/why/hidden_devices.h"
#include "kubectl/why/why.h"
#include "kubectl/why/why_page.h"
#include "kubectl/why/why_reading.h"
#include "reactor/base/text.h"

namespace sliced::kubectl {
namespace {

constexpr size_t kLinesMax = 30;

struct Subject {
  bool is_pod = false;
  std::string namespace_, name;
  std::string text() const { return (is_pod ? "pod " : "claim ") + namespace_ + "/" + name; }
};

// Returns the default namespace.
std::string default_namespace(const config::Options& options) {
  if (!options.namespace_.empty()) return options.namespace_;
  if (const auto* file = std::get_if<config::KubeconfigFile>(&options.cluster)) {
    kube::KubeconfigPlace place({file->path}, file->context);
    place.paths.insert(place.paths.end(), file->others.begin(), file->others.end());
    if (const auto config = kube::read_kubeconfig(place); config && !config->namespace_.empty())
      return config->namespace_;
  }
  return "default";
}

Subject subject_of(const config::Options& options) {
  std::string kind = options.arguments[0], name;
  if (const size_t slash = kind.find('/'); slash != std::string::npos) {
    name = kind.substr(slash + 1);
    kind.resize(slash);
  } else {
    name = options.arguments[1];
  }
  const bool is_pod = kind == "pod" || kind == "pods";
  const size_t slash = name.find('/');
  if (slash == std::string::npos) return {is_pod, options.namespace_, name};
  return {is_pod, name.substr(0, slash), name.substr(slash + 1)};
}

// The templates of claims that do not exist yet.
void read_templates(ClusterObjects& objects, const why::Pod& pod, why::Cluster& out) {
  for (const auto& one : pod.claims) {
    if (!one.claim.empty()) continue;
    auto object = objects.get(kube::kResourceClaimTemplates, pod.namespace_, one.template_);
    if (object) {
      object->set("kind", kube::kResourceClaimTemplates.kind);
      why::add_object(*object, pod.namespace_, out);
    } else if (object.error().code == Errc::kDenied) {
      out.denied[kube::kResourceClaimTemplates.plural] =
          "get resourceclaimtemplates in namespace " + pod.namespace_;
    } else if (object.error().code != Errc::kNotFound) {
      out.unread.push_back(object.error().what);
    } else if (out.template_names.empty()) {
      // Without this list only the suggestion is missing.
      (void)objects.list(kube::kResourceClaimTemplates, pod.namespace_,
                         {.on_object =
                              [&](const kube::Json& one) {
                                if (const kube::Json* meta = one.find("metadata"); meta != nullptr)
                                  out.template_names.emplace(meta->text("name"));
                              },
                          .on_bad = [](std::string) {},
                          .on_restart = [&] { out.template_names.clear(); }});
    }
  }
}

Result<why::Features> features(ClusterObjects& objects, const config::Options& options,
                               FirstFew<std::string>& unsure) {
  const std::string version =
      options.scheduler_version.empty() ? objects.version() : options.scheduler_version;
  if (version.empty()) return why::Features{};
  const auto found = why::features_of(version);
  if (found) return *found;
  unsure.push_back("the scheduler is of version " + version + ", which this version does not know");
  return why::Features{};
}

// Repeated if pods that hold devices do not run, because these are suggested first.
template <class Why>
why::Answer with_users(ClusterObjects& objects, why::Cluster& cluster, Why why) {
  why::Answer out = why();
  const size_t unread = cluster.unread.size();
  return read_users(objects, out, cluster) || cluster.unread.size() != unread ? why() : out;
}

Result<why::Answer> answer(ClusterObjects& objects, const config::Options& options, const Subject& subject,
                           why::Cluster& cluster) {
  const auto object =
      objects.get(subject.is_pod ? kube::kPods : kube::kResourceClaims, subject.namespace_, subject.name);
  if (!object && object.error().code != Errc::kDenied) return object.error();
  auto known = features(objects, options, cluster.unread);
  if (!known) return known.error();
  cluster.features = *known;
  cluster.drivers = {options.sriov_driver_name, options.exposure_driver_name};
  cluster.publishable = publishable_attributes({options.sriov_driver_name, options.exposure_driver_name});
  if (auto read = read_allocation(objects, subject.namespace_, cluster); !read) return read.error();
  if (!object) {
    std::string missing;
    for (const auto& [kind, permission] : cluster.denied) missing += ", " + permission;
    return Error{Errc::kDenied, std::string("permissions are missing: get ") +
                                    (subject.is_pod ? "pods" : "resourceclaims") + " in namespace " +
                                    subject.namespace_ + missing + " (" + object.error().what + ")"};
  }
  if (!subject.is_pod) {
    auto claim = why::decode_claim(*object);
    if (!claim) return claim.error();
    claim->namespace_ = subject.namespace_;
    return with_users(objects, cluster, [&] { return why::why_claim(cluster, *claim); });
  }
  auto pod = why::decode_pod(*object);
  if (!pod) return pod.error();
  pod->namespace_ = subject.namespace_;
  read_templates(objects, *pod, cluster);
  return with_users(objects, cluster, [&] { return why::why_pod(cluster, *pod); });
}

std::string text_of(const why::Answer& answer, const Subject& subject, const why::Cluster& cluster,
                    const std::vector<HiddenMatch>& hidden, const config::Options& options) {
  if (options.output != config::OutputFormat::kTable) {
    kube::Json out = kubectl::json_of(answer, subject.text());
    if (!hidden.empty()) out.set("hidden", kubectl::json_of(hidden));
    return cli::formatted(out, options.output);
  }
  std::string out =
      why_text(answer, subject.text(),
               pools_text(cluster, {options.sriov_driver_name, options.exposure_driver_name}), kLinesMax);
  if (!hidden.empty()) out += "\nNot offered, and would match:\n" + hidden_text(hidden, kLinesMax);
  return out;
}

int exit_of(why::Verdict verdict) {
  switch (verdict) {
    case why::Verdict::kRuns:
    case why::Verdict::kCan:
      return daemon::kExitSame;
    case why::Verdict::kPending:
      return daemon::kExitNone;
    case why::Verdict::kUnsure:
      return daemon::kExitUnsure;
  }
  return daemon::kExitError;
}

Result<CommandOutput> print_why(ClusterObjects& objects, const config::Options& options) {
  const Subject subject = subject_of(options);
  why::Cluster cluster;
  auto found = answer(objects, options, subject, cluster);
  if (!found) return std::move(found.error()).in(subject.text());
  const auto hidden =
      find_hidden(objects, {options.sriov_driver_name, options.exposure_driver_name}, cluster, *found);
  judge_configs(objects, {options.sriov_driver_name, options.exposure_driver_name}, cluster, *found);
  read_start(objects, {options.sriov_driver_name, options.exposure_driver_name}, *found);
  return CommandOutput{text_of(*found, subject, cluster, hidden, options), exit_of(found->verdict)};
}

}  // namespace

int why(const config::Options& given) {
  config::Options options = given;
  options.namespace_ = default_namespace(given);
  return ask_cluster(options, [&](ClusterObjects& objects) { return print_why(objects, options); });
}

CommandResult answer_why(const config::Options& given, const std::string& pod,
                         const IsCancelled& is_cancelled) {
  config::Options options = given;
  options.command = config::Command::kWhy;
  options.arguments = {"pod", pod};
  return run_with_cluster(options, is_cancelled,
                          [&](ClusterObjects& objects) { return print_why(objects, options); });
}

}  // namespace sliced::kubectl
