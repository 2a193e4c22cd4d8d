import { isLooserMode, type ListMode, prunesAny } from "../settings/list-mode";
import { daysOfTerm } from "../settings/term";
import { quote } from "../settings/text";
import { type Finding, lineText, type Place } from "./finding";
import { OPTION_PATHS, type OptionPath, type SettingsFile } from "./settings-schema";

/*
 * A file that many include is reviewed by more people than each that includes it. So what it asks for can be tightened by
 * those, and loosened only where it says itself, under `mayLoosen`, that it may be.
 */

/** What one file asks for. */
export interface Demand {
  readonly path: OptionPath;
  readonly value: unknown;
  readonly place: Place;
  /** Whether the file lets it be loosened. */
  readonly isFree: boolean;
}

/** Which way an option is tighter. */
interface Direction<Value> {
  /** Whether another value asks for less than this one. */
  readonly isLooser: (value: Value | undefined, than: Value | undefined) => boolean;
  /** What asks for as much as both; undefined where nothing does. */
  readonly both?: (one: Value, other: Value) => Value;
}

const few: Direction<number> = {
  isLooser: (value = Number.POSITIVE_INFINITY, than = Number.POSITIVE_INFINITY) => value > than,
};

/** The sooner, the tighter. */
const soon: Direction<string> = {
  isLooser: (value = "", than = "") => few.isLooser(daysOfTerm(value), daysOfTerm(than)),
};

/** One of two words is a guard. */
function stays<Word>(tight: Word): Direction<Word> {
  return { isLooser: (value, than) => than === tight && value !== tight };
}

/** The more a list prunes, the less is there that nobody reviewed. */
const modes: Direction<ListMode> = { isLooser: isLooserMode };

/** Nothing of it may be left out. */
const all: Direction<readonly string[]> = {
  isLooser: (value = [], than = []) => than.some((one) => !value.includes(one)),
  both: (one, other) => [...new Set([...one, ...other])],
};

/** Neither more nor less: both would touch, or let be, what was not meant. */
const same: Direction<readonly string[]> = {
  isLooser: (value = [], than = []) => all.isLooser(value, than) || all.isLooser(than, value),
};

/** Nobody else, and nobody's login by another. */
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

/** Two of them can't be compared. */
const asItIs: Direction<unknown> = { isLooser: (value, than) => value !== than };

/** Every rule and option has a direction: without one it does not compile. */
const DIRECTIONS = {
  // Nothing is written that nobody looks at.
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
  // An exclusion lasts.
  "lists.vips.onDelete": stays("keep"),
} as const satisfies Readonly<Record<OptionPath, Pick<Direction<never>, "isLooser">>>;

/** What a file says itself, with its place. */
export function demandsOf(content: SettingsFile, placeOf: (path: readonly string[]) => Place): Demand[] {
  const free = new Set<string>(content.mayLoosen);
  return OPTION_PATHS.flatMap((path): Demand[] => {
    const steps = path.split(".");
    const value = valueAt(content, steps);
    return value === undefined ? [] : [{ path, value, place: placeOf(steps), isFree: free.has(path) }];
  });
}

/**
 * What follows from what a file says: a mode that prunes is not to be undone by patterns that are ignored, nor a limit by a number
 * that is confirmed, or by a share that lets a list be emptied.
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

/** The largest share that lets no list be emptied. */
const LESS_THAN_ALL = 1 - Number.EPSILON;

/** What a file loosens of what those that it includes ask for: notes where they let it, else errors. */
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
 * A loosening, as a finding.
 *
 * @param what what is looser, and than what.
 * @param demands what is loosened.
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

/** What a file comes to: what it says itself, else what the files that it includes say, and the tighter where they differ. */
export class Options {
  readonly #said = new Map<OptionPath, Demand>();
  /** Those of which no value asks for as much as both. */
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

  /** Of `policy`, `lists.entries` or `lists.vips`: the options as a file holds them. */
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
