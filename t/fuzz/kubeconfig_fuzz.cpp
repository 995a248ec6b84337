// Kubeconfigs, and what exec plugins print.
#include "kube/client/credentials.h"
#include "kube/client/kubeconfig.h"
#include "t/fuzz/fuzz.h"

namespace sliced::fuzz::kubeconfig_target {

FUZZ_TARGET(kubeconfig) {
  fuzz::Input input(data, size);
  for (const kube::Json& document : fuzz::documents_of(input.rest)) {
    const auto config = kube::decode_kubeconfig(document, "/etc/kubernetes");
    if (!config) fuzz::check(config.error());
  }
  const auto credential = kube::decode_exec_credential(input.rest, "client.authentication.k8s.io/v1");
  if (!credential) fuzz::check(credential.error());
  return 0;
}

}  // namespace sliced::fuzz::kubeconfig_target
