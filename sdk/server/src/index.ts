export { PresenceServer, UserCalls, type Page, type PresenceServerOptions } from "./client.js";
export { mintToken, type TokenOptions, type TokenRights } from "./tokens.js";
export { PresenceError, type PresenceErrorCode } from "./transport.js";
export * from "./types.js";
export {
  verifyWebhook,
  WebhookError,
  type VerifiedWebhook,
  type WebhookCall,
} from "./webhooks.js";
