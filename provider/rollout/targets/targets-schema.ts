import { z } from "zod";
import type { Finding } from "../../files/finding";
import type { FileFormat } from "../../files/schema-findings";
import { FRONTS } from "../../resources/resource-type";
import { isPrintable, quote } from "../../settings/text";
import type { ThreatLimit } from "../wave";
import { CLOSED_HOURS_FORM, type ClosedHours, isAlwaysClosed, readClosedHours } from "./closed-hours";
import { NOTICE_KINDS, type Notify, RECEIVERS, type ReceiverName } from "./notify";
import type { ServiceLimit, Tolerance } from "./target";

/** The version of the format of targets files. */
export const TARGETS_VERSION = 1;

/** What an unhealthy rise of threats is, where the file does not say. */
export const THREAT_LIMIT: ThreatLimit = { risePercent: 50, min: 10 };

const NAME = /^[A-Za-z0-9_.-]{1,100}$/;

/** Names that are none to Pulumi's file backend, or to JavaScript. */
const NO_NAMES = new Set([".", "..", "__proto__"]);

/** Why a text can't name a tenant, a stack or a wave; undefined when it can. */
export function nameRefusal(text: string): string | undefined {
  if (NO_NAMES.has(text)) return "is no name; take another";
  if (NAME.test(text)) return undefined;
  return "is no name that a Pulumi stack can have; write 1 to 100 of the letters A to Z, a to z, digits, hyphens, underscores and dots";
}

/** The same of a stack, whose name Pulumi also takes with its organization and project. */
function stackRefusal(text: string): string | undefined {
  if (!/^[\w.-]+(\/[\w.-]+){1,2}$/.test(text)) return nameRefusal(text);
  return "has more than a stack's own name: the project is said by `project`, and an organization of Pulumi's service by PULUMI_DEFAULT_ORGANIZATION, where the run is started";
}

const text = (wanted: string) => z.string({ error: ({ input }) => missingOr(input, wanted) });

const name = (what: string, refusal = nameRefusal) =>
  text("a name")
    .regex(NAME, { error: ({ input }) => `${quote(input)} ${refusal(String(input))}` })
    .refine((one) => !NO_NAMES.has(one), { error: ({ input }) => `${quote(input)} is no name; take another` })
    .describe(what);

const path = text("the path of a file").min(1, "is empty; write the path of a file");

const flag = z.boolean({ error: ({ input }) => missingOr(input, "true or false") });

const mapping = (wanted = "a mapping of keys and values") => ({
  error: ({ code, input }: { readonly code?: string; readonly input?: unknown }) =>
    code === "invalid_type" || code === undefined ? missingOr(input, wanted) : undefined,
});

const wholeNumber = (least: number, most = 1_000_000) =>
  z
    .number({ error: ({ input }) => missingOr(input, "a whole number") })
    .int({ error: ({ input }) => `must be a whole number, not ${quote(input)}` })
    .min(least, { error: ({ input }) => `is ${quote(input)}; it can't be less than ${least}` })
    .max(most, { error: ({ input }) => `is ${quote(input)}; it can't be more than ${most}` });

// Labels

const LABEL = /^(?!__proto__$)[A-Za-z0-9_./-]{1,100}$/;

const labelKey = text("a label").regex(
  LABEL,
  "is no label; write 1 to 100 of the letters A to Z, a to z, digits, hyphens, underscores, dots and slashes",
);

/** What `--label ring=canary,beta` can name. */
const LABEL_VALUE = /^[^\s,](?:[^,]{0,198}[^\s,])?$/u;

const labelValue = text("a text")
  .regex(LABEL_VALUE, {
    error: ({ input }) =>
      `is ${quote(input)}; write 1 to 200 characters without commas, and without white space around`,
  })
  .refine(isPrintable, "holds a character that can't be seen; take it out");

const labels = z
  .record(labelKey, labelValue, mapping("labels and their values, as { region: eu }"))
  .describe("What tells tenants apart, for waves and for --label: { region: eu, ring: canary }.");

