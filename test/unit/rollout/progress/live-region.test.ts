import { expect, it } from "vitest";
import { LiveRegion } from "../../../../provider/rollout/progress/live-region";

/** Emulates a terminal, limited to the few escape sequences that a frame uses. */
class EmulatedScreen {
  rows: string[] = [""];
  row = 0;
  column = 0;
  isCursorSeen = true;

  write(text: string): void {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: an escape sequence begins with one.
    for (const [token, count, code] of text.matchAll(/\u001b\[\??(\d*)([A-Za-z])|[\r\n]|[^\u001b\r\n]+/g)) {
      if (code !== undefined) this.#obey(code, Number(count));
      else if (token === "\r") this.column = 0;
      else if (token === "\n") this.#nextRow();
      else {
        const old = this.rows[this.row] ?? "";
        this.rows[this.row] = old.slice(0, this.column) + token + old.slice(this.column + token.length);
        this.column += token.length;
      }
    }
  }

  #nextRow(): void {
    this.row += 1;
    this.column = 0;
    this.rows[this.row] ??= "";
  }

  #obey(code: string, count: number): void {
    if (code === "A") this.row = Math.max(0, this.row - count);
    else if (code === "H") [this.row, this.column] = [0, 0];
    else if (code === "K" || code === "J") {
      this.rows[this.row] = (this.rows[this.row] ?? "").slice(0, this.column);
      if (code === "J") this.rows.length = this.row + 1;
    } else if (count === 25) this.isCursorSeen = code === "h";
    else if (count !== 2026) throw new Error(`${count}${code}`);
  }
}

function drawRegion() {
  const screen = new EmulatedScreen();
  screen.write("$ email-security rollout\n");
  return { screen, picture: new LiveRegion(screen) };
}

it("keeps the lines logged above", () => {
  const { screen, picture } = drawRegion();
  picture.draw("one line\nand another");
  expect(screen.rows).toEqual(["$ email-security rollout", "one line", "and another", ""]);
  expect(screen.isCursorSeen).toBe(false);
  picture.log("waiting for a lock");
  picture.draw("one\nand\nthree");
  expect(screen.rows.slice(1)).toEqual(["waiting for a lock", "one", "and", "three", ""]);
  screen.write("^C");
  picture.draw("short");
  expect(screen.rows.slice(1)).toEqual(["waiting for a lock", "short", ""]);
  picture.end();
  expect(screen.rows).toEqual(["$ email-security rollout", "waiting for a lock", ""]);
  expect(screen.isCursorSeen).toBe(true);
});

it("writes nothing when nothing changed", () => {
  const { screen, picture } = drawRegion();
  picture.draw("one");
  screen.write = () => expect.fail("it is drawn again");
  picture.draw("one");
});

it("redraws on a cleared screen after losing its position", () => {
  const { screen, picture } = drawRegion();
  picture.draw("one\ntwo");
  screen.rows = ["on", "e", "tw", "o", ""];
  screen.row = 4;
  picture.clear();
  picture.draw("one\ntwo");
  expect(screen.rows).toEqual(["one", "two", ""]);
  picture.end();
  expect(screen.rows).toEqual([""]);
});

it("restores the cursor when the process exits first", () => {
  const before = process.listeners("exit");
  const { screen, picture } = drawRegion();
  picture.draw("one");
  const [giveBack] = process.listeners("exit").filter((listener) => !before.includes(listener));
  giveBack?.(0);
  expect(screen.isCursorSeen).toBe(true);
  picture.end();
  expect(process.listeners("exit")).toEqual(before);
});
