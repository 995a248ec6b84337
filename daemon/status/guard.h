#pragma once
// Who may read pages that tell names: not a page of another origin in somebody's browser, whatever address its name
// resolves to by now (DNS rebinding). Pure.
#include <set>
#include <string>

#include "http/service.h"

namespace sliced::status {

/// Names under which this is read beside IP addresses and localhost, in lower case. A browser that was sent here under a
/// name of somebody else's says that name.
using OwnNames = std::set<std::string>;

/// "" it may be answered, else why not. What comes over a unix socket is no browser's.
/// Refused: a Host that is neither an address nor one of ours; an Origin that is not that Host; what a browser says is
/// another site's (Sec-Fetch-Site), unless somebody follows a link: into a window of its own, not a frame of that site's.
std::string refusal_of(const http::RequestHead& request, const OwnNames& names);

/// 403 in the place of what may not be answered, but for the paths of open: they tell no names, and tools read them under
/// whatever name they know.
/// open: paths as they are asked for, without the query. The refusal's words go into the answer: it names no secret.
http::Serve guarded(http::Serve serve, OwnNames names, std::set<std::string> open);

}  // namespace sliced::status
