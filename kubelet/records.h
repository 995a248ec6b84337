#pragma once
// What was prepared here before this process began, from wherever it is told: our checkpoint, that of
// dra-driver-sriov at the first start, or the CDI specs.
#include <string>
#include <vector>

#include "kubelet/host.h"
#include "kubelet/prepared.h"

namespace sliced::kubelet {

struct Records {
  PreparedClaims claims;
  std::string from = "nothing";
  std::string problem;  // why it is not the checkpoint that tells; "" it does, or there is none
};

/// Blocks. A checkpoint that cannot be understood is set aside and never keeps anything from starting.
Records read_records(const Host& host, const std::vector<std::string>& drivers, const std::string& boot_id);

}  // namespace sliced::kubelet
