import { createHash } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { ConfigurationError } from "../../client";
import { quote } from "../../settings/text";
import type { Journal } from "../journal/journal";
import { isOpen } from "../which-rollout";
import { CARRIED_FORMAT, CARRIED_KIND, rowLine, rowsOf } from "./carried-rows";
import { skipLinesOf } from "./carried-skips";

/** What was written. */
export interface ExportedJournal {
  readonly rollouts: number;
  /** Those that are not through: they can be gone on with where they are imported, and are not to be in two places. */
  readonly open: readonly string[];
}

/**
 * Writes all rollouts of a journal that were begun, and who is or was skipped, into a new file, a line of JSON each row: as they are at one moment. The file is for
 * this user alone, and there only once it is whole.
 *
 * @throws {ConfigurationError} when the file is there, can't be written, or there is nothing to write.
 */
export async function exportJournal(journal: Journal, file: string, nowMs: number): Promise<ExportedJournal> {
  if (existsSync(file)) {
    throw new ConfigurationError(
      `${quote(file, 300)} is there already, and is left as it is. Name a file that is not.`,
    );
  }
  const part = `${file}.part`;
  try {
    using out = new LinesTo(part);
    const exported = await journal.database.transaction(async (database) => {
      // A transaction that lost a race begins anew.
      out.begin();
      const records = await journal.recordsIn(database);
      if (records.length === 0) {
        throw new ConfigurationError("The journal has no rollouts; there is nothing to export.");
      }
      out.write(
        JSON.stringify({
          kind: CARRIED_KIND,
          format: CARRIED_FORMAT,
          exportedAt: new Date(nowMs).toISOString(),
          rollouts: records.length,
        }),
      );
      for (const line of await skipLinesOf(database)) out.write(line);
      for (const { id } of records.toReversed()) {
        for await (const row of rowsOf(database, id)) out.write(rowLine(row));
      }
      return { rollouts: records.length, open: records.filter(isOpen).map(({ id }) => id) };
    });
    out.end();
    written(() => renameSync(part, file));
    return exported;
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
}

/** Lines of a file, and at its end how many they are, with a sum over them: one that was cut off or changed is noticed. */
class LinesTo implements Disposable {
  readonly #file: number;
  #sum = createHash("sha256");
  #lines = 0;
  #at = 0;

  constructor(path: string) {
    // What one that was killed left is nobody's.
    rmSync(path, { force: true });
    this.#file = written(() => openSync(path, "wx", 0o600));
  }

  begin(): void {
    written(() => ftruncateSync(this.#file));
    this.#at = 0;
    this.#sum = createHash("sha256");
    this.#lines = 0;
  }

  write(line: string): void {
    const text = `${line}\n`;
    this.#sum.update(text);
    this.#lines += 1;
    this.#append(text);
  }

  end(): void {
    this.#append(`${JSON.stringify({ lines: this.#lines, sha256: this.#sum.digest("hex") })}\n`);
    written(() => fsyncSync(this.#file));
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }

  #append(text: string): void {
    const bytes = Buffer.from(text);
    for (let done = 0; done < bytes.length; ) {
      const wrote = written(() => writeSync(this.#file, bytes, done, bytes.length - done, this.#at));
      done += wrote;
      this.#at += wrote;
    }
  }
}

/** What the disk says is no trouble of the journal's, and is not waited for. */
function written<T>(work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw new ConfigurationError(`The journal can't be exported: ${(cause as Error).message}`, { cause });
  }
}
