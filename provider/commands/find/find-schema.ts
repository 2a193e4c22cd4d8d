import { z } from "zod";
import { sentFieldsShape } from "../../model/entry-fields";
import { jsonArray, jsonCountField, jsonObject, jsonTextField } from "../../model/json-schema-builders";
import { formatJson } from "../../model/text";
import { declaredFieldsShape } from "../../settings-files/element-fields";

export const FIND_FORMAT = "1";

const lineShape = { file: jsonTextField("As it was specified."), line: z.int().min(1) };
const lineSchema = jsonObject(lineShape);
const linesSchema = jsonArray(lineSchema);

export type FileLine = z.infer<typeof lineSchema>;

const declaredShape = {
  list: jsonTextField("allow, deny or vip."),
  ...lineShape,
  ...declaredFieldsShape,
  includedAt: linesSchema.describe(
    "The lines that include its file, the nearest first; empty if it is in the tenant's own file.",
  ),
  overrides: linesSchema.describe("The lines of included files that it overrides, the nearest first."),
};

const matchSchema = jsonObject({
  kind: z.enum(["entry", "vip"]),
  query: jsonTextField("The value that was searched, in canonical form."),
  matchType: z
    .enum(["exact", "domain", "parent", "wildcard", "range", "below"])
    .describe(
      "exact: the same value. domain: the mailbox's own domain. parent: a parent domain. wildcard: all subdomains of a parent domain, or all mailboxes of its domain. range: an address range that includes it. below: a subdomain or mailbox of it.",
    ),
  key: jsonTextField("The key that identifies it among the tenant's entries."),
  value: jsonTextField("In canonical form."),
  entryType: jsonTextField("domain, ip, email_address, or another type of the service."),
  verdictScope: jsonTextField("Only for entries.").exactOptional(),
  state: z
    .enum(["agrees", "differs", "missing", "undeclared", "pending-removal", "inactive", "declared", "present", "stack"])
    .describe(
      "agrees: file and tenant are the same. differs: another list or comment. missing: declared, but not at the tenant. undeclared: at the tenant, but not in the file. pending-removal: still at the tenant, but no longer declared. inactive: no longer declared, and not at the tenant or the tenant was not read. declared, present: only the file, or only the tenant, was read. stack: only in the stack's state.",
    ),
  declared: jsonObject(declaredShape).exactOptional(),
  inactive: jsonArray(
    jsonObject({
      ...declaredShape,
      reason: z.enum(["expired", "removed"]),
      removedAt: lineSchema.describe("The line that removes it; only for removed entries.").exactOptional(),
    }),
    "Entries that files no longer declare, because they expired or another file removes them.",
  ),
  actual: jsonArray(
    jsonObject({
      id: jsonTextField("The service's id; VIPs have none.").exactOptional(),
      ...sentFieldsShape,
      list: z.string(),
      createdBy: jsonTextField("The person who created it, according to the service.").exactOptional(),
      createdAt: jsonTextField("When it was created, according to the service.").exactOptional(),
      source: jsonTextField("For a VIP: its source, as reported by the service.").exactOptional(),
    }),
    "Its rows at the service; several if it is on both lists, or twice on one.",
  ),
  stack: jsonObject(
    {
      stack: z.string(),
      resource: jsonTextField("The resource in the stack, within its TenantSettings."),
      ...sentFieldsShape,
      list: z.string(),
    },
    "Its record in the stack's state.",
  ).exactOptional(),
}).meta({ id: "FindMatch", description: "An entry or VIP, in all places of one tenant." });

export type FindMatch = z.infer<typeof matchSchema>;
export type MatchType = FindMatch["matchType"];
export type MatchState = FindMatch["state"];
export type DeclaredOccurrence = NonNullable<FindMatch["declared"]>;
export type InactiveOccurrence = FindMatch["inactive"][number];
export type TenantOccurrence = FindMatch["actual"][number];
export type StackOccurrence = NonNullable<FindMatch["stack"]>;

const decisionSchema = jsonObject({
  sender: jsonTextField("In canonical form."),
  scope: jsonTextField("global: all mail; otherwise, mail with the verdict of this name."),
  basis: z
    .enum(["tenant", "files"])
    .describe("The basis of the result: the tenant's actual settings, or its files if the tenant was not read."),
  decidingEntry: jsonObject(
    { list: z.string(), key: z.string(), value: z.string(), verdictScope: z.string() },
    "Absent if no entry concerns the sender: the service's own analysis decides.",
  ).exactOptional(),
  otherEntryCount: jsonCountField("The number of other entries that concern the sender."),
  isCertain: z
    .boolean()
    .describe(
      "Whether the result follows from the entries alone: all that concern the sender are on one list, and one of them is the sender or its own domain. Otherwise it relies on assumptions, because the service's reference doesn't define the precedence.",
    ),
}).meta({ id: "Decision", description: "Which entry decides for mail from a sender." });

export type Decision = z.infer<typeof decisionSchema>;

export const findSchema = jsonObject({
  format: z.literal(FIND_FORMAT).describe("The version of this format."),
  searchedAt: jsonTextField("The time of the search (ISO 8601, UTC)."),
  queries: jsonArray(
    jsonObject({
      value: jsonTextField("In canonical form."),
      entryType: z.enum(["domain", "ip", "email_address"]),
      isSender: z.boolean().describe("Whether the query is for the entry that decides for mail from it."),
    }),
  ),
  tenants: jsonArray(
    jsonObject({
      name: z.string(),
      host: jsonTextField("The service's host, if it was requested or is known.").exactOptional(),
      file: jsonTextField("Its settings file.").exactOptional(),
      matches: jsonArray(matchSchema),
      decisions: jsonArray(decisionSchema),
      readErrors: jsonArray(
        jsonObject({
          source: z.enum(["file", "tenant", "stack"]),
          code: jsonTextField("The code of the error."),
          message: z.string(),
        }),
        "Sources that could not be read, so that something may be missing.",
      ),
    }),
    "In the order of the targets file.",
  ),
  isComplete: z.boolean().describe("Whether everything was read, so that a value that is not found doesn't exist."),
}).meta({
  title: "Email security find",
  description:
    "The places where a value is allowed or denied, or a mailbox is a VIP, as `email-security find` writes them as JSON.",
});

export type FindReport = z.infer<typeof findSchema>;
export type FindQuery = FindReport["queries"][number];
export type TenantMatches = FindReport["tenants"][number];
export type ReadError = TenantMatches["readErrors"][number];

export const formatFindJson = formatJson<FindReport>;
