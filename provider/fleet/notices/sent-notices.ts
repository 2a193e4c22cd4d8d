import { accessSync, constants, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";
import { ConfigurationError } from "../../client";
import { jsonArray, jsonObject } from "../../model/json-schema-builders";
import { quote, sanitizeLine } from "../../model/text";
import { readRegularFile } from "../../system/regular-file";

const MAX_BYTES = 32 * 1024 * 1024;

const hashesSchema = jsonArray(z.string().max(100));

const sentNoticesSchema = jsonObject({
  format: z.literal(1),
  /** By stack. */
  drift: z.record(z.string(), hashesSchema).readonly(),
  /** The `acceptedSeq` of the tenants with drift, by stack. Absent: nobody accepted another tenant there. */
  acceptedSeqs: z.record(z.string(), z.int().min(1)).readonly().exactOptional(),
  expiring: hashesSchema,
});

/** The present facts that receivers were notified about, as hashes. The file therefore reveals nothing about the contents of tenants. */
export type SentNotices = z.output<typeof sentNoticesSchema>;

/**
 * Reads the stored state of notices. Empty if the file doesn't exist.
 *
 * @throws {ConfigurationError} if the file holds something else, which must not be overwritten; or if it isn't
 * writable, because every run would then send the same notices.
 */
export function readSentNotices(file: string): SentNotices {
  let reason: string;
  try {
    accessSync(dirname(file), constants.W_OK);
  } catch (cause) {
    throw buildWriteError(file, cause);
  }
  try {
    const { data } = sentNoticesSchema.safeParse(JSON.parse(readRegularFile(file, MAX_BYTES).toString("utf8")));
    if (data !== undefined) return data;
    reason = "it has a different format than this release writes";
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { format: 1, drift: {}, expiring: [] };
    reason = error instanceof SyntaxError ? "it isn't valid JSON" : (error as Error).message;
  }
  throw new ConfigurationError(
    `${quote(file, 300)} isn't a file of sent notices: ${sanitizeLine(reason)}. Specify a separate file for --notify. A missing file is created, and all notices are sent.`,
  );
}

/**
 * Writes the state of notices atomically.
 *
 * @throws {ConfigurationError} if it can't be written.
 */
export function writeSentNotices(file: string, notices: SentNotices): void {
  const temporaryFile = `${file}.${process.pid}.new`;
  try {
    writeFileSync(temporaryFile, `${JSON.stringify(notices)}\n`, { mode: 0o600, flag: "wx" });
    renameSync(temporaryFile, file);
  } catch (cause) {
    rmSync(temporaryFile, { force: true });
    throw buildWriteError(file, cause);
  }
}

function buildWriteError(file: string, cause: unknown): ConfigurationError {
  const reason = sanitizeLine((cause as Error).message);
  return new ConfigurationError(`The sent notices can't be saved to ${quote(file, 300)}: ${reason}.`, { cause });
}
