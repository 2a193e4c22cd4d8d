import { EmailSecurityError } from "../../settings/email-security-error";
import { isOneEdit } from "../../settings/look-alike";
import { quote } from "../../settings/text";
import type { Target } from "../model/target";

/** Selects tenants. Absent fields don't restrict the selection. */
export interface Selection {
  /** Names, with `*` for any characters. A tenant has to match one of them. */
  readonly only?: readonly string[];
  /** Names of tenants to leave out, with `*` for any characters. */
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
 * @throws {SelectionError} (`ERR_ROLLOUT_SELECTION`) if a name, a label or one of its values doesn't exist, with the closest matches; or if
 * no tenant is left.
 */
export function selectTargets(
  targets: readonly Target[],
  { only = [], except = [], labels = [] }: Selection,
): readonly Target[] {
  const names = only.map((pattern) => namePattern(pattern, targets));
  const leftOut = except.map((pattern) => namePattern(pattern, targets));
  const conditions = labels.map((text) => labelCondition(text, targets));
  const selected = targets.filter(
    (target) =>
      (names.length === 0 || names.some((matches) => matches(target))) &&
      !leftOut.some((matches) => matches(target)) &&
      conditions.every((holds) => holds(target)),
  );
  if (selected.length === 0) {
    const asked = [
      ...[...only, ...labels].map((one) => quote(one)),
      ...except.map((one) => `not ${quote(one)}`),
    ].join(" and ");
    throw new SelectionError(
      asked === "" ? "There are no tenants." : `No tenant is selected: none is ${asked} at once.`,
    );
  }
  return selected;
}

type Condition = (target: Target) => boolean;

function namePattern(pattern: string, targets: readonly Target[]): Condition {
  const matches = globOf(pattern);
  const condition: Condition = ({ name }) => matches(name);
  if (targets.some(condition)) return condition;
  const names = targets.map(({ name }) => name);
  throw new SelectionError(`No tenant is called ${quote(pattern)}; ${nearOrSome(pattern, names)}`);
}

function labelCondition(text: string, targets: readonly Target[]): Condition {
  const [, not = "", label = "", values = ""] = /^(!?)([^=!]+)=(.+)$/su.exec(text) ?? [];
  const wanted = values.split(",").map((one) => one.trim());
  if (label === "" || wanted.includes("")) {
    throw new SelectionError(
      `${quote(text)} is no label to select by; write ring=canary, ring=canary,beta or !ring=canary.`,
    );
  }
  const labels = targets.flatMap((target) => Object.keys(target.labels));
  if (!labels.includes(label)) {
    throw new SelectionError(`No tenant has the label ${quote(label)}; ${nearOrSome(label, labels)}`);
  }
  const known = targets.flatMap((target) => labelOf(target, label) ?? []);
  for (const one of wanted) {
    if (known.includes(one)) continue;
    throw new SelectionError(
      `No tenant has the label ${quote(label)} with ${quote(one)}; ${nearOrSome(one, known)}`,
    );
  }
  return (target) => {
    const value = labelOf(target, label);
    const isOne = value !== undefined && wanted.includes(value);
    return not === "" ? isOne : !isOne;
  };
}

function labelOf({ labels }: Target, label: string): string | undefined {
  return Object.hasOwn(labels, label) ? labels[label] : undefined;
}

/** Compiles a name with `*` for any characters into a predicate. */
export function globOf(pattern: string): (name: string) => boolean {
  const pieces = pattern.split("*");
  const [start = "", ...rest] = pieces;
  const end = rest.pop();
  if (end === undefined) return (name) => name === pattern;
  return (name) => {
    if (name.length < start.length + end.length || !name.startsWith(start) || !name.endsWith(end))
      return false;
    let at = start.length;
    const until = name.length - end.length;
    for (const piece of rest) {
      const found = name.indexOf(piece, at);
      if (found < 0 || found + piece.length > until) return false;
      at = found + piece.length;
    }
    return true;
  };
}

/** Suggests the closest matches. Without any, lists some of the known values. */
function nearOrSome(text: string, known: readonly string[]): string {
  const wanted = bare(text);
  const all = [...new Set(known)];
  const near = all.filter((one) => {
    const name = bare(one);
    if (name === wanted || isOneEdit(name, wanted)) return true;
    return wanted.length >= 3 && (name.includes(wanted) || (name.length >= 3 && wanted.includes(name)));
  });
  if (near.length > 0) return `did you mean ${listed(near)}?`;
  return all.length === 0 ? "there is none." : `there ${all.length === 1 ? "is" : "are"} ${listed(all)}.`;
}

function bare(text: string): string {
  return text.replace(/[-_.*\s]/g, "").toLowerCase();
}

const SHOWN = 5;

function listed(texts: readonly string[]): string {
  const more = texts.length > SHOWN ? ` and ${texts.length - SHOWN} more` : "";
  return `${texts
    .slice(0, SHOWN)
    .map((one) => quote(one))
    .join(", ")}${more}`;
}