const match = z
  .record(
    labelKey,
    z.union(
      [
        labelValue,
        z
          .array(labelValue, {
            error: ({ input }) =>
              missingOr(input, "a text, in quotes where it is a number, or a list of such"),
          })
          .min(1, "is an empty list, which nothing matches; write a value"),
      ],
      { error: ({ input }) => missingOr(input, "a text, in quotes where it is a number, or a list of such") },
    ),
    mapping("labels and their values, as { ring: canary }"),
  )
  .describe(
    "Labels that a tenant must have, each one of the given values. All tenants that are left, when left out.",
  );

// Keys: nothing that stands here is ever shown, for it may be a key in the wrong place.

const SOURCES =
  "write where it comes from: { environment: ACME_API_KEY }, { file: /run/secrets/acme } or { command: [program, argument] }";

const hidden = (wanted: string) =>
  z.string({ error: `must be ${wanted}, in quotes where YAML reads it as something else` });

const command = (what: string) =>
  z
    .array(hidden("a text"), { error: `must be a list, of ${what}` })
    .min(1, `is an empty list; write ${what}`)
    .refine(([program]) => program !== "", `has no program; write ${what}`);

const key = z
  .strictObject(
    {
      environment: hidden("the name of an environment variable")
        .regex(
          // With the placeholders, of which what comes is checked once more.
          /^(?:[A-Za-z_]|\{(?:name|NAME)\})(?:[A-Za-z0-9_]|\{(?:name|NAME)\})*$/,
          "is no name of an environment variable (what stands there is not shown, as it may be the key itself); write a name such as ACME_API_KEY or {NAME}_API_KEY",
        )
        .describe("The name of the environment variable that holds the key."),
      file: hidden("the path of a file")
        .min(1, "is empty; write the path of a file")
        .describe("The file that holds the key, relative to this one or absolute, such as a mounted secret."),
      command: command("a program and its arguments, as [vault, read, -field=key, secret/acme]").describe(
        "A program and its arguments, which prints the key. It is run without a shell, in the working folder.",
      ),
    },
    {
      error: ({ code, input }) =>
        code === "unrecognized_keys"
          ? undefined
          : input === null || input === undefined
            ? `is empty; ${SOURCES}`
            : KEY_IN_THE_CLEAR,
    },
  )
  .partial()
  .check((context) => {
    const count = Object.keys(context.value).length;
    if (context.issues.length > 0 || count === 1) return;
    const message = count === 0 ? `is empty; ${SOURCES}` : "has more than one source; keep one";
    context.issues.push({ code: "custom", message, input: context.value });
  })
  .meta({ minProperties: 1, maxProperties: 1 })
  .describe("Where the tenant's API key comes from; never the key itself.");

/** What is told of a key that somebody wrote into the file. */
const KEY_IN_THE_CLEAR = `must say where the key comes from, and never hold the key itself; ${SOURCES}. If a key stood here, it was seen: have the service issue another`;

// Tenants

const about = {
  baseUrl: text("the service's address")
    .describe("The service's address, as https://mail-security.example.")
    .optional(),
  key: key.optional(),
  settings: path.describe("The tenant's settings file, relative to this file.").optional(),
  labels: labels.optional(),
  front: z
    .enum(FRONTS, { error: ({ input }) => missingOr(input, FRONTS.join(" or ")) })
    .describe(
      "What its lists are made over: dynamic resources, or the native plugin. As the stack has them, when left out; in a new stack, dynamic.",
    )
    .optional(),
  allowInsecureHttp: flag
    .describe("Whether plain http to another machine is meant, which sends the key in the clear.")
    .optional(),
};

const tenant = z.strictObject(
  {
    ...about,
    stack: name("The Pulumi stack of the tenant; its name, when left out.", stackRefusal).optional(),
    resource: text("a name")
      .min(1, "is empty; write a name, or take the line away")
      .refine((one) => isPrintable(one) && one.length <= 200, "must be one line of at most 200 characters")
      .describe("The name of the TenantSettings in the stack, where it has several.")
      .optional(),
  },
  mapping(),
);

const tenantName = text("a name")
  .regex(NAME, { error: ({ input }) => nameRefusal(String(input)) ?? "" })
  .refine((one) => !NO_NAMES.has(one), "is no name; take another");

// Waves

/** A percentage with at most two decimals, so that parts of it are counted exactly. */
const PERCENT = /^(?:100(?:\.0{1,2})?|\d{1,2}(?:\.\d{1,2})?)\s?%$/;

