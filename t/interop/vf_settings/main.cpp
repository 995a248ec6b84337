// What the daemon does with the settings that a PF keeps for a VF, as a program, for t/guest: before a pod it keeps them in a file, after it
// it writes them back.
//   vf_settings keep|restore PF VF DIRECTORY
// PF: the name of its interface. VF: its number.
#include <net/if.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "hotplug/netlink_monitor.h"
#include "kubelet/host_link.h"
#include "kubelet/netlink.h"
#include "kubelet/original_settings.h"
#include "kubelet/vf_settings.h"

using namespace sliced;

namespace {

int fail(const Error& error) { return std::fprintf(stderr, "vf_settings: %s\n", error.what.c_str()), 1; }

int keep(const kubelet::VfOfInterface& vf, const std::string& pf,
         const kubelet::OriginalSettingsFiles& files) {
  const auto all = hotplug::read_vf_configs(vf.ifindex);
  if (!all) return fail(all.error());
  const auto at = all->find(vf.index);
  if (at == all->end()) return fail(Error{Errc::kNotFound, "the PF does not report the VF"});
  const auto written = files.write({.device = pf, .boot_id = "", .vf = at->second, .interface = {}});
  return written ? 0 : fail(written.error());
}

int restore(const kubelet::VfOfInterface& vf, const kubelet::OriginalSettingsFiles& files) {
  const auto kept = files.read();
  if (!kept) return fail(kept.error());
  if (kept->size() != 1 || !kept->front().is_known || !kept->front().vf)
    return fail(Error{Errc::kInvalid, "nothing is kept"});
  const kubelet::VfSettingsKernel kernel{.read = &hotplug::read_vf_configs,
                                         .send = [](const std::string& request) {
                                           return kubelet::send_link_request(kubelet::kOwnNamespace, request);
                                         }};
  const auto done = kubelet::restore_vf_settings(kernel, vf, *kept->front().vf, kept->front().own,
                                                 [] { return Result<Unit>(Unit{}); });
  return done ? 0 : fail(done.error());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return std::fputs("vf_settings keep|restore PF VF DIRECTORY\n", stderr), 2;
  const std::string what = argv[1], pf = argv[2];
  const kubelet::VfOfInterface vf{.ifindex = static_cast<int>(::if_nametoindex(pf.c_str())),
                                  .index = std::atoi(argv[3])};
  const kubelet::OriginalSettingsFiles files(argv[4]);
  return what == "keep" ? keep(vf, pf, files) : restore(vf, files);
}
