import {
  type ArgumentFailure,
  type CheckedArguments,
  omitEmpty,
  type RawArguments,
  validateArguments,
} from "./arguments";
import { type EncodedList, sortListByKey } from "./encoded-list";
import { isObject, type ListKind, type LocatedElement, type ParsedListElement } from "./list-arguments";
import { canPrune } from "./list-mode";
import { validateListProtection } from "./list-protection";
import { NO_OWN_DOMAINS, type OwnDomains } from "./own-domains";
import { formatKeyPath } from "./property-path";
import { quote } from "./text";
import { UNKNOWN } from "./unknown-value";

/** The default limit on reported failures. If a whole list is wrong, its failures usually have one cause. */
const MAX_FAILURES = 100;

/**
 * Checks the arguments of a whole list and converts its content to the encoded form. This is a pure function: it finds
 * removals by comparing with the previous arguments, updated by any refresh since then.
 *
 * @param previous the checked arguments of the previous run, if any.
 * @param ownDomains the tenant's own domains, if known. They are needed to find risky entries.
 * @param maxFailures the maximum number of reported failures. One more failure then counts the rest.
 */
export function checkList(
  kind: ListKind,
  raw: RawArguments,
  previous: RawArguments = {},
  ownDomains: OwnDomains = NO_OWN_DOMAINS,
  maxFailures = MAX_FAILURES,
): CheckedArguments {
  const presentArguments = omitEmpty(raw);
  const failures = validateArguments(kind.schema, presentArguments);
  const content = presentArguments[kind.property];
  if (content === undefined) {
    failures.push({
      property: kind.property,
      reason: `is missing; give the ${kind.noun[1]} as an array or a map, or [] for none`,
    });
  }
  const contentResult =
    content === undefined ? { keyed: {}, failures: [] } : parseListContent(kind, content, ownDomains);
  failures.push(...contentResult.failures);
  const inputs = { ...presentArguments, [kind.property]: contentResult.keyed };
  if (canPrune(presentArguments["mode"], undefined) && presentArguments["onDelete"] === "keep") {
    failures.push({
      property: "onDelete",
      reason: `can't be "keep" in mode ${quote(presentArguments["mode"])}, which removes undeclared VIPs; leave one of the two out`,
    });
  }
  // Values unknown during a preview are checked in the update, before any write.
  const isKnown = !Object.values(inputs).includes(UNKNOWN) && !Object.values(contentResult.keyed).includes(UNKNOWN);
  if (failures.length === 0 && isKnown) {
    failures.push(...validateListProtection(kind, inputs, contentResult.keyed as EncodedList, previous));
  }
  return { inputs, failures: limitFailures(failures, maxFailures) };
}

/**
 * Returns the content of a list in its encoded form. Undefined if it has mistakes or unknown values; {@link checkList}
 * then reports the reasons.
 */
export function encodeListContent(kind: ListKind, content: unknown): EncodedList | undefined {
  const { keyed, failures } = parseListContent(kind, content);
  if (failures.length > 0 || keyed === UNKNOWN) return undefined;
  return Object.values(keyed as object).includes(UNKNOWN) ? undefined : (keyed as EncodedList);
}

/** @param ownDomains undefined if the program encodes its own list. {@link checkList} then reports the risks. */
function parseListContent(
  kind: ListKind,
  content: unknown,
  ownDomains?: OwnDomains,
): { keyed: Record<string, unknown> | typeof UNKNOWN; failures: ArgumentFailure[] } {
  if (content === UNKNOWN) return { keyed: UNKNOWN, failures: [] };
  const { property } = kind;
  const failures: ArgumentFailure[] = [];
  const checkRisk = (key: string, text: string | typeof UNKNOWN, location: () => string): void => {
    const reason =
      ownDomains === undefined || text === UNKNOWN ? undefined : kind.describeRisk?.(key, text, ownDomains);
    if (reason !== undefined) failures.push({ property: location(), reason });
  };
  if (isObject(content) && kind.isEncoded(content)) {
    for (const key of Object.keys(content)) checkRisk(key, content[key] as string, () => formatKeyPath(property, key));
    return { keyed: sortListByKey(content), failures };
  }
  const byKey = new Map<string, LocatedElement>();
  const bySubject = new Map<string, readonly LocatedElement[]>();
  let isKnown = true;
  const addElement = (raw: unknown, location: string, key: string | undefined): void => {
    const element = raw === UNKNOWN ? UNKNOWN : kind.parseElement(raw, key);
    if (element === UNKNOWN) {
      isKnown = false;
    } else if (isFailureList(element)) {
      for (const failure of element) {
        const at = failure.property === "" ? location : `${location}${formatPathStep(failure.property)}`;
        failures.push({ property: at, reason: failure.reason });
      }
    } else {
      const located = { ...element, location };
      const subject = kind.getSubject(element.key);
      const sameSubject = bySubject.get(subject) ?? [];
      const clash = sameSubject
        .map((first) => kind.describeClash(first, located))
        .find((reason) => reason !== undefined);
      bySubject.set(subject, [...sameSubject, located]);
      if (clash === undefined) byKey.set(element.key, located);
      else failures.push({ property: location, reason: `${quote(element.sourceText)} ${clash}` });
      checkRisk(element.key, element.knownText ?? element.text, () => location);
    }
  };
  if (Array.isArray(content)) {
    for (const [path, raw] of content.entries()) addElement(raw, `${property}[${path}]`, undefined);
  } else if (isObject(content)) {
    for (const [key, raw] of Object.entries(content)) addElement(raw, formatKeyPath(property, key), key);
  } else {
    failures.push({ property, reason: `must be an array or a map, not ${quote(content)}` });
  }
  if (!isKnown) return { keyed: UNKNOWN, failures };
  const encoded = Object.fromEntries([...byKey.values()].map(({ key, text }) => [key, text]));
  return { keyed: sortListByKey(encoded), failures };
}

function limitFailures(failures: readonly ArgumentFailure[], maxFailures: number): ArgumentFailure[] {
  if (failures.length <= maxFailures) return [...failures];
  return [
    ...failures.slice(0, maxFailures),
    {
      property: failures[maxFailures]?.property ?? "",
      reason: `and ${failures.length - maxFailures} more similar mistakes`,
    },
  ];
}

function isFailureList(element: ParsedListElement): element is readonly ArgumentFailure[] {
  return Array.isArray(element);
}

function formatPathStep(property: string): string {
  return /^[A-Za-z_]\w*$/.test(property) ? `.${property}` : formatKeyPath("", property);
}
