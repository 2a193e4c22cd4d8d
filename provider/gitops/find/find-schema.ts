import { z } from "zod";
import { declaredFieldsShape } from "../../files/element-fields";
import { sentFieldsShape } from "../../settings/entry-fields";
import { jsonCountField, jsonTextField } from "../../settings/json-fields";
import { formatJson } from "../../settings/text";

/** The version of the find format. */
export const FIND_FORMAT = "1";

const lineShape = { file: jsonTextField("As it was named."), line: z.int().min(1) };
const lineSchema = z.strictObject(lineShape).readonly();
const linesSchema = z.array(lineSchema).readonly();

export type FileLine = z.infer<typeof lineSchema>;

const declaredShape = {
  list: jsonTextField("allow, deny or vip."),
  ...lineShape,
  ...declaredFieldsShape,
  includedAt: linesSchema.describe(
    "The lines by which its file is included, the nearest first; empty where it stands in the tenant's own.",
  ),
  overrides: linesSchema.describe("The lines of included files that it takes the place of, the nearest first."),
};

const matchSchema = z
  .strictObject({
    kind: z.enum(["entry", "vip"]),
    wanted: jsonTextField("The value that was searched, in canonical form."),
    how: z
      .enum(["exact", "domain", "parent", "wildcard", "range", "below"])
      .describe(
        "exact: the same. domain: of the mailbox's own domain. parent: of a domain above it. wildcard: of all below a domain above it, or of all mailboxes of its domain. range: of a range of addresses that includes it. below: below it.",
      ),
    key: jsonTextField("The key that identifies it among the tenant's entries."),
    value: jsonTextField("In canonical form."),
    entryType: jsonTextField("domain, ip, email_address, or what else the service holds."),
    verdictScope: jsonTextField("Of entries.").exactOptional(),
    state: z
      .enum(["agrees", "differs", "missing", "undeclared", "lingers", "ended", "declared", "there", "stack"])
      .describe(
        "agrees: file and tenant say the same. differs: another list or comment. missing: declared, and not at the tenant. undeclared: at the tenant, and not in the file. lingers: at the tenant still, and declared no more. ended: declared no more, and not at the tenant or not looked for there. declared, there: only the file, or only the tenant, was read. stack: only in the stack's state.",
      ),
    declared: z.strictObject(declaredShape).readonly().exactOptional(),
    ended: z
      .array(
        z
          .strictObject({
            ...declaredShape,
            why: z.enum(["expired", "removed"]),
            removedAt: lineSchema.describe("The line that takes it out; only of what is removed.").exactOptional(),
          })
          .readonly(),
      )
      .readonly()
      .describe("Entries that files no longer declare: the last day is past, or another file removes them."),
    there: z
      .array(
        z
          .strictObject({
            id: jsonTextField("The service's id; VIPs have none.").exactOptional(),
            ...sentFieldsShape,
            list: z.string(),
            by: jsonTextField("The person who made it, according to the service.").exactOptional(),
            at: jsonTextField("When it was made, as the service tells it.").exactOptional(),
            source: jsonTextField("Of a VIP: how it came to be one, in the service's words.").exactOptional(),
          })
          .readonly(),
      )
      .readonly()
      .describe("As the service holds it; several where it stands on both lists, or twice on one."),
    stack: z
      .strictObject({
        stack: z.string(),
        resource: jsonTextField("The resource in the stack, within its TenantSettings."),
        ...sentFieldsShape,
        list: z.string(),
      })
      .readonly()
      .describe("As the state of the stack holds it.")
      .exactOptional(),
  })
  .readonly()
  .meta({ id: "Found", description: "An entry or VIP, in all places of one tenant." });

export type FindMatch = z.infer<typeof matchSchema>;
export type MatchType = FindMatch["how"];
export type MatchState = FindMatch["state"];
export type DeclaredOccurrence = NonNullable<FindMatch["declared"]>;
export type EndedOccurrence = FindMatch["ended"][number];
export type TenantOccurrence = FindMatch["there"][number];
export type StackOccurrence = NonNullable<FindMatch["stack"]>;

const decisionSchema = z
  .strictObject({
    sender: jsonTextField("In canonical form."),
    scope: jsonTextField("global: all mail; else mail of the verdict of this name."),
    of: z
      .enum(["tenant", "files"])
      .describe("The basis of the result: the tenant's actual settings, or, where they were not read, its files."),
    decides: z
      .strictObject({ list: z.string(), key: z.string(), value: z.string(), verdictScope: z.string() })
      .readonly()
      .describe("Absent where no entry concerns the sender: the service's own analysis decides.")
      .exactOptional(),
    others: jsonCountField("The number of other entries that concern the sender."),
    isKnown: z
      .boolean()
      .describe(
        "Whether it follows from the entries alone: all that concern the sender are on one list, and one of them is of the sender or its own domain. Else it rests on what is assumed about the service, whose reference does not say which of several decides.",
      ),
  })
  .readonly()
  .meta({ id: "Decision", description: "Which entry decides for mail from a sender." });

export type Decision = z.infer<typeof decisionSchema>;

export const findSchema = z
  .strictObject({
    format: z.literal(FIND_FORMAT).describe("The version of this format."),
    at: jsonTextField("When it was looked for (ISO 8601, UTC)."),
    wanted: z
      .array(
        z
          .strictObject({
            value: jsonTextField("In canonical form."),
            entryType: z.enum(["domain", "ip", "email_address"]),
            isSender: z.boolean().describe("Whether it is asked which entry decides for mail from it."),
          })
          .readonly(),
      )
      .readonly(),
    tenants: z
      .array(
        z
          .strictObject({
            name: z.string(),
            host: jsonTextField("The service's, where it was asked or is known.").exactOptional(),
            file: jsonTextField("Its settings file.").exactOptional(),
            found: z.array(matchSchema).readonly(),
            decisions: z.array(decisionSchema).readonly(),
            unread: z
              .array(
                z
                  .strictObject({
                    where: z.enum(["file", "tenant", "stack"]),
                    code: jsonTextField("The code of the error."),
                    message: z.string(),
                  })
                  .readonly(),
              )
              .readonly()
              .describe("Sources that could not be read, so that something may be missing."),
          })
          .readonly(),
      )
      .readonly()
      .describe("In the order of the targets file."),
    isComplete: z.boolean().describe("Whether all was read: what is not found is nowhere then."),
  })
  .readonly()
  .meta({
    title: "Email security find",
    description:
      "Where a value is allowed or denied, or a mailbox is a VIP, as `email-security find` writes it as JSON.",
  });

export type FindReport = z.infer<typeof findSchema>;
export type FindQuery = FindReport["wanted"][number];
export type TenantMatches = FindReport["tenants"][number];
export type UnreadSource = TenantMatches["unread"][number];

export const formatFindJson = formatJson<FindReport>;
