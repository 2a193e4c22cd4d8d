import { styleText } from "node:util";
import { columnsOf, cutTo, fitTo } from "../../render/columns";
import type { Style } from "../../render/paper";
import { number, onOneLine } from "../../render/words";
import { excerpt } from "../../settings/text";
import { duration, wholeSeconds } from "../model/duration";
import { type StateWords, TENANT_STATES, WAVE_STATES } from "../report/state-words";
import type { Progress, ProgressCounts, RunningTenant, WaveProgress } from "./progress-model";
import { timeLeft } from "./time-left";

export interface ScreenOptions {
  /** The maximum number of columns of a line. */
  readonly columns: number;
  /** The maximum number of lines. */
  readonly rows: number;
  /** The time, in milliseconds. */
  readonly now: number;
  /** Whether to use colours. Colour alone never carries information. */
  readonly color: boolean;
}

/**
 * Renders a rollout on one screen, however many tenants it has: the progress of the rollout and of each wave, the running tenants, and the
 * latest failures. No newline after the last line. Values from outside are sanitized.
 */
export function liveScreen(progress: Progress, { columns, rows, now, color }: ScreenOptions): string {
  const head = [
    title(progress, columns, now),
    whole(progress, columns, now),
    tally(progress.counts, columns),
  ];
  const said = saying(progress);
  if (said !== undefined) head.push(said);
  const room = rows - head.length;
  const waves = section(undefined, waveLines(progress, columns, now, Math.max(3, Math.floor(room * 0.35))));
  const failures = failureLines(progress, Math.max(2, Math.floor(room * 0.25)));
  const hint: Line[] = room >= ROOMY && progress.state === "running" ? [[], [[HINT, "dim"]]] : [];
  const left = room - waves.length - failures.length - hint.length;
  const lines = [...head, ...waves, ...runningLines(progress, now, left), ...failures, ...hint];
  return lines
    .slice(0, Math.max(0, rows))
    .map((line) => painted(line, columns, color))
    .join("\n");
}

/** The parts of a line from left to right, with their styles. */
type Line = readonly (readonly [text: string, style?: Style])[];

const ROOMY = 14;
const HINT = "Ctrl-C lets what runs finish, and stops; twice stops at once";
/** Longer names are cut off, to leave room for the columns beside them. */
const MAX_NAME = 28;

function title({ id, source, startedAtMs }: Progress, columns: number, now: number): Line {
  const since = startedAtMs === undefined ? "" : wholeSeconds(now - startedAtMs);
  const room = columns - columnsOf(since) - 2;
  const name = `Rollout of ${shown(source, 60)}`;
  const rest = room - columnsOf(name) - 2;
  const known = rest >= 12 ? `  ${shown(id, rest)}` : "";
  return [
    [cutTo(name, Math.max(room, 10)), "bold"],
    [fitTo(known, Math.max(0, room - columnsOf(name))), "dim"],
    [`  ${since}`],
  ];
}

function whole(progress: Progress, columns: number, now: number): Line {
  const { counts, total } = progress;
  const through = throughOf(counts);
  // Rounds down, so that 100 % means that all tenants are finished.
  const percent = total === 0 ? 100 : Math.floor((through / total) * 100);
  return [
    ...bar(counts, total, Math.min(40, Math.max(10, columns - 60))),
    [`  ${number(through)}/${number(total)}`, "bold"],
    [`  ${percent} %`],
    [`  ${leftText(progress, now)}`, "dim"],
  ];
}

function leftText(progress: Progress, now: number): string {
  const left = timeLeft(progress, now);
  if (left === undefined) return "";
  const about = `about ${roughly(left.ms)}`;
  return left.untilGate === undefined
    ? `${about} left`
    : `${about} to the gate after ${shown(left.untilGate, MAX_NAME)}`;
}

/** Rounds an estimate to its real precision. */
function roughly(ms: number): string {
  const step = ms < 60_000 ? 5_000 : ms < 600_000 ? 30_000 : 60_000;
  return duration(Math.max(step, Math.round(ms / step) * step));
}

