#include "presence/stores/redis/scripts.h"

#include <string>

namespace presence::redis {

namespace {

// `head` gives what stands before the rest of a record: counter, and names of nodes.
constexpr const char* kHead = R"lua(
local function head(key)
  local bytes = redis.pcall('GETRANGE', key, 0, 17)
  if type(bytes) ~= 'string' or #bytes < 10 then return '', '' end
  local format, count = string.byte(bytes, 1), string.byte(bytes, 10)
  if format < 1 or format >= 32 then return '', '' end
  if count > 1 then bytes = redis.call('GETRANGE', key, 0, 9 + 8 * count) end
  return string.sub(bytes, 2, 9), bytes
end
local function nodes(bytes)
  local found = {}
  if #bytes < 10 then return found end
  for i = 0, string.byte(bytes, 10) - 1 do
    local name = string.sub(bytes, 11 + 8 * i, 18 + 8 * i)
    if #name == 8 then found[name] = true end
  end
  return found
end
local function hex(name)
  return string.format('%02x%02x%02x%02x%02x%02x%02x%02x', string.byte(name, 1, 8))
end
)lua";

constexpr const char* kCommit = R"lua(
local outcomes = {}
local buried = redis.call('EXISTS', KEYS[1]) == 1
for i = 2, #KEYS do
  local key, at = KEYS[i], 3 + 7 * (i - 2)
  local expected, record, ttl = ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  local current, bytes = head(key)
  if buried then
    outcomes[i - 1] = 2
  elseif current ~= expected then
    outcomes[i - 1] = 0
  else
    local before, after = {}, nodes(record)
    if current ~= '' then before = nodes(bytes) end
    redis.call('SET', key, record, 'PX', ttl)
    for name in pairs(before) do
      if not after[name] then redis.call('LREM', ARGV[1] .. hex(name), 1, ARGV[at + 4]) end
    end
    for name in pairs(after) do
      local index = ARGV[1] .. hex(name)
      if not before[name] then redis.call('RPUSH', index, ARGV[at + 4]) end
      redis.call('PEXPIRE', index, ARGV[2])
    end
    if ARGV[at + 7] ~= '' then
      redis.call('HSET', ARGV[3], ARGV[at + 4], ARGV[at + 7])
      redis.call('PEXPIRE', ARGV[3], ARGV[2])
    end
    if ARGV[at + 5] ~= '' then redis.call('SPUBLISH', ARGV[at + 5], ARGV[at + 6]) end
    outcomes[i - 1] = 1
  end
end
return outcomes
)lua";

constexpr const char* kErase = R"lua(
local current, bytes = head(KEYS[1])
if current ~= '' then
  for name in pairs(nodes(bytes)) do redis.call('LREM', ARGV[1] .. hex(name), 1, ARGV[2]) end
end
return redis.call('DEL', KEYS[1])
)lua";

constexpr const char* kHeads = R"lua(#!lua flags=no-writes
local heads = {}
for i, key in ipairs(KEYS) do
  local bytes = redis.pcall('GETRANGE', key, 0, 9)
  heads[i] = type(bytes) == 'string' and bytes or ''
end
return heads
)lua";

constexpr const char* kKeep = R"lua(
local heads = {}
for i, key in ipairs(KEYS) do
  local _, bytes = head(key)
  heads[i] = string.sub(bytes, 1, 10)
  if nodes(bytes)[ARGV[1]] then redis.call('PEXPIRE', key, ARGV[3]) end
end
redis.call('PEXPIRE', ARGV[2], ARGV[4])
return heads
)lua";

constexpr const char* kUsers = R"lua(#!lua flags=allow-oom
if KEYS[3] then redis.call('SET', KEYS[3], '1', 'PX', ARGV[3]) end
local users = redis.call('LRANGE', KEYS[1], 0, ARGV[1] - 1)
local found = {}
for _, user in ipairs(users) do
  if redis.call('EXISTS', ARGV[2] .. user) == 1 then
    found[#found + 1] = user
  else
    redis.call('LREM', KEYS[1], 1, user)
  end
end
return { #users, found, redis.call('HLEN', KEYS[2]) }
)lua";

// One line an end: last seen (0: none), own version, shown version, written at. Numbers below 2^53.
constexpr const char* kEnds = R"lua(
local function parts(row)
  local seen, own, shown = string.match(row or '', '^(%d+) (%d+) (%d+)')
  return tonumber(seen) or 0, tonumber(own) or 0, tonumber(shown) or 0
end
)lua";

constexpr const char* kDropEnds = R"lua(
for i = 1, #ARGV, 2 do
  local seen, own, shown = parts(redis.call('HGET', KEYS[1], ARGV[i]))
  local has_seen, has_own, has_shown = parts(ARGV[i + 1])
  if seen <= has_seen and own <= has_own and shown <= has_shown then
    redis.call('HDEL', KEYS[1], ARGV[i])
  end
end
return 1
)lua";

