import { z } from "zod";
import { ON_DELETE } from "../model/arguments";
import { parseTermDays } from "../model/expiry-term";
import { quote } from "../model/text";
import { ENTRY_SHAPE, isValidDay } from "./element-fields";
import {
  booleanField,
  formatChoices,
  formatFieldError,
  formatMappingError,
  integerField,
  nonEmptyTextField,
  safeTextField,
  singleLineTextField,
  textField,
} from "./field-schemas";

/** The kinds of sources that list the members of a group. */
export const DIRECTORY_KINDS = ["microsoft-graph", "google-directory", "ldap"] as const;

/** The kinds of sources that list indicators. */
export const FEED_KINDS = ["url", "csv", "stix", "misp"] as const;

export const SOURCE_KINDS = [...DIRECTORY_KINDS, ...FEED_KINDS] as const;

/** The default maximum number of items in a source. */
export const DEFAULT_MAX_ITEMS = 5_000;

/** The name of a source: its generated file is `sources/<name>.yaml`. */
export const SOURCE_NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;

const PLACEHOLDERS = ["group", "source", "name"];

const commentTemplate = safeTextField("a string").check((context) => {
  for (const [, name = ""] of context.value.matchAll(/\{([^{}]*)\}/g)) {
    if (PLACEHOLDERS.includes(name)) continue;
    const message = `has the unknown placeholder ${quote(`{${name}}`)}; use {group}, {source} or {name}`;
    context.issues.push({ code: "custom", message, input: context.value });
  }
});

const commonShape = {
  comment: commentTemplate
    .describe(
      "The comment of each element. {group} and {source} are replaced by their names, and {name} by the name of the person or indicator.",
    )
    .optional(),
  owner: singleLineTextField("a string").describe("The owner of each element.").optional(),
  ticket: singleLineTextField("a string").describe("The ticket of each element.").optional(),
  max: integerField("a number of items")
    .min(1, "is 0; write a number of items")
    .describe(`The maximum number of items. A larger source changes nothing. Default: ${DEFAULT_MAX_ITEMS}.`)
    .optional(),
  confirmRemovals: integerField()
    .describe("The exact number of intended removals, for one sync that exceeds 30 % of the elements.")
    .optional(),
};

const onDeleteField = z
  .enum(ON_DELETE, { error: (issue) => formatFieldError(issue.input, formatChoices(ON_DELETE)) })
  .describe("The effect of leaving the source: keep (default; the VIP is only forgotten) or exclude (permanent).")
  .optional();

const vipsField = z
  .literal("vips", { error: (issue) => formatFieldError(issue.input, "vips: a directory lists people") })
  .describe("The section of the generated file.");

const buildAddressField = (protocols: readonly string[], example: string) =>
  textField(`an address such as ${example}`).check((context) => {
    const message = validateAddress(context.value, protocols, example);
    if (message !== undefined) context.issues.push({ code: "custom", message, input: context.value });
  });

/** The message doesn't show the address, which may contain a password. */
function validateAddress(text: string, protocols: readonly string[], example: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || !protocols.includes(url.protocol)) return `isn't a valid address; write one such as ${example}`;
  if (url.username !== "" || url.password !== "") {
    return "contains a user name or a password; remove it, and set the credentials in the environment of the run";
  }
  return url.hash === "" ? undefined : "has a fragment (#…), which isn't sent; remove it";
}

const buildKindField = <Kind extends string>(kind: Kind) => z.literal(kind).describe("The kind of the source.");

const groupField = singleLineTextField("the name of a group");

const microsoftGraphSource = z.strictObject({
  kind: buildKindField("microsoft-graph"),
  group: groupField.describe("The display name of the group.").optional(),
  groupId: singleLineTextField("the id of a group")
    .describe("The object id of the group, instead of its name.")
    .optional(),
  into: vipsField,
  onDelete: onDeleteField,
  ...commonShape,
});

const googleDirectorySource = z.strictObject({
  kind: buildKindField("google-directory"),
  group: groupField.describe("The e-mail address of the group."),
  into: vipsField,
  onDelete: onDeleteField,
  ...commonShape,
});

const ldapSource = z.strictObject({
  kind: buildKindField("ldap"),
  url: buildAddressField(["ldap:", "ldaps:"], "ldaps://ldap.acme.example").describe("The address of the directory."),
  base: singleLineTextField("a distinguished name").describe("The distinguished name below which to search."),
  group: groupField.describe("The common name or distinguished name of the group."),
  mailAttribute: singleLineTextField("an attribute")
    .describe("The attribute with the mailbox of a person. Default: mail.")
    .optional(),
  into: vipsField,
  onDelete: onDeleteField,
  ...commonShape,
});

const entryIntoField = z
  .enum(["allow", "deny"], { error: (issue) => formatFieldError(issue.input, "allow or deny") })
  .describe("The section of the generated file. Allows require allowFrom: true in the policy.");

const feedShape = {
  url: buildAddressField(["https:", "http:"], "https://feeds.example/domains.txt")
    .describe("The address of the feed. The environment of the run has to allow it.")
    .optional(),
  file: textField("the path of a file")
    .min(1, "is empty; write the path of a file")
    .describe("A file of the repository instead of an address, relative to this file.")
    .optional(),
  expires: textField("a term such as 14d, or never")
    .refine((text) => text === "never" || parseTermDays(text) !== undefined, {
      error: (issue) => `is ${quote(issue.input)}; write days, such as 14d, or weeks, such as 6w, or never`,
    })
    .describe("How long an entry stays after it was last seen in the feed, such as 14d, or never.")
    .optional(),
  scope: ENTRY_SHAPE.scope,
  hosts: booleanField.describe("Whether a URL stands for its host. Default: URLs are skipped and reported.").optional(),
};

