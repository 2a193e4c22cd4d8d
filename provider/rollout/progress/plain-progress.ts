import { counted, number, onOneLine } from "../../render/words";
import { excerpt, printable } from "../../settings/text";
import { duration } from "../model/duration";
import type { RolloutEvent } from "../model/rollout-event";
import type { RolloutReport } from "../model/rollout-report";
import { type Progress, ProgressModel } from "./progress-model";
import type { ProgressView } from "./progress-view";

/** Writes one line for each event, for logs: the time, the number of finished tenants, the wave, the tenant, and what happened. */
export class PlainProgress implements ProgressView {
  readonly #model: ProgressModel;
  readonly #write: (line: string) => void;

  /**
   * @param report the state of the rollout before the first event.
   * @param write receives each line, with a trailing newline.
   */
  constructor(report: RolloutReport, write: (line: string) => void) {
    this.#model = new ProgressModel(report);
    this.#write = write;
  }

  happened(event: RolloutEvent): void {
    this.#model.happened(event);
    this.#write(plainLine(event, this.#model));
  }

  say(line: string): void {
    this.#write(`${printable(line)}\n`);
  }

  end(): void {}
}

/**
 * Formats an event: `2026-11-21 08:03:12Z  37/300  early  acme: changed in 12 s`. Values from outside are sanitized.
 *
 * @param progress includes the event.
 */
export function plainLine(event: RolloutEvent, progress: Progress): string {
  const { done, unchanged, failed, skipped } = progress.counts;
  const total = number(progress.total);
  const through = number(done + unchanged + failed + skipped).padStart(total.length);
  const wave = "wave" in event ? `  ${shown(event.wave, MAX_NAME)}` : "";
  return `${clock(event.at)}  ${through}/${total}${wave}  ${happening(event)}\n`;
}

const MAX_NAME = 80;
const MAX_SENTENCE = 500;

function happening(event: RolloutEvent): string {
  switch (event.kind) {
    case "planned":
      return `planned: ${number(event.changing)} of ${counted(event.tenants, "tenant")} to change, digest ${shown(event.digest, MAX_NAME)}`;
    case "started":
      return event.resumed ? "the rollout goes on" : "the rollout begins";
    case "wave-started":
      return `the wave begins: ${counted(event.tenants, "tenant")}`;
    case "tenant-started": {
      const again = event.attempt > 1 ? `, attempt ${number(event.attempt)}` : "";
      return `${shown(event.tenant, MAX_NAME)}: begun by ${shown(event.worker, MAX_NAME)}${again}`;
    }
    case "tenant-note":
      return `${shown(event.tenant, MAX_NAME)}: ${shown(event.message, MAX_SENTENCE)}`;
    case "tenant-finished":
      return `${shown(event.tenant, MAX_NAME)}: ${outcome(event)}`;
    case "tenant-skipped": {
      const by = event.by === undefined ? "" : ` by ${shown(event.by, MAX_NAME)}`;
      return `${shown(event.tenant, MAX_NAME)}: SKIPPED${by}: ${shown(event.reason, MAX_SENTENCE)}`;
    }
    case "wave-soaking":
      return `all tenants of the wave are through; it soaks until ${clock(event.until)}`;
    case "wave-health":
      return `${event.isWell ? "healthy" : "UNHEALTHY"}: ${shown(event.message, MAX_SENTENCE)}`;
    case "wave-finished":
      return `the wave is through: ${number(event.done)} changed, ${number(event.failed)} failed`;
    case "waiting":
      return `WAITING: ${shown(event.reason, MAX_SENTENCE)}`;
    case "stopped":
      return `STOPPED: ${shown(event.reason, MAX_SENTENCE)}`;
    case "interrupted":
      return `INTERRUPTED: ${shown(event.reason, MAX_SENTENCE)}`;
    case "finished":
      return `the rollout is through: ${number(event.done)} changed, ${number(event.unchanged)} unchanged, ${number(event.failed)} failed${event.skipped === undefined ? "" : `, ${number(event.skipped)} skipped`}`;
  }
}

function outcome(event: Extract<RolloutEvent, { kind: "tenant-finished" }>): string {
  const took = duration(event.durationMs);
  if (event.state === "done") return `changed in ${took}`;
  const { error } = event;
  if (error === undefined) return `FAILED after ${took}`;
  const why = `${shown(error.code, MAX_NAME)}: ${shown(error.message, MAX_SENTENCE)}`;
  return `FAILED after ${took}, ${why} What to do: ${shown(error.advice, MAX_SENTENCE)}`;
}

/** For example: `2026-11-21 08:03:12Z`. An invalid time is shown unchanged. */
function clock(time: string): string {
  const [, date, second] = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})(?:\.\d+)?Z$/.exec(time) ?? [];
  return date === undefined ? shown(time, MAX_NAME) : `${date} ${second}Z`;
}

function shown(text: string, limit: number): string {
  return excerpt(onOneLine(text), limit);
}
