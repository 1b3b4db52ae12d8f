type Child = Node | string | undefined;
type Props = Record<string, string | boolean | undefined | ((event: Event) => void)>;

/** Makes an element. `on…` adds a listener; all but `class` and `text` are attributes. */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === "function") {
      element.addEventListener(name.slice(2), value);
    } else if (name === "class") {
      element.className = String(value);
    } else if (name === "text") {
      element.textContent = String(value);
    } else if (value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...children.filter((child): child is Node | string => child !== undefined));
  return element;
}

/** Writes a text only where it differs, so that selections and screen readers are left alone. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

/** A name or words of some user: of any direction, without an effect on what stands beside it. */
export function said(text: string, className = ""): HTMLElement {
  return h("bdi", { class: className, text });
}

/** Makes the children of a list those given. Touches nothing in its place already; the focus stays. */
export function placeInOrder(list: Element, rows: readonly Element[]): void {
  const focused = document.activeElement;
  rows.forEach((row, index) => {
    if (list.children[index] !== row) {
      list.insertBefore(row, list.children[index] ?? null);
    }
  });
  if (focused instanceof HTMLElement && focused !== document.activeElement) {
    focused.focus({ preventScroll: true });
  }
}

/** Like `disabled`, but a button that has the focus keeps it: who goes by keyboard is not thrown out. */
export function setAvailable(button: HTMLButtonElement, isAvailable: boolean): void {
  button.setAttribute("aria-disabled", String(!isAvailable));
}

export function isAvailable(button: HTMLButtonElement): boolean {
  return button.getAttribute("aria-disabled") !== "true";
}

/** An icon from path data on a 24 x 24 grid, for the eye only. */
export function icon(path: string): SVGSVGElement {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const shape = document.createElementNS(space, "path");
  shape.setAttribute("d", path);
  svg.append(shape);
  return svg;
}
