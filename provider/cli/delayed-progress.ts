import { sanitizeLine } from "../model/text";

/** The longest time that a command works without printing anything. */
const SILENCE_MS = 2_000;
const TERMINAL_INTERVAL_MS = 1_000;
const LOG_INTERVAL_MS = 30_000;

/**
 * Shows the progress of work that takes longer than two seconds, on standard error: one line that is updated in place on
 * a terminal, otherwise a line every half a minute.
 */
export class DelayedProgress implements Disposable {
  readonly #stream = process.stderr;
  #timer: NodeJS.Timeout;
  #text: string;
  #isShown = false;

  /** @param text the work, such as `Reading tenants`. */
  constructor(text: string) {
    this.#text = text;
    this.#timer = setTimeout(() => this.#show(), SILENCE_MS).unref();
  }

  /** Sets the text to show next: `Reading tenants: 3 of 40`. */
  report(text: string): void {
    this.#text = text;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    if (this.#isShown && this.#stream.isTTY === true) this.#stream.write("\r\u001b[K");
  }

  #show(): void {
    const isTerminal = this.#stream.isTTY === true;
    const text = `${sanitizeLine(this.#text)} …`;
    this.#stream.write(isTerminal ? `\r\u001b[K${text}` : `${text}\n`);
    this.#isShown = true;
    this.#timer = setTimeout(() => this.#show(), isTerminal ? TERMINAL_INTERVAL_MS : LOG_INTERVAL_MS).unref();
  }
}
