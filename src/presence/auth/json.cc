#include "presence/auth/json.h"

#include "presence/auth/limits.h"

namespace presence::auth {

bool JsonReader::parse_object(std::string& text, simdjson::dom::object& object) {
    if (!parser_) {
        auto parser = std::make_unique<simdjson::dom::parser>();
        if (parser->allocate(kMaxTokenBytes, kMaxJsonDepth) != simdjson::SUCCESS) {
            return false;
        }
        parser_ = std::move(parser);
    }
    text.reserve(text.size() + simdjson::SIMDJSON_PADDING);
    simdjson::dom::element root;
    return parser_->parse(text.data(), text.size(), false).get(root) == simdjson::SUCCESS &&
           root.get(object) == simdjson::SUCCESS;
}

}  // namespace presence::auth
