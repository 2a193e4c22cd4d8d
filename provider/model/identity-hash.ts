import * as crypto from "node:crypto";
import { canonicalizeMailbox } from "./entry-value";
import type { RowHistory } from "./row-history";

/*
 * The stored form of a tenant's snapshot: hashes, which journals and stack states contain. The hash functions must never
 * change.
 */

export interface IdentifyingEntry {
  readonly id: string;
  readonly entry_type: string;
  readonly value: string;
  readonly created_at?: string | null | undefined;
  readonly created_by?: string | null | undefined;
}

/** The data that identifies the tenant of a snapshot. This is plain data, stored in the journal of a rollout. */
export interface TenantIdentity {
  /** The service's address in normalized form. */
  readonly address: string;
  readonly entries: number;
  /** Hashes of entries with ids that no other tenant can have. */
  readonly unique: readonly string[];
  /** Hashes of entries with ids that look like a counter. Each tenant may count from 1. */
  readonly counted: readonly string[];
  /** Hashes of the ids alone, for the entries in `counted`. */
  readonly numbers: readonly string[];
  /** The number of distinct creation dates of the entries in `counted`, up to 3. Two with fractions of a second count as 3. */
  readonly dates: number;
  /** Hashes of the VIPs' mailboxes. Absent if VIPs were not read. */
  readonly people?: readonly string[];
  /** The dated entries and the time of the snapshot. Absent in snapshots of an earlier release, or if no time is known. */
  readonly history?: RowHistory;
}

export const HASH_LENGTH = 12;
/** The maximum number of hashes of each kind. The smallest are kept, so that two snapshots of one list keep the same ones. */
export const HASH_SAMPLE_SIZE = 32;
export const SMALL_SAMPLE_SIZE = 8;

/** Returns the hash of a row; undefined if it has no creation date. */
export function hashEntry({ id, entry_type, value, created_at, created_by }: IdentifyingEntry): string | undefined {
  if (created_at == null || created_at === "") return undefined;
  return hashParts("entry", id, created_at, created_by ?? "", entry_type, value);
}

/** Returns the hash of a VIP; undefined if it has no mailbox. */
export function hashMailbox(mailbox: string | null | undefined): string | undefined {
  return mailbox == null || mailbox === "" ? undefined : hashParts("vip", canonicalizeMailbox(mailbox));
}

export function hashParts(...parts: readonly string[]): string {
  return crypto.hash("sha256", JSON.stringify(parts), "base64url").slice(0, HASH_LENGTH);
}

/** Keeps the smallest of many hashes. */
export class Sample {
  #smallest: string[] = [];
  /** The largest hash of a full sample. */
  #largest: string | undefined;

  /** @param id the row's id, to keep it with the hash. */
  add(hash: string, id?: string): void {
    // Most hashes of a long list end here.
    if (this.#largest !== undefined && hash > this.#largest) return;
    this.#smallest.push(id === undefined ? hash : `${hash} ${id}`);
    if (this.#smallest.length >= HASH_SAMPLE_SIZE * 2) this.#trim();
  }

  hashes(): readonly string[] {
    this.#trim();
    return [...this.#smallest];
  }

  #trim(): void {
    this.#smallest = [...new Set(this.#smallest)].sort().slice(0, HASH_SAMPLE_SIZE);
    if (this.#smallest.length === HASH_SAMPLE_SIZE) this.#largest = this.#smallest.at(-1);
  }
}
