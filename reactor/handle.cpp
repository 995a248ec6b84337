#include "reactor/handle.h"

#include <uv.h>

namespace sliced::reactor {
namespace {

Errc errc_of(int code) {
  switch (code) {
    case UV_ENOENT:
    case UV_EAI_NONAME:
    case UV_EAI_NODATA:
      return Errc::kNotFound;
    case UV_EACCES:
    case UV_EPERM:
      return Errc::kDenied;
    case UV_ETIMEDOUT:
      return Errc::kTimeout;
    case UV_ECANCELED:
      return Errc::kCanceled;
    case UV_EINVAL:
    case UV_ENOTDIR:
    case UV_ENAMETOOLONG:
      return Errc::kInvalid;
    default:
      return Errc::kIo;
  }
}

}  // namespace

void close_handle(uv_handle_s* handle, void (*free_memory)(uv_handle_s*)) { uv_close(handle, free_memory); }

Error uv_error(int code) {
  char text[128];  // uv_strerror would leak for codes it does not know
  return {errc_of(code), uv_strerror_r(code, text, sizeof text)};
}

}  // namespace sliced::reactor
