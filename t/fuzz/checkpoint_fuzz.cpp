// Our checkpoint as a disk or a person may leave it; also with the checksum that fits.
#include "kubelet/checkpoint.h"
#include "t/fuzz/fuzz.h"

namespace sliced::fuzz::checkpoint_target {

namespace {

void try_ours(const std::string& text) {
  auto found = kubelet::decode_checkpoint(text);
  if (!found) return fuzz::check(found.error());
  found->is_cut = found->is_damaged = false;
  const auto again = kubelet::decode_checkpoint(kubelet::encode_checkpoint(*found));
  fuzz::must(again.ok() && *again == *found, "what is read is written the same");
}

std::string line_of(const std::string& state) {
  return "{\"checksum\":\"" + hex(stable_hash(state), 16) + "\",\"state\":" + state + "}\n";
}

}  // namespace

FUZZ_TARGET(checkpoint) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try_ours(text);
  try_ours(line_of(text));
  const std::string open = kubelet::encode_checkpoint({.boot_id = "b", .is_open = true});
  try_ours(open + text);
  try_ours(open + line_of(text) + text);
  return 0;
}

}  // namespace sliced::fuzz::checkpoint_target
