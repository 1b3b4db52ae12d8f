import type { PresenceError } from "@presenced/client";
import { App } from "./app.js";
import { signInPage } from "./sign_in.js";

const NO_ID = "This cannot be a name: at most 128 bytes, of signs that can be seen.";
const STORAGE_KEY = "presenced-demo:user";
const place = document.getElementById("app") as HTMLElement;
let app: App | undefined;

function rememberedUser(): string | undefined {
  const named = new URLSearchParams(location.search).get("user")?.trim();
  return named || sessionStorage.getItem(STORAGE_KEY) || undefined;
}

function remember(userId: string | undefined): void {
  const url = new URL(location.href);
  if (userId === undefined) {
    sessionStorage.removeItem(STORAGE_KEY);
    url.searchParams.delete("user");
  } else {
    sessionStorage.setItem(STORAGE_KEY, userId);
    url.searchParams.set("user", userId);
  }
  history.replaceState(null, "", url);
}

/** Asks who the visitor is; `fault` says what was wrong with the name given before. */
function ask(fault = ""): void {
  app?.end();
  app = undefined;
  remember(undefined);
  document.title = "presenced demo";
  place.replaceChildren(signInPage(show, fault));
  (document.getElementById("user") as HTMLElement).focus();
}

function show(userId: string): void {
  const started = new App(userId, () => ask());
  app = started;
  remember(userId);
  place.replaceChildren(...started.elements);
  started.start().catch((error: PresenceError) => {
    if (app === started) {
      ask(error.code === "badRequest" ? NO_ID : error.message);
    }
  });
}

const remembered = rememberedUser();
if (remembered === undefined) {
  ask();
} else {
  show(remembered);
}
