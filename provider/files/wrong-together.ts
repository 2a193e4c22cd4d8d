import { ENTRIES, type ListKind, MEMBERS } from "../settings/list-arguments";
import { checkList } from "../settings/list-check";
import { OwnDomains } from "../settings/own-domains";
import { quote } from "../settings/text";
import { entryArguments, memberArguments } from "./declared";
import { type Finding, lineText } from "./finding";
import { areNamedByKeys, isPartWell, type Part } from "./judged-part";
import type { Options } from "./loosening";
import type { DeclaredEntry, DeclaredVip } from "./settings";

/** The file that was asked for, with all that it includes. */
interface TopFile {
  readonly file: string;
  readonly ownDomains: ReadonlySet<string>;
  readonly options: Options;
  /** What each of these files declares itself, of which all is made. */
  readonly parts: readonly Part[];
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
  let arePartsWell: boolean | undefined;
  const areWell = (): boolean => (arePartsWell ??= top.parts.every((part) => isPartWell(part, own)));
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
      areWell() &&
      areApart(kind, declared, top.parts);
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

/** Whether no two that are declared have to do with each other. */
function areApart(
  kind: ListKind,
  declared: readonly (DeclaredEntry | DeclaredVip)[],
  parts: readonly Part[],
): boolean {
  return (
    parts.every(areNamedByKeys) ||
    new Set(declared.map(({ key }) => kind.subject(key))).size === declared.length
  );
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
