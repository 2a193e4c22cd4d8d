import { DEFAULT_VERDICT_SCOPE } from "../model/assumptions";
import { canonicalizeMailbox, canonicalizeValue } from "../model/entry-value";
import type { ElementStyle } from "./edit-element";
import type { SectionName } from "./editable-section";

export interface ElementIdentity {
  readonly subject: string;
  readonly scope: string;
}

export function getElementIdentity(data: unknown, style: ElementStyle): ElementIdentity {
  const toText = (value: unknown): string | undefined =>
    value == null || typeof value === "object" ? undefined : String(value);
  const [subject, scope] = isMapping(data)
    ? [toText(data[style.valueKey]), toText(data["scope"])]
    : [toText(data), undefined];
  return { subject: normalizeSubject(subject ?? "", style), scope: scope ?? DEFAULT_VERDICT_SCOPE };
}

/** Returns whether a value of a YAML file is a mapping. */
export function isMapping(data: unknown): data is Readonly<Record<string, unknown>> {
  return typeof data === "object" && data !== null && !Array.isArray(data);
}

export function normalizeSubject(value: string, { valueKey }: ElementStyle): string {
  return valueKey === "email" ? canonicalizeMailbox(value) : canonicalizeValue(value);
}

export function getValueKey(section: SectionName): "value" | "email" {
  return section === "vips" ? "email" : "value";
}
