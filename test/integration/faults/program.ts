import type { ScenarioTenant } from "../../../provider/sandbox";
import type { DeclaredProgram } from "../../support/managed-program";
import type { TenantContent } from "./tenant-content";

/* A program with every kind of resource, before and after a change that uses every settings endpoint at least twice. */

const formatNumberedMailbox = (index: number): string => `p${index}@acme.example`;
const CONSOLE = "Dana (console)";
const AT = "2026-01-13T06:00:00.000Z";

/** The company, including rows that a colleague added by hand and no program declares. */
export const COMPANY: ScenarioTenant = {
  name: "acme",
  keyLabels: { ci: "Pulumi (ci)", console: CONSOLE },
  detectedAt: AT,
  employees: Array.from({ length: 16 }, (_, index) => ({
    email: formatNumberedMailbox(index),
    fullName: `Person ${index}`,
    jobTitle: "Clerk",
    department: "Office",
  })),
  manualVips: [{ email: formatNumberedMailbox(15), comment: "by hand", addedBy: CONSOLE, dateAdded: AT }],
  exclusions: [],
  entries: [
    {
      list: "deny",
      entryType: "domain",
      value: "by-hand.example",
      comment: "a colleague's",
      createdBy: CONSOLE,
      createdAt: AT,
    },
  ],
  threats: 40,
};

const declareEntry = (list: "allow" | "deny", value: string, comment?: string) =>
  ({
    handler: "allowDenyEntry",
    args: { list, value, ...(comment === undefined ? {} : { comment }) },
  }) as const;
const declareVip = (index: number, comment: string) =>
  ({ handler: "vipEmployee", args: { email: formatNumberedMailbox(index), comment } }) as const;
const declareEntryList = (content: Readonly<Record<string, string>>) =>
  ({ handler: "allowDenyList", args: { entries: content } }) as const;
const declareVipList = (content: Readonly<Record<number, string>>) =>
  ({
    handler: "vipList",
    args: {
      members: Object.fromEntries(
        Object.entries(content).map(([key, text]) => [formatNumberedMailbox(Number(key)), text]),
      ),
    },
  }) as const;

export const BEFORE: DeclaredProgram = {
  "comment-1": declareEntry("deny", "comment-1.example", "one"),
  move: declareEntry("deny", "move.example", "INC-1"),
  "vip-comment-1": declareVip(0, "one"),
  "vip-comment-2": declareVip(1, "one"),
  replaced: declareEntry("deny", "old.example"),
  blocklist: declareEntryList({
    "l-stays.example": "deny: INC-2",
    "l-comment.example": "deny: one",
    "l-moves.example": "deny: INC-3",
    "l-gone.example": "deny: INC-4",
  }),
  board: declareVipList({ 2: "Board", 3: "one", 4: "Board" }),
  "gone-1": declareEntry("deny", "gone-1.example"),
  "gone-2": declareEntry("allow", "gone-2.example"),
  "vip-gone-1": declareVip(5, "leaves"),
  "vip-gone-2": declareVip(6, "leaves"),
};

export const AFTER: DeclaredProgram = {
  "comment-1": declareEntry("deny", "comment-1.example", "two"),
  move: declareEntry("allow", "move.example", "INC-1"),
  "vip-comment-1": declareVip(0, "two"),
  "vip-comment-2": declareVip(1, "two"),
  "new-1": declareEntry("deny", "new-1.example", "INC-5"),
  "new-2": declareEntry("allow", "new-2.example", "INC-6"),
  "vip-new-1": declareVip(7, "joins"),
  "vip-new-2": declareVip(8, "joins too"),
  replaced: declareEntry("deny", "new.example"),
  blocklist: declareEntryList({
    "l-stays.example": "deny: INC-2",
    "l-comment.example": "deny: two",
    "l-moves.example": "allow: INC-3",
    "l-new.example": "deny: INC-7",
  }),
  "second-blocklist": declareEntryList({ "s-1.example": "deny: INC-8", "s-2.example": "allow: INC-9" }),
  board: declareVipList({ 2: "Board", 3: "two", 9: "Board" }),
  "second-board": declareVipList({ 10: "Works council", 11: "Works council", 12: "Chair" }),
};

/** The values and mailboxes that the change removes from the tenant. */
export const REMOVED_ENTRIES = ["gone-1.example", "gone-2.example", "l-gone.example", "old.example"];
export const REMOVED_VIPS = [4, 5, 6].map(formatNumberedMailbox);

/** The values and mailboxes that the program declares both before and after. */
export const STAYING_ENTRIES = [
  "comment-1.example",
  "move.example",
  "l-stays.example",
  "l-comment.example",
  "l-moves.example",
];
export const STAYING_VIPS = [0, 1, 2, 3].map(formatNumberedMailbox);

/**
 * Returns the tenant's expected content when the program is applied, including the colleague's rows, in the format of
 * {@link readTenantContent}.
 */
export function listDeclaredContent(program: DeclaredProgram): Pick<TenantContent, "entries" | "vips"> {
  const entries = ["deny domain by-hand.example global a colleague's"];
  const vips = [`${formatNumberedMailbox(15)} by hand`];
  for (const { handler, args } of Object.values(program)) {
    const {
      list,
      value,
      email,
      comment = "",
      entries: listed,
      members: people,
    } = args as Partial<Record<string, string>>;
    if (handler === "allowDenyEntry") entries.push(`${list} domain ${value} global ${comment}`);
    if (handler === "vipEmployee") vips.push(`${email} ${comment}`);
    for (const [mailbox, reason] of Object.entries(people ?? {})) vips.push(`${mailbox} ${reason}`);
    for (const [domain, text] of Object.entries(listed ?? {})) {
      const [location, reason] = text.split(": ");
      entries.push(`${location} domain ${domain} global ${reason}`);
    }
  }
  return { entries: entries.sort(), vips: vips.sort() };
}
