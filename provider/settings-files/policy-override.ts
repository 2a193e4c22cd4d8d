import { parseTermDays } from "../model/expiry-term";
import { canPruneAny, isLooserMode, type ListMode } from "../model/list-mode";
import { quote } from "../model/text";
import { type FileLocation, type Finding, formatLineLocation } from "./finding";
import { OPTION_PATHS, type OptionPath, type SettingsFile } from "./settings-schema";

/*
 * A baseline that many files include is reviewed by more people than each file that includes it. Including files can therefore tighten its
 * settings, but weaken only those that the baseline lists under `allowedOverrides`.
 */

/** A setting that a file demands. */
export interface OptionDemand {
  readonly path: OptionPath;
  readonly value: unknown;
  readonly location: FileLocation;
  /** Whether the file allows weakening it. */
  readonly isOverridable: boolean;
}

/** The direction in which an option becomes stricter. */
interface OptionOrder<Value> {
  readonly isWeaker: (value: Value | undefined, reference: Value | undefined) => boolean;
  /** Returns a value as strict as both; undefined if there is none. */
  readonly combineStricter?: (a: Value, b: Value) => Value;
}

const lowerIsStricter: OptionOrder<number> = {
  isWeaker: (value = Number.POSITIVE_INFINITY, reference = Number.POSITIVE_INFINITY) => value > reference,
};

/** Earlier is stricter. */
const soonerIsStricter: OptionOrder<string> = {
  isWeaker: (value = "", reference = "") => lowerIsStricter.isWeaker(parseTermDays(value), parseTermDays(reference)),
};

/** One of two values is stricter. */
function orderByStrictValue<Word>(strictValue: Word): OptionOrder<Word> {
  return { isWeaker: (value, reference) => reference === strictValue && value !== strictValue };
}

/** The more a list prunes, the fewer unreviewed entries remain. */
const modeOrder: OptionOrder<ListMode> = { isWeaker: isLooserMode };

/** No element may be missing. */
const supersetIsStricter: OptionOrder<readonly string[]> = {
  isWeaker: (value = [], reference = []) => reference.some((candidate) => !value.includes(candidate)),
  combineStricter: (a, b) => [...new Set([...a, ...b])],
};

/** Neither more nor fewer elements: either would touch, or ignore, unintended entries. */
const exactSetOnly: OptionOrder<readonly string[]> = {
  isWeaker: (value = [], reference = []) =>
    supersetIsStricter.isWeaker(value, reference) || supersetIsStricter.isWeaker(reference, value),
};

/** No additional people, and no changed logins. */
const subsetIsStricter: OptionOrder<Readonly<Record<string, string>>> = {
  isWeaker: (value, reference) =>
    reference !== undefined &&
    (value === undefined || Object.entries(value).some(([name, login]) => getOwnValue(reference, name) !== login)),
  combineStricter: (a, b) =>
    Object.fromEntries(Object.entries(a).filter(([name, login]) => getOwnValue(b, name) === login)),
};

