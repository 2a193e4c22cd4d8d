import { printable } from "../settings/text";
import type { Refuse } from "./yaml-parser";

/** Whether other tools read a file as JSON, by its name: then it has to be JSON, and not only YAML. */
export function isJsonFile(file: string): boolean {
  return /\.json$/i.test(file);
}

/** Finds what YAML takes and JSON does not: trailing commas, comments, keys without quotes. */
export function refuseInvalidJson(text: string, refuse: Refuse): void {
  const bom = text.startsWith("\uFEFF") ? 1 : 0;
  const json = text.slice(bom);
  const why = jsonError(json);
  if (why === undefined) return;
  // The parser doesn't always tell the place: it is the end of the shortest beginning that nothing can complete.
  let [low, high] = [0, json.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isCompletable(json.slice(0, middle + 1))) low = middle + 1;
    else high = middle;
  }
  const reason = why
    .replace(/ in JSON at position \d+.*$/, "")
    .replace(/, [^,]*"[^"]*" is not valid JSON$/s, "");
  refuse("json-syntax", `is not valid JSON: ${printable(reason)}`, low + bom);
}

function jsonError(json: string): string | undefined {
  try {
    JSON.parse(json);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function isCompletable(beginning: string): boolean {
  const why = jsonError(beginning);
  if (why === undefined || /end of JSON|Unterminated/.test(why)) return true;
  return Number(/at position (\d+)/.exec(why)?.[1] ?? 0) >= beginning.length;
}
