import { escapeUnprintableJson } from "../../model/text";
import type { RolloutEvent } from "../model/rollout-event";

/**
 * Formats an event as one line of JSON, with a trailing newline. Parsing returns the same event. Control characters are escaped, so that
 * values from outside can't affect a terminal.
 */
export function formatEventJson(event: RolloutEvent): string {
  return `${escapeUnprintableJson(JSON.stringify(event))}\n`;
}
