// The body of a list, cut into items while it arrives.
#include "kube/client/json_cutter.h"
#include "t/fuzz/fuzz.h"

namespace sliced::fuzz::list_body_target {

namespace {

struct Seen {
  std::vector<std::string> items, members;
  bool is_good = true, has_long_key = false;
  bool operator==(const Seen&) const = default;
};

Seen cut(std::string_view bytes, size_t piece) {
  Seen seen;
  kube::JsonCutter cutter("items", 1 << 16,
                          {[&](std::string_view key, std::string_view raw) {
                             seen.members.push_back(std::string(key) + ":" + std::string(raw));
                             return true;
                           },
                           [&](std::string_view raw) {
                             seen.items.emplace_back(raw);
                             return true;
                           }});
  while (seen.is_good && !bytes.empty()) {
    const auto fed = cutter.feed(bytes.substr(0, piece));
    if (!fed) fuzz::check(fed.error());
    seen.is_good = fed.ok();
    seen.has_long_key = !fed && fed.error().code == Errc::kTooLarge &&
                        bytes.size() > kube::JsonCutter::kKeyBytesMax;  // no piece is too large here
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  if (seen.is_good) seen.is_good = cutter.finish().ok();
  return seen;
}

}  // namespace

FUZZ_TARGET(list_body) {
  fuzz::Input input(data, size);
  const size_t piece = 1 + input.byte() % 64;
  const Seen whole = cut(input.rest, input.rest.size() + 1);
  const Seen pieces = cut(input.rest, piece);
  fuzz::must(whole.is_good == pieces.is_good, "cuts decide nothing");
  if (whole.is_good) fuzz::must(whole == pieces, "cuts change nothing");
  // Whatever is JSON as a whole is cut into pieces that are, and as many.
  const auto json = kube::decode_json(input.rest);
  if (!json || json->object() == nullptr) return 0;
  const kube::Json* items = json->find("items");
  if (items != nullptr && items->array() == nullptr && !items->is_null()) return 0;  // no list: refused
  if (whole.has_long_key) return 0;
  fuzz::must(whole.is_good, "an object can be cut", input.rest);
  if (items != nullptr && items->array() != nullptr) {
    fuzz::must(items->array()->size() == whole.items.size(), "every item is cut out");
    for (size_t i = 0; i < whole.items.size(); ++i) {
      const auto item = kube::decode_json(whole.items[i]);
      fuzz::must(item.ok() && *item == (*items->array())[i], "an item is cut out whole", whole.items[i]);
    }
  }
  return 0;
}

}  // namespace sliced::fuzz::list_body_target
