import { parseMailbox } from "../../model/entry-value";
import type { SkippedItems, SourceContent, SourceItem } from "../source-content";

/** The reasons why a member of a group isn't declared. */
export type SkipReason =
  | "no mailbox"
  | "invalid mailbox"
  | "disabled account"
  | "outside the organization"
  | "alias of a listed person"
  | "not a person"
  | "not found in the directory";

const MAX_EXAMPLES = 5;

/** A member of a group as a directory describes it. */
export interface DirectoryPerson {
  /** The primary mailbox; undefined or empty if there is none. */
  readonly mailbox: string | undefined;
  /** Further addresses of the same mailbox. */
  readonly aliases?: readonly string[];
  /** The display name. */
  readonly name?: string | undefined;
  /** How the report names a person without a mailbox. */
  readonly label: string;
  readonly isDisabled: boolean;
  readonly isOutside?: boolean;
}

/** Collects the members of a group: those who can be VIPs, and the others by reason. */
export class GroupPeople {
  readonly #max: number;
  readonly #items = new Map<string, SourceItem>();
  readonly #skipped = new Map<SkipReason, Set<string>>();

  constructor({ max }: { readonly max: number }) {
    this.#max = max;
  }

  /** Whether there are more people than a source may list, so that reading on can't change the outcome. */
  get isOverLimit(): boolean {
    return this.#items.size > this.#max;
  }

  add({ mailbox = "", aliases = [], name, label, isDisabled, isOutside = false }: DirectoryPerson): void {
    const parsed = parseMailbox(mailbox);
    const isListed = parsed.ok && !isOutside && !isDisabled;
    if (!isListed) {
      this.skip(getSkipReason({ isDisabled, isOutside, mailbox }), mailbox || label);
      return;
    }
    for (const alias of aliases) {
      if (alias.toLowerCase() !== mailbox.toLowerCase()) this.skip("alias of a listed person", alias);
    }
    // The same person can be a member of several nested groups.
    if (!this.#items.has(parsed.value)) this.#items.set(parsed.value, { value: mailbox, ...(name && { name }) });
  }

  skip(reason: SkipReason, example: string): void {
    const examples = this.#skipped.get(reason) ?? new Set();
    this.#skipped.set(reason, examples.add(example));
  }

  toContent(): SourceContent {
    return { items: [...this.#items.values()], skipped: [...this.#skipped].map(toSkippedItems).sort(compareReasons) };
  }
}

function getSkipReason({
  isDisabled,
  isOutside,
  mailbox,
}: Pick<DirectoryPerson, "isDisabled" | "isOutside" | "mailbox">): SkipReason {
  if (isOutside) return "outside the organization";
  if (isDisabled) return "disabled account";
  return mailbox === "" ? "no mailbox" : "invalid mailbox";
}

/** The examples are the first in alphabetical order, because directories don't return members in a stable order. */
function toSkippedItems([reason, examples]: readonly [SkipReason, ReadonlySet<string>]): SkippedItems {
  return { reason, count: examples.size, examples: [...examples].sort().slice(0, MAX_EXAMPLES) };
}

function compareReasons(a: SkippedItems, b: SkippedItems): number {
  return a.reason < b.reason ? -1 : 1;
}

/** The addresses of a mailbox in Active Directory and Microsoft Entra ID: `SMTP:` marks the primary one. */
export function parseProxyAddresses(addresses: readonly string[]): {
  readonly primary: string | undefined;
  readonly aliases: readonly string[];
} {
  return {
    primary: addresses.find((address) => address.startsWith("SMTP:"))?.slice(5),
    aliases: addresses.filter((address) => address.startsWith("smtp:")).map((address) => address.slice(5)),
  };
}
