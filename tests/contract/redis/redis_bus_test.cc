#include "presence/stores/redis/redis_bus.h"

#include "contract/presence_bus_contract.h"
#include "contract/redis/redis_adapters.h"

namespace presence::testing {

namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(Redis, PresenceBusContract, RedisBusAdapter<SingleRedis>);

}  // namespace

}  // namespace presence::testing