function tally({ done, unchanged, running, failed, skipped, left }: ProgressCounts, columns: number): Line {
  const one = (count: number, { sign, word }: StateWords, style: Style): Line =>
    count > 0 || columns >= 90
      ? [[`${sign} ${number(count)} ${word}`, count > 0 ? style : "dim"], ["   "]]
      : [];
  return [
    ...one(failed, TENANT_STATES.failed, ["bold", "red"]),
    ...(skipped > 0 ? one(skipped, TENANT_STATES.skipped, "yellow") : []),
    ...one(running, TENANT_STATES.running, "blue"),
    ...one(done, TENANT_STATES.done, "green"),
    ...one(unchanged, TENANT_STATES.unchanged, "cyan"),
    ...one(left, TENANT_STATES.pending, "dim"),
  ];
}

const SAYINGS: Partial<Record<Progress["state"], readonly [word: string, style: Style]>> = {
  stopped: ["STOPPED", ["bold", "red"]],
  waiting: ["WAITING", ["bold", "yellow"]],
  interrupted: ["INTERRUPTED", ["bold", "yellow"]],
};

function saying({ state, reason = "" }: Progress): Line | undefined {
  const found = SAYINGS[state];
  return found === undefined ? undefined : [[found[0], found[1]], [`  ${shown(reason, 500)}`]];
}

/** Lists the waves in at most `most` lines. If they don't fit, lists those around the first unfinished one. */
function waveLines({ waves }: Progress, columns: number, now: number, most: number): Line[] {
  const open = waves.findIndex(({ state }) => state !== "done");
  const isAll = waves.length <= most;
  const count = isAll ? waves.length : Math.max(1, most - 2);
  const at = open < 0 ? waves.length : open;
  const from = isAll ? 0 : Math.max(0, Math.min(at - 1, waves.length - count));
  const seen = waves.slice(from, from + count);
  const width = Math.min(MAX_NAME, Math.max(0, ...seen.map(({ name }) => columnsOf(shown(name, MAX_NAME)))));
  const digits = Math.max(0, ...seen.map((wave) => progressText(wave).length));
  const after = waves.length - from - seen.length;
  return [
    ...(from > 0 ? [more(from, from <= at ? "through" : "more waves")] : []),
    ...seen.map((wave) => waveLine(wave, columns, width, digits, now)),
    ...(after > 0 ? [more(after, "more waves")] : []),
  ];
}

function more(count: number, what: string): Line {
  return [[`  … ${number(count)} ${what}`, "dim"]];
}

const WAVE_STYLES: Readonly<Record<WaveProgress["state"], Style>> = {
  pending: "dim",
  running: "bold",
  soaking: "blue",
  checking: "blue",
  gated: "yellow",
  done: "green",
  stopped: "red",
};

function waveLine(wave: WaveProgress, columns: number, width: number, digits: number, now: number): Line {
  const style = WAVE_STYLES[wave.state];
  return [
    [`  ${WAVE_STATES[wave.state].sign} ${fitTo(shown(wave.name, MAX_NAME), width)}  `, style],
    ...bar(wave.counts, wave.total, columns >= 100 ? 20 : 10),
    [`  ${progressText(wave).padStart(digits)}  `],
    [waveText(wave, now), wave.state === "pending" ? "dim" : []],
    [wave.counts.failed > 0 ? failedText(wave) : "", "red"],
  ];
}

function progressText({ counts, total }: WaveProgress): string {
  return `${number(throughOf(counts))}/${number(total)}`;
}

function failedText({ counts: { failed }, tolerated }: WaveProgress): string {
  return `  ${number(failed)} failed (${number(tolerated)} tolerated)`;
}

function waveText(wave: WaveProgress, now: number): string {
  const { state, counts, maxConcurrent, workMs, soakUntilMs, health } = wave;
  if (health?.isWell === false) return `unhealthy: ${shown(health.message, 200)}`;
  switch (state) {
    case "pending":
      return `${number(maxConcurrent)} at once`;
    case "running":
      return `${number(counts.running)} of ${number(maxConcurrent)} at once`;
    case "soaking":
      return soakUntilMs === undefined || Number.isNaN(soakUntilMs)
        ? WAVE_STATES.soaking.word
        : `soaking, ${wholeSeconds(soakUntilMs - now)} to go`;
    case "done":
    case "stopped":
      return workMs === 0 ? WAVE_STATES[state].word : `${WAVE_STATES[state].word}, took ${duration(workMs)}`;
    default:
      return WAVE_STATES[state].word;
  }
}

