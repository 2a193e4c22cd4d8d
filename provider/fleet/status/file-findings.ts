import { DEFAULT_VERDICT_SCOPE } from "../../model/assumptions";
import { omitUndefined } from "../../model/omit-undefined";
import type { FileLocation, Finding } from "../../settings-files/finding";
import type { DeclaredEntry, DeclaredVip, Settings } from "../../settings-files/settings-model";
import type { ExpiringEntry, FleetFinding, FleetLine } from "./status-schema";

/** The status reports expiry with the entries themselves. */
const EXPIRY_CODES: ReadonlySet<string> = new Set(["expired", "expires-soon"]);
const REVIEW_CODES: ReadonlySet<string> = new Set(["review-overdue", "never-reviewed"]);

const LEVELS: readonly Finding["level"][] = ["error", "warning", "note"];

/**
 * Collects the facts about the files of many tenants, each once with its tenants. A fact about an included file applies to all tenants that
 * include it.
 */
export class FileFindings {
  readonly #until: string;
  readonly #expiring = new Map<string, SharedFact<ExpiringEntry>>();
  readonly #findings = new Map<string, SharedFact<FleetFinding>>();

  /** @param until the last day (UTC) of the expiry dates to report. */
  constructor(until: string) {
    this.#until = until;
  }

  add(name: string, settings: Settings, findings: readonly Finding[]): void {
    for (const entry of [...settings.entries, ...settings.vips, ...settings.expired]) {
      const { expires } = entry;
      if (expires === undefined || expires === "never" || expires > this.#until) continue;
      const { file, line, column } = entry.location;
      addSharedFact(this.#expiring, `${file} ${line}:${column}`, name, () =>
        buildExpiringEntry(entry, expires, expires < settings.today),
      );
    }
    for (const { code, level, message, place } of findings) {
      if (EXPIRY_CODES.has(code)) continue;
      const locationKey = place === undefined ? name : `${place.file} ${place.line}:${place.column}`;
      addSharedFact(this.#findings, `${code} ${locationKey} ${message}`, name, () => ({
        code,
        level,
        message,
        ...omitUndefined({ place: toFileLine(place) }),
      }));
    }
  }

  sortTenants(names: readonly string[]): void {
    const order = new Map(names.map((name, index) => [name, index]));
    for (const { tenants } of [...this.#expiring.values(), ...this.#findings.values()])
      tenants.sort((a, b) => (order.get(a) ?? 0) - (order.get(b) ?? 0));
  }

  /** The expired and expiring entries, the earliest first. */
  get expiring(): readonly ExpiringEntry[] {
    return listSharedFacts(this.#expiring).sort(
      (a, b) => compareText(a.expires, b.expires) || compareLocations(a.place, b.place),
    );
  }

  /** The entries that are due for review under the team's policy. */
  get reviews(): readonly FleetFinding[] {
    return this.#selectFindings((code) => REVIEW_CODES.has(code));
  }

  /** All other findings, the worst first, then those of the most tenants. */
  get findings(): readonly FleetFinding[] {
    return this.#selectFindings((code) => !REVIEW_CODES.has(code));
  }

  #selectFindings(isSelected: (code: string) => boolean): readonly FleetFinding[] {
    return listSharedFacts(this.#findings)
      .filter(({ code }) => isSelected(code))
      .sort(
        (a, b) =>
          LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level) ||
          b.tenants.length - a.tenants.length ||
          compareLocations(a.place, b.place),
      );
  }
}

/** Makes the order independent of which tenant responds first. */
function compareLocations(a: FleetLine | undefined, b: FleetLine | undefined): number {
  return compareText(a?.file ?? "", b?.file ?? "") || (a?.line ?? 0) - (b?.line ?? 0);
}

function compareText(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

interface SharedFact<T> {
  readonly fact: Omit<T, "tenants">;
  readonly tenants: string[];
}

function addSharedFact<T>(
  target: Map<string, SharedFact<T>>,
  key: string,
  name: string,
  buildValue: () => Omit<T, "tenants">,
) {
  const existing = target.get(key);
  if (existing === undefined) target.set(key, { fact: buildValue(), tenants: [name] });
  // A file that is included twice by one tenant yields the same finding twice.
  else if (existing.tenants.at(-1) !== name) existing.tenants.push(name);
}

function listSharedFacts<T extends { readonly tenants: readonly string[] }>(
  collected: Map<string, SharedFact<T>>,
): T[] {
  return [...collected.values()].map(({ fact, tenants }) => ({ ...fact, tenants }) as unknown as T);
}

function buildExpiringEntry(
  entry: DeclaredEntry | DeclaredVip,
  expires: string,
  isExpired: boolean,
): Omit<ExpiringEntry, "tenants"> {
  const { owner, ticket, location } = entry;
  const scope = entry.kind === "vip" || entry.verdictScope === DEFAULT_VERDICT_SCOPE ? undefined : entry.verdictScope;
  return {
    list: entry.kind === "vip" ? "vip" : entry.list,
    value: entry.kind === "vip" ? entry.email : entry.value,
    ...omitUndefined({ scope }),
    expires,
    isExpired,
    ...omitUndefined({ owner, ticket }),
    place: { file: location.file, line: location.line },
  };
}

function toFileLine(location: FileLocation | undefined): FleetLine | undefined {
  return location && { file: location.file, line: location.line };
}
