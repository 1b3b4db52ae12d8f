import { act, StrictMode, type ReactNode } from "react";
import { createRoot, type Root } from "react-dom/client";
import { vi } from "vitest";
import { Bench } from "../../client/test/harness.js";
import { PresenceProvider } from "../src/index.js";

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;

/** A client in its scripted world, and a page of React above it. */
export class Page {
  readonly container = document.createElement("div");
  readonly bench: Bench;
  readonly root: Root;
  readonly isStrict: boolean;

  constructor(isStrict = false, bench = new Bench()) {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    this.bench = bench;
    this.isStrict = isStrict;
    this.root = createRoot(this.container);
  }

  async show(children: ReactNode): Promise<void> {
    await this.render(<PresenceProvider client={this.bench.client}>{children}</PresenceProvider>);
  }

  /** As it is, without a provider around. */
  async render(element: ReactNode): Promise<void> {
    await act(async () => this.root.render(this.isStrict ? <StrictMode>{element}</StrictMode> : element));
    await this.pass(0);
  }

  /** Time goes on, for the client as for React. */
  async pass(ms: number): Promise<void> {
    await act(async () => {
      vi.advanceTimersByTime(ms);
      await this.bench.clock.advance(ms);
    });
  }

  /** Something happens outside that React hears of at once. */
  async happens(event: () => void): Promise<void> {
    await act(async () => event());
  }

  async leave(): Promise<void> {
    await act(async () => this.root.unmount());
    await this.pass(1_000);
  }

  get text(): string {
    return this.container.textContent ?? "";
  }

  get watched(): string[] {
    return [...this.bench.server.last.watched].sort();
  }
}
