import { checkList, ENTRIES, type ListKind, MEMBERS } from "../settings/list-arguments";
import { OwnDomains } from "../settings/own-domains";
import type { Refusal } from "../settings/risk";
import { quote } from "../settings/text";
import { entryArguments, memberArguments } from "./declared";
import { type Finding, lineText } from "./finding";
import type { Options } from "./loosening";
import type { DeclaredEntry, DeclaredVip } from "./settings";

/** The file that was asked for, with all that it includes. */
interface TopFile {
  readonly file: string;
  readonly ownDomains: ReadonlySet<string>;
  readonly options: Options;
}

/**
 * What is wrong with all files together: what is risky, a value on both lists, options that contradict what is declared.
 * The lists' own check says it, so that files and programs can't disagree.
 */
export function wrongTogether(
  entries: readonly DeclaredEntry[],
  vips: readonly DeclaredVip[],
  top: TopFile,
): Finding[] {
  const own = new OwnDomains([...top.ownDomains]);
  const check = <One extends DeclaredEntry | DeclaredVip>(
    kind: ListKind,
    list: "entries" | "vips",
    declared: readonly One[],
    argumentsOf: (one: One) => unknown,
  ): Finding[] => {
    const options: Readonly<Record<string, unknown>> = top.options.under(`lists.${list}`);
    // Patterns are held against what is declared; of the other options, the check says the same whatever that is.
    const isShort =
      options["ignore"] === undefined &&
      options["protect"] === undefined &&
      isWell(kind, declared, argumentsOf, own);
    if (isShort && Object.keys(options).length === 0) return [];
    const raw = { [kind.property]: isShort ? [] : declared.map(argumentsOf), ...options };
    return checkList(kind, raw, {}, own, Number.POSITIVE_INFINITY).failures.map(
      ({ property, reason }): Finding => {
        const [, index] = new RegExp(`^${kind.property}\\[(\\d+)\\]`).exec(property) ?? [];
        const one = index === undefined ? undefined : declared[Number(index)];
        if (one === undefined) {
          const place = top.options.placeOf(`lists.${list}.${property}`) ?? {
            file: top.file,
            line: 1,
            column: 1,
          };
          return { code: "list-options", level: "error", message: `${property} ${reason}`, place };
        }
        const subject = { kind: one.kind, key: one.key };
        return { ...wrong(one, reason, declared), level: "error", place: one.place, subject };
      },
    );
  };
  return [
    ...check(ENTRIES, "entries", entries, entryArguments),
    ...check(MEMBERS, "vips", vips, memberArguments),
  ];
}

/** What the check of its list says of one by itself, but for what it takes a tenant's own domains to see. */
interface Alone {
  readonly subject: string;
  readonly refusal: Refusal | undefined;
}

/** What a baseline declares is the same for each of hundreds of tenants, and is read once. */
const ALONE = new WeakMap<DeclaredEntry | DeclaredVip, Alone>();

/**
 * Whether the check of a list has nothing to say of what is declared, as of most tenants: each is well by itself and with the
 * tenant's own domains, and no two have to do with each other.
 */
function isWell<One extends DeclaredEntry | DeclaredVip>(
  kind: ListKind,
  declared: readonly One[],
  argumentsOf: (one: One) => unknown,
  own: OwnDomains,
): boolean {
  // Of those that are named by their keys alone no two have to do with each other: a key is declared once.
  let areKeysNames = true;
  for (const one of declared) {
    let alone = ALONE.get(one);
    if (alone === undefined) {
      alone = readAlone(kind, argumentsOf(one));
      if (alone === undefined) return false;
      ALONE.set(one, alone);
    }
    if (alone.refusal?.(own) !== undefined) return false;
    areKeysNames &&= alone.subject === one.key;
  }
  return areKeysNames || new Set(declared.map((one) => ALONE.get(one)?.subject)).size === declared.length;
}

function readAlone(kind: ListKind, raw: unknown): Alone | undefined {
  const element = kind.readElement(raw, undefined);
  if (typeof element !== "object" || !("key" in element) || typeof element.text !== "string")
    return undefined;
  const { key, text } = element;
  return { subject: kind.subject(key), refusal: kind.refusal?.(key, text) };
}

/** What the list's check says of one that is declared, with its place in the files where it says the element's. */
function wrong(
  one: DeclaredEntry | DeclaredVip,
  reason: string,
  declared: readonly (DeclaredEntry | DeclaredVip)[],
): Pick<Finding, "code" | "message"> {
  const placed = reason.replace(/(?:entries|members)\[(\d+)\](?:\.\w+)?/g, (_all, at: string) =>
    lineText(declared[Number(at)]?.place ?? one.place),
  );
  const [, code, rest = ""] = /^is ".*?", which is refused \(([a-z-]+)(.*)$/s.exec(placed) ?? [];
  if (code === undefined) return { code: "declared-twice", message: placed };
  const because = rest.replace(/^(, [^)]*)?\): /, (_all, own: string = "") => ` (${code}${own}): `);
  return { code, message: `${quote(one.written)} is refused${because}` };
}
