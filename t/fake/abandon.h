#pragma once
// A call that never returns, as of a thread that hangs or a process that is killed: its effects stay incomplete. An
// exception unwinds through the product, which catches none, and destroys the objects of the call.
#include <cstdint>
#include <utility>

namespace sliced::fake {

/// Whose call: each ends at the innermost ends() of its kind.
enum class Abandoned : uint8_t { kHangs, kIsKilled };

/// Runs f; false where it is abandoned.
template <class F>
[[nodiscard]] bool ends(Abandoned as, F&& f) {
  try {
    std::forward<F>(f)();
    return true;
  } catch (const Abandoned& one) {
    if (one != as) throw;
    return false;
  }
}
/// From within f.
[[noreturn]] inline void abandon(Abandoned as) { throw as; }

}  // namespace sliced::fake
