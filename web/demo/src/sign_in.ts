import { h } from "../../common/dom.js";

const SUGGESTIONS: readonly string[] = ["alice", "bob", "carol"];

/** Asks who the visitor wants to be. */
export function signInPage(onChosen: (userId: string) => void, fault: string): HTMLElement {
  const input = h("input", {
    id: "user",
    autocomplete: "off",
    maxlength: "128",
    required: true,
    placeholder: "Any name",
    dir: "auto",
    "aria-describedby": "fault",
  });
  return h(
    "main",
    { class: "sign-in" },
    h(
      "form",
      {
        class: "card",
        onsubmit: (event) => {
          event.preventDefault();
          const userId = input.value.trim();
          if (userId !== "") {
            onChosen(userId);
          }
        },
      },
      h("h1", {}, h("span", { class: "logo", "aria-hidden": "true" }), "presenced"),
      h("p", {
        text:
          "Who is here, and when were they last? Be one person here and another in a second " +
          "browser, and watch what each sees of the other.",
      }),
      h("label", { for: "user", text: "Who are you?" }),
      h(
        "div",
        { class: "add" },
        input,
        h("button", { type: "submit", class: "primary", text: "Come in" }),
      ),
      h("p", { class: "error", role: "alert", id: "fault", text: fault }),
      h(
        "div",
        { class: "suggestions", role: "group", "aria-label": "Suggested names" },
        ...SUGGESTIONS.map((name) =>
          h("button", { type: "button", text: name, onclick: () => onChosen(name) }),
        ),
      ),
    ),
  );
}
