import { isLooserMode, type ListMode, prunesAny } from "../settings/list-mode";
import { daysOfTerm } from "../settings/term";
import { quote } from "../settings/text";
import { type Finding, lineText, type Place } from "./finding";
import { OPTION_PATHS, type OptionPath, type SettingsFile } from "./settings-schema";

/*
 * A baseline that many files include is reviewed by more people than each file that includes it. Including files can therefore tighten its
 * settings, but weaken only those that the baseline lists under `mayLoosen`.
 */

/** A setting that a file demands. */
export interface Demand {
  readonly path: OptionPath;
  readonly value: unknown;
  readonly place: Place;
  /** Whether the file allows weakening it. */
  readonly isFree: boolean;
}

/** The direction in which an option becomes stricter. */
interface OptionOrder<Value> {
  /** Returns whether a value is weaker than another one. */
  readonly isLooser: (value: Value | undefined, reference: Value | undefined) => boolean;
  /** Returns a value as strict as both; undefined if there is none. */
  readonly both?: (one: Value, other: Value) => Value;
}

const lowerIsStricter: OptionOrder<number> = {
  isLooser: (value = Number.POSITIVE_INFINITY, reference = Number.POSITIVE_INFINITY) => value > reference,
};

/** Earlier is stricter. */
const soonerIsStricter: OptionOrder<string> = {
  isLooser: (value = "", reference = "") => lowerIsStricter.isLooser(daysOfTerm(value), daysOfTerm(reference)),
};

/** One of two values is stricter. */
function strictOnlyAt<Word>(strictValue: Word): OptionOrder<Word> {
  return { isLooser: (value, reference) => reference === strictValue && value !== strictValue };
}

/** The more a list prunes, the fewer unreviewed entries remain. */
const modeOrder: OptionOrder<ListMode> = { isLooser: isLooserMode };

/** No element may be missing. */
const supersetIsStricter: OptionOrder<readonly string[]> = {
  isLooser: (value = [], reference = []) => reference.some((one) => !value.includes(one)),
  both: (one, other) => [...new Set([...one, ...other])],
};

/** Neither more nor fewer elements: either would touch, or ignore, unintended entries. */
const exactSetOnly: OptionOrder<readonly string[]> = {
  isLooser: (value = [], reference = []) =>
    supersetIsStricter.isLooser(value, reference) || supersetIsStricter.isLooser(reference, value),
};

/** No additional people, and no changed logins. */
const subsetIsStricter: OptionOrder<Readonly<Record<string, string>>> = {
  isLooser: (value, reference) =>
    reference !== undefined &&
    (value === undefined || Object.entries(value).some(([name, login]) => getOwnValue(reference, name) !== login)),
  both: (one, other) =>
    Object.fromEntries(Object.entries(one).filter(([name, login]) => getOwnValue(other, name) === login)),
};