const buildFeedSchema = <Kind extends string>(kind: Kind) =>
  z.strictObject({ kind: buildKindField(kind), into: entryIntoField, ...feedShape, ...commonShape });

const csvSource = z.strictObject({
  kind: buildKindField("csv"),
  into: z
    .enum(["vips", "allow", "deny"], { error: (issue) => formatFieldError(issue.input, "one of vips, allow, deny") })
    .describe("The section of the generated file. Allows require allowFrom: true in the policy."),
  column: nonEmptyTextField("the title of a column")
    .describe("The title of the column with the values. Default: the first column.")
    .optional(),
  ...feedShape,
  onDelete: onDeleteField,
  ...commonShape,
});

/** One source in a settings file. */
export const sourceSchema = z
  .discriminatedUnion(
    "kind",
    [
      microsoftGraphSource,
      googleDirectorySource,
      ldapSource,
      buildFeedSchema("url"),
      csvSource,
      buildFeedSchema("stix"),
      buildFeedSchema("misp"),
    ],
    {
      error: (issue) =>
        issue.code === "invalid_union"
          ? formatFieldError((issue.input as { kind?: unknown } | null)?.kind, formatChoices(SOURCE_KINDS))
          : formatMappingError(issue.input),
    },
  )
  .check((context) => {
    for (const [key, message] of findContradictions(context.value)) {
      context.issues.push({ code: "custom", message, input: context.value, path: [key] });
    }
  });

/** A source as declared. */
export type SourceDeclaration = Readonly<z.infer<typeof sourceSchema>>;

/** A source that lists indicators. */
export type FeedDeclaration = Extract<SourceDeclaration, { readonly kind: (typeof FEED_KINDS)[number] }>;

export function isFeed(source: SourceDeclaration): source is FeedDeclaration {
  return (FEED_KINDS as readonly string[]).includes(source.kind);
}

function findContradictions(source: SourceDeclaration): [key: string, message: string][] {
  if (!isFeed(source)) {
    if (source.kind !== "microsoft-graph" || (source.group === undefined) !== (source.groupId === undefined)) return [];
    return [["group", "is missing; write the name of the group, or its id as groupId, and not both"]];
  }
  const problems: [string, string][] = [];
  if ((source.url === undefined) === (source.file === undefined)) {
    problems.push([
      "url",
      "is missing; write the address of the feed, or a file of the repository as file, and not both",
    ]);
  }
  if (source.into !== "vips" && source.expires === undefined) {
    problems.push([
      "expires",
      "is missing; write how long an entry stays after it was last seen, such as 14d, or never",
    ]);
  }
  if (source.into === "vips" && source.scope !== undefined)
    problems.push(["scope", "is only for entries, not for VIPs"]);
  return problems;
}

/** The sources that a settings file declares, by name. */
export const sourcesSchema = z.record(
  z.string().regex(SOURCE_NAME, "isn't a valid name; write lower-case letters, digits and hyphens"),
  sourceSchema,
  { error: (issue) => formatMappingError(issue.input) },
);

const dayField = textField("a date such as 2026-11-29").refine(isValidDay, {
  error: (issue) => `is ${quote(issue.input)}; write a date such as 2026-11-29`,
});

const instantField = textField("a time such as 2026-11-29T12:00:00Z").refine(
  (text) => !Number.isNaN(Date.parse(text)),
  {
    error: (issue) => `is ${quote(issue.input)}; write a time such as 2026-11-29T12:00:00Z`,
  },
);

/** The source of a generated file, and the last sync that changed the file. */
export const sourceRecordSchema = z.strictObject(
  {
    name: textField("the name of a source")
      .regex(SOURCE_NAME, "isn't the name of a source")
      .describe("The name of the source."),
    kind: z
      .enum(SOURCE_KINDS, { error: (issue) => formatFieldError(issue.input, formatChoices(SOURCE_KINDS)) })
      .describe("The kind of the source."),
    synced: dayField.describe("The date (UTC) of the last sync that changed this file."),
    declaration: textField("a hash")
      .describe("The hash of the declaration at that time. A later one is read in full.")
      .optional(),
    etag: singleLineTextField("a string").describe("The version of the feed.").optional(),
    lastModified: instantField.describe("When the feed was last modified. An older one changes nothing.").optional(),
    published: instantField.describe("When the feed was published. An older one changes nothing.").optional(),
  },
  { error: (issue) => formatMappingError(issue.input) },
);

export type SourceRecord = Readonly<z.infer<typeof sourceRecordSchema>>;

/** When an element of a generated file was in its source. */
export const seenSchema = z.strictObject(
  {
    first: dayField.describe("The date (UTC) of the first sync that found it."),
    last: dayField
      .describe("The date (UTC) of the last day on which the source may have listed it, once it has left the source.")
      .optional(),
  },
  { error: (issue) => formatMappingError(issue.input) },
);

export type ElementSeen = Readonly<z.infer<typeof seenSchema>>;
