#pragma once
// Protects pages that contain names from pages of other origins in a browser, including DNS rebinding. Pure.
#include <set>
#include <string>

#include "http/service.h"

namespace sliced::status {

/// Host names of this server in addition to IP addresses and localhost, in lower case. A browser that was
/// redirected here by DNS rebinding sends another name.
using OwnNames = std::set<std::string>;

/// Returns why the request is refused; "" if it is allowed. Requests over a unix socket are not from a
/// browser. Refused: a Host that is neither an address nor one of `names`; an Origin other than that Host; a
/// cross-site request of a browser (Sec-Fetch-Site), except a followed link into a top-level window.
std::string refusal_of(const http::RequestHead& request, const OwnNames& names);

/// Returns a handler that answers refused requests with 403, except for the paths of open: these contain no
/// names, and tools use any host name for them. open: paths without the query. The reason is part of the
/// answer: it contains no secret.
http::Serve guarded(http::Serve serve, OwnNames names, std::set<std::string> open);

}  // namespace sliced::status
