#pragma once
// A call that never comes back, as of a thread that hangs or a process that is killed: what it has begun stays begun.
//
// Where the product is compiled without exceptions (cmake: sliced_without_exceptions) nothing can unwind through it: what the call
// has in hand is lost memory, and whatever that holds on to must not be heard of any more. Elsewhere (SLICED_UNWINDS, as with
// sanitizers, which would count that as leaks) an exception cleans up.
#include <csetjmp>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace sliced::fake {

/// Whose call: each ends at the innermost ends() of its kind.
enum class Abandoned : uint8_t { kHangs, kIsKilled };

#ifdef SLICED_UNWINDS

template <class F>
[[nodiscard]] bool ends(Abandoned as, F&& f) {
  try {
    f();
    return true;
  } catch (const Abandoned& one) {
    if (one != as) throw;
    return false;
  }
}
[[noreturn]] inline void abandon(Abandoned as) { throw as; }

#else

struct Way {
  std::jmp_buf back;
  Abandoned as;
  Way* outer;
};
inline Way* innermost_way = nullptr;

/// Runs f; false where it is abandoned. Threads: one in the whole program.
template <class F>
[[nodiscard]] bool ends(Abandoned as, F&& f) {
  Way way{.back = {}, .as = as, .outer = innermost_way};
  const bool is_back = setjmp(way.back) != 0;
  if (!is_back) {
    innermost_way = &way;
    f();
  }
  innermost_way = way.outer;
  return !is_back;
}
/// From within f.
[[noreturn]] inline void abandon(Abandoned as) {
  while (innermost_way != nullptr && innermost_way->as != as) innermost_way = innermost_way->outer;
  if (innermost_way == nullptr) std::abort();  // nobody waits for it
  std::longjmp(innermost_way->back, 1);
}

#endif

}  // namespace sliced::fake