/** The tenants that have been running longest come first, because they may need attention. */
function runningLines({ running }: Progress, now: number, rows: number): Line[] {
  const room = rows - HEADING;
  if (running.size === 0 || room < 1) return [];
  const all = [...running].sort(([, one], [, other]) => one.sinceMs - other.sinceMs);
  const count = all.length <= room ? all.length : room - 1;
  const seen = all.slice(0, count);
  const width = Math.min(MAX_NAME, Math.max(0, ...seen.map(([name]) => columnsOf(shown(name, MAX_NAME)))));
  const lines = seen.map(([name, tenant]) => runningLine(name, tenant, width, now));
  return section("Running", count < all.length ? [...lines, more(all.length - count, "more")] : lines);
}

function runningLine(
  name: string,
  { sinceMs, worker, attempt, note }: RunningTenant,
  width: number,
  now: number,
): Line {
  const since = Number.isNaN(sinceMs) ? "" : wholeSeconds(now - sinceMs);
  return [
    [`  ${fitTo(shown(name, MAX_NAME), width)}  `],
    [since.padStart(9), now - sinceMs > LONG_MS ? "yellow" : []],
    [`  ${shown(worker, 40)}`, "dim"],
    [attempt > 1 ? `  attempt ${number(attempt)}` : "", "yellow"],
    [note === undefined ? "" : `  ${shown(note, 200)}`, "yellow"],
  ];
}

/** A tenant that takes longer than this is highlighted. */
const LONG_MS = 120_000;

function failureLines({ failures, counts }: Progress, most: number): Line[] {
  if (failures.length === 0) return [];
  const seen = failures.slice(-most).reverse();
  const width = Math.min(MAX_NAME, Math.max(...seen.map(({ name }) => columnsOf(shown(name, MAX_NAME)))));
  const title = seen.length < counts.failed ? `Failed last, of ${number(counts.failed)}` : "Failed";
  return section(
    title,
    seen.map(({ name, error }) => [
      [`  ✗ ${fitTo(shown(name, MAX_NAME), width)}  `, "red"],
      [error === undefined ? "" : shown(error.code, 40), "bold"],
      [error === undefined ? "" : `  ${shown(error.message, 300)}`],
    ]),
  );
}

/** Formats a gap, a title, and the lines. Returns nothing if there are no lines. */
function section(title: string | undefined, lines: readonly Line[]): Line[] {
  if (lines.length === 0) return [];
  return title === undefined ? [[], ...lines] : [[], [[title, "bold"]], ...lines];
}

/** The number of lines that a gap and a title take. */
const HEADING = 2;

/** A bar such as `██████✗⊘▒▒░░░`: done, failed, skipped, running, left. Every count above zero is visible. */
function bar(counts: ProgressCounts, total: number, width: number): Line {
  const of = (count: number) =>
    count === 0 ? 0 : Math.max(1, Math.round((count / Math.max(1, total)) * width));
  const failed = of(counts.failed);
  const skipped = Math.min(of(counts.skipped), width - failed);
  const running = Math.min(of(counts.running), width - failed - skipped);
  const left = Math.min(of(counts.left), width - failed - skipped - running);
  return [
    ["█".repeat(width - failed - skipped - running - left), "green"],
    ["✗".repeat(failed), "red"],
    ["⊘".repeat(skipped), "yellow"],
    ["▒".repeat(running), "blue"],
    ["░".repeat(left), "dim"],
  ];
}

function throughOf({ done, unchanged, failed, skipped }: ProgressCounts): number {
  return done + unchanged + failed + skipped;
}

/** Sanitizes text from outside, and cuts it to the maximum number of columns. */
function shown(text: string, columns: number): string {
  return cutTo(excerpt(onOneLine(text), columns), Math.max(0, columns));
}

function painted(line: Line, columns: number, color: boolean): string {
  let room = columns;
  let painted = "";
  for (const [text, style] of line) {
    const cut = cutTo(text, room);
    room -= columnsOf(cut);
    const isStyled = color && style !== undefined && style.length > 0 && cut !== "";
    painted += isStyled ? styleText(style, cut, { validateStream: false }) : cut;
    if (cut !== text) break;
  }
  return color ? painted : painted.trimEnd();
}
