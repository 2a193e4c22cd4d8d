import { sanitizeLine } from "../../model/text";
import type { RolloutEvent } from "../model/rollout-event";
import type { RolloutReport } from "../model/rollout-report";
import { LiveRegion } from "./live-region";
import { renderLiveScreen } from "./live-screen";
import { ProgressModel } from "./progress-model";
import type { ProgressView } from "./progress-view";

export interface ProgressTerminal extends NodeJS.WritableStream {
  readonly columns?: number;
  readonly rows?: number;
}

export interface LiveProgressOptions {
  readonly color: boolean;
  /** How many tenants the process or the workers can change at once. Default: unknown. */
  readonly capacity?: number;
  readonly now?: () => number;
}

/**
 * Shows a rollout on one screen of a terminal, and redraws it at most 5 times a second. After a resize, clears everything else from the
 * screen. At the end, removes the screen to make room for the report. Restores the cursor then, and also if the process ends otherwise.
 */
export class LiveProgress implements ProgressView {
  readonly #model: ProgressModel;
  readonly #terminal: ProgressTerminal;
  readonly #options: LiveProgressOptions;
  readonly #liveRegion: LiveRegion;
  readonly #timer: NodeJS.Timeout;
  #isEnded = false;

  /** @param report the state of the rollout before the first event. */
  constructor(report: RolloutReport, terminal: ProgressTerminal, options: LiveProgressOptions) {
    this.#model = new ProgressModel(report, options.capacity);
    this.#terminal = terminal;
    this.#options = options;
    this.#liveRegion = new LiveRegion(terminal);
    this.#terminal.on("resize", this.#redraw);
    // The rollout keeps the process alive, so the timer must not.
    this.#timer = setInterval(this.#render, INTERVAL_MS).unref();
    this.#render();
  }

  handleEvent(event: RolloutEvent): void {
    this.#model.handleEvent(event);
  }

  log(line: string): void {
    this.#liveRegion.log(sanitizeLine(line));
  }

  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    clearInterval(this.#timer);
    this.#terminal.off("resize", this.#redraw);
    this.#liveRegion.end();
  }

  readonly #redraw = () => {
    this.#liveRegion.clear();
    this.#render();
  };

  readonly #render = () => {
    const { columns = 80, rows = 24 } = this.#terminal;
    const { color, now = Date.now } = this.#options;
    // The cursor needs the line below, and some terminals wrap a line that fills the last column.
    const size = { columns: Math.max(1, columns - 1), rows: Math.max(1, rows - 1) };
    this.#liveRegion.draw(renderLiveScreen(this.#model, { ...size, now: now(), color }));
  };
}

const INTERVAL_MS = 200;
