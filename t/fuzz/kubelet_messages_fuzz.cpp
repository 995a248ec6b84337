// What a kubelet sends in its calls: protobuf that anybody at the socket may have made.
#include <algorithm>
#include <set>

#include "kubelet/messages.h"
#include "t/fuzz/fuzz.h"

namespace sliced::fuzz::kubelet_messages_target {

namespace {

bool is_file_name(std::string_view text) {
  return !text.empty() && text.size() <= 253 && text.front() != '.' &&
         text.find_first_of(std::string_view("/\0\n", 3)) == std::string_view::npos;
}

std::string varint(size_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7f) | 0x80);
  return out + static_cast<char>(value);
}
std::string field(int number, std::string_view text) {
  return static_cast<char>(number << 3 | 2) + varint(text.size()) + std::string(text);
}

void try_claims(std::string_view bytes) {
  const auto claims = kubelet::decode_claims(bytes);
  if (!claims) return fuzz::check(claims.error());
  fuzz::must(claims->size() <= kubelet::kClaimsMax, "claims are bounded");
  std::set<std::string> uids;
  std::string again;
  std::vector<kubelet::PrepareRequest> good;
  for (const auto& [claim, error] : *claims) {
    fuzz::must(uids.insert(claim.uid).second, "no claim is there twice", claim.uid);
    if (!error.empty()) {
      fuzz::check({Errc::kInvalid, error});
      continue;
    }
    fuzz::must(is_file_name(claim.uid), "a uid can stand in a file's name", claim.uid);
    fuzz::must(is_file_name(claim.name) && is_file_name(claim.namespace_), "a claim has a name", claim.name);
    good.push_back(claim);
    again += field(1, field(1, claim.namespace_) + field(2, claim.uid) + field(3, claim.name));
  }
  const auto same = kubelet::decode_claims(again);
  fuzz::must(same.ok() && std::equal(same->begin(), same->end(), good.begin(), good.end(),
                                     [](const auto& one, const auto& other) {
                                       return one.error.empty() && one.claim == other;
                                     }),
             "what is understood is read the same", again);
}

}  // namespace

FUZZ_TARGET(kubelet_messages) {
  fuzz::Input input(data, size);
  const uint8_t what = input.byte() % 3;
  if (what == 0) try_claims(input.rest);
  if (what == 1) {  // claims as three lines each
    std::string bytes;
    while (!input.rest.empty()) {
      const std::string_view place = input.until('\n'), uid = input.until('\n'), name = input.until('\n');
      bytes += field(1, field(1, place) + field(2, uid) + field(3, name));
    }
    try_claims(bytes);
  }
  if (what == 2)
    if (const auto status = kubelet::decode_registration_status(input.rest); !status)
      fuzz::check(status.error());
  return 0;
}

}  // namespace sliced::fuzz::kubelet_messages_target
