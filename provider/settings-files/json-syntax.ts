import { sanitizeLine } from "../model/text";
import type { ReportProblem } from "./yaml-parser";

/** Returns whether other tools read the file as JSON because of its name. It must then be JSON, not only YAML. */
export function isJsonFile(file: string): boolean {
  return /\.json$/i.test(file);
}

/** Reports syntax that is valid in YAML but not in JSON: trailing commas, comments, unquoted keys. */
export function reportInvalidJson(text: string, reportProblem: ReportProblem): void {
  const bom = text.startsWith("\uFEFF") ? 1 : 0;
  const json = text.slice(bom);
  const errorMessage = getJsonError(json);
  if (errorMessage === undefined) return;
  // The parser doesn't always report the position, so find the shortest prefix that can't be completed.
  let [low, high] = [0, json.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isCompletable(json.slice(0, middle + 1))) low = middle + 1;
    else high = middle;
  }
  const reason = errorMessage
    .replace(/ in JSON at position \d+.*$/, "")
    .replace(/, [^,]*"[^"]*" is not valid JSON$/s, "");
  reportProblem("json-syntax", `isn't valid JSON: ${sanitizeLine(reason)}`, low + bom);
}

function getJsonError(json: string): string | undefined {
  try {
    JSON.parse(json);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function isCompletable(prefix: string): boolean {
  const errorMessage = getJsonError(prefix);
  if (errorMessage === undefined || /end of JSON|Unterminated/.test(errorMessage)) return true;
  return Number(/at position (\d+)/.exec(errorMessage)?.[1] ?? 0) >= prefix.length;
}