const part = (least: number) => {
  const wanted = "a count or a percentage, as 3 or 10%";
  const few = "is too few; write at least 1, or more than 0%";
  const other = ({ input }: { readonly input?: unknown }) => missingOr(input, wanted);
  return z
    .union(
      [
        z
          .int({ error: other })
          .min(least, { error: ({ input }) => (input === 0 ? few : missingOr(input, wanted)) })
          .max(1_000_000, { error: ({ input }) => `is ${quote(input)}; it can't be more than 1000000` }),
        z
          .string()
          .regex(PERCENT, { error: other })
          .refine((one) => least === 0 || !PERCENT.test(one) || Number.parseFloat(one) > 0, few),
      ],
      { error: other },
    )
    .transform(
      (one): Tolerance => (typeof one === "number" ? { count: one } : { percent: Number.parseFloat(one) }),
    );
};

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

const DURATION = /^(\d{1,9})(s|m|h|d)$/;

const duration = (leastMs: number, most: string) =>
  text("a time, as 30s, 15m, 2h or 1d")
    .regex(DURATION, { error: ({ input }) => `is ${quote(input)}; write a time as 30s, 15m, 2h or 1d` })
    .refine((one) => !DURATION.test(one) || (msOf(one) >= leastMs && msOf(one) <= msOf(most)), {
      error: ({ input }) =>
        `is ${quote(input)}; write a time ${leastMs === 0 ? "" : "of 1s or more, "}of at most ${most}`,
    })
    .transform(msOf);

function msOf(text: string): number {
  const [, count, unit = ""] = DURATION.exec(text) ?? [];
  return Number(count) * (UNITS[unit] ?? Number.NaN);
}

const health = z
  .strictObject(
    {
      command: command("a program and its arguments, as [./check.sh]")
        .describe(
          "A program and its arguments, run without a shell in the working folder: it must end with 0.",
        )
        .optional(),
      timeout: duration(1_000, "1d").describe("How long the command may take. 5m when left out.").optional(),
      threats: z
        .strictObject(
          {
            risePercent: z
              .number({ error: ({ input }) => missingOr(input, "a number of percent, as 50") })
              .min(0, { error: ({ input }) => `is ${quote(input)}; it can't be less than 0` })
              .max(1_000_000, { error: ({ input }) => `is ${quote(input)}; it can't be more than 1000000` })
              .describe(`How much they may rise, in percent. ${THREAT_LIMIT.risePercent} when left out.`)
              .optional(),
            min: wholeNumber(1)
              .describe(`A rise by fewer than so many is well. ${THREAT_LIMIT.min} when left out.`)
              .optional(),
          },
          mapping(),
        )
        .describe("No tenant of the wave may have more threats than so, after its change against before.")
        .optional(),
    },
    mapping(),
  )
  .refine(
    ({ command, threats }) => command !== undefined || threats !== undefined,
    "checks nothing; write `command` or `threats`",
  );

const hours = z.string({ error: ({ input }) => missingOr(input, CLOSED_HOURS_FORM) }).check((context) => {
  const read = readClosedHours(context.value);
  if (typeof read === "string") {
    context.issues.push({ code: "custom", message: `${quote(context.value)} ${read}`, input: context.value });
  }
});

const closedHours = z
  .union([hours, z.array(hours).min(1, "is an empty list; write hours, or take the line away")], {
    error: ({ input }) => missingOr(input, CLOSED_HOURS_FORM),
  })
  .transform((written) =>
    [written].flat().flatMap((one): readonly ClosedHours[] => {
      const read = readClosedHours(one);
      return typeof read === "string" ? [] : read;
    }),
  )
  .refine(
    (closed) => closed.length === 0 || !isAlwaysClosed(closed),
    "leaves no hour of the week in which the wave could begin",
  );

