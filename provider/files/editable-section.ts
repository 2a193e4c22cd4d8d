import type { SettingsElement } from "../settings/entry-fields";
import type { FieldValue } from "./edit-element";
import type { ElementFieldName } from "./element-fields";
import type { ElementReview } from "./settings-schema";

export type Section = "vips" | "allow" | "deny";

/** An edit of one element in a settings file. `value`, as written or in canonical form, identifies the element. */
export type Edit =
  | {
      readonly action: "add";
      readonly section: Section;
      readonly element: SettingsElement;
      /** A YAML comment above it. Omitted if there is no space for one, as in JSON. */
      readonly note?: string;
      readonly reviewed?: ElementReview;
    }
  | {
      readonly action: "remove";
      readonly section: Section;
      readonly value: string;
      /** The verdict scope, if the section has the value in several scopes. */
      readonly scope?: string;
    }
  | {
      readonly action: "set";
      readonly section: Section;
      readonly value: string;
      readonly scope?: string;
      readonly key: ElementFieldName;
      /** Undefined removes the key. */
      readonly to: string | undefined;
    }
  | {
      readonly action: "set";
      readonly section: Section;
      readonly value: string;
      readonly scope?: string;
      readonly key: "reviewed";
      readonly to: ElementReview | undefined;
    };

export interface EditableSection {
  readonly name: Section;
  /** The range of the file that the section replaces. */
  readonly start: number;
  readonly end: number;
  add(element: Readonly<Record<string, FieldValue>>, note: string | undefined): void;
  remove(value: string, scope: string | undefined): void;
  set(value: string, scope: string | undefined, key: string, to: FieldValue | undefined): void;
  render(): string;
}

/** Returns all fields of an added element. */
export function buildElementFields({
  element,
  reviewed,
}: Extract<Edit, { readonly action: "add" }>): Readonly<Record<string, FieldValue>> {
  return reviewed === undefined ? { ...element } : { ...element, reviewed };
}
