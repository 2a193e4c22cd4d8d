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
interface Direction<Value> {
  /** Returns whether a value is weaker than another one. */
  readonly isLooser: (value: Value | undefined, than: Value | undefined) => boolean;
  /** Returns a value as strict as both; undefined if there is none. */
  readonly both?: (one: Value, other: Value) => Value;
}

const few: Direction<number> = {
  isLooser: (value = Number.POSITIVE_INFINITY, than = Number.POSITIVE_INFINITY) => value > than,
};

/** Earlier is stricter. */
const soon: Direction<string> = {
  isLooser: (value = "", than = "") => few.isLooser(daysOfTerm(value), daysOfTerm(than)),
};

/** One of two values is stricter. */
function stays<Word>(tight: Word): Direction<Word> {
  return { isLooser: (value, than) => than === tight && value !== tight };
}

/** The more a list prunes, the fewer unreviewed entries remain. */
const modes: Direction<ListMode> = { isLooser: isLooserMode };

/** No element may be missing. */
const all: Direction<readonly string[]> = {
  isLooser: (value = [], than = []) => than.some((one) => !value.includes(one)),
  both: (one, other) => [...new Set([...one, ...other])],
};

/** Neither more nor fewer elements: either would touch, or ignore, unintended entries. */
const same: Direction<readonly string[]> = {
  isLooser: (value = [], than = []) => all.isLooser(value, than) || all.isLooser(than, value),
};

/** No additional people, and no changed logins. */
const nobodyElse: Direction<Readonly<Record<string, string>>> = {
  isLooser: (value, than) =>
    than !== undefined &&
    (value === undefined || Object.entries(value).some(([name, login]) => own(than, name) !== login)),
  both: (one, other) =>
    Object.fromEntries(Object.entries(one).filter(([name, login]) => own(other, name) === login)),
};

