import { printableJson } from "../../../settings/text";

/** JSON that stands in a script or in a file of one: it ends none, and begins no element, whatever is in it. */
export function scriptJson(value: unknown): string {
  return printableJson(JSON.stringify(value)).replaceAll("<", "\\u003c");
}
