import type { FileLocation, Finding } from "../../settings-files/finding";

export class TargetsFindings {
  readonly list: Finding[] = [];
  readonly #reportedErrors = new Set<string>();

  /** Reports a mistake in a part that all tenants of a file share only once. */
  addError(code: string, message: string, location: FileLocation): void {
    const errorKey = `${getLocationKey(location)} ${message}`;
    if (this.#reportedErrors.has(errorKey)) return;
    this.#reportedErrors.add(errorKey);
    this.list.push({ code, level: "error", message, place: location });
  }
}

export function getLocationKey(location: FileLocation | undefined): string {
  return `${location?.file}:${location?.line}:${location?.column}`;
}
