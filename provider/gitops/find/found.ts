import type { TextFieldName } from "../../files/element-fields";
import type { How } from "./matcher";
import type { Wanted } from "./wanted";

/** The version of the format in which findings are written as JSON. */
export const FIND_FORMAT = "1";

/** A line of a file. */
export interface Line {
  readonly file: string;
  readonly line: number;
}

/** An entry as a file declares it, or declared it once. */
export interface DeclaredThere extends Line, Readonly<Partial<Record<TextFieldName, string>>> {
  /** Of a VIP: `vip`. */
  readonly list: string;
  /** The lines by which its file is included, the nearest first; empty where it stands in the tenant's own. */
  readonly includedAt: readonly Line[];
  /** The lines of included files that it takes the place of, the nearest first. */
  readonly overrides: readonly Line[];
}

/** An entry that a file declares no more: its last day is past, or another file takes it out with `remove`. */
export interface EndedThere extends DeclaredThere {
  readonly why: "expired" | "removed";
  /** The line that takes it out; only of what is removed. */
  readonly removedAt?: Line;
}

/** An entry or VIP as the service holds it. */
export interface RowThere {
  /** VIPs have none. */
  readonly id?: string;
  readonly list: string;
  readonly comment?: string;
  /** Who made it and when, as the service tells it. */
  readonly by?: string;
  readonly at?: string;
  /** Of a VIP: how it came to be one, in the service's words. */
  readonly source?: string;
}

/**
 * What the file and the tenant say of an entry. `agrees`: the same. `differs`: another list or comment. `missing`: declared, and not at
 * the tenant. `undeclared`: at the tenant, and not in the file. `lingers`: at the tenant still, and declared no more. `ended`: declared
 * no more, and not at the tenant or not looked for there. `declared` and `there`: only one of the two was read. `stack`: only in the
 * state of the stack.
 */
export type FoundState =
  | "agrees"
  | "differs"
  | "missing"
  | "undeclared"
  | "lingers"
  | "ended"
  | "declared"
  | "there"
  | "stack";

/** An entry or VIP that concerns what was looked for, in all places of one tenant. */
export interface Found {
  readonly kind: "entry" | "vip";
  /** What was looked for, in canonical form. */
  readonly wanted: string;
  readonly how: How;
  /** As in a keyed list. */
  readonly key: string;
  /** In canonical form. */
  readonly value: string;
  readonly entryType: string;
  /** Of entries. */
  readonly verdictScope?: string;
  readonly state: FoundState;
  readonly declared?: DeclaredThere;
  readonly ended: readonly EndedThere[];
  /** Several where it stands on both lists, or twice on one. */
  readonly there: readonly RowThere[];
  readonly stack?: StackThere;
}

/** An entry or VIP as the state of a stack holds it. */
export interface StackThere {
  readonly stack: string;
  /** The resource in the stack, within its `TenantSettings`. */
  readonly resource: string;
  readonly list: string;
  readonly comment?: string;
}

/** Which entry decides for mail from a sender. */
export interface Decision {
  /** In canonical form. */
  readonly sender: string;
  /** `global` for all mail; else for mail of the verdict of this name, where another entry decides for it. */
  readonly scope: string;
  /** Where it is looked at: what the tenant holds, or, where that was not read, what its files declare. */
  readonly of: "tenant" | "files";
  /** Absent where no entry concerns the sender: the service's own analysis decides. */
  readonly decides?: Deciding;
  /** How many entries concern the sender beside that one. */
  readonly others: number;
  /**
   * Whether it follows from the entries alone: all that concern the sender are on one list, and one of them is of the sender itself or its own domain.
   * Else it rests on what is assumed about the service, whose reference says neither which of several decides nor whether a domain stands for those below it.
   */
  readonly isKnown: boolean;
}

/** The entry that decides. */
export interface Deciding {
  readonly list: string;
  readonly key: string;
  /** In canonical form. */
  readonly value: string;
  readonly verdictScope: string;
}

/** What could not be read, so that something may be missing. */
export interface Unread {
  readonly where: "file" | "tenant" | "stack";
  /** The code of the error. */
  readonly code: string;
  readonly message: string;
}

/** What was found of one tenant. */
export interface TenantFound {
  readonly name: string;
  /** The service's host, where it was asked or is known. */
  readonly host?: string;
  /** Its settings file, where there is one. */
  readonly file?: string;
  readonly found: readonly Found[];
  /** Which entries decide for the senders that were asked about. */
  readonly decisions: readonly Decision[];
  /** Empty where all was read. */
  readonly unread: readonly Unread[];
}

/** All that was found. Plain data. */
export interface FindReport {
  readonly format: typeof FIND_FORMAT;
  /** When it was looked for: ISO 8601, UTC. */
  readonly at: string;
  readonly wanted: readonly Wanted[];
  /** In the order of the targets file. */
  readonly tenants: readonly TenantFound[];
  /** Whether all was read: what is not found is nowhere then. */
  readonly isComplete: boolean;
}
