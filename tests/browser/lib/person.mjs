// What one person sees and does on the page.

import assert from "node:assert/strict";

export class Person {
  constructor({ page, errors, userId }) {
    this.page = page;
    this.errors = errors;
    this.userId = userId;
  }

  row(userId) {
    return this.page.locator(`[data-user="${userId}"]`);
  }

  /** Waits until this person sees the other so. */
  async sees(userId, status, withinMs = 3_000) {
    const row = this.page.locator(`[data-user="${userId}"][data-status="${status}"]`);
    try {
      await row.waitFor({ timeout: withinMs });
    } catch {
      const found = await this.row(userId).getAttribute("data-status");
      assert.fail(`${this.userId} sees ${userId} as ${found}, not ${status}, after ${withinMs} ms`);
    }
  }

  /** How long it takes until this person sees the other so. */
  async timeUntil(userId, status, withinMs) {
    const start = performance.now();
    await this.sees(userId, status, withinMs);
    return performance.now() - start;
  }

  async seesText(userId, text) {
    await this.row(userId).getByText(text).first().waitFor({ timeout: 3_000 });
  }

  async isMyStatus(text) {
    await this.page.locator(".my-status", { hasText: text }).waitFor({ timeout: 3_000 });
  }

  async choose(label) {
    await this.page.getByRole("radio", { name: new RegExp(`^${label}`) }).check();
  }

  /** Connected and without a status of one's own, whatever went on before. */
  async beHere() {
    const reconnect = this.page.getByRole("button", { name: /^Reconnect/ });
    if (await reconnect.isEnabled()) {
      // It may be back by itself before the click.
      await reconnect.click({ timeout: 2_000 }).catch(() => {});
    }
    await this.page.getByText("Connected", { exact: true }).waitFor();
    await this.choose("Online");
  }

  async press(name) {
    await this.page.getByRole("button", { name }).click();
  }

  async setCustomStatus({ emoji, text, end }) {
    await this.page.locator(".custom-button").click();
    const dialog = this.page.getByRole("dialog");
    if (emoji) {
      await dialog.getByRole("button", { name: emoji }).click();
    }
    await dialog.getByLabel("Text").fill(text);
    if (end) {
      await dialog.getByLabel("Clear it").selectOption({ label: end });
    }
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "hidden" });
  }

  async clearCustomStatus() {
    await this.page.locator(".custom-button").click();
    await this.page.getByRole("dialog").getByRole("button", { name: "Clear" }).click();
  }

  /** `online` and `lastSeen`: a choice as it reads; `only`: names to tick. */
  async setPrivacy({ online, lastSeen, only = [] }) {
    await this.press("Who may see me …");
    const dialog = this.page.getByRole("dialog");
    if (online) {
      await dialog.getByLabel("Who sees whether I am here").selectOption({ label: online });
    }
    if (lastSeen) {
      await dialog.getByLabel("Who sees when I last was").selectOption({ label: lastSeen });
    }
    for (const box of await dialog.getByRole("checkbox").all()) {
      if (await box.isVisible()) {
        await box.setChecked(only.includes(await box.getAttribute("value")));
      }
    }
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "hidden" });
  }

  async block(userId, name) {
    await this.row(userId).locator("summary").click();
    await this.press(`Block ${name}`);
  }

  async unblock(name) {
    await this.press("Who may see me …");
    const dialog = this.page.getByRole("dialog");
    await dialog.getByRole("button", { name: `Unblock ${name}` }).click();
    await dialog.getByText("Nobody", { exact: true }).last().waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
  }

  /** Everything that the timeline says, newest first. */
  async timeline() {
    return this.page.locator(".events li span").allTextContents();
  }

  async timelineSays(text, withinMs = 3_000) {
    await this.page.locator(".events li", { hasText: text }).first().waitFor({ timeout: withinMs });
  }
}
