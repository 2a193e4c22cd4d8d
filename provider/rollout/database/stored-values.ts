import { gunzipSync } from "node:zlib";
import type { SqlValue } from "./database";
import { JournalError } from "./journal-error";

export function encodeJson(value: unknown): SqlValue {
  return value === undefined ? null : JSON.stringify(value);
}

export function decodeJson<T>(text: SqlValue | undefined): T {
  return readColumn(() => JSON.parse(String(text)) as T);
}

export function decompress(bytes: SqlValue | undefined): Buffer {
  return readColumn(() => gunzipSync(bytes as Uint8Array));
}

function readColumn<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new JournalError(
      "The rollout's journal can't be read: it is damaged, or something else changed it. Restore a backup, or start a new rollout with another journal.",
      { cause },
    );
  }
}

export function decodeTime(value: SqlValue | undefined): number | undefined {
  return value == null ? undefined : Number(value);
}
