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

/** Builds a site: watches the reading of the fleet, and writes the site afterwards. */
export class SiteMaker {
  readonly #folder: SiteFolder;
  readonly #store = new EntryStore();
  readonly #ages: AllowAges;
  /** Receives the mail evidence of one tenant. Undefined if the site doesn't need it, so that no mail is read. */
  readonly mail: ((name: string, onMail: EvidenceBase) => void) | undefined;

  /**
   * @param path the directory of the site, which is created if necessary.
   * @param source the targets file.
   * @param includesMail whether the tenants' mail is read too.
   * @throws {ConfigurationError} if the directory can't be used. No tenant has been read then.
   */
  constructor(path: string, source: string, includesMail: boolean, nowMs = Date.now()) {
    this.#folder = openSite(path, source);
    this.mail = includesMail ? (name, mail) => this.#store.mail(name, mail) : undefined;
    this.#ages = new AllowAges(nowMs);
  }

  /** The unreadable files of earlier runs, which are missing from the site's history. */
  get brokenRuns(): readonly string[] {
    return this.#folder.brokenRuns;
  }

  /** Adds the declarations of one tenant's files. */
  files(name: string, settings: Settings): void {
    this.#store.add(name, settings);
  }

  /** Adds the actual entries of one tenant. */
  observed(name: string, observed: Observed): void {
    this.#store.observed(name, observed);
    this.#ages.add(name, observed);
  }

  /** Discards the data of one tenant, because it belongs to another tenant. */
  isOfAnother(name: string): void {
    this.#store.forget(name);
    this.#ages.forget(name);
  }

  /**
   * Writes the site.
   *
   * @throws {ConfigurationError} if the site can't be written. Some pages may be replaced already, and all others are unchanged.
   */
  write(status: FleetStatus, rollouts: RecentRollouts | undefined): { readonly files: number; readonly bytes: number } {
    const entries = this.#store.finish(status.tenants);
    const run = runOf(status);
    const runs = [...this.#folder.runs.filter(({ at }) => at < run.at), run];
    const files = siteFiles({ status, entries, rollouts, runs, ages: this.#ages.counts });
    return writeSite(this.#folder, files, run);
  }
}
