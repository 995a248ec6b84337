// Our checkpoint as a disk or a person may leave it; also with the checksum that fits.
#include "kubelet/checkpoint.h"
#include "t/fuzz/fuzz.h"

namespace sliced::fuzz::checkpoint_target {

namespace {

void try_ours(const std::string& text) {
  const auto found = kubelet::decode_checkpoint(text);
  if (!found) return fuzz::check(found.error());
  const auto again = kubelet::decode_checkpoint(kubelet::encode_checkpoint(*found));
  fuzz::must(again.ok() && *again == *found, "what is read is written the same");
}

}  // namespace

FUZZ_TARGET(checkpoint) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try_ours(text);
  try_ours("{\"checksum\":\"" + hex(stable_hash(text), 16) + "\",\"state\":" + text + "}");
  return 0;
}

}  // namespace sliced::fuzz::checkpoint_target
