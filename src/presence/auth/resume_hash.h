#pragma once

#include "presence/model/session.h"

#include <string_view>

namespace presence::auth {

/// What records keep of a resume secret: SHA-256, cut to 128 bits. The secret has 128 random bits,
/// so nothing slower is called for. Any thread.
[[nodiscard]] ResumeHash hash_resume_secret(std::string_view secret);

}  // namespace presence::auth
