import { ENTRIES, type ListKind, MEMBERS } from "../settings/list-arguments";
import { checkList } from "../settings/list-check";
import { OwnDomains } from "../settings/own-domains";
import { quote } from "../settings/text";
import { entryArguments, memberArguments } from "./declared";
import { type Finding, lineText } from "./finding";
import { areNamedByKeys, isPartWell, type Part } from "./judged-part";
import type { Options } from "./loosening";
import type { DeclaredEntry, DeclaredVip } from "./settings";

/** The requested file with its includes. */
interface TopFile {
  readonly file: string;
  readonly ownDomains: ReadonlySet<string>;
  readonly options: Options;
  /** The declarations of each file. */
  readonly parts: readonly Part[];
}

/**
 * Checks all files together: risky entries, values on both lists, options that contradict declarations. Uses the check of the list
 * resources, so that files and programs always agree.
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
    // Only patterns depend on declarations; other options can be checked with an empty list.
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

/** Returns whether no two declarations share a subject. */
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

/** Converts a failure of the list check to a finding, and replaces element indexes by locations. */
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
