// PF names and addresses with VF ranges: "ens1f0#0-3,7".
#include "policy/sriov/match.h"
#include "policy/sriov/policy.h"
#include "t/fuzz/fuzz.h"

namespace sliced::fuzz::vf_range_target {

FUZZ_TARGET(vf_range) {
  fuzz::Input input(data, size);
  const std::string text(input.rest);
  for (const char* field : {"pfNames", "pfPciAddresses"}) {
    kube::Json filter = kube::Json::Object{{field, kube::Json::Array{kube::Json(text)}}};
    kube::Json config = kube::Json::Object{{"resourceFilters", kube::Json::Array{std::move(filter)}}};
    kube::Json object =
        kube::Json::Object{{"metadata", kube::Json::Object{{"name", "p"}, {"namespace", "ns"}}},
                           {"spec", kube::Json::Object{{"configs", kube::Json::Array{std::move(config)}}}}};
    const policy::SriovPolicy decoded = policy::decode_sriov_policy(object);
    fuzz::check_problems(decoded.problems);
    bool is_good = decoded.problems.empty();
    for (const auto& one : decoded.configs) {
      fuzz::check_problems(one.problems);
      is_good = is_good && one.problems.empty();
    }
    const bool has_range = text.find('#') != std::string::npos;
    if (!is_good) continue;
    fuzz::must(!text.empty(), "an empty name is refused");
    if (has_range && std::string_view(field) == "pfPciAddresses")
      fuzz::must(text.find_first_not_of("0123456789abcdefABCDEF:.#-,") == std::string::npos,
                 "an address is plain", text);
  }
  return 0;
}

}  // namespace sliced::fuzz::vf_range_target