const wave = z.strictObject(
  {
    name: name("What the wave is called."),
    match: match.optional(),
    take: part(1)
      .describe(
        "How many of those that match and are in no earlier wave: a count, or a percentage of all that match.",
      )
      .optional(),
    maxConcurrent: wholeNumber(1)
      .describe("How many tenants are changed at once. 1 when left out.")
      .optional(),
    failureTolerance: part(0)
      .describe("How many tenants may fail: a count, or a percentage. 0 when left out.")
      .optional(),
    soak: duration(0, "30d").describe("How long to wait once it is through: 30s, 15m, 2h, 1d.").optional(),
    gate: flag.describe("Whether a person has to resume the rollout before the next wave.").optional(),
    health: health.describe("What must be well before the next wave begins.").optional(),
    not: closedHours
      .describe("Hours of the week in which none of its tenants is begun: Fri 16:00–Mon 06:00 Europe/Zurich.")
      .optional(),
  },
  mapping(),
);

const service = z.strictObject(
  {
    requestsPerSecond: z
      .number({ error: ({ input }) => missingOr(input, "a number") })
      .positive({ error: ({ input }) => `is ${quote(input)}; write more than 0` })
      .max(1_000_000, { error: ({ input }) => `is ${quote(input)}; it can't be more than 1000000` })
      .describe("Requests a second, of all its tenants together.")
      .optional(),
    maxConcurrent: wholeNumber(1).describe("How many of its tenants are changed at once.").optional(),
  },
  mapping(),
);

const hearing = z.strictObject(
  {
    events: z
      .array(
        z.enum(NOTICE_KINDS, { error: ({ input }) => missingOr(input, `one of ${NOTICE_KINDS.join(", ")}`) }),
        { error: ({ input }) => missingOr(input, `a list of ${NOTICE_KINDS.join(", ")}`) },
      )
      .min(1, "is an empty list, and nothing would be told; write what of, or take the line away for all")
      .describe("What it is told of. Everything, when left out.")
      .optional(),
    changes: flag
      .describe("Whether it is told what changes, and not just how much. false when left out.")
      .optional(),
  },
  mapping(
    "what is told: {}, or { events: [waiting, stopped] }; where to send stands in the environment alone",
  ),
);

const notify = z
  .strictObject(
    { webhook: hearing, slack: hearing, teams: hearing, mail: hearing } satisfies Record<
      ReceiverName,
      unknown
    >,
    mapping(`who is told: ${RECEIVERS.join(", ")}`),
  )
  .partial()
  .describe(
    "Who is told of what becomes of rollouts and of drift, and of what of it. Where to send comes from the environment alone.",
  );

const version = z
  .literal(TARGETS_VERSION, {
    error: ({ input }) =>
      input === undefined
        ? `is missing; write \`version: ${TARGETS_VERSION}\` as the first line`
        : `must be ${TARGETS_VERSION}, not ${quote(input)}; a later version needs a later email-security`,
  })
  .describe("The version of this format.");

const tenantsOf = (element: z.ZodType) =>
  z
    .record(tenantName, element, mapping("tenants by their names"))
    .describe("The tenants by their names. What one does not say, defaults say.")
    .optional();

const defaults = z
  .strictObject(about, mapping())
  .describe(
    "What holds for every tenant that does not say it: {name} is its name, {NAME} that in capitals for variables.",
  )
  .optional();

const fileOf = (element: z.ZodType) =>
  z.strictObject(
    {
      version,
      project: name("The Pulumi project of all stacks.").optional(),
      include: z
        .array(path, { error: ({ input }) => missingOr(input, "a list, [] for none") })
        .describe("Further files with tenants, and defaults of their own for these, relative to this one.")
        .optional(),
      defaults,
      tenants: tenantsOf(element),
      services: z
        .record(z.string(), service, mapping("limits by the service's address"))
        .describe("What all tenants of one service address share, by the address.")
        .optional(),
      notify: notify.optional(),
      failureTolerance: part(0)
        .describe("How many tenants may fail in the whole rollout: a count, or a percentage.")
        .optional(),
      waves: z
        .array(wave, { error: ({ input }) => missingOr(input, "a list of waves") })
        .min(1, "is an empty list; write waves, or take the line away for one of all tenants")
        .describe(
          "Which tenants are changed together, in this order. One of all tenants, one after the other, when left out.",
        )
        .optional(),
    },
    mapping(),
  );

const ALIASES = {
  url: "baseUrl",
  address: "baseUrl",
  env: "environment",
  variable: "environment",
  path: "file",
  includes: "include",
  tolerance: "failureTolerance",
  concurrency: "maxConcurrent",
  label: "labels",
  matches: "match",
  percent: "risePercent",
};

