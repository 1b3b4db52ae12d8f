#pragma once

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include <utility>

namespace presence {

/// What is held by Ref: counts its holders itself, so that each holder costs 8 bytes and the count
/// 4, half of a std::shared_ptr's. Of a copy nobody holds anything yet.
template <class T>
using Counted = boost::intrusive_ref_counter<T>;

/// One of the holders of a `T`, which ends with the last of them; or none. Any thread, as with
/// std::shared_ptr.
template <class T>
using Ref = boost::intrusive_ptr<T>;

template <class T, class... Args>
[[nodiscard]] Ref<T> make_ref(Args&&... args) {
    if constexpr (sizeof...(Args) == 0) {
        return Ref<T>(new T());  // clang 14 takes braces for a base that it may not destroy.
    } else {
        return Ref<T>(new T{std::forward<Args>(args)...});
    }
}

}  // namespace presence
