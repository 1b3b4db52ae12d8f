export {
  useConnection,
  useMyStatus,
  usePresence,
  usePresences,
  useRoom,
  useTyping,
  type MyStatus,
} from "./hooks.js";
export { LastSeen, PresenceDot, type LastSeenProps, type PresenceDotProps } from "./parts.js";
export { PresenceProvider, usePresenceClient, type PresenceProviderProps } from "./provider.js";
