import type { Finding, Place } from "../../files/finding";

/** What is wrong with a targets file and with what it includes. */
export class TargetsFindings {
  readonly list: Finding[] = [];
  readonly #told = new Set<string>();

  /** A mistake in what all tenants of a file share is told once. */
  addError(code: string, message: string, place: Place): void {
    const mistake = `${spotOf(place)} ${message}`;
    if (this.#told.has(mistake)) return;
    this.#told.add(mistake);
    this.list.push({ code, level: "error", message, place });
  }
}

export function spotOf(place: Place | undefined): string {
  return `${place?.file}:${place?.line}:${place?.column}`;
}
