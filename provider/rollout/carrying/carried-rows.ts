import { gunzipSync } from "node:zlib";
import { z } from "zod";
import type { Queryable, Row, SqlValue } from "../journal/database";
import { isTimeZone } from "../targets/closed-hours";
import { NOTICE_KINDS, RECEIVERS } from "../targets/notify";
import { TASKS } from "../tasks/task";

/** The version of the format of a journal in a file. */
export const CARRIED_FORMAT = 1;

/** What the first line of such a file says that it is. */
export const CARRIED_KIND = "email-security rollouts";

/** A row of a rollout, as it is carried: by the name of what it is. */
export interface CarriedRow {
  readonly of: RowKind;
  readonly values: Readonly<Record<string, SqlValue>>;
}

export type RowKind = keyof typeof TABLES;

/** So large may be what a row holds packed: as much as a settings file may have. */
const MAX_UNPACKED = 64 * 1024 * 1024;
const MAX_TEXT = 64 * 1024 * 1024;

const text = z.string().max(MAX_TEXT);
const short = z.string().max(4_096);
/** Milliseconds since 1970, as far as there are dates. */
const time = z.int().min(0).max(8_640_000_000_000_000);
const bytes = z.instanceof(Uint8Array).refine(canBeUnpacked, { error: "is not packed, or too large" });
const orNull = <One extends z.ZodType>(one: One) => z.nullable(one);

/** A column of JSON, by what it has to hold for whatever reads it. More may be in it, of a later release. */
const json = (of: z.ZodType) =>
  text.refine(
    (value) => {
      try {
        return of.safeParse(JSON.parse(value)).success;
      } catch {
        return false;
      }
    },
    { error: "is not what a journal has there" },
  );

/** As {@link Journal} makes them. */
const id = z.string().regex(/^\d{8}-\d{4}-[0-9a-f]{6}$/, { error: "is no id of a rollout" });
const amount = z.number().min(0);
const strings = z.array(short);

const wave = z.looseObject({
  name: short,
  maxConcurrent: z.int().min(1),
  tolerated: amount,
  soakMs: amount,
  gate: z.boolean(),
  health: z
    .looseObject({
      command: strings.optional(),
      timeoutMs: amount,
      threats: z.looseObject({ risePercent: z.number(), min: z.number() }).optional(),
    })
    .optional(),
  closed: z
    .array(
      z.looseObject({
        text: short,
        from: amount,
        to: amount,
        timeZone: short.refine(isTimeZone),
      }),
    )
    .max(1_000)
    .optional(),
  tenants: strings,
  unseen: z.array(z.looseObject({ name: short, sinceMs: time })).optional(),
});

const spec = z.looseObject({
  source: short,
  project: short,
  folder: short.optional(),
  today: short,
  waves: z.array(wave),
  tolerated: amount.optional(),
  services: z.array(
    z.tuple([
      short,
      z.looseObject({ requestsPerSecond: amount.optional(), maxConcurrent: amount.optional() }),
    ]),
  ),
  notify: z
    .partialRecord(
      z.enum(RECEIVERS),
      z.looseObject({ events: z.array(z.enum(NOTICE_KINDS)).optional(), changes: z.boolean().optional() }),
    )
    .optional(),
  keyVariables: strings.optional(),
  backend: short,
  rollsBack: id.optional(),
  rollsBackTo: short.optional(),
  skipped: z
    .array(z.looseObject({ name: short, sinceMs: time, by: short.optional(), reason: short }))
    .optional(),
  task: z.enum(TASKS).optional(),
  origin: z
    .looseObject({
      user: short.optional(),
      host: short,
      revision: short.optional(),
      isChanged: z.literal(true).optional(),
    })
    .optional(),
  prunedAtMs: time.optional(),
});

const target = z.looseObject({
  name: short,
  labels: z.record(short, short),
  baseUrl: short,
  key: z.discriminatedUnion("from", [
    z.strictObject({ from: z.literal("environment"), variable: short }),
    z.strictObject({ from: z.literal("file"), path: short }),
    z.strictObject({ from: z.literal("command"), command: strings }),
  ]),
  settings: short,
  stack: short,
  resource: short.optional(),
  front: z.enum(["dynamic", "native"]).optional(),
  allowInsecureHttp: z.boolean(),
  place: z.looseObject({ file: short, line: amount, column: amount }),
});

const sign = z.enum(["add", "change", "remove"]);
const kind = z.enum(["entry", "vip"]);