function own(record: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/** The values aren't comparable. */
const asItIs: Direction<unknown> = { isLooser: (value, than) => value !== than };

/** The type requires a direction for every rule and option. */
const DIRECTIONS = {
  // Reporting writes no unreviewed change.
  onDrift: stays("report"),
  "policy.requireComment": all,
  "policy.requireTicket": all,
  "policy.ticketPattern": asItIs,
  "policy.requireOwner": all,
  "policy.requireExpiry": all,
  "policy.maxDays": few,
  "policy.requireTwoPeople": all,
  "policy.requireApproval": all,
  "policy.approvers": nobodyElse,
  "policy.reviewEvery": soon,
  "policy.refuseWholeDomains": stays(true),
  "lists.entries.mode": modes,
  "lists.entries.ignore": same,
  "lists.entries.protect": all,
  "lists.entries.maxRemovals": few,
  "lists.entries.maxRemovalFraction": few,
  "lists.entries.confirmRemovals": asItIs,
  "lists.entries.adopt": stays(false),
  "lists.vips.mode": modes,
  "lists.vips.ignore": same,
  "lists.vips.protect": all,
  "lists.vips.maxRemovals": few,
  "lists.vips.maxRemovalFraction": few,
  "lists.vips.confirmRemovals": asItIs,
  // An exclusion is permanent.
  "lists.vips.onDelete": stays("keep"),
} as const satisfies Readonly<Record<OptionPath, Pick<Direction<never>, "isLooser">>>;

/** Returns the demands of a file, with their locations. */
export function demandsOf(content: SettingsFile, placeOf: (path: readonly string[]) => Place): Demand[] {
  const free = new Set<string>(content.mayLoosen);
  return OPTION_PATHS.flatMap((path): Demand[] => {
    const steps = path.split(".");
    const value = valueAt(content, steps);
    return value === undefined ? [] : [{ path, value, place: placeOf(steps), isFree: free.has(path) }];
  });
}

/**
 * Returns implied demands. Ignored patterns must not undo a pruning mode; a confirmed number, or a fraction that allows emptying a list,
 * must not undo a limit.
 */
export function impliedBy(own: readonly Demand[], { mayLoosen = [] }: SettingsFile): Demand[] {
  const free = new Set<string>(mayLoosen);
  const imply = (list: string, option: string, because: readonly string[], value: unknown): Demand[] => {
    const path = `lists.${list}.${option}` as OptionPath;
    const said = own.find((one) => because.some((name) => one.path === `lists.${list}.${name}`));
    const isSaid = own.some((one) => one.path === path);
    return said === undefined || isSaid ? [] : [{ path, value, place: said.place, isFree: free.has(path) }];
  };
  return ["entries", "vips"].flatMap((list) => {
    const isPruned = own.some(({ path, value }) => path === `lists.${list}.mode` && prunesAny(value));
    return [
      ...(isPruned ? imply(list, "ignore", ["mode"], []) : []),
      ...imply(list, "confirmRemovals", ["maxRemovals", "maxRemovalFraction"], undefined),
      ...imply(list, "maxRemovalFraction", ["maxRemovals"], LESS_THAN_ALL),
    ];
  });
}

/** The largest fraction that can't empty a list. */
const LESS_THAN_ALL = 1 - Number.EPSILON;

/** Returns findings for the demands of included files that a file weakens: notes if allowed, otherwise errors. */
export function loosenings(own: readonly Demand[], below: readonly Demand[]): Finding[] {
  return own.flatMap(({ path, value, place }) =>
    below
      .filter((demand) => demand.path === path && isLooser(path, value, demand.value))
      .map((demand) => {
        const asked =
          demand.value === undefined
            ? "none"
            : told(demand.value === LESS_THAN_ALL ? "less than 1" : demand.value);
        const what = `\`${path}\` is ${told(value)} here, which is looser than ${asked}, as ${lineText(demand.place)} asks for`;
        return loosening(what, path, place, [demand]);
      }),
  );
}

/**
 * Builds the finding of an override.
 *
 * @param what the weaker setting, and what it is compared with.
 * @param demands the weakened demands.
 */
export function loosening(
  what: string,
  path: OptionPath,
  place: Place,
  demands: readonly Demand[],
  subject?: NonNullable<Finding["subject"]>,
): Finding {
  const strict = demands.find(({ isFree }) => !isFree);
  const about = subject === undefined ? {} : { subject };
  if (strict === undefined) {
    const free = demands[0] === undefined ? "" : `; ${demands[0].place.file} lets it be (\`mayLoosen\`)`;
    return { code: "loosened", level: "note", message: `${what}${free}`, place, ...about };
  }
  const how = `take it away, or let ${quote(strict.place.file, 300)} say \`mayLoosen: [${path}]\`, where it is reviewed by those who asked for it`;
  return { code: "loosening-refused", level: "error", message: `${what}; ${how}`, place, ...about };
}

/** The effective options of a file: its own, otherwise those of included files. The stricter value wins. */
export class Options {
  readonly #said = new Map<OptionPath, Demand>();
  /** Values without a common stricter one. */
  readonly conflicts: (readonly [one: Demand, other: Demand])[] = [];

  constructor(own: readonly Demand[], below: readonly Options[]) {
    for (const demand of own) this.#said.set(demand.path, demand);
    const decided = new Set(this.#said.keys());
    for (const demand of below.flatMap(({ demands }) => demands)) {
      if (decided.has(demand.path)) continue;
      const there = this.#said.get(demand.path);
      const tighter = there === undefined ? demand : tighterOf(there, demand);
      if (tighter === undefined) this.conflicts.push([there as Demand, demand]);
      else this.#said.set(demand.path, tighter);
    }
  }

  get demands(): Demand[] {
    return [...this.#said.values()];
  }

  placeOf(path: string): Place | undefined {
    return this.#said.get(path as OptionPath)?.place;
  }

  value(path: OptionPath): unknown {
    return this.#said.get(path)?.value;
  }

  /** Returns the options under `policy`, `lists.entries` or `lists.vips`, as in a file. */
  under(prefix: string): Record<string, unknown> {
    const own = this.demands.filter(({ path }) => path.startsWith(`${prefix}.`));
    return Object.fromEntries(own.map(({ path, value }) => [path.slice(prefix.length + 1), value]));
  }
}

function tighterOf(one: Demand, other: Demand): Demand | undefined {
  if (!isLooser(one.path, one.value, other.value)) return one;
  if (!isLooser(one.path, other.value, one.value)) return other;
  const { both } = DIRECTIONS[one.path] as Direction<unknown>;
  return both === undefined ? undefined : { ...one, value: both(one.value, other.value) };
}

function isLooser(path: OptionPath, value: unknown, than: unknown): boolean {
  return (DIRECTIONS[path] as Direction<unknown>).isLooser(value, than);
}

function valueAt(content: unknown, steps: readonly string[]): unknown {
  let at = content;
  for (const step of steps) at = (at as Record<string, unknown> | undefined)?.[step];
  return at;
}

function told(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((one) => quote(String(one)).slice(1, -1)).join(", ")}]`;
  if (typeof value === "object" && value !== null) return quote(value, 200);
  return typeof value === "string" ? quote(value, 200) : String(value);
}
