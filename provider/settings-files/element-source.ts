import { z } from "zod";
import { jsonObject, jsonTextField } from "../model/json-schema-builders";
import type { DeclaredElement, Settings } from "./settings-model";
import { findElementSource } from "./source-checks";

/** The source of an element in reports. */
export const elementSourceSchema = jsonObject({
  name: jsonTextField("The name of the source, as the settings files declare it."),
  kind: jsonTextField("The kind of the source, such as url."),
  firstSeen: jsonTextField("The date (UTC) of the first sync that found it.").exactOptional(),
  lastSeen: jsonTextField("The date (UTC) of the last sync that is known to have found it."),
  hasLeft: z.literal(true).describe("The source no longer lists it.").exactOptional(),
}).meta({ id: "ElementSource", description: "The source that a sync took an element from." });

export type ElementSource = z.infer<typeof elementSourceSchema>;

/** Returns the source of an element; undefined for an element that a person wrote. */
export function getElementSource(
  declaration: Pick<DeclaredElement, "location" | "seen">,
  settings: Pick<Settings, "generatedFiles">,
): ElementSource | undefined {
  const generated = findElementSource(declaration, settings);
  if (generated === undefined) return undefined;
  const { name, kind, synced } = generated.record;
  const { first, last } = declaration.seen ?? {};
  return {
    name,
    kind,
    ...(first === undefined ? {} : { firstSeen: first }),
    lastSeen: last ?? synced,
    ...(last === undefined ? {} : { hasLeft: true }),
  };
}

/** Describes the source and the dates in plain text: `source phish-feed, first seen on 2026-11-20`. */
export function describeElementSource({ name, kind, firstSeen, lastSeen, hasLeft }: ElementSource): string {
  const since = firstSeen === undefined ? "" : `, first seen on ${firstSeen}`;
  return `source ${name} (${kind})${since}, last seen on ${lastSeen}${hasLeft ? ", no longer listed" : ""}`;
}
