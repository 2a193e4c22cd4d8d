import { createHash } from "node:crypto";
import { comparedValues, type Standing } from "./entry-fields";

/** What a plan says of one entry or VIP that changes; of a missing one, nothing. */
export interface Touched {
  readonly kind: string;
  readonly key: string;
  readonly before?: DigestedState | undefined;
  readonly after?: DigestedState | undefined;
  /** What else it may take the place of. */
  readonly mayReplace?: readonly { readonly key: string; readonly before: DigestedState }[] | undefined;
}

interface DigestedState extends Standing {
  /** Who made what is there, and when. */
  readonly by?: string | undefined;
  readonly at?: string | undefined;
}

/** The parts of a digest, each a hash of 16 hexadecimal digits. */
export interface DigestParts {
  /** The tenant: the service's host and the stack. */
  readonly tenant: string;
  /** All that is declared, with what the files say beside it, their rules, and the options of the lists. */
  readonly desired: string;
  /** What the tenant holds of what changes, and what becomes of it. */
  readonly observed: string;
}

/** Until `v1`, tickets, people and ends could change under a digest, and so could the rules and who made what is there. */
const VERSION = "v2";

/** The digest of a plan: `v2-<tenant>-<desired>-<observed>`, so that it can be told which of them moved. */
export function digestOf({ tenant, desired, observed }: DigestParts): string {
  return [VERSION, tenant, desired, observed].join("-");
}

/** Reads a digest; undefined for what is none. */
export function partsOfDigest(digest: string): DigestParts | undefined {
  const [, tenant = "", desired = "", observed = ""] =
    /^v2-([0-9a-f]{16})-([0-9a-f]{16})-([0-9a-f]{16})$/.exec(digest.trim()) ?? [];
  return tenant === "" ? undefined : { tenant, desired, observed };
}

/** Whether it is the digest of a plan that an earlier release made: it holds for less than is shown. */
export function isOldDigest(digest: string): boolean {
  return /^v1(?:-[0-9a-f]{16}){3}$/.test(digest.trim());
}

/** The hash of a tenant: the service's host and the stack that applies its settings, where one was named. */
export function hashOfTenant(host: string, stack: string | undefined): string {
  return hashOf([host, stack ?? ""]);
}

/** The hash of what a plan touches, in any order. */
export function hashOfTouched(changes: readonly Touched[]): string {
  const lines = changes.flatMap(({ kind, key, before, after, mayReplace = [] }) => [
    JSON.stringify([kind, key, encodeState(before), encodeState(after)]),
    ...mayReplace.map((other) =>
      JSON.stringify([kind, key, "replaces", other.key, encodeState(other.before)]),
    ),
  ]);
  return hashOf(lines.sort());
}

/** A short hash of plain data whose order is fixed. */
export function hashOf(data: unknown): string {
  return createHash("sha256").update(JSON.stringify(data)).digest("hex").slice(0, 16);
}

function encodeState(state: DigestedState | undefined): readonly unknown[] | null {
  return state === undefined ? null : [...comparedValues(state), state.by ?? "", state.at ?? ""];
}
