#pragma once

#include "presence/model/presence.h"
#include "presence/model/room.h"
#include "presence/model/survey.h"
#include "presence/stores/redis/bytes.h"

namespace presence::redis {

/// Parts that records and messages share; each is a frame of its own. A reader that finds one
/// broken is marked so itself.
void put(ByteWriter& out, const CustomStatusRef& custom);
[[nodiscard]] CustomStatusRef custom_from(ByteReader& outer);
void put(ByteWriter& out, const Presence& presence);
[[nodiscard]] Presence presence_from(ByteReader& outer);

// Fields of a message, in codec_survey.cc.
void put(ByteWriter& out, const RoomMember& member);
[[nodiscard]] RoomMember member_from(ByteReader& in);
void put(ByteWriter& out, const SurveyQuestion& question);
[[nodiscard]] SurveyQuestionRef question_from(ByteReader& in);
void put(ByteWriter& out, const SurveyAnswer& answer);
[[nodiscard]] SurveyAnswerRef answer_from(ByteReader& in);

}  // namespace presence::redis
