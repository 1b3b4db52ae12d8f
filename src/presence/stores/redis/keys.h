#pragma once

#include "presence/base/ids.h"
#include "presence/model/partition.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace presence::redis {

/// Names of keys and channels. Each name about a user or a partition holds the partition's hash
/// tag, so that record, channel and index of a partition share a slot:
///
///     pd{p3K}u<user>   record           pd{p3K}c<user>   channel of the user's changes
///     pd{p3K}x         channel of the partition: probes, changes of profiles
///     pd{p3K}i         incarnation      pd{p3K}n<node>   users whose record names the node
///     pd{p3K}t<node>   tombstone        pd:n<node>       channel of one node
///     pd{p3K}e<node>   ends of presences that the node owes to the database
///     pd{p00}l         leases           pd:d             what all nodes agree on
///
/// What follows the letter is the id as it is: names are never taken apart at separators. Any
/// thread.
class Keys {
public:
    Keys(std::string_view prefix, std::size_t partitions);

    [[nodiscard]] std::size_t partitions() const noexcept { return heads_.size(); }
    [[nodiscard]] std::uint32_t partition_of(const UserId& user) const noexcept {
        return Partition::of(user, heads_.size()).index;
    }
    [[nodiscard]] Partition partition(std::uint32_t index) const noexcept {
        return {index, static_cast<std::uint32_t>(heads_.size())};
    }
    [[nodiscard]] std::uint16_t slot(std::uint32_t partition) const noexcept {
        return slots_[partition];
    }

    [[nodiscard]] std::string record(const UserId& user) const { return of_user(user, 'u'); }
    [[nodiscard]] std::string channel(const UserId& user) const { return of_user(user, 'c'); }
    /// The user whose channel it is; nothing where it is no user's.
    [[nodiscard]] std::optional<UserId> user_of_channel(std::string_view channel) const;

    [[nodiscard]] std::string partition_channel(std::uint32_t partition) const {
        return heads_[partition] + 'x';
    }
    /// The partition whose channel it is; nothing where it is another one.
    [[nodiscard]] std::optional<std::uint32_t> partition_of_channel(std::string_view channel) const;
    [[nodiscard]] std::string incarnation(std::uint32_t partition) const {
        return heads_[partition] + 'i';
    }
    /// What all nodes must agree on: found without knowing the number of partitions.
    [[nodiscard]] std::string deployment() const { return prefix_ + ":d"; }
    /// Known nodes and their leases, and which life of the store it is.
    [[nodiscard]] std::string nodes() const { return heads_[0] + 'l'; }
    /// Stands where others have settled a node's death: it writes no more there.
    [[nodiscard]] std::string tombstone(std::uint32_t partition, NodeId node) const {
        return heads_[partition] + 't' + name_of(node);
    }
    /// Ends of presences that the node owes to the database.
    [[nodiscard]] std::string ends(std::uint32_t partition, NodeId node) const {
        return heads_[partition] + 'e' + name_of(node);
    }
    /// Users of the partition whose record names the node.
    [[nodiscard]] std::string index(std::uint32_t partition, NodeId node) const {
        return index_head(partition) + name_of(node);
    }
    /// What an index begins with; scripts put the name of a node behind it.
    [[nodiscard]] std::string index_head(std::uint32_t partition) const {
        return heads_[partition] + 'n';
    }
    /// What a record begins with; scripts put the user behind it.
    [[nodiscard]] std::string record_head(std::uint32_t partition) const {
        return heads_[partition] + 'u';
    }
    [[nodiscard]] std::string node_channel(NodeId node) const {
        return prefix_ + ":n" + name_of(node);
    }
    /// Sixteen digits of hex.
    [[nodiscard]] static std::string name_of(NodeId node);

    /// What stands in the braces.
    [[nodiscard]] const std::string& tag(std::uint32_t partition) const { return tags_[partition]; }

private:
    [[nodiscard]] std::string of_user(const UserId& user, char kind) const;

    std::string prefix_;
    std::vector<std::string> tags_;
    std::vector<std::string> heads_;  ///< Prefix and tag in braces.
    std::vector<std::uint16_t> slots_;
};

/// `count` tags whose slots lie in the middle of as many equal ranges of slots, as near as the
/// spelling lets them. However masters share the slots out, each gets its share of partitions.
[[nodiscard]] std::vector<std::string> spread_tags(std::size_t count);

}  // namespace presence::redis
