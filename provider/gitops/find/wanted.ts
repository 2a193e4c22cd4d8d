import { ConfigurationError } from "../../client";
import { parseAddressRange } from "../../settings/address-range";
import { parseWildcard } from "../../settings/coverage";
import { canonicalValue, type EntryValue } from "../../settings/entry-value";
import { refang } from "../../settings/refang";
import { excerpt } from "../../settings/text";
import type { Wanted } from "./find-schema";

/**
 * Reads what somebody looks for, and which senders are asked about; what is named twice is looked for once.
 *
 * @throws {ConfigurationError} when there is nothing, one is no domain, address or mailbox, or a sender is an IP address.
 */
export function wantedOf(values: readonly string[], senders: readonly string[] = []): readonly Wanted[] {
  const wanted = new Map<string, Wanted>();
  for (const [texts, isSender] of [
    [senders, true],
    [values, false],
  ] as const) {
    for (const text of texts) {
      const { canonical: value, entryType } = (isSender ? undefined : parsePattern(text)) ?? readValue(text);
      if (isSender && entryType === "ip") {
        throw new ConfigurationError(
          `The sender ${excerpt(value)} is an IP address; give a mailbox or a domain, and the address as a value.`,
        );
      }
      if (!wanted.has(value)) wanted.set(value, { value, entryType, isSender });
    }
  }
  if (wanted.size === 0)
    throw new ConfigurationError("Give a domain, an IP address or a mailbox to look for.");
  return [...wanted.values()];
}

/** Reads a wildcard or a range of addresses, which a tenant may hold and no file declares; undefined for anything else. */
export function parsePattern(text: string): EntryValue | undefined {
  const canonical = canonicalValue(text.trim());
  if (parseWildcard(canonical) !== undefined)
    return { canonical, entryType: canonical.includes("@") ? "email_address" : "domain" };
  return parseAddressRange(canonical) === undefined ? undefined : { canonical, entryType: "ip" };
}

/** The one place where what a person typed is read. */
function readValue(text: string): EntryValue {
  const parsed = refang(text);
  if (parsed.ok) return parsed.value;
  throw new ConfigurationError(`This can't be looked for: ${parsed.reason}.`);
}
