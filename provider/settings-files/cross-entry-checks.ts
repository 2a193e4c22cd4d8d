import { ENTRY_LIST_KIND, type ListKind, VIP_LIST_KIND } from "../model/list-arguments";
import { checkList } from "../model/list-check";
import { OwnDomains } from "../model/own-domains";
import { quote } from "../model/text";
import { toEntryArguments, toMemberArguments } from "./declaration-parser";
import { areIdentifiedByKeys, type FilePart, isPartValid } from "./file-declaration-checks";
import { type Finding, formatLineLocation } from "./finding";
import type { EffectiveOptions } from "./policy-override";
import type { DeclaredEntry, DeclaredVip } from "./settings-model";

/** The requested file with its includes. */
interface TopFile {
  readonly file: string;
  readonly ownDomains: ReadonlySet<string>;
  readonly options: EffectiveOptions;
  /** The declarations of each file. */
  readonly parts: readonly FilePart[];
}

/**
 * Checks all files together: risky entries, values on both lists, options that contradict declarations. Uses the check of the list
 * resources, so that files and programs always agree.
 */
export function findCrossEntryProblems(
  entries: readonly DeclaredEntry[],
  vips: readonly DeclaredVip[],
  topFile: TopFile,
): Finding[] {
  const ownDomains = new OwnDomains([...topFile.ownDomains]);
  let partsPass: boolean | undefined;
  const allPartsPass = (): boolean => (partsPass ??= topFile.parts.every((part) => isPartValid(part, ownDomains)));
  const checkDeclaredList = <One extends DeclaredEntry | DeclaredVip>(
    kind: ListKind,
    list: "entries" | "vips",
    declared: readonly One[],
    buildArguments: (declaration: One) => unknown,
  ): Finding[] => {
    const options: Readonly<Record<string, unknown>> = topFile.options.getGroup(`lists.${list}`);
    // Only patterns depend on declarations; other options can be checked with an empty list.
    const skipsElements =
      options["ignore"] === undefined &&
      options["protect"] === undefined &&
      allPartsPass() &&
      areUnrelated(kind, declared, topFile.parts);
    if (skipsElements && Object.keys(options).length === 0) return [];
    const raw = { [kind.property]: skipsElements ? [] : declared.map(buildArguments), ...options };
    return checkList(kind, raw, {}, ownDomains, Number.POSITIVE_INFINITY).failures.map(
      ({ property, reason }): Finding => {
        const [, index] = new RegExp(`^${kind.property}\\[(\\d+)\\]`).exec(property) ?? [];
        const declaration = index === undefined ? undefined : declared[Number(index)];
        if (declaration === undefined) {
          const location = topFile.options.getLocation(`lists.${list}.${property}`) ?? {
            file: topFile.file,
            line: 1,
            column: 1,
          };
          return { code: "list-options", level: "error", message: `${property} ${reason}`, place: location };
        }
        const subject = { kind: declaration.kind, key: declaration.key };
        return {
          ...describeListFailure(declaration, reason, declared),
          level: "error",
          place: declaration.location,
          subject,
        };
      },
    );
  };
  return [
    ...checkDeclaredList(ENTRY_LIST_KIND, "entries", entries, toEntryArguments),
    ...checkDeclaredList(VIP_LIST_KIND, "vips", vips, toMemberArguments),
  ];
}

/** Returns whether no two declarations share a subject. */
function areUnrelated(
  kind: ListKind,
  declared: readonly (DeclaredEntry | DeclaredVip)[],
  parts: readonly FilePart[],
): boolean {
  return (
    parts.every(areIdentifiedByKeys) ||
    new Set(declared.map(({ key }) => kind.getSubject(key))).size === declared.length
  );
}

/** Converts a failure of the list check to a finding, and replaces element indexes by locations. */
function describeListFailure(
  declaration: DeclaredEntry | DeclaredVip,
  reason: string,
  declared: readonly (DeclaredEntry | DeclaredVip)[],
): Pick<Finding, "code" | "message"> {
  const located = reason.replace(/(?:entries|members)\[(\d+)\](?:\.\w+)?/g, (_all, index: string) =>
    formatLineLocation(declared[Number(index)]?.location ?? declaration.location),
  );
  const [, code, rest = ""] = /^is ".*?", which is refused \(([a-z-]+)(.*)$/s.exec(located) ?? [];
  if (code === undefined) return { code: "duplicate-declaration", message: located };
  const details = rest.replace(/^(, [^)]*)?\): /, (_all, own: string = "") => ` (${code}${own}): `);
  return { code, message: `${quote(declaration.rawValue)} is refused${details}` };
}
