import { EmailSecurityError } from "../../model/email-security-error";
import { isOneEdit } from "../../model/look-alike";
import { quote } from "../../model/text";
import type { Target } from "../model/target";

/** Selects tenants. Absent fields don't restrict the selection. */
export interface TargetSelection {
  readonly only?: readonly string[];
  /** Names of tenants to exclude, with `*` for any characters. */
  readonly except?: readonly string[];
  /**
   * `ring=canary`, `ring=canary,beta` (one of these), `!ring=canary` (none of these, or no such label). A tenant has to match all of them.
   */
  readonly labels?: readonly string[];
}

/** A selected name or label doesn't exist, or nothing is selected. */
export class SelectionError extends EmailSecurityError {
  constructor(message: string) {
    super("ERR_ROLLOUT_SELECTION", message);
  }
}

/**
 * Returns the selected tenants, in their order.
 *
 * @param isNamed whether a tenant has its name now. Otherwise, `only` and `except` don't mean it. Default: every tenant
 * does.
 * @throws {SelectionError} (`ERR_ROLLOUT_SELECTION`) if a name, a label or one of its values doesn't exist, with the closest matches; or if
 * no tenant is left.
 */
export function selectTargets(
  targets: readonly Target[],
  { only = [], except = [], labels = [] }: TargetSelection,
  isNamed: (target: Target) => boolean = () => true,
): readonly Target[] {
  const named = new Set(targets.filter(isNamed));
  const namePatterns = only.map((pattern) => buildNameCondition(pattern, named));
  const exceptPatterns = except.map((pattern) => buildNameCondition(pattern, named));
  const conditions = labels.map((text) => buildLabelCondition(text, targets));
  const selected = targets.filter(
    (target) =>
      (namePatterns.length === 0 || namePatterns.some((matches) => matches(target))) &&
      !exceptPatterns.some((matches) => matches(target)) &&
      conditions.every((matchesLabel) => matchesLabel(target)),
  );
  if (selected.length === 0) {
    const conditionTexts = [
      ...[...only, ...labels].map((pattern) => quote(pattern)),
      ...except.map((pattern) => `not ${quote(pattern)}`),
    ].join(" and ");
    throw new SelectionError(
      conditionTexts === ""
        ? "There are no tenants."
        : `No tenant is selected: none matches ${conditionTexts} together.`,
    );
  }
  return selected;
}

type TargetCondition = (target: Target) => boolean;

function buildNameCondition(pattern: string, named: ReadonlySet<Target>): TargetCondition {
  const matches = compileGlob(pattern);
  const isSelected: TargetCondition = (target) => named.has(target) && matches(target.name);
  if ([...named].some(isSelected)) return isSelected;
  const names = [...named].map(({ name }) => name);
  throw new SelectionError(`No tenant is called ${quote(pattern)}; ${suggestNames(pattern, names)}`);
}

function buildLabelCondition(text: string, targets: readonly Target[]): TargetCondition {
  const [, negation = "", label = "", values = ""] = /^(!?)([^=!]+)=(.+)$/su.exec(text) ?? [];
  const wantedValues = values.split(",").map((wantedValue) => wantedValue.trim());
  if (label === "" || wantedValues.includes("")) {
    throw new SelectionError(
      `${quote(text)} isn't a valid label selector; write ring=canary, ring=canary,beta or !ring=canary.`,
    );
  }
  const labels = targets.flatMap((target) => Object.keys(target.labels));
  if (!labels.includes(label)) {
    throw new SelectionError(`No tenant has the label ${quote(label)}; ${suggestNames(label, labels)}`);
  }
  const knownValues = targets.flatMap((target) => getLabel(target, label) ?? []);
  for (const wantedValue of wantedValues) {
    if (knownValues.includes(wantedValue)) continue;
    throw new SelectionError(
      `No tenant has the label ${quote(label)} with ${quote(wantedValue)}; ${suggestNames(wantedValue, knownValues)}`,
    );
  }
  return (target) => {
    const value = getLabel(target, label);
    const isMatch = value !== undefined && wantedValues.includes(value);
    return negation === "" ? isMatch : !isMatch;
  };
}

function getLabel({ labels }: Target, label: string): string | undefined {
  return Object.hasOwn(labels, label) ? labels[label] : undefined;
}

export function compileGlob(pattern: string): (name: string) => boolean {
  const segments = pattern.split("*");
  const [prefix = "", ...middleSegments] = segments;
  const suffix = middleSegments.pop();
  if (suffix === undefined) return (name) => name === pattern;
  return (name) => {
    if (name.length < prefix.length + suffix.length || !name.startsWith(prefix) || !name.endsWith(suffix)) return false;
    let offset = prefix.length;
    const suffixOffset = name.length - suffix.length;
    for (const segment of middleSegments) {
      const segmentOffset = name.indexOf(segment, offset);
      if (segmentOffset < 0 || segmentOffset + segment.length > suffixOffset) return false;
      offset = segmentOffset + segment.length;
    }
    return true;
  };
}

/** Suggests the closest matches. Without any, lists some of the known values. */
function suggestNames(text: string, knownNames: readonly string[]): string {
  const normalizedText = normalizeName(text);
  const uniqueNames = [...new Set(knownNames)];
  const nearNames = uniqueNames.filter((candidate) => {
    const name = normalizeName(candidate);
    if (name === normalizedText || isOneEdit(name, normalizedText)) return true;
    return (
      normalizedText.length >= 3 &&
      (name.includes(normalizedText) || (name.length >= 3 && normalizedText.includes(name)))
    );
  });
  if (nearNames.length > 0) return `did you mean ${formatList(nearNames)}?`;
  return uniqueNames.length === 0
    ? "none exists."
    : `${uniqueNames.length === 1 ? "the only one is" : "the existing ones are"} ${formatList(uniqueNames)}.`;
}

function normalizeName(text: string): string {
  return text.replace(/[-_.*\s]/g, "").toLowerCase();
}

const MAX_LISTED = 5;

function formatList(texts: readonly string[]): string {
  const suffix = texts.length > MAX_LISTED ? ` and ${texts.length - MAX_LISTED} more` : "";
  return `${texts
    .slice(0, MAX_LISTED)
    .map((text) => quote(text))
    .join(", ")}${suffix}`;
}
