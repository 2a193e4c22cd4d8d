import { printable } from "../../settings/text";
import type { RolloutEvent } from "../model/rollout-event";
import type { RolloutReport } from "../model/rollout-report";
import { liveScreen } from "./live-screen";
import { Picture } from "./picture";
import { ProgressModel } from "./progress-model";
import type { ProgressView } from "./progress-view";

/** A terminal that is written to. */
export interface Terminal extends NodeJS.WritableStream {
  readonly columns?: number;
  readonly rows?: number;
}

export interface LiveProgressOptions {
  /** Whether to use colours. */
  readonly color: boolean;
  /** How many tenants whoever does the work has hands for. Default: not known. */
  readonly capacity?: number;
  /** The time in milliseconds. Default: the system's. */
  readonly now?: () => number;
}

/**
 * A rollout on one screen of a terminal, drawn again at most 5 times a second; when the terminal's size changes, alone
 * on it. At the end the screen is taken away, so that the report stands in its place; the cursor is given back then, and when the
 * process ends otherwise.
 */
export class LiveProgress implements ProgressView {
  readonly #model: ProgressModel;
  readonly #terminal: Terminal;
  readonly #options: LiveProgressOptions;
  readonly #picture: Picture;
  readonly #timer: NodeJS.Timeout;
  #ended = false;

  /** @param report what is known when the first event comes. */
  constructor(report: RolloutReport, terminal: Terminal, options: LiveProgressOptions) {
    this.#model = new ProgressModel(report, options.capacity);
    this.#terminal = terminal;
    this.#options = options;
    this.#picture = new Picture(terminal);
    this.#terminal.on("resize", this.#redraw);
    // Who waits for the rollout keeps the process going, not its picture.
    this.#timer = setInterval(this.#render, INTERVAL_MS).unref();
    this.#render();
  }

  happened(event: RolloutEvent): void {
    this.#model.happened(event);
  }

  say(line: string): void {
    this.#picture.say(printable(line));
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    clearInterval(this.#timer);
    this.#terminal.off("resize", this.#redraw);
    this.#picture.end();
  }

  readonly #redraw = () => {
    this.#picture.forget();
    this.#render();
  };

  readonly #render = () => {
    const { columns = 80, rows = 24 } = this.#terminal;
    const { color, now = Date.now } = this.#options;
    // The cursor stands in a line of its own below; and in the last column some terminals break the line.
    const room = { columns: Math.max(1, columns - 1), rows: Math.max(1, rows - 1) };
    this.#picture.draw(liveScreen(this.#model, { ...room, now: now(), color }));
  };
}

const INTERVAL_MS = 200;
