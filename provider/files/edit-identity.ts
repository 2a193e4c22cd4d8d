import { DEFAULT_VERDICT_SCOPE } from "../settings/assumptions";
import { canonicalMailbox, canonicalValue } from "../settings/entry-value";
import type { ElementStyle } from "./edit-element";
import type { Section } from "./edit-section";

/** What an element declares, as edits name it. */
export interface Identity {
  readonly subject: string;
  readonly scope: string;
}

/** What an element declares that was read. */
export function identityOfData(data: unknown, style: ElementStyle): Identity {
  const text = (value: unknown): string | undefined =>
    value == null || typeof value === "object" ? undefined : String(value);
  const [subject, scope] = isMapping(data)
    ? [text(data[style.subjectKey]), text(data["scope"])]
    : [text(data), undefined];
  return { subject: canonical(subject ?? "", style), scope: scope ?? DEFAULT_VERDICT_SCOPE };
}

/** Whether an element is keys and values, and no text alone. */
export function isMapping(data: unknown): data is Readonly<Record<string, unknown>> {
  return typeof data === "object" && data !== null && !Array.isArray(data);
}

/** A value or mailbox in canonical form. */
export function canonical(value: string, { subjectKey }: ElementStyle): string {
  return subjectKey === "email" ? canonicalMailbox(value) : canonicalValue(value);
}

/** Under which key a section names what it declares. */
export function subjectKeyOf(section: Section): "value" | "email" {
  return section === "vips" ? "email" : "value";
}
