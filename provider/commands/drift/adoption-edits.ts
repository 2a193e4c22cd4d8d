import type { DriftItem } from "../../gitops/drift-schema";
import { type DeclaredItem, getDeclarationLocations, getSection } from "../../gitops/list-change";
import { DEFAULT_VERDICT_SCOPE, type List } from "../../model/assumptions";
import { DETAIL_NAMES, findDifferingDetails, getDetailValues, pickSentFields } from "../../model/entry-fields";
import { parseEntryValue } from "../../model/entry-value";
import { omitUndefined } from "../../model/omit-undefined";
import { sanitizeLine } from "../../model/text";
import type { FileEdit } from "../../settings-files/edit-files";
import {
  type ElementFieldName,
  type ElementValue,
  isKeptOnMove,
  pickTextFields,
  TEXT_FIELD_NAMES,
  type TextFieldName,
} from "../../settings-files/element-fields";
import type { Edit, SectionName, SettingsElement } from "../../settings-files/settings-editor";
import type { DeclaredEntry } from "../../settings-files/settings-model";

export interface ElementAddition {
  readonly section: SectionName;
  readonly element: SettingsElement;
  readonly yamlComment: string;
}

export function buildElementAddition({ kind, value, verdictScope, actual = {} }: DriftItem): ElementAddition {
  const { createdBy, createdAt } = actual;
  const scope = verdictScope === DEFAULT_VERDICT_SCOPE ? undefined : verdictScope;
  const authorText = createdBy === undefined ? "" : ` by ${sanitizeLine(createdBy)}`;
  const dateText = createdAt === undefined ? "" : ` on ${sanitizeLine(createdAt.slice(0, 10))}`;
  const { list: _section, ...fields } = pickSentFields(actual);
  const element = omitUndefined(kind === "vip" ? { email: value, ...fields } : { value, ...fields, scope });
  const section = kind === "vip" ? "vips" : (actual.list as List);
  return { section, element, yamlComment: `added at the tenant${authorText}${dateText}` };
}

/** Returns all the fields of a declaration that stay true when it is rewritten. */
function buildCurrentElement(declaration: DeclaredItem): SettingsElement {
  const { approvedBy: _approver, ...fields } = pickTextFields(declaration);
  if (declaration.kind === "vip") return { email: declaration.rawValue, ...fields };
  const { rawValue, verdictScope, entryType } = declaration;
  const inferred = parseEntryValue(rawValue);
  const isInferred = inferred.ok && inferred.value.entryType === entryType;
  return omitUndefined({
    value: rawValue,
    ...fields,
    scope: verdictScope === DEFAULT_VERDICT_SCOPE ? undefined : verdictScope,
    type: isInferred ? undefined : entryType,
  });
}

/** Returns the element with the tenant's values, and without the fields that the tenant doesn't have. */
export function buildTenantElement({ actual = {} }: DriftItem, declaration: DeclaredItem): SettingsElement {
  const element = { ...buildCurrentElement(declaration), ...getDetailValues(actual) };
  return Object.fromEntries(
    Object.entries(element).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

export function buildDetailEdits({ actual = {} }: DriftItem, declaration: DeclaredItem): FileEdit[] {
  return findDifferingDetails(actual, declaration).map((name) => buildFieldEdit(declaration, name, actual[name]));
}

/** An approval or a review of the old state does not cover the new one. */
const STALE_FIELDS = ["approvedBy", "reviewed"] as const;

/** The other fields that a move to the other list drops. The tenant has the details, such as the comment. */
export const FIELDS_DROPPED_BY_MOVE = TEXT_FIELD_NAMES.filter(
  (name) => ![...DETAIL_NAMES, ...STALE_FIELDS].some((other) => other === name) && !isKeptOnMove(name),
);

export function buildApprovalRemovals(declaration: DeclaredItem): FileEdit[] {
  return STALE_FIELDS.filter((key) => declaration[key] !== undefined).map((key) =>
    buildFieldEdit(declaration, key, undefined),
  );
}

export function describeDroppedFields(
  declaration: DeclaredItem,
  more: readonly TextFieldName[] = [],
): string | undefined {
  const keys = [...more, ...STALE_FIELDS].filter((key) => (declaration as DeclaredEntry)[key] !== undefined);
  if (keys.length === 0) return undefined;
  const [predicate, pronoun] = keys.length === 1 ? ["is", "it"] : ["are", "they"];
  return `${keys.join(", ")} ${predicate} left out, because ${pronoun} applied to the previous state`;
}

export function buildFieldEdit(
  declaration: DeclaredItem,
  key: ElementFieldName | "reviewed",
  newValue: ElementValue | undefined,
): FileEdit {
  const edit = { action: "set", ...getElementSelector(declaration), key, newValue } as Edit;
  return { file: declaration.location.file, edit };
}

/** Several of the tenant's own files may declare the same entry. */
export function buildElementRemovals(declaration: DeclaredItem): FileEdit[] {
  const files = new Set(getDeclarationLocations(declaration).map(({ file }) => file));
  return [...files].map((file) => ({ file, edit: { action: "remove", ...getElementSelector(declaration) } }));
}

function getElementSelector(declaration: DeclaredItem): { section: SectionName; value: string; scope?: string } {
  const selector = { section: getSection(declaration), value: getDeclaredName(declaration) };
  return declaration.kind === "vip" ? selector : { ...selector, scope: declaration.verdictScope };
}

export function getDeclaredName(declaration: DeclaredItem): string {
  return declaration.kind === "vip" ? declaration.email : declaration.value;
}
