// "...".format([...]): if the text and the list are literals, Kubernetes compares the two.
#include <algorithm>

#include "cel/checking.h"
#include "cel/lib/format_text.h"

namespace sliced::cel {
namespace {

bool accepts(char clause, const Type* type) {
  if (type->is_dyn()) return true;
  switch (type->kind) {
    case Kind::kInt:
    case Kind::kUint:
      return clause != 'f' && clause != 'e';
    case Kind::kDouble:
      return clause == 's' || clause == 'f' || clause == 'e';
    case Kind::kString:
      return clause != 'd' && clause != 'b' && clause != 'o';
    case Kind::kBytes:
      return clause == 's' || clause == 'x' || clause == 'X';
    case Kind::kBool:
      return clause == 's' || clause == 'b';
    default:
      return clause == 's' && type->kind < Kind::kOptional;
  }
}

bool accepts(char clause, const Node& node) {
  const bool is_literal = node.op == Op::kList || node.op == Op::kMap;
  return accepts(clause, node.type) &&
         (!is_literal || std::all_of(node.args().begin(), node.args().end(),
                                     [&](const Node* arg) { return accepts(clause, *arg); }));
}

}  // namespace

bool Checker::visit_format(Node& node) {
  ++formats_;
  const bool is_good = visit_args(node);
  --formats_;
  if (!is_good || !environment_.has_device) return is_good;  // nodes after a mistake have no type
  const Node &text = *node.arg_list[0], &list = *node.arg_list[1];
  const bool is_list = list.op == Op::kList || (list.op == Op::kLiteral && list.type->is(Kind::kList));
  if (!is_text(text) || !is_list) return true;
  const auto pieces = decode_format(text.value.text());
  if (!pieces) return wrong(text, pieces.error().what);
  const bool is_folded = list.op == Op::kLiteral;
  const size_t size = is_folded ? list.value.list->size : list.arg_count;
  size_t next = 0;
  for (const FormatPiece& piece : *pieces) {
    if (piece.clause == 0) continue;
    if (next == size) return wrong(list, "format: the list has too few arguments");
    const bool fits = is_folded ? accepts(piece.clause, plain_type(list.value.list->items[next].kind))
                                : accepts(piece.clause, *list.arg_list[next]);
    ++next;
    if (!fits) return wrong(list, std::string("format: %") + piece.clause + " does not take its argument");
  }
  return next == size || wrong(list, "format: the list has too many arguments");
}

}  // namespace sliced::cel
