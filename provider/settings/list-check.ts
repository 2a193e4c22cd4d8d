import { type ArgumentFailure, type Checked, type RawArguments, validate, withoutEmpty } from "./arguments";
import { type KeyedList, sortedByKey } from "./keyed-list";
import { type Element, isObject, type ListKind, type Placed } from "./list-arguments";
import { prunes } from "./list-mode";
import { judge } from "./list-safeguards";
import { NO_OWN_DOMAINS, type OwnDomains } from "./own-domains";
import { keyPath } from "./property-path";
import { quote } from "./text";
import { UNKNOWN } from "./unknown";

/** The most failures that are told one by one where nothing is said; a list that is wrong throughout is wrong in one way. */
const MAX_FAILURES = 100;

/**
 * Checks the arguments of a whole list, and brings its content to the keyed form. Pure: what a run would remove is
 * judged by what the arguments of the run before, or a refresh since, hold.
 *
 * @param previous the checked arguments of the run before, where there was one.
 * @param own the tenant's own domains, where they are known, to refuse what is risky with them.
 * @param maxFailures how many are told one by one; a last one says how many more there are.
 */
export function checkList(
  kind: ListKind,
  raw: RawArguments,
  previous: RawArguments = {},
  own: OwnDomains = NO_OWN_DOMAINS,
  maxFailures = MAX_FAILURES,
): Checked {
  const given = withoutEmpty(raw);
  const failures = validate(kind.schema, given);
  const content = given[kind.property];
  if (content === undefined) {
    failures.push({
      property: kind.property,
      reason: `is missing; give the ${kind.noun[1]}, as an array or keyed, or [] for none`,
    });
  }
  const read = content === undefined ? { keyed: {}, failures: [] } : readContent(kind, content, own);
  failures.push(...read.failures);
  const inputs = { ...given, [kind.property]: read.keyed };
  if (prunes(given["mode"], undefined) && given["onDelete"] === "keep") {
    failures.push({
      property: "onDelete",
      reason: `can't be "keep" in mode ${quote(given["mode"])}, which removes what is not declared; leave one of the two out`,
    });
  }
  // What is not known yet in a preview is judged in the update, before any write.
  const isKnown = !Object.values(inputs).includes(UNKNOWN) && !Object.values(read.keyed).includes(UNKNOWN);
  if (failures.length === 0 && isKnown) {
    failures.push(...judge(kind, inputs, read.keyed as KeyedList, previous));
  }
  return { inputs, failures: atMost(failures, maxFailures) };
}

/**
 * The content of a list in its keyed form, if it is plain and without a mistake; else undefined, and the check of the
 * arguments as they are will tell why.
 */
export function keyedContent(kind: ListKind, content: unknown): KeyedList | undefined {
  const { keyed, failures } = readContent(kind, content);
  if (failures.length > 0 || keyed === UNKNOWN) return undefined;
  return Object.values(keyed as object).includes(UNKNOWN) ? undefined : (keyed as KeyedList);
}

/** @param own left out where the program keys its own list: what is risky is told by check. */
function readContent(
  kind: ListKind,
  content: unknown,
  own?: OwnDomains,
): { keyed: Record<string, unknown> | typeof UNKNOWN; failures: ArgumentFailure[] } {
  if (content === UNKNOWN) return { keyed: UNKNOWN, failures: [] };
  const { property } = kind;
  const failures: ArgumentFailure[] = [];
  const refuse = (key: string, text: string | typeof UNKNOWN, place: () => string): void => {
    const reason = own === undefined || text === UNKNOWN ? undefined : kind.refusal?.(key, text, own);
    if (reason !== undefined) failures.push({ property: place(), reason });
  };
  if (isObject(content) && kind.isKeyed(content)) {
    for (const key of Object.keys(content)) refuse(key, content[key] as string, () => keyPath(property, key));
    return { keyed: sortedByKey(content), failures };
  }
  const byKey = new Map<string, Placed>();
  const bySubject = new Map<string, readonly Placed[]>();
  let isKnown = true;
  const take = (raw: unknown, place: string, key: string | undefined): void => {
    const element = raw === UNKNOWN ? UNKNOWN : kind.readElement(raw, key);
    if (element === UNKNOWN) {
      isKnown = false;
    } else if (isFailures(element)) {
      for (const failure of element) {
        const at = failure.property === "" ? place : `${place}${step(failure.property)}`;
        failures.push({ property: at, reason: failure.reason });
      }
    } else {
      const placed = { ...element, place };
      const subject = kind.subject(element.key);
      const same = bySubject.get(subject) ?? [];
      const clash = same.map((first) => kind.clash(first, placed)).find((reason) => reason !== undefined);
      bySubject.set(subject, [...same, placed]);
      if (clash === undefined) byKey.set(element.key, placed);
      else failures.push({ property: place, reason: `${quote(element.written)} ${clash}` });
      refuse(element.key, element.knownText ?? element.text, () => place);
    }
  };
  if (Array.isArray(content)) {
    for (const [at, raw] of content.entries()) take(raw, `${property}[${at}]`, undefined);
  } else if (isObject(content)) {
    for (const [key, raw] of Object.entries(content)) take(raw, keyPath(property, key), key);
  } else {
    failures.push({ property, reason: `must be an array or a map, not ${quote(content)}` });
  }
  if (!isKnown) return { keyed: UNKNOWN, failures };
  const keyed = Object.fromEntries([...byKey.values()].map(({ key, text }) => [key, text]));
  return { keyed: sortedByKey(keyed), failures };
}

function atMost(failures: readonly ArgumentFailure[], count: number): ArgumentFailure[] {
  if (failures.length <= count) return [...failures];
  return [
    ...failures.slice(0, count),
    { property: failures[count]?.property ?? "", reason: `and ${failures.length - count} more like these` },
  ];
}

function isFailures(element: Element): element is readonly ArgumentFailure[] {
  return Array.isArray(element);
}

/** One step of a property path. */
function step(property: string): string {
  return /^[A-Za-z_]\w*$/.test(property) ? `.${property}` : keyPath("", property);
}
