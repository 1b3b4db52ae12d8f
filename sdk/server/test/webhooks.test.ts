import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { verifyWebhook, WebhookError } from "../src/index.js";

const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const other = `whsec_${Buffer.alloc(32, 8).toString("base64")}`;
const body = '{"events":[{"id":"evt_1","type":"user.online","userId":"ü","at":1,"version":2}]}';
const now = 1_700_000_000_000;

const signed = (by: string, text = body, timestamp = "1700000000") =>
  `v1,${createHmac("sha256", Buffer.from(by.slice(6), "base64")).update(`msg_1.${timestamp}.${text}`).digest("base64")}`;
const headers = (signature: string, timestamp = "1700000000") => ({
  "webhook-id": "msg_1",
  "webhook-timestamp": timestamp,
  "webhook-signature": signature,
});

test("the vector of the Standard Webhooks specification holds", () => {
  const vector = {
    body: '{"test": 2432232314}',
    headers: {
      "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
      "webhook-timestamp": "1614265330",
      "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    },
    secrets: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    now: 1_614_265_330_000,
  };
  expect(verifyWebhook(vector).id).toBe("msg_p5jXN8AQM9LWM0D4loKWxJek");
});

test("a call that is signed and fresh gives its events, however its headers are kept", () => {
  for (const call of [
    { headers: headers(signed(secret)), body },
    { headers: new Headers(headers(signed(secret))), body: Buffer.from(body) },
    { headers: headers(`v2,x ${signed(other)} ${signed(secret)}`), body },
  ]) {
    const { id, events } = verifyWebhook({ ...call, secrets: secret, now });
    expect(id).toBe("msg_1");
    expect(events[0]).toMatchObject({ id: "evt_1", userId: "ü" });
  }
  expect(verifyWebhook({ body, headers: headers(signed(other)), secrets: [secret, other], now }).events).toHaveLength(1);
});

test("a call that is forged, changed, stale or half is none", () => {
  const refused = (call: object) =>
    expect(() => verifyWebhook({ body, headers: headers(signed(secret)), secrets: secret, now, ...call })).toThrow(WebhookError);
  refused({ secrets: other });
  refused({ body: body.replace("online", "offlin") });
  refused({ headers: { ...headers(signed(secret)), "webhook-id": "msg_2" } });
  refused({ headers: headers(signed(secret).slice(0, -4)) });
  refused({ headers: headers("v1,") });
  refused({ headers: headers(signed(secret).slice(3)) });
  refused({ now: now + 301_000 });
  refused({ now: now - 301_000 });
  refused({ headers: headers(signed(secret, body, "soon"), "soon") });
  refused({ headers: {} });
  expect(() => verifyWebhook({ body, headers: headers(signed(secret)), secrets: "secret", now })).toThrow(TypeError);
});