function getOwnValue(record: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/** The values aren't comparable. */
const equalOnly: OptionOrder<unknown> = { isWeaker: (value, reference) => value !== reference };

/** The type requires a direction for every rule and option. */
const OPTION_ORDERS = {
  // Reporting writes no unreviewed change.
  onDrift: orderByStrictValue("report"),
  "policy.requireComment": supersetIsStricter,
  "policy.requireTicket": supersetIsStricter,
  "policy.ticketPattern": equalOnly,
  "policy.requireOwner": supersetIsStricter,
  "policy.requireExpiry": supersetIsStricter,
  "policy.maxDays": lowerIsStricter,
  "policy.requireTwoPeople": supersetIsStricter,
  "policy.requireApproval": supersetIsStricter,
  "policy.approvers": subsetIsStricter,
  "policy.reviewEvery": soonerIsStricter,
  "policy.rejectWholeDomains": orderByStrictValue(true),
  // A permission: files that don't grant it deny it.
  "policy.allowFrom": { isWeaker: (value, reference) => value === true && reference !== true },
  "lists.entries.mode": modeOrder,
  "lists.entries.ignore": exactSetOnly,
  "lists.entries.protect": supersetIsStricter,
  "lists.entries.maxRemovals": lowerIsStricter,
  "lists.entries.maxRemovalFraction": lowerIsStricter,
  "lists.entries.confirmRemovals": equalOnly,
  "lists.entries.adopt": orderByStrictValue(false),
  "lists.vips.mode": modeOrder,
  "lists.vips.ignore": exactSetOnly,
  "lists.vips.protect": supersetIsStricter,
  "lists.vips.maxRemovals": lowerIsStricter,
  "lists.vips.maxRemovalFraction": lowerIsStricter,
  "lists.vips.confirmRemovals": equalOnly,
  // An exclusion is permanent.
  "lists.vips.onDelete": orderByStrictValue("keep"),
} as const satisfies Readonly<Record<OptionPath, Pick<OptionOrder<never>, "isWeaker">>>;

/** Returns the demands of a file, with their locations. */
export function listDemands(
  content: SettingsFile,
  getLocation: (path: readonly string[]) => FileLocation,
): OptionDemand[] {
  const overridablePaths = new Set<string>(content.allowedOverrides);
  return OPTION_PATHS.flatMap((path): OptionDemand[] => {
    const keys = path.split(".");
    const value = getNestedValue(content, keys);
    return value === undefined
      ? []
      : [{ path, value, location: getLocation(keys), isOverridable: overridablePaths.has(path) }];
  });
}

/**
 * Returns implied demands. Ignored patterns must not undo a pruning mode; a confirmed number, or a fraction that allows emptying a list,
 * must not undo a limit.
 */
export function listImpliedDemands(
  ownDemands: readonly OptionDemand[],
  { allowedOverrides = [] }: SettingsFile,
): OptionDemand[] {
  const overridablePaths = new Set<string>(allowedOverrides);
  const imply = (list: string, option: string, triggers: readonly string[], value: unknown): OptionDemand[] => {
    const path = `lists.${list}.${option}` as OptionPath;
    const trigger = ownDemands.find((demand) => triggers.some((name) => demand.path === `lists.${list}.${name}`));
    const isSet = ownDemands.some((demand) => demand.path === path);
    return trigger === undefined || isSet
      ? []
      : [{ path, value, location: trigger.location, isOverridable: overridablePaths.has(path) }];
  };
  return ["entries", "vips"].flatMap((list) => {
    const isPruned = ownDemands.some(({ path, value }) => path === `lists.${list}.mode` && canPruneAny(value));
    return [
      ...(isPruned ? imply(list, "ignore", ["mode"], []) : []),
      ...imply(list, "confirmRemovals", ["maxRemovals", "maxRemovalFraction"], undefined),
      ...imply(list, "maxRemovalFraction", ["maxRemovals"], LARGEST_PARTIAL_FRACTION),
    ];
  });
}

const ALLOW_FROM = "policy.allowFrom";

/**
 * Returns the denial that a file implies if neither it nor its included files decide about `allowFrom`. Otherwise, each tenant's file could
 * grant itself the permission. Generated files imply nothing.
 */
export function listImpliedDenials(
  { allowedOverrides = [], source }: SettingsFile,
  demands: readonly OptionDemand[],
  getLocation: (path: readonly string[]) => FileLocation,
): OptionDemand[] {
  if (source !== undefined || demands.some(({ path }) => path === ALLOW_FROM)) return [];
  return [
    {
      path: ALLOW_FROM,
      value: undefined,
      // Only a message needs the location, and it takes the full YAML parser.
      get location() {
        return getLocation(["policy"]);
      },
      isOverridable: allowedOverrides.includes(ALLOW_FROM),
    },
  ];
}

/** Returns the demands of included files without duplicates, and without implied denials of `allowFrom` if one of them grants it. */
export function collectInheritedDemands(
  included: readonly { readonly options: EffectiveOptions; readonly demands: readonly OptionDemand[] }[],
): readonly OptionDemand[] {
  const demands = [...new Set(included.flatMap((file) => file.demands))];
  return included.some(({ options }) => options.getValue(ALLOW_FROM) === true)
    ? demands.filter(({ path, value }) => path !== ALLOW_FROM || value !== undefined)
    : demands;
}

/** The largest fraction that can't empty a list. */
const LARGEST_PARTIAL_FRACTION = 1 - Number.EPSILON;

/** Returns findings for the demands of included files that a file weakens: notes if allowed, otherwise errors. */
export function findOverrides(ownDemands: readonly OptionDemand[], inherited: readonly OptionDemand[]): Finding[] {
  return ownDemands.flatMap(({ path, value, location }) =>
    inherited
      .filter((demand) => demand.path === path && isLooserValue(path, value, demand.value))
      .map((demand) => {
        const inheritedText =
          demand.value === undefined
            ? "none"
            : formatOptionValue(demand.value === LARGEST_PARTIAL_FRACTION ? "less than 1" : demand.value);
        const description = `\`${path}\` is ${formatOptionValue(value)} here, which is looser than ${inheritedText} at ${formatLineLocation(demand.location)}`;
        return buildOverrideFinding(description, path, location, [demand]);
      }),
  );
}

/**
 * Builds the finding of an override.
 *
 * @param description the weaker setting, and what it is compared with.
 */
export function buildOverrideFinding(
  description: string,
  path: OptionPath,
  location: FileLocation,
  demands: readonly OptionDemand[],
  subject?: NonNullable<Finding["subject"]>,
): Finding {
  const strictDemand = demands.find(({ isOverridable }) => !isOverridable);
  const subjectFields = subject === undefined ? {} : { subject };
  if (strictDemand === undefined) {
    const permissionNote =
      demands[0] === undefined ? "" : `; ${demands[0].location.file} allows it (\`allowedOverrides\`)`;
    return {
      code: "override",
      level: "note",
      message: `${description}${permissionNote}`,
      place: location,
      ...subjectFields,
    };
  }
  const advice = `remove it, or add \`allowedOverrides: [${path}]\` to ${quote(strictDemand.location.file, 300)}, where the owners of the rule review it`;
  return {
    code: "override-rejected",
    level: "error",
    message: `${description}; ${advice}`,
    place: location,
    ...subjectFields,
  };
}

/** The effective options of a file: its own, otherwise those of included files. The stricter value wins. */
export class EffectiveOptions {
  readonly #demandByPath = new Map<OptionPath, OptionDemand>();
  /** Values without a common stricter one. */
  readonly conflicts: (readonly [one: OptionDemand, other: OptionDemand])[] = [];

  constructor(ownDemands: readonly OptionDemand[], inherited: readonly EffectiveOptions[]) {
    for (const demand of ownDemands) this.#demandByPath.set(demand.path, demand);
    const decidedPaths = new Set(this.#demandByPath.keys());
    for (const demand of inherited.flatMap(({ demands }) => demands)) {
      if (decidedPaths.has(demand.path)) continue;
      const existing = this.#demandByPath.get(demand.path);
      const tighter = existing === undefined ? demand : getStricterDemand(existing, demand);
      if (tighter === undefined) this.conflicts.push([existing as OptionDemand, demand]);
      else this.#demandByPath.set(demand.path, tighter);
    }
  }

  /** Withdraws the permission of `allowFrom` if an included file doesn't grant it, so that a sync doesn't rely on it. */
  withdrawAllowFrom(inherited: readonly OptionDemand[]): void {
    const denial = inherited.find(
      ({ path, value, isOverridable }) =>
        path === ALLOW_FROM && !isOverridable && isLooserValue(path, this.getValue(path), value),
    );
    if (denial !== undefined) this.#demandByPath.set(ALLOW_FROM, { ...denial, value: false });
  }

  /** Sets an option that no file sets. */
  setDefault(demand: OptionDemand): void {
    if (!this.#demandByPath.has(demand.path)) this.#demandByPath.set(demand.path, demand);
  }

  get demands(): OptionDemand[] {
    return [...this.#demandByPath.values()];
  }

  getLocation(path: string): FileLocation | undefined {
    return this.#demandByPath.get(path as OptionPath)?.location;
  }

  getValue(path: OptionPath): unknown {
    return this.#demandByPath.get(path)?.value;
  }

  /** Returns the options under `policy`, `lists.entries` or `lists.vips`, as in a file. */
  getGroup(prefix: string): Record<string, unknown> {
    const matchingDemands = this.demands.filter(({ path }) => path.startsWith(`${prefix}.`));
    return Object.fromEntries(matchingDemands.map(({ path, value }) => [path.slice(prefix.length + 1), value]));
  }
}

function getStricterDemand(a: OptionDemand, b: OptionDemand): OptionDemand | undefined {
  if (!isLooserValue(a.path, a.value, b.value)) return a;
  if (!isLooserValue(a.path, b.value, a.value)) return b;
  const { combineStricter } = OPTION_ORDERS[a.path] as OptionOrder<unknown>;
  return combineStricter === undefined ? undefined : { ...a, value: combineStricter(a.value, b.value) };
}

function isLooserValue(path: OptionPath, value: unknown, reference: unknown): boolean {
  return (OPTION_ORDERS[path] as OptionOrder<unknown>).isWeaker(value, reference);
}

function getNestedValue(content: unknown, keys: readonly string[]): unknown {
  let current = content;
  for (const step of keys) current = (current as Record<string, unknown> | undefined)?.[step];
  return current;
}

function formatOptionValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => quote(String(item)).slice(1, -1)).join(", ")}]`;
  if (typeof value === "object" && value !== null) return quote(value, 200);
  return typeof value === "string" ? quote(value, 200) : String(value);
}
