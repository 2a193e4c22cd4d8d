import { excerpt, sanitizeLine } from "../../model/text";
import { formatCount, formatNumber, toSingleLine } from "../../render/safe-text";
import { formatDuration } from "../model/duration";
import type { RolloutEvent } from "../model/rollout-event";
import type { RolloutReport } from "../model/rollout-report";
import { type Progress, ProgressModel } from "./progress-model";
import type { ProgressView } from "./progress-view";

/** Writes one line for each event, for logs: the time, the number of finished tenants, the wave, the tenant, and what happened. */
export class PlainProgress implements ProgressView {
  readonly #model: ProgressModel;
  readonly #write: (line: string) => void;

  /** @param write receives each line, with a trailing newline. */
  constructor(report: RolloutReport, write: (line: string) => void) {
    this.#model = new ProgressModel(report);
    this.#write = write;
  }

  handleEvent(event: RolloutEvent): void {
    this.#model.handleEvent(event);
    this.#write(formatEventLine(event, this.#model));
  }

  log(line: string): void {
    this.#write(`${sanitizeLine(line)}\n`);
  }

  end(): void {}
}

/**
 * Formats an event: `2026-11-21 08:03:12Z  37/300  early  acme: changed in 12 s`. Values from outside are sanitized.
 *
 * @param progress includes the event.
 */
export function formatEventLine(event: RolloutEvent, progress: Progress): string {
  const { done, unchanged, failed, skipped } = progress.counts;
  const total = formatNumber(progress.total);
  const finishedCount = formatNumber(done + unchanged + failed + skipped).padStart(total.length);
  const waveText = "wave" in event ? `  ${sanitizeText(event.wave, MAX_NAME)}` : "";
  return `${formatPlainTimestamp(event.occurredAt)}  ${finishedCount}/${total}${waveText}  ${describeEvent(event)}\n`;
}

const MAX_NAME = 80;
const MAX_SENTENCE = 500;

function describeEvent(event: RolloutEvent): string {
  switch (event.kind) {
    case "planned":
      return `planned: ${formatNumber(event.changing)} of ${formatCount(event.tenants, "tenant")} to change, digest ${sanitizeText(event.digest, MAX_NAME)}`;
    case "started":
      return event.resumed ? "rollout resumed" : "rollout started";
    case "wave-started":
      return `wave started: ${formatCount(event.tenants, "tenant")}`;
    case "tenant-started": {
      const attemptText = event.attempt > 1 ? `, attempt ${formatNumber(event.attempt)}` : "";
      return `${sanitizeText(event.tenant, MAX_NAME)}: started by ${sanitizeText(event.worker, MAX_NAME)}${attemptText}`;
    }
    case "tenant-note":
      return `${sanitizeText(event.tenant, MAX_NAME)}: ${sanitizeText(event.message, MAX_SENTENCE)}`;
    case "tenant-finished":
      return `${sanitizeText(event.tenant, MAX_NAME)}: ${describeTenantOutcome(event)}`;
    case "tenant-skipped": {
      const skippedByText = event.actor === undefined ? "" : ` by ${sanitizeText(event.actor, MAX_NAME)}`;
      return `${sanitizeText(event.tenant, MAX_NAME)}: SKIPPED${skippedByText}: ${sanitizeText(event.reason, MAX_SENTENCE)}`;
    }
    case "wave-soaking":
      return `all tenants of the wave are finished; soaking until ${formatPlainTimestamp(event.until)}`;
    case "wave-health":
      return `${event.isHealthy ? "healthy" : "UNHEALTHY"}: ${sanitizeText(event.message, MAX_SENTENCE)}`;
    case "wave-finished":
      return `wave finished: ${formatNumber(event.done)} changed, ${formatNumber(event.failed)} failed`;
    case "waiting":
      return `WAITING: ${sanitizeText(event.reason, MAX_SENTENCE)}`;
    case "stopped":
      return `STOPPED: ${sanitizeText(event.reason, MAX_SENTENCE)}`;
    case "interrupted":
      return `INTERRUPTED: ${sanitizeText(event.reason, MAX_SENTENCE)}`;
    case "finished":
      return `rollout finished: ${formatNumber(event.done)} changed, ${formatNumber(event.unchanged)} unchanged, ${formatNumber(event.failed)} failed${event.skipped === undefined ? "" : `, ${formatNumber(event.skipped)} skipped`}`;
  }
}

function describeTenantOutcome(event: Extract<RolloutEvent, { kind: "tenant-finished" }>): string {
  const elapsedText = formatDuration(event.durationMs);
  if (event.state === "done") return `changed in ${elapsedText}`;
  const { error } = event;
  if (error === undefined) return `FAILED after ${elapsedText}`;
  const errorText = `${sanitizeText(error.code, MAX_NAME)}: ${sanitizeText(error.message, MAX_SENTENCE)}`;
  return `FAILED after ${elapsedText}, ${errorText} Fix: ${sanitizeText(error.advice, MAX_SENTENCE)}`;
}

/** For example: `2026-11-21 08:03:12Z`. An invalid time is shown unchanged. */
function formatPlainTimestamp(time: string): string {
  const [, date, timeOfDay] = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})(?:\.\d+)?Z$/.exec(time) ?? [];
  return date === undefined ? sanitizeText(time, MAX_NAME) : `${date} ${timeOfDay}Z`;
}

function sanitizeText(text: string, limit: number): string {
  return excerpt(toSingleLine(text), limit);
}
