import { ConfigurationError } from "../../client";
import { parseAddressRange } from "../../model/address-range";
import { parseWildcard } from "../../model/covering-values";
import { canonicalizeValue, type EntryValue } from "../../model/entry-value";
import { refang } from "../../model/refang";
import { excerpt } from "../../model/text";
import type { FindQuery } from "./find-schema";

/**
 * Parses the query and the senders in it; removes duplicates.
 *
 * @throws {ConfigurationError} if the query is empty, a value isn't a valid domain, address or mailbox, or a sender is an IP address.
 */
export function parseQueries(values: readonly string[], senders: readonly string[] = []): readonly FindQuery[] {
  const queryByValue = new Map<string, FindQuery>();
  for (const [texts, isSender] of [
    [senders, true],
    [values, false],
  ] as const) {
    for (const text of texts) {
      const { canonical: value, entryType } =
        (isSender ? undefined : parseWildcardOrRange(text)) ?? parseQueryValue(text);
      if (isSender && entryType === "ip") {
        throw new ConfigurationError(
          `The sender ${excerpt(value)} is an IP address; specify a mailbox or a domain as the sender, and the address as a value.`,
        );
      }
      if (!queryByValue.has(value)) queryByValue.set(value, { value, entryType, isSender });
    }
  }
  if (queryByValue.size === 0) throw new ConfigurationError("Specify a domain, an IP address or a mailbox to find.");
  return [...queryByValue.values()];
}

/** Parses a wildcard or address range, which a tenant may have although no file can declare it; undefined for anything else. */
export function parseWildcardOrRange(text: string): EntryValue | undefined {
  const canonical = canonicalizeValue(text.trim());
  if (parseWildcard(canonical) !== undefined)
    return { canonical, entryType: canonical.includes("@") ? "email_address" : "domain" };
  return parseAddressRange(canonical) === undefined ? undefined : { canonical, entryType: "ip" };
}

function parseQueryValue(text: string): EntryValue {
  const parsed = refang(text);
  if (parsed.ok) return parsed.value;
  throw new ConfigurationError(`Invalid search value: ${parsed.reason}.`);
}
