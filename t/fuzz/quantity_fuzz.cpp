// Quantities and versions.
#include "kube/objects/quantity.h"
#include "kube/objects/resource_slice.h"
#include "t/fuzz/fuzz.h"

namespace sliced::fuzz::quantity_target {

FUZZ_TARGET(quantity) {
  fuzz::Input input(data, size);
  const std::string_view left = input.until('\n'), right = input.until('\n');
  const auto a = kube::Quantity::decode(left), b = kube::Quantity::decode(right);
  if (!a) fuzz::check(a.error());
  if (a) {
    fuzz::must(a->text() == left, "the text that was read is kept");
    const auto again = kube::Quantity::decode(kube::Json(a->text()));
    fuzz::must(again.ok() && *again == *a, "a quantity survives being written");
  }
  if (a && b) {
    fuzz::must((*a < *b) == (a->nanos() < b->nanos()), "quantities are ordered by value");
    fuzz::must((*a == *b) == (*b == *a), "equality goes both ways");
  }
  if (kube::is_semver(left))
    fuzz::must(left.find_first_not_of("0123456789.-+abcdefghijklmnopqrstuvwxyz"
                                      "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string_view::npos,
               "a version is plain text", left);
  return 0;
}

}  // namespace sliced::fuzz::quantity_target
