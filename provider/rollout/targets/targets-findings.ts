import type { Finding, Place } from "../../settings-files/finding";

export class TargetsFindings {
  readonly list: Finding[] = [];
  readonly #reportedErrors = new Set<string>();

  /** Reports a mistake in a part that all tenants of a file share only once. */
  addError(code: string, message: string, place: Place): void {
    const errorKey = `${getLocationKey(place)} ${message}`;
    if (this.#reportedErrors.has(errorKey)) return;
    this.#reportedErrors.add(errorKey);
    this.list.push({ code, level: "error", message, place });
  }
}

export function getLocationKey(place: Place | undefined): string {
  return `${place?.file}:${place?.line}:${place?.column}`;
}
