import { printableJson } from "../../settings/text";
import type { RolloutEvent } from "../model/rollout-event";

/**
 * An event as a line of JSON, ended by a line end. It reads back as it was; and printed, nothing from outside does
 * anything in it: control characters are escaped.
 */
export function eventJson(event: RolloutEvent): string {
  return `${printableJson(JSON.stringify(event))}\n`;
}