const summary = z.looseObject({
  planned: z.looseObject({ added: amount, changed: amount, removed: amount }),
  changes: z.array(
    z.looseObject({
      sign,
      kind,
      value: text,
      list: short.optional(),
      alarm: z.enum(["danger", "accepted", "warning"]).optional(),
    }),
  ),
  alarms: z.looseObject({ danger: amount, accepted: amount.optional(), warning: amount }),
  resource: short,
  isStackThere: z.boolean(),
  isStackPending: z.boolean().optional(),
  acceptsEmptyTenant: z.boolean().optional(),
  first: short.optional(),
  fingerprint: short.optional(),
  marker: z.looseObject({ rollout: id, seq: z.int().min(0), at: short }).optional(),
  identity: z
    .looseObject({
      address: text,
      entries: z.int().nonnegative(),
      unique: strings,
      counted: strings,
      numbers: strings,
      dates: z.int().nonnegative(),
      people: strings.optional(),
    })
    .optional(),
  front: z.enum(["dynamic", "native"]).optional(),
  left: z.array(text).optional(),
  drift: z.array(text).optional(),
  only: z
    .looseObject({
      what: z.literal("expired"),
      removes: z.array(z.looseObject({ kind, key: text })),
      targets: strings,
    })
    .optional(),
  loosened: z.array(text).optional(),
});

const standing = z.looseObject({
  list: z.enum(["allow", "deny"]).optional(),
  comment: text.optional(),
  acceptRisk: text.optional(),
});

/** Of a plan what is read where nothing is held to it: whatever changes a tenant reads all of it anew. */
const plan = z.looseObject({
  changes: z.array(
    z.looseObject({
      sign,
      kind,
      key: text,
      value: text,
      before: standing.optional(),
      after: standing.optional(),
      why: text.optional(),
      ticket: text.optional(),
      owner: text.optional(),
      approvedBy: text.optional(),
      expires: text.optional(),
      accepted: text.optional(),
    }),
  ),
});

const error = z.looseObject({
  code: short,
  message: text,
  advice: text,
  phase: z.enum(["plan", "apply"]),
});

const when = z.iso.datetime();
const happens = <Shape extends z.core.$ZodLooseShape>(kind: string, shape: Shape) =>
  z.looseObject({ kind: z.literal(kind), ...shape });

const happening = z.union([
  happens("planned", { tenants: amount, changing: amount, digest: short }),
  happens("started", { resumed: z.boolean(), by: short.optional() }),
  happens("wave-started", { wave: short, tenants: amount }),
  happens("tenant-started", { wave: short, tenant: short, attempt: amount, worker: short }),
  happens("tenant-finished", {
    wave: short,
    tenant: short,
    state: z.enum(["done", "failed"]),
    durationMs: z.number(),
    error: error.optional(),
  }),
  happens("tenant-skipped", { wave: short, tenant: short, reason: text, by: short.optional() }),
  happens("tenant-note", { wave: short, tenant: short, message: text }),
  happens("wave-soaking", { wave: short, until: when }),
  happens("wave-health", { wave: short, isWell: z.boolean(), message: text }),
  happens("wave-finished", { wave: short, done: amount, failed: amount }),
  happens("waiting", { wave: short, reason: text }),
  happens("stopped", { reason: text }),
  happens("interrupted", { reason: text, until: when.optional() }),
  happens("finished", { done: amount, unchanged: amount, failed: amount, skipped: amount.optional() }),
]);

/** A plan's packed JSON. */
const packedPlan = bytes.refine(
  (value) => plan.safeParse(JSON.parse(gunzipSync(value).toString("utf8"))).success,
  { error: "is no plan", abort: true },
);

/** Where a file is among the others: no path leads out of them. */
const path = short.refine(
  (value) =>
    !/[\\\0]|^[a-z]:|^\//i.test(value) &&
    !value.split("/").some((part) => /^(\.\.|\.git|node_modules)$/i.test(part)),
  { error: "leads out of the rollout's files" },
);

const rolloutState = z.enum(["planned", "running", "waiting", "stopped", "abandoned", "rolled-back", "done"]);
const tenantState = z.enum(["pending", "released", "running", "unchanged", "done", "failed", "skipped"]);
const waveState = z.enum(["pending", "running", "soaking", "checking", "gated", "done", "stopped"]);

/** Of each kind of row its table, its columns in their order, and what tells one from another in its rollout. */
const TABLES = {
  rollout: {
    table: "rollouts",
    key: [],
    columns: {
      id,
      state: rolloutState,
      spec: json(spec),
      digest: short,
      reason: orNull(text),
      until_wave: orNull(short),
      stop_requested: z.union([z.literal(0), z.literal(1)]),
      events: z.int().min(0),
      created_at: time,
      started_at: time,
      finished_at: orNull(time),
      // Absent in what an earlier release exported.
      seq: orNull(z.int().min(1)).optional(),
    },
  },
  wave: {
    table: "rollout_waves",
    key: ["position"],
    columns: {
      rollout: id,
      position: z.int().min(0),
      name: short,
      state: waveState,
      started_at: orNull(time),
      finished_at: orNull(time),
      soak_until: orNull(time),
      approved_at: orNull(time),
      health: orNull(json(z.looseObject({ isWell: z.boolean(), message: text }))),
    },
  },
  tenant: {
    table: "rollout_tenants",
    key: ["name"],
    columns: {
      rollout: id,
      name: short,
      wave: z.int().min(0),
      position: z.int().min(0),
      state: tenantState,
      address: short,
      stack: short,
      target: json(target),
      digest: short,
      summary: orNull(json(summary)),
      plan: orNull(packedPlan),
      round: z.int().min(0),
      attempt: z.int().min(0),
      worker: orNull(short),
      error: orNull(json(error)),
      started_at: orNull(time),
      finished_at: orNull(time),
    },
  },
  file: { table: "rollout_files", key: ["path"], columns: { rollout: id, path, content: bytes } },
  event: {
    table: "rollout_events",
    key: ["seq"],
    columns: { rollout: id, seq: z.int().min(1), at: time, happening: json(happening) },
  },
} as const;

