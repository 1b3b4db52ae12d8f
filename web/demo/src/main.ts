import { App } from "./app.js";
import { signInPage } from "./sign_in.js";

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

function show(userId: string | undefined): void {
  app?.end();
  app = undefined;
  remember(userId);
  if (userId === undefined) {
    document.title = "presenced demo";
    place.replaceChildren(signInPage(show));
    (document.getElementById("user") as HTMLElement).focus();
    return;
  }
  app = new App(userId, () => show(undefined));
  place.replaceChildren(...app.elements);
  void app.start();
}

show(rememberedUser());
