#pragma once

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace presence {

/// Text that is set once and read often, in 16 bytes: up to 15 bytes lie in it, and longer ones in
/// a block that all copies share. Ids are held in many places, a name of a device in every record:
/// a std::string would take 32 bytes of each, and a block of its own for each copy.
///
/// A view of it ends with it, as one of a std::string does. Copies may be used by different
/// threads. At most 4 GiB.
class CompactText {
public:
    static constexpr std::size_t kInline = 15;

    CompactText() noexcept { set_inline_size(0); }
    CompactText(std::string_view text) {  // NOLINT(google-explicit-constructor): as std::string
        if (text.size() <= kInline) {
            if (!text.empty()) {
                std::memcpy(bytes_, text.data(), text.size());
            }
            set_inline_size(text.size());
        } else {
            set_block(Block::of(text));
        }
    }
    CompactText(const std::string& text)  // NOLINT(google-explicit-constructor)
        : CompactText(std::string_view(text)) {}
    CompactText(const char* text)  // NOLINT(google-explicit-constructor)
        : CompactText(std::string_view(text)) {}
    CompactText(const CompactText& other) noexcept {
        std::memcpy(bytes_, other.bytes_, sizeof bytes_);
        if (is_shared()) {
            block()->holders.fetch_add(1, std::memory_order_relaxed);
        }
    }
    CompactText(CompactText&& other) noexcept {
        std::memcpy(bytes_, other.bytes_, sizeof bytes_);
        other.set_inline_size(0);
    }
    CompactText& operator=(CompactText other) noexcept {
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~CompactText() {
        if (is_shared() && block()->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            Block::free(block());
        }
    }

    [[nodiscard]] std::string_view view() const noexcept {
        if (is_shared()) {
            const Block* const held = block();
            return {held->text(), held->size};
        }
        return {bytes_, kInline - static_cast<std::size_t>(bytes_[kInline])};
    }
    operator std::string_view() const noexcept { return view(); }  // NOLINT
    [[nodiscard]] explicit operator std::string() const { return std::string(view()); }
    [[nodiscard]] std::size_t size() const noexcept { return view().size(); }
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    [[nodiscard]] bool starts_with(std::string_view text) const noexcept {
        return view().starts_with(text);
    }

    friend bool operator==(const CompactText& a, const CompactText& b) noexcept {
        return a.view() == b.view();
    }
    friend std::strong_ordering operator<=>(const CompactText& a, const CompactText& b) noexcept {
        return a.view() <=> b.view();
    }
    friend bool operator==(const CompactText& a, std::string_view b) noexcept {
        return a.view() == b;
    }
    friend bool operator==(const CompactText& a, const std::string& b) noexcept {
        return a.view() == b;
    }
    friend bool operator==(const CompactText& a, const char* b) noexcept { return a.view() == b; }
    friend std::string operator+(std::string_view a, const CompactText& b) {
        return std::string(a).append(b.view());
    }
    friend std::string operator+(const CompactText& a, std::string_view b) {
        return std::string(a.view()).append(b);
    }

private:
    /// The bytes follow it.
    struct Block {
        std::atomic<std::uint32_t> holders = 1;
        std::uint32_t size = 0;

        [[nodiscard]] const char* text() const noexcept {
            return reinterpret_cast<const char*>(this + 1);
        }
        static Block* of(std::string_view text) {
            void* const place = ::operator new(sizeof(Block) + text.size());
            auto* const block = new (place) Block;
            block->size = static_cast<std::uint32_t>(text.size());
            std::memcpy(static_cast<char*>(place) + sizeof(Block), text.data(), text.size());
            return block;
        }
        static void free(Block* block) noexcept {
            block->~Block();
            ::operator delete(block);
        }
    };
    /// In the last byte, which else says how many of the 15 are free.
    static constexpr char kShared = 0x7F;

    [[nodiscard]] bool is_shared() const noexcept { return bytes_[kInline] == kShared; }
    [[nodiscard]] Block* block() const noexcept {
        Block* held = nullptr;
        std::memcpy(&held, bytes_, sizeof held);
        return held;
    }
    void set_block(Block* held) noexcept {
        std::memcpy(bytes_, &held, sizeof held);
        bytes_[kInline] = kShared;
    }
    void set_inline_size(std::size_t size) noexcept {
        bytes_[kInline] = static_cast<char>(kInline - size);
    }

    alignas(void*) char bytes_[kInline + 1];
};

}  // namespace presence
