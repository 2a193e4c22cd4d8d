import type { Element } from "../settings/entry-fields";
import type { Said } from "./edit-element";
import type { ElementFieldName } from "./element-fields";
import type { Reviewed } from "./settings-schema";

/** The sections of a settings file with declarations. */
export type Section = "vips" | "allow" | "deny";

/** A change of a settings file. The value, as written or in canonical form, identifies an element. */
export type Edit =
  | {
      readonly do: "add";
      readonly section: Section;
      readonly element: Element;
      /** A YAML comment above it. Omitted if there is no space for one, as in JSON. */
      readonly note?: string;
      /** The decision to keep it. */
      readonly reviewed?: Reviewed;
    }
  | {
      readonly do: "remove";
      readonly section: Section;
      readonly value: string;
      /** The verdict scope, if the section has the value in several scopes. */
      readonly scope?: string;
    }
  | {
      readonly do: "set";
      readonly section: Section;
      readonly value: string;
      readonly scope?: string;
      readonly key: ElementFieldName;
      /** Undefined removes the key. */
      readonly to: string | undefined;
    }
  | {
      readonly do: "set";
      readonly section: Section;
      readonly value: string;
      readonly scope?: string;
      readonly key: "reviewed";
      readonly to: Reviewed | undefined;
    };

/** A section being edited. */
export interface SectionText {
  readonly name: Section;
  /** The range of the file that the section replaces. */
  readonly start: number;
  readonly end: number;
  add(element: Readonly<Record<string, Said>>, note: string | undefined): void;
  remove(value: string, scope: string | undefined): void;
  set(value: string, scope: string | undefined, key: string, to: Said | undefined): void;
  text(): string;
}

/** Returns all fields of an added element. */
export function elementOf({
  element,
  reviewed,
}: Extract<Edit, { readonly do: "add" }>): Readonly<Record<string, Said>> {
  return reviewed === undefined ? { ...element } : { ...element, reviewed };
}
