import type { Settings } from "../../files/settings";
import type { EvidenceBase } from "../../plan/evidence";
import type { Observed } from "../../plan/observed";
import type { RecentRollouts } from "../../rollout/history/recent-rollouts";
import type { FleetStatus } from "../status/status-schema";
import { EntryStore } from "./data/entry-store";
import { runOf } from "./data/runs";
import { AllowAges } from "./data/site-data";
import { siteFiles } from "./site-files";
import { openSite, type SiteFolder, writeSite } from "./write-site";

/** A site that is being made: it watches how the fleet is read, and is written once that is through. */
export class SiteMaker {
  readonly #folder: SiteFolder;
  readonly #store = new EntryStore();
  readonly #ages: AllowAges;
  /** Takes in what the mail of one tenant says; undefined where that is not wanted, so that none is read. */
  readonly mail: ((name: string, mail: EvidenceBase) => void) | undefined;

  /**
   * @param path the folder; it is made where it is not there.
   * @param source the targets file.
   * @param isMailWanted whether the tenants' mail is read too.
   * @throws {ConfigurationError} when it can't be used; no tenant needs to be read then.
   */
  constructor(path: string, source: string, isMailWanted: boolean, nowMs = Date.now()) {
    this.#folder = openSite(path, source);
    this.mail = isMailWanted ? (name, mail) => this.#store.mail(name, mail) : undefined;
    this.#ages = new AllowAges(nowMs);
  }

  /** The files of earlier runs that can't be read, which the site's history leaves out. */
  get brokenRuns(): readonly string[] {
    return this.#folder.brokenRuns;
  }

  /** Takes in what one tenant's files declare. */
  files(name: string, settings: Settings): void {
    this.#store.add(name, settings);
  }

  /** Takes in what one tenant holds. */
  observed(name: string, observed: Observed): void {
    this.#store.observed(name, observed);
    this.#ages.add(name, observed);
  }

  /** Forgets what one tenant holds, which is another one's. */
  isOfAnother(name: string): void {
    this.#store.forget(name);
    this.#ages.forget(name);
  }

  /**
   * Writes it.
   *
   * @throws {ConfigurationError} when it can't be written: the site is as it was, but for pages that are new already.
   */
  write(
    status: FleetStatus,
    rollouts: RecentRollouts | undefined,
  ): { readonly files: number; readonly bytes: number } {
    const entries = this.#store.finish(status.tenants);
    const run = runOf(status);
    const runs = [...this.#folder.runs.filter(({ at }) => at < run.at), run];
    const files = siteFiles({ status, entries, rollouts, runs, ages: this.#ages.counts });
    return writeSite(this.#folder, files, run);
  }
}