/** The file that is asked for. Tenants that say nothing (`acme:`) were written out as `{}`. */
export const TARGETS_FILE: FileFormat = { schema: fileOf(tenant), aliases: ALIASES, own: ownFinding };

/** A file that it includes. */
export const INCLUDED_FILE: FileFormat = {
  schema: z.strictObject({ version, defaults, tenants: tenantsOf(tenant) }, mapping()),
  aliases: ALIASES,
  own: ownFinding,
};

/** A targets file, checked. */
export interface TargetsFile {
  readonly version: typeof TARGETS_VERSION;
  readonly project?: string;
  readonly include?: readonly string[];
  readonly defaults?: RawTenant;
  readonly tenants?: Readonly<Record<string, RawTenant>>;
  readonly services?: Readonly<Record<string, ServiceLimit>>;
  readonly failureTolerance?: Tolerance;
  readonly notify?: Notify;
  readonly waves?: readonly RawWave[];
}

/** A tenant as it is written, or what is said for all. */
export type RawTenant = z.output<typeof tenant>;

/** A wave as it is written. */
export type RawWave = z.output<typeof wave>;

/** The JSON Schema (draft 2020-12) of targets files, for editors to complete and check by. */
export function tenantsJsonSchema(): Record<string, unknown> {
  const schema = z.toJSONSchema(fileOf(z.union([tenant, z.null()])), { io: "input" });
  return {
    $id: `urn:pulumi-email-security:tenants:${TARGETS_VERSION}`,
    title: "Email security tenants",
    description: "The tenants of a rollout and its waves, as `email-security rollout` reads them.",
    ...(schema as Record<string, unknown>),
  };
}

function ownFinding(
  issue: z.core.$ZodIssue,
  unknownKey: string | undefined,
): Pick<Finding, "code" | "message"> | undefined {
  const name = String(issue.path.at(-1));
  if (issue.code === "invalid_type" && /^(?:soak|timeout)$/.test(name)) {
    return { code: "invalid-value", message: `${name} ${issue.message}` };
  }
  return keyFinding(issue, unknownKey);
}

/** What is told of keys: nothing that stands there is repeated. */
function keyFinding(
  issue: z.core.$ZodIssue,
  unknownKey: string | undefined,
): Pick<Finding, "code" | "message"> | undefined {
  const [section, ...rest] = issue.path;
  const field = section === "tenants" ? rest.slice(1) : rest;
  if (!/^(?:undefined|defaults|tenants)$/.test(String(section))) return undefined;
  if (field.length === 0) {
    return unknownKey !== undefined && isForKey(unknownKey)
      ? { code: "key-in-the-clear", message: `key ${KEY_IN_THE_CLEAR}` }
      : undefined;
  }
  if (field[0] !== "key") return undefined;
  const isSource = issue.code !== "unrecognized_keys" && field.length > 1;
  if (isSource) return { code: "invalid-value", message: `${String(field[1])} ${issue.message}` };
  if (unknownKey !== undefined && /^(?:env|variable|path|cmd)$/i.test(unknownKey)) {
    return { code: "unknown-key", message: `has a key that is none here; ${SOURCES}` };
  }
  const isText = issue.code === "invalid_type" && issue.message === KEY_IN_THE_CLEAR;
  return unknownKey !== undefined || isText
    ? { code: "key-in-the-clear", message: `key ${KEY_IN_THE_CLEAR}` }
    : { code: "invalid-value", message: `key ${issue.message}` };
}

/** Whether what is written as a key of a mapping is a word for an API key, or such a word with what may be the key itself. */
function isForKey(written: string): boolean {
  if (/^(?:x[-_]?)?(?:api[-_]?key|secret|token|password)/i.test(written)) return true;
  return /key|secret|token|password/i.test(written) && !/^[A-Za-z_-]+$/.test(written);
}

function missingOr(input: unknown, wanted: string): string {
  if (input === undefined) return `is missing; write ${wanted}`;
  return input === null
    ? `is empty; write ${wanted}, or take the line away`
    : `must be ${wanted}, not ${quote(input)}`;
}
