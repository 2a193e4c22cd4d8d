import { escapeUnprintableJson } from "../../../model/text";

/** Formats JSON so that it is safe inside a script element or a script file. No value can end the element or begin another one. */
export function formatScriptJson(value: unknown): string {
  return escapeUnprintableJson(JSON.stringify(value)).replaceAll("<", "\\u003c");
}
