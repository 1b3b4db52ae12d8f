#include "presence/core/id_index.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace presence {
namespace {

struct IdAt {
    const std::vector<std::string>* ids;
    std::string_view operator()(std::uint32_t place) const { return (*ids)[place]; }
};

TEST(IdIndex, FindsEachThingByItsIdAndNothingByOthers) {
    std::vector<std::string> ids;
    for (int i = 0; i < 1'000; ++i) {
        ids.push_back("user-" + std::to_string(i) +
                      std::string(static_cast<std::size_t>(i % 30), 'x'));
    }
    IdIndex<IdAt> index(IdAt{&ids});
    EXPECT_EQ(index.find("user-0"), std::nullopt);
    for (std::uint32_t place = 0; place < ids.size(); place += 2) {
        index.insert(place);
    }
    EXPECT_EQ(index.size(), 500U);
    for (std::uint32_t place = 0; place < ids.size(); ++place) {
        EXPECT_EQ(index.find(ids[place]), place % 2 == 0 ? std::optional(place) : std::nullopt);
    }
}

TEST(IdIndex, APlaceThatIsTakenOutMayNameAnother) {
    std::vector<std::string> ids{"ada", "bob"};
    IdIndex<IdAt> index(IdAt{&ids});
    index.insert(0);
    index.insert(1);
    index.erase(0);
    EXPECT_EQ(index.find("ada"), std::nullopt);
    EXPECT_EQ(index.find("bob"), 1U);
    ids[0] = "eve";
    index.insert(0);
    EXPECT_EQ(index.find("eve"), 0U);
    EXPECT_EQ(index.size(), 2U);
}

}  // namespace
}  // namespace presence