const KINDS = Object.keys(TABLES) as readonly RowKind[];

const SCHEMAS = new Map(
  KINDS.map((of) => [of, z.strictObject(TABLES[of].columns as Record<string, z.ZodType<SqlValue>>)]),
);

/** All rows of a rollout, its own first, and always in the same order. */
export async function* rowsOf(database: Queryable, rollout: string): AsyncGenerator<CarriedRow> {
  for (const of of KINDS) {
    const { table, key, columns } = TABLES[of];
    const [own] = Object.keys(columns);
    const order = key.length === 0 ? own : key[0];
    const names = Object.keys(columns).join(", ");
    if (of !== "tenant" && of !== "file") {
      const rows = await database.query(`SELECT ${names}, ${order} AS one FROM ${table} WHERE ${own} = $1`, [
        rollout,
      ]);
      for (const { one: _one, ...values } of inOrder(rows)) yield { of, values };
      continue;
    }
    // What they are first: what they hold may be large, and is read one by one.
    const keys = await database.query(
      `SELECT ${order} AS one FROM ${table} WHERE ${own} = $1 ORDER BY ${order}`,
      [rollout],
    );
    for (const { one = null } of inOrder(keys)) {
      const [row] = await database.query(
        `SELECT ${names} FROM ${table} WHERE ${own} = $1 AND ${order} = $2`,
        [rollout, one],
      );
      if (row !== undefined) yield { of, values: row };
    }
  }
}

/** Databases sort texts differently. */
function inOrder(rows: readonly Row[]): readonly Row[] {
  return rows.toSorted(({ one = null }, { one: other = null }) =>
    typeof one === "number" && typeof other === "number"
      ? one - other
      : String(one) < String(other)
        ? -1
        : Number(String(one) > String(other)),
  );
}

/** Writes a row into a journal. */
export async function insertRow(database: Queryable, { of, values }: CarriedRow): Promise<void> {
  const { table, columns } = TABLES[of];
  const names = Object.keys(columns);
  const places = names.map((_, index) => `$${index + 1}`);
  await database.query(
    `INSERT INTO ${table} (${names.join(", ")}) VALUES (${places.join(", ")})`,
    names.map((name) => values[name] ?? null),
  );
}

/** The rollout that a row is of. */
export function rolloutOf({ of, values }: CarriedRow): string {
  return String(values[of === "rollout" ? "id" : "rollout"]);
}

/** What tells a row from the others of its rollout. */
export function keyOf({ of, values }: CarriedRow): string {
  return JSON.stringify([of, ...TABLES[of].key.map((name) => values[name])]);
}

/** A row as a line, without a line end: always the same for the same row. */
export function rowLine({ of, values }: CarriedRow): string {
  const columns = Object.keys(TABLES[of].columns).map((name) => {
    const value = values[name] ?? null;
    return [name, value instanceof Uint8Array ? { base64: Buffer.from(value).toString("base64") } : value];
  });
  return JSON.stringify({ [of]: Object.fromEntries(columns) });
}

const packed = z.strictObject({ base64: z.base64() });

/** Reads a row of a line, which may hold anything. Throws an error that says what is wrong with it. */
export function readRow(line: unknown): CarriedRow {
  const [entry, ...more] = Object.entries(line ?? {});
  const of = KINDS.find((one) => one === entry?.[0]);
  if (entry === undefined || of === undefined || more.length > 0) throw new Error("is no row of a rollout");
  const values = Object.fromEntries(
    Object.entries((entry[1] ?? {}) as object).map(([name, value]) => {
      const bytesOf = packed.safeParse(value);
      return [name, bytesOf.success ? new Uint8Array(Buffer.from(bytesOf.data.base64, "base64")) : value];
    }),
  );
  const read = SCHEMAS.get(of)?.safeParse(values);
  if (read?.success === true) return { of, values: read.data };
  const [issue] = read?.error.issues ?? [];
  throw new Error(
    `holds ${of === "event" ? "an" : "a"} ${of} whose ${String(issue?.path[0] ?? "columns")} ${issue?.message ?? ""}`,
  );
}

function canBeUnpacked(value: Uint8Array): boolean {
  try {
    gunzipSync(value, { maxOutputLength: MAX_UNPACKED });
    return true;
  } catch {
    return false;
  }
}
