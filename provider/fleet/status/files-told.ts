import type { Finding, Place } from "../../files/finding";
import type { DeclaredEntry, DeclaredVip, Settings } from "../../files/settings";
import { DEFAULT_VERDICT_SCOPE } from "../../settings/assumptions";
import { withoutUndefined } from "../../settings/without-undefined";
import type { FleetEnd, FleetFinding, FleetLine } from "./status-schema";

/** The status reports expiry with the entries themselves. */
const OF_ENDS: ReadonlySet<string> = new Set(["expired", "expires-soon"]);
const OF_REVIEWS: ReadonlySet<string> = new Set(["review-overdue", "never-reviewed"]);

const LEVELS: readonly Finding["level"][] = ["error", "warning", "note"];

/**
 * Collects the facts about the files of many tenants, each once with its tenants. A fact about an included file applies to all tenants that
 * include it.
 */
export class FilesTold {
  readonly #until: string;
  readonly #ends = new Map<string, Gathered<FleetEnd>>();
  readonly #findings = new Map<string, Gathered<FleetFinding>>();

  /** @param until the last day (UTC) of the expiry dates to report. */
  constructor(until: string) {
    this.#until = until;
  }

  /** Adds the facts about one tenant's files. */
  add(name: string, settings: Settings, findings: readonly Finding[]): void {
    for (const one of [...settings.entries, ...settings.vips, ...settings.expired]) {
      const { expires } = one;
      if (expires === undefined || expires === "never" || expires > this.#until) continue;
      const { file, line, column } = one.place;
      gather(this.#ends, `${file} ${line}:${column}`, name, () =>
        endOf(one, expires, expires < settings.today),
      );
    }
    for (const { code, level, message, place } of findings) {
      if (OF_ENDS.has(code)) continue;
      const at = place === undefined ? name : `${place.file} ${place.line}:${place.column}`;
      gather(this.#findings, `${code} ${at} ${message}`, name, () => ({
        code,
        level,
        message,
        ...withoutUndefined({ place: lineIn(place) }),
      }));
    }
  }

  /** Sorts the names of each fact's tenants. */
  sort(names: readonly string[]): void {
    const order = new Map(names.map((name, index) => [name, index]));
    for (const { tenants } of [...this.#ends.values(), ...this.#findings.values()])
      tenants.sort((one, other) => (order.get(one) ?? 0) - (order.get(other) ?? 0));
  }

  /** The expired and expiring entries, the earliest first. */
  get ends(): readonly FleetEnd[] {
    return all(this.#ends).sort(
      (one, other) => compared(one.expires, other.expires) || byPlace(one.place, other.place),
    );
  }

  /** The entries that are due for review under the team's policy. */
  get reviews(): readonly FleetFinding[] {
    return this.#told((code) => OF_REVIEWS.has(code));
  }

  /** All other findings, the worst first, then those of the most tenants. */
  get findings(): readonly FleetFinding[] {
    return this.#told((code) => !OF_REVIEWS.has(code));
  }

  #told(isMeant: (code: string) => boolean): readonly FleetFinding[] {
    return all(this.#findings)
      .filter(({ code }) => isMeant(code))
      .sort(
        (one, other) =>
          LEVELS.indexOf(one.level) - LEVELS.indexOf(other.level) ||
          other.tenants.length - one.tenants.length ||
          byPlace(one.place, other.place),
      );
  }
}

/** Makes the order independent of which tenant answers first. */
function byPlace(one: FleetLine | undefined, other: FleetLine | undefined): number {
  return compared(one?.file ?? "", other?.file ?? "") || (one?.line ?? 0) - (other?.line ?? 0);
}

function compared(one: string, other: string): number {
  return one === other ? 0 : one < other ? -1 : 1;
}

interface Gathered<T> {
  readonly told: Omit<T, "tenants">;
  readonly tenants: string[];
}

function gather<T>(
  into: Map<string, Gathered<T>>,
  key: string,
  name: string,
  told: () => Omit<T, "tenants">,
) {
  const known = into.get(key);
  if (known === undefined) into.set(key, { told: told(), tenants: [name] });
  // A file that is included twice by one tenant yields the same finding twice.
  else if (known.tenants.at(-1) !== name) known.tenants.push(name);
}

function all<T extends { readonly tenants: readonly string[] }>(from: Map<string, Gathered<T>>): T[] {
  return [...from.values()].map(({ told, tenants }) => ({ ...told, tenants }) as unknown as T);
}

function endOf(
  one: DeclaredEntry | DeclaredVip,
  expires: string,
  isOver: boolean,
): Omit<FleetEnd, "tenants"> {
  const { owner, ticket, place } = one;
  const scope =
    one.kind === "vip" || one.verdictScope === DEFAULT_VERDICT_SCOPE ? undefined : one.verdictScope;
  return {
    list: one.kind === "vip" ? "vip" : one.list,
    value: one.kind === "vip" ? one.email : one.value,
    ...withoutUndefined({ scope }),
    expires,
    isOver,
    ...withoutUndefined({ owner, ticket }),
    place: { file: place.file, line: place.line },
  };
}

function lineIn(place: Place | undefined): FleetLine | undefined {
  return place && { file: place.file, line: place.line };
}
