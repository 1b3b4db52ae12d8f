"""For back ends of the presenced presence server. The standard library is all it needs."""

from .client import PresenceServer, UserCalls
from .tokens import mint_token, openssl_signer
from .transport import PresenceError
from .webhooks import WebhookError, verify_webhook

__all__ = ["PresenceError", "PresenceServer", "UserCalls", "WebhookError", "mint_token",
           "openssl_signer", "verify_webhook"]
