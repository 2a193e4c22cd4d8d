import type { TenantMailHistory } from "../../plan/evidence";
import type { ObservedState } from "../../plan/observed-state";
import type { RecentRollouts } from "../../rollout/history/recent-rollouts";
import type { Settings } from "../../settings-files/settings-model";
import type { FleetStatus } from "../status/status-schema";
import { EntryStore } from "./data/entry-store";
import { AllowAgeCounter } from "./data/site-data";
import { buildSiteRun } from "./data/site-runs";
import { openSite, type SiteDirectory, writeSite } from "./site-directory";
import { generateSiteFiles } from "./site-files";

/** Builds a site: observes the read of the fleet, and writes the site afterwards. */
export class SiteBuilder {
  readonly #directory: SiteDirectory;
  readonly #store = new EntryStore();
  readonly #ages: AllowAgeCounter;
  /** Receives the mail evidence of one tenant. Undefined if the site doesn't need it, so that no mail is read. */
  readonly onMail: ((name: string, onMail: TenantMailHistory) => void) | undefined;

  /**
   * @param path the directory of the site, which is created if necessary.
   * @param includesMail whether the tenants' mail is read too.
   * @throws {ConfigurationError} if the directory can't be used. No tenant has been read then.
   */
  constructor(path: string, source: string, includesMail: boolean, nowMs = Date.now()) {
    this.#directory = openSite(path, source);
    this.onMail = includesMail ? (name, mail) => this.#store.addMail(name, mail) : undefined;
    this.#ages = new AllowAgeCounter(nowMs);
  }

  /** The unreadable files of earlier runs, which are missing from the site's history. */
  get unreadableRuns(): readonly string[] {
    return this.#directory.unreadableRuns;
  }

  onFiles(name: string, settings: Settings): void {
    this.#store.addDeclared(name, settings);
  }

  onObserved(name: string, observed: ObservedState): void {
    this.#store.addObserved(name, observed);
    this.#ages.add(name, observed);
  }

  /** Discards the data of one tenant, because it belongs to another tenant. */
  onOtherTenant(name: string): void {
    this.#store.removeObserved(name);
    this.#ages.remove(name);
  }

  /**
   * Writes the site.
   *
   * @param unselectedStacks the stacks of the targets file's tenants that the status leaves out.
   * @throws {ConfigurationError} if the site can't be written. Some pages may be replaced already, and all others are unchanged.
   */
  write(
    status: FleetStatus,
    rollouts: RecentRollouts | undefined,
    unselectedStacks: ReadonlySet<string>,
  ): { readonly files: number; readonly bytes: number } {
    const entries = this.#store.buildFleetEntries(status.tenants);
    const earlierRuns = this.#directory.runs.filter(({ readAt }) => readAt < status.readAt);
    const run = buildSiteRun(status, { run: earlierRuns.at(-1), stacks: unselectedStacks });
    const runs = [...earlierRuns, run];
    const files = generateSiteFiles({ status, entries, rollouts, runs, ages: this.#ages.counts });
    return writeSite(this.#directory, files, run);
  }
}
