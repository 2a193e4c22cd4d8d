import { createHash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { z } from "zod";
import { ConfigurationError } from "../../client";
import { quote } from "../../settings/text";
import type { Queryable } from "../journal/database";
import type { Journal } from "../journal/journal";
import { JournalError } from "../journal/journal-error";
import type { RolloutSpec } from "../journal/rollout-record";
import { isOpenState } from "../wave";
import {
  CARRIED_FORMAT,
  CARRIED_KIND,
  type CarriedRow,
  insertRow,
  keyOf,
  readRow,
  rolloutOf,
  rowLine,
  rowsOf,
} from "./carried-rows";
import { insertSkip, readSkip } from "./carried-skips";

/** What was read into a journal. */
export interface ImportedJournal {
  readonly imported: number;
  /** Those that the journal had already, just so. */
  readonly known: number;
  /** The names of the tenants that are skipped from now on. */
  readonly skipped: readonly string[];
  /** Of the imported, those that are not through. */
  readonly open: readonly string[];
}

/**
 * Reads rollouts of a file that {@link exportJournal} wrote into a journal: all that it has not, or nothing. The file is read to its end and checked
 * before the first is written, and held for hostile: it says no more than a targets file may.
 *
 * @throws {ConfigurationError} when it is no such file, is not whole, or holds what no journal does.
 * @throws {JournalError} (`ERR_ROLLOUT_JOURNAL`) when the journal has one of the rollouts, and has it otherwise.
 */
export async function importJournal(journal: Journal, file: string): Promise<ImportedJournal> {
  const checked = check(file);
  return await journal.database.transaction(async (database) => {
    const missing = new Map<string, CheckedRollout>();
    for (const [id, rollout] of checked.rollouts) {
      const there = await sumOf(database, id);
      if (there === undefined) missing.set(id, rollout);
      else if (there !== rollout.sum) {
        throw new JournalError(
          `The journal has the rollout ${id} already, and has it otherwise than ${quote(file, 300)}: it went on here or there since, or was pruned. Nothing was imported. Import into an empty journal, and go on with that one.`,
        );
      }
    }
    const sum = createHash("sha256");
    const skipped: string[] = [];
    for (const { line, text } of rowsIn(file)) {
      sum.update(text);
      const skip = readSkip(line);
      if (skip !== undefined) {
        if (await insertSkip(database, skip)) skipped.push(skip.name);
        continue;
      }
      const row = readRow(line);
      if (missing.has(rolloutOf(row))) await insertRow(database, row);
    }
    // It was checked once, and read twice.
    if (sum.digest("hex") !== checked.sum) {
      throw new ConfigurationError(
        `${quote(file, 300)} was changed while it was read. Nothing was imported.`,
      );
    }
    return {
      imported: missing.size,
      known: checked.rollouts.size - missing.size,
      skipped,
      open: [...missing].flatMap(([id, { state }]) => (isOpenState(state) ? [id] : [])),
    };
  });
}

/** The sum over a rollout as the journal has it; undefined where it has none. */
async function sumOf(database: Queryable, id: string): Promise<string | undefined> {
  const sum = createHash("sha256");
  let isThere = false;
  for await (const row of rowsOf(database, id)) {
    isThere = true;
    sum.update(`${rowLine(row)}\n`);
  }
  return isThere ? sum.digest("hex") : undefined;
}

interface CheckedRollout {
  readonly state: string;
  readonly sum: string;
}

const head = z.looseObject({
  kind: z.literal(CARRIED_KIND),
  format: z.int(),
  rollouts: z.int().min(0),
});

const foot = z.strictObject({ lines: z.int(), sha256: z.string() });

/** Reads the whole file, and keeps no more than a sum over each rollout. */
function check(file: string): {
  readonly rollouts: ReadonlyMap<string, CheckedRollout>;
  readonly sum: string;
} {
  const rollouts = new Map<string, CheckedRollout>();
  const sum = createHash("sha256");
  let reading: OneRollout | undefined;
  const done = (): void => {
    if (reading !== undefined) rollouts.set(reading.id, reading.checked());
  };
  const orWrong = (where: string, work: () => void): void => {
    try {
      work();
    } catch (error) {
      throw wrong(file, `${where} ${(error as Error).message}`);
    }
  };
  for (const { line, text, number } of rowsIn(file)) {
    sum.update(text);
    orWrong(`line ${number}`, () => {
      if (readSkip(line) !== undefined) {
        if (reading !== undefined) throw new Error("holds a skipped tenant among rollouts");
        return;
      }
      const row = readRow(line);
      if (row.of === "rollout") {
        done();
        reading = new OneRollout(row);
        if (rollouts.has(reading.id)) throw new Error("holds a rollout for the second time");
      } else if (reading === undefined) throw new Error("belongs to no rollout");
      else reading.add(row);
    });
  }
  orWrong("its end", done);
  return { rollouts, sum: sum.digest("hex") };
}

/** A rollout whose rows are read: they have to fit together. */
class OneRollout {
  readonly id: string;
  readonly #state: string;
  readonly #waves: RolloutSpec["waves"];
  readonly #events: number;
  readonly #keys = new Set<string>();
  readonly #sum = createHash("sha256");
  readonly #counts = { rollout: 0, wave: 0, tenant: 0, file: 0, event: 0 };

  constructor(row: CarriedRow) {
    this.id = rolloutOf(row);
    this.#state = String(row.values["state"]);
    this.#waves = (JSON.parse(String(row.values["spec"])) as RolloutSpec).waves;
    this.#events = Number(row.values["events"]);
    this.#take(row);
  }

  add(row: CarriedRow): void {
    const { of, values } = row;
    if (rolloutOf(row) !== this.id) throw new Error("belongs to another rollout than the lines before it");
    if (this.#keys.has(keyOf(row))) throw new Error(`holds the same ${of} for the second time`);
    const wave = this.#waves[Number(of === "wave" ? values["position"] : values["wave"])];
    if ((of === "wave" || of === "tenant") && wave === undefined) {
      throw new Error(`holds a ${of} of a wave that the rollout has not`);
    }
    if (of === "wave" && wave?.name !== values["name"]) throw new Error("holds a wave of another name");
    if (of === "tenant") this.#checkTenant(values, wave?.tenants ?? []);
    if (of === "event" && Number(values["seq"]) > this.#events) throw new Error("holds an event too many");
    this.#take(row);
  }

  checked(): CheckedRollout {
    const { wave, tenant } = this.#counts;
    if (wave !== this.#waves.length) throw new Error(`ends the rollout ${this.id}, which lacks a wave`);
    if (tenant !== this.#waves.reduce((all, one) => all + one.tenants.length, 0))
      throw new Error(`ends the rollout ${this.id}, which lacks a tenant`);
    return { state: this.#state, sum: this.#sum.digest("hex") };
  }

  #checkTenant(values: CarriedRow["values"], names: readonly string[]): void {
    const target = JSON.parse(String(values["target"])) as Record<string, unknown>;
    const isOne =
      target["name"] === values["name"] &&
      target["stack"] === values["stack"] &&
      target["baseUrl"] === values["address"] &&
      names.includes(String(values["name"]));
    if (!isOne) throw new Error("holds a tenant that contradicts itself or its wave");
  }

  #take(row: CarriedRow): void {
    this.#keys.add(keyOf(row));
    this.#counts[row.of] += 1;
    this.#sum.update(`${rowLine(row)}\n`);
  }
}

function wrong(file: string, what: string): ConfigurationError {
  return new ConfigurationError(
    `${quote(file, 300)} can't be imported: ${quote(what, 300).slice(1, -1)}. Nothing was imported. Export the journal anew with this release.`,
  );
}

interface FileLine {
  readonly line: unknown;
  /** With its line end. */
  readonly text: string;
  /** From 1. */
  readonly number: number;
}

/** The rows of a file, between its first line and its last, which are checked here. */
function* rowsIn(file: string): Generator<FileLine> {
  const sum = createHash("sha256");
  let last: FileLine | undefined;
  let number = 0;
  for (const text of linesOf(file)) {
    number += 1;
    let line: unknown;
    try {
      line = JSON.parse(text);
    } catch {
      throw wrong(file, `line ${number} is no JSON`);
    }
    if (number === 1) {
      const first = head.safeParse(line);
      if (!first.success) throw wrong(file, "it is no journal as `rollout export` writes it");
      if (first.data.format !== CARRIED_FORMAT)
        throw wrong(file, `it is of format ${first.data.format}, and this release reads ${CARRIED_FORMAT}`);
    } else {
      if (last !== undefined) {
        sum.update(last.text);
        yield last;
      }
      last = { line, text, number };
    }
    if (number === 1) sum.update(text);
  }
  const end = foot.safeParse(last?.line);
  if (!end.success || end.data.lines !== number - 1 || end.data.sha256 !== sum.digest("hex")) {
    throw wrong(file, "it is not whole, or was changed since it was exported");
  }
}

/** No row is longer: a file of 64 MiB, packed badly, and in base64. */
const MAX_LINE = 96 * 1024 * 1024;

/** The lines of a plain file, with their ends. */
function* linesOf(path: string): Generator<string> {
  const file = fromDisk(() => openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)));
  try {
    if (!fstatSync(file).isFile()) throw wrong(path, "it is no plain file");
    const buffer = Buffer.allocUnsafe(1024 * 1024);
    let pieces: Buffer[] = [];
    let length = 0;
    for (;;) {
      const read = fromDisk(() => readSync(file, buffer, 0, buffer.length, null));
      if (read === 0) break;
      let rest = Buffer.from(buffer.subarray(0, read));
      for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
        yield Buffer.concat([...pieces, rest.subarray(0, end + 1)]).toString("utf8");
        pieces = [];
        length = 0;
        rest = rest.subarray(end + 1);
      }
      pieces.push(rest);
      length += rest.length;
      if (length > MAX_LINE) throw wrong(path, "it has a line that is too long");
    }
    if (length > 0) throw wrong(path, "it is not whole, or was changed since it was exported");
  } finally {
    closeSync(file);
  }
}

function fromDisk<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new ConfigurationError(`The journal's file can't be read: ${(cause as Error).message}`, { cause });
  }
}
