import { gunzipSync } from "node:zlib";
import type { SqlValue } from "./database";
import { JournalError } from "./journal-error";

export function json(value: unknown): SqlValue {
  return value === undefined ? null : JSON.stringify(value);
}

export function parsed<T>(text: SqlValue | undefined): T {
  return readColumn(() => JSON.parse(String(text)) as T);
}

export function unpacked(bytes: SqlValue | undefined): Buffer {
  return readColumn(() => gunzipSync(bytes as Uint8Array));
}

function readColumn<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new JournalError(
      "What the rollout's journal holds can't be read: it was damaged, or somebody changed it. Bring back a copy of it, or begin a new rollout with another journal.",
      { cause },
    );
  }
}

export function time(value: SqlValue | undefined): number | undefined {
  return value == null ? undefined : Number(value);
}
