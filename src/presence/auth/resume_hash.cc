#include "presence/auth/resume_hash.h"

#include <openssl/sha.h>

#include <algorithm>
#include <array>

namespace presence::auth {

ResumeHash hash_resume_secret(std::string_view secret) {
    std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
    SHA256(reinterpret_cast<const unsigned char*>(secret.data()), secret.size(), digest.data());
    ResumeHash hash{};
    std::copy_n(digest.begin(), hash.size(), hash.begin());
    return hash;
}

}  // namespace presence::auth