function getOwnValue(record: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/** The values aren't comparable. */
const equalOnly: OptionOrder<unknown> = { isLooser: (value, reference) => value !== reference };

/** The type requires a direction for every rule and option. */
const OPTION_ORDERS = {
  // Reporting writes no unreviewed change.
  onDrift: strictOnlyAt("report"),
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
  "policy.refuseWholeDomains": strictOnlyAt(true),
  "lists.entries.mode": modeOrder,
  "lists.entries.ignore": exactSetOnly,
  "lists.entries.protect": supersetIsStricter,
  "lists.entries.maxRemovals": lowerIsStricter,
  "lists.entries.maxRemovalFraction": lowerIsStricter,
  "lists.entries.confirmRemovals": equalOnly,
  "lists.entries.adopt": strictOnlyAt(false),
  "lists.vips.mode": modeOrder,
  "lists.vips.ignore": exactSetOnly,
  "lists.vips.protect": supersetIsStricter,
  "lists.vips.maxRemovals": lowerIsStricter,
  "lists.vips.maxRemovalFraction": lowerIsStricter,
  "lists.vips.confirmRemovals": equalOnly,
  // An exclusion is permanent.
  "lists.vips.onDelete": strictOnlyAt("keep"),
} as const satisfies Readonly<Record<OptionPath, Pick<OptionOrder<never>, "isLooser">>>;

/** Returns the demands of a file, with their locations. */
export function demandsOf(content: SettingsFile, getLocation: (path: readonly string[]) => Place): Demand[] {
  const overridablePaths = new Set<string>(content.mayLoosen);
  return OPTION_PATHS.flatMap((path): Demand[] => {
    const keys = path.split(".");
    const value = getNestedValue(content, keys);
    return value === undefined ? [] : [{ path, value, place: getLocation(keys), isFree: overridablePaths.has(path) }];
  });
}

/**
 * Returns implied demands. Ignored patterns must not undo a pruning mode; a confirmed number, or a fraction that allows emptying a list,
 * must not undo a limit.
 */
export function impliedBy(ownDemands: readonly Demand[], { mayLoosen = [] }: SettingsFile): Demand[] {
  const overridablePaths = new Set<string>(mayLoosen);
  const imply = (list: string, option: string, triggers: readonly string[], value: unknown): Demand[] => {
    const path = `lists.${list}.${option}` as OptionPath;
    const trigger = ownDemands.find((one) => triggers.some((name) => one.path === `lists.${list}.${name}`));
    const isSet = ownDemands.some((one) => one.path === path);
    return trigger === undefined || isSet
      ? []
      : [{ path, value, place: trigger.place, isFree: overridablePaths.has(path) }];
  };
  return ["entries", "vips"].flatMap((list) => {
    const isPruned = ownDemands.some(({ path, value }) => path === `lists.${list}.mode` && prunesAny(value));
    return [
      ...(isPruned ? imply(list, "ignore", ["mode"], []) : []),
      ...imply(list, "confirmRemovals", ["maxRemovals", "maxRemovalFraction"], undefined),
      ...imply(list, "maxRemovalFraction", ["maxRemovals"], LARGEST_PARTIAL_FRACTION),
    ];
  });
}

/** The largest fraction that can't empty a list. */
const LARGEST_PARTIAL_FRACTION = 1 - Number.EPSILON;

/** Returns findings for the demands of included files that a file weakens: notes if allowed, otherwise errors. */
export function loosenings(ownDemands: readonly Demand[], inherited: readonly Demand[]): Finding[] {
  return ownDemands.flatMap(({ path, value, place }) =>
    inherited
      .filter((demand) => demand.path === path && isLooserValue(path, value, demand.value))
      .map((demand) => {
        const inheritedText =
          demand.value === undefined
            ? "none"
            : formatOptionValue(demand.value === LARGEST_PARTIAL_FRACTION ? "less than 1" : demand.value);
        const description = `\`${path}\` is ${formatOptionValue(value)} here, which is looser than ${inheritedText}, as ${lineText(demand.place)} asks for`;
        return loosening(description, path, place, [demand]);
      }),
  );
}

/**
 * Builds the finding of an override.
 *
 * @param description the weaker setting, and what it is compared with.
 * @param demands the weakened demands.
 */
export function loosening(
  description: string,
  path: OptionPath,
  location: Place,
  demands: readonly Demand[],
  subject?: NonNullable<Finding["subject"]>,
): Finding {
  const strictDemand = demands.find(({ isFree }) => !isFree);
  const subjectFields = subject === undefined ? {} : { subject };
  if (strictDemand === undefined) {
    const permissionNote = demands[0] === undefined ? "" : `; ${demands[0].place.file} lets it be (\`mayLoosen\`)`;
    return {
      code: "loosened",
      level: "note",
      message: `${description}${permissionNote}`,
      place: location,
      ...subjectFields,
    };
  }
  const advice = `take it away, or let ${quote(strictDemand.place.file, 300)} say \`mayLoosen: [${path}]\`, where it is reviewed by those who asked for it`;
  return {
    code: "loosening-refused",
    level: "error",
    message: `${description}; ${advice}`,
    place: location,
    ...subjectFields,
  };
}

/** The effective options of a file: its own, otherwise those of included files. The stricter value wins. */
export class Options {
  readonly #demandByPath = new Map<OptionPath, Demand>();
  /** Values without a common stricter one. */
  readonly conflicts: (readonly [one: Demand, other: Demand])[] = [];

  constructor(ownDemands: readonly Demand[], inherited: readonly Options[]) {
    for (const demand of ownDemands) this.#demandByPath.set(demand.path, demand);
    const decidedPaths = new Set(this.#demandByPath.keys());
    for (const demand of inherited.flatMap(({ demands }) => demands)) {
      if (decidedPaths.has(demand.path)) continue;
      const existing = this.#demandByPath.get(demand.path);
      const tighter = existing === undefined ? demand : getStricterDemand(existing, demand);
      if (tighter === undefined) this.conflicts.push([existing as Demand, demand]);
      else this.#demandByPath.set(demand.path, tighter);
    }
  }

  get demands(): Demand[] {
    return [...this.#demandByPath.values()];
  }

  placeOf(path: string): Place | undefined {
    return this.#demandByPath.get(path as OptionPath)?.place;
  }

  value(path: OptionPath): unknown {
    return this.#demandByPath.get(path)?.value;
  }

  /** Returns the options under `policy`, `lists.entries` or `lists.vips`, as in a file. */
  under(prefix: string): Record<string, unknown> {
    const matchingDemands = this.demands.filter(({ path }) => path.startsWith(`${prefix}.`));
    return Object.fromEntries(matchingDemands.map(({ path, value }) => [path.slice(prefix.length + 1), value]));
  }
}

function getStricterDemand(one: Demand, other: Demand): Demand | undefined {
  if (!isLooserValue(one.path, one.value, other.value)) return one;
  if (!isLooserValue(one.path, other.value, one.value)) return other;
  const { both } = OPTION_ORDERS[one.path] as OptionOrder<unknown>;
  return both === undefined ? undefined : { ...one, value: both(one.value, other.value) };
}

function isLooserValue(path: OptionPath, value: unknown, reference: unknown): boolean {
  return (OPTION_ORDERS[path] as OptionOrder<unknown>).isLooser(value, reference);
}

function getNestedValue(content: unknown, keys: readonly string[]): unknown {
  let current = content;
  for (const step of keys) current = (current as Record<string, unknown> | undefined)?.[step];
  return current;
}

function formatOptionValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((one) => quote(String(one)).slice(1, -1)).join(", ")}]`;
  if (typeof value === "object" && value !== null) return quote(value, 200);
  return typeof value === "string" ? quote(value, 200) : String(value);
}
