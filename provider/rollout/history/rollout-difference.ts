import { posix } from "node:path";
import { omitUndefined } from "../../model/omit-undefined";
import { pickTextFields, TEXT_FIELD_NAMES } from "../../settings-files/element-fields";
import { formatSettingsErrorMessage } from "../../settings-files/finding";
import { inspectSettings, type SettingsReadCache } from "../../settings-files/read-settings";
import type { Settings } from "../../settings-files/settings-model";
import type { Journal } from "../journal/journal";
import type { PackedFiles, TenantRecord } from "../journal/rollout-record";
import {
  type DeclaredChange,
  type DeclaredValue,
  DIFFERENCE_FORMAT,
  type RolloutDifference,
  type TenantDifference,
} from "../model/history-schema";
import { RolloutCommands } from "../model/rollout-commands";
import { RolloutError } from "../model/rollout-error";
import type { TenantState } from "../model/wave";

/**
 * Compares the declarations of two rollouts, tenant by tenant, by the settings files that the journal keeps of each.
 *
 * @param commands the commands that messages suggest.
 * @throws {RolloutError} (`ERR_ROLLOUT_PRUNED`) if one of them was pruned, together with its files.
 */
export async function buildRolloutDifference(
  journal: Journal,
  from: string,
  to: string,
  commands = new RolloutCommands(),
): Promise<RolloutDifference> {
  const [a, b] = [await readSide(journal, from, commands), await readSide(journal, to, commands)];
  const stacks = new Set([...b.tenants.keys(), ...a.tenants.keys()]);
  const tenants: TenantDifference[] = [];
  let sameCount = 0;
  for (const stack of stacks) {
    const difference = compareTenantDeclarations(stack, a, b);
    if (difference === undefined) sameCount += 1;
    else tenants.push(difference);
  }
  return { format: DIFFERENCE_FORMAT, from: a.rollout, to: b.rollout, tenants, unchangedTenantCount: sameCount };
}

interface RolloutSide {
  readonly rollout: RolloutDifference["from"];
  /** By stack, because a tenant's name may change. */
  readonly tenants: ReadonlyMap<string, TenantRecord>;
  /** The settings that the files declare for a tenant, or the reason why they can't be read. */
  readonly readSettings: (tenant: TenantRecord) => Settings | string;
}

async function readSide(journal: Journal, id: string, commands: RolloutCommands): Promise<RolloutSide> {
  const { spec, digest } = await journal.getRollout(id);
  const { today, prunedAtMs } = spec;
  if (prunedAtMs !== undefined) {
    throw new RolloutError(
      "ERR_ROLLOUT_PRUNED",
      `The rollout ${id} was pruned, and its files with the declarations were removed. To see what it changed: \`${commands.show(id)}\``,
    );
  }
  const files = await journal.readFiles(id);
  const readFile = createBundleReader(files);
  const cache: SettingsReadCache = new Map();
  return {
    rollout: { id, digest, today },
    tenants: new Map((await journal.listTenants(id)).map((tenant) => [tenant.target.stack, tenant])),
    readSettings: ({ target }) => {
      const file = posix.join(files.directory, target.settings.replaceAll("\\", "/"));
      // The planning has already reported the lint findings.
      const read = inspectSettings(file, { today, readFile, cache, ownDomains: [], shouldCrossCheck: false });
      return read.settings ?? formatSettingsErrorMessage(file, read.findings);
    },
  };
}

/** Reads only from the bundle, never from the disk. */
function createBundleReader({ bundle }: PackedFiles): (path: string) => string {
  return (path) => {
    const bytes = bundle.get(posix.normalize(path.replaceAll("\\", "/")));
    if (bytes === undefined) throw new Error("the rollout has no such file");
    return Buffer.from(bytes).toString("utf8");
  };
}

function compareTenantDeclarations(stack: string, a: RolloutSide, b: RolloutSide): TenantDifference | undefined {
  const [before, after] = [a.tenants.get(stack), b.tenants.get(stack)];
  const name = (after ?? before)?.name ?? stack;
  if (before === undefined || after === undefined) {
    return { name, onlyIn: before === undefined ? "to" : "from", changes: [] };
  }
  const [oldSettings, newSettings] = [a.readSettings(before), b.readSettings(after)];
  const readError =
    typeof oldSettings === "string" ? oldSettings : typeof newSettings === "string" ? newSettings : undefined;
  const states = omitUndefined({ from: getUnappliedState(before), to: getUnappliedState(after) });
  const stateFields = Object.keys(states).length === 0 ? {} : { states };
  if (typeof oldSettings === "string" || typeof newSettings === "string") {
    return { name, ...stateFields, changes: [], ...omitUndefined({ readError }) };
  }
  const changes = compareDeclarations(listDeclaredElements(oldSettings), listDeclaredElements(newSettings));
  return changes.length === 0 ? undefined : { name, ...stateFields, changes };
}

/** Returns the state of a tenant that did not reach its declared settings. Undefined if it did. */
function getUnappliedState({ state }: TenantRecord): TenantState | undefined {
  return state === "done" || state === "unchanged" ? undefined : state;
}

type DeclaredElements = ReadonlyMap<
  string,
  Pick<DeclaredChange, "kind" | "key" | "value"> & { readonly as: DeclaredValue }
>;

function listDeclaredElements({ entries, vips }: Settings): DeclaredElements {
  const elements = [
    ...entries.map((element) => ({ element, value: element.value, own: { list: element.list } })),
    ...vips.map((element) => ({ element, value: element.email, own: {} })),
  ];
  return new Map(
    elements.map(({ element, value, own }) => [
      `${element.kind} ${element.key}`,
      { kind: element.kind, key: element.key, value, as: { ...own, ...pickTextFields(element) } },
    ]),
  );
}

function compareDeclarations(
  oldDeclarations: DeclaredElements,
  newDeclarations: DeclaredElements,
): readonly DeclaredChange[] {
  const changes: DeclaredChange[] = [];
  for (const [id, { as: after, ...rest }] of newDeclarations) {
    const before = oldDeclarations.get(id)?.as;
    if (before === undefined) changes.push({ operation: "add", ...rest, after });
    else if (DECLARED_FIELDS.some((field) => before[field]?.toString() !== after[field]?.toString())) {
      changes.push({ operation: "change", ...rest, before, after });
    }
  }
  for (const [id, { as: before, ...rest }] of oldDeclarations) {
    if (!newDeclarations.has(id)) changes.push({ operation: "remove", ...rest, before });
  }
  return changes;
}

/** The fields that may differ, in the order in which the page shows them. */
export const DECLARED_FIELDS: readonly (keyof DeclaredValue)[] = ["list", ...TEXT_FIELD_NAMES];
