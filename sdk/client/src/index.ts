export { PresenceClient } from "./client.js";
export type { ClientEvents, ClientOptions } from "./options.js";
export { systemClock, type Clock, type TimerHandle } from "./clock.js";
export { PresenceError, type ErrorCode, type ErrorDetails } from "./codes.js";
export {
  pageEnvironment,
  type Channel,
  type Environment,
  type EnvironmentSignals,
} from "./environment.js";
export type { ConnectionStatus, LinkState } from "./link.js";
export type { UserListener } from "./presence_map.js";
export type {
  Activity,
  CustomStatus,
  CustomStatusChange,
  Declared,
  DeclaredStatus,
  Device,
  DeviceType,
  Granularity,
  Health,
  JoinOptions,
  LastSeen,
  Limits,
  OwnStatus,
  PrivacyMode,
  PrivacyRule,
  PrivacyRules,
  RoomMember,
  RoomView,
  Signal,
  SignalRequest,
  Status,
  StatusChange,
  StoreHealth,
  Target,
  UserPresence,
  Welcome,
  WirePresence,
} from "./protocol.js";
export type { GetToken, TokenReason } from "./token_source.js";
export type { Transport, TransportConnection, TransportHandlers } from "./transport.js";
export { webSocketTransport } from "./web_socket_transport.js";