constexpr const char* kTakeEnds = R"lua(
local rows = redis.call('HRANDFIELD', KEYS[1], ARGV[1], 'WITHVALUES')
for i = 1, #rows, 2 do
  local _, mine = parts(redis.call('HGET', KEYS[2], rows[i]))
  local _, taken = parts(rows[i + 1])
  if mine < taken then redis.call('HSET', KEYS[2], rows[i], rows[i + 1]) end
  if KEYS[1] ~= KEYS[2] then redis.call('HDEL', KEYS[1], rows[i]) end
end
if #rows > 0 then redis.call('PEXPIRE', KEYS[2], ARGV[2]) end
return rows
)lua";

// One line a node: renewed_at, ttl, leaving, burnt, settled, asserted.
constexpr const char* kLease = R"lua(#!lua flags=allow-oom
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local mine = redis.call('HGET', KEYS[1], ARGV[1])
if mine and string.match(mine, '^%d+ %d+ %d 1') then return {} end
redis.call('HSETNX', KEYS[1], 'life', string.format('%.0f-%s', now, ARGV[5]))
redis.call('HSET', KEYS[1], ARGV[1],
           string.format('%.0f %s %s 0 0 %s', now, ARGV[2], ARGV[3], ARGV[4]))
redis.call('PEXPIRE', KEYS[1], ARGV[6])
local all = redis.call('HGETALL', KEYS[1])
local answer = { string.format('%.0f', now) }
for i = 1, #all, 2 do
  local renewed = tonumber(string.match(all[i + 1], '^%d+'))
  if all[i] ~= 'life' and renewed and renewed + ARGV[6] < now then
    redis.call('HDEL', KEYS[1], all[i])
  else
    answer[#answer + 1], answer[#answer + 2] = all[i], all[i + 1]
  end
end
return answer
)lua";

constexpr const char* kBurn = R"lua(#!lua flags=allow-oom
local entry = redis.call('HGET', KEYS[1], ARGV[1])
if entry then
  redis.call('HSET', KEYS[1], ARGV[1], (string.gsub(entry, '^(%d+ %d+ %d) %d', '%1 1')))
end
return 1
)lua";

constexpr const char* kForget = R"lua(#!lua flags=allow-oom
local entry = redis.call('HGET', KEYS[1], ARGV[1])
if not entry then return 1 end
if string.match(entry, '^%d+ %d+ %d 1') then
  redis.call('HSET', KEYS[1], ARGV[1], (string.gsub(entry, '^(%d+ %d+ %d 1) %d', '%1 1')))
else
  redis.call('HDEL', KEYS[1], ARGV[1])
end
return 1
)lua";

constexpr const char* kDeployment = R"lua(#!lua
local there = redis.call('GET', KEYS[1])
if not there then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  return ARGV[1]
end
if there == ARGV[1] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return there
)lua";

constexpr const char* kProbe = R"lua(#!lua flags=allow-oom
local life = redis.call('GET', KEYS[1])
if life then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
else
  life = ARGV[1]
  redis.call('SET', KEYS[1], life, 'PX', ARGV[2])
end
redis.call('SPUBLISH', ARGV[3], ARGV[4] .. life)
return life
)lua";

constexpr const char* kBeatsSet = R"lua(#!lua
local last = 3 + 2 * ARGV[3]
for i = 4, last, 2 do redis.call('ZADD', KEYS[1], 'GT', ARGV[i], ARGV[i + 1]) end
for i = last + 1, #ARGV do redis.call('ZREM', KEYS[1], ARGV[i]) end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
)lua";

const char* const kPlain = "#!lua";
const char* const kAllowOom = "#!lua flags=allow-oom";

}  // namespace

const Script& commit_script() {
    static const Script script(std::string(kPlain) + kHead + kCommit);
    return script;
}

const Script& ending_script() {
    static const Script script(std::string(kAllowOom) + kHead + kCommit);
    return script;
}

const Script& erase_script() {
    static const Script script(std::string(kAllowOom) + kHead + kErase);
    return script;
}

const Script& heads_script() {
    static const Script script{std::string(kHeads)};
    return script;
}

const Script& keep_script() {
    static const Script script(std::string(kAllowOom) + kHead + kKeep);
    return script;
}

const Script& users_script() {
    static const Script script{std::string(kUsers)};
    return script;
}

const Script& drop_ends_script() {
    static const Script script(std::string(kAllowOom) + kEnds + kDropEnds);
    return script;
}

const Script& take_ends_script() {
    static const Script script(std::string(kAllowOom) + kEnds + kTakeEnds);
    return script;
}

const Script& lease_script() {
    static const Script script{std::string(kLease)};
    return script;
}

const Script& burn_script() {
    static const Script script{std::string(kBurn)};
    return script;
}

const Script& forget_script() {
    static const Script script{std::string(kForget)};
    return script;
}

const Script& deployment_script() {
    static const Script script{std::string(kDeployment)};
    return script;
}

const Script& probe_script() {
    static const Script script{std::string(kProbe)};
    return script;
}

const Script& room_script() {
    static const Script script{std::string(kPlain) + "\nreturn 1"};
    return script;
}

const Script& beats_script() {
    static const Script script{std::string(kBeatsSet)};
    return script;
}

}  // namespace presence::redis
