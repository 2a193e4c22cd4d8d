import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { cacheFolder } from "pulumi-email-security/engine";
import type { Observation } from "#bench/observation";

interface Content {
  /** The sizes and repeats that it was measured with. */
  readonly settings: string;
  /** The peers and runs that are through. */
  readonly done: string[];
  readonly observations: Observation[];
}

/** What was measured so far, in a file of the user's cache folder, so that an interrupted bench can go on. */
export class Journal {
  readonly #file = join(cacheFolder(), "bench", "journal.json");
  readonly #content: Content;

  /** @param resume whether to go on with what is there, when it was measured with the same settings */
  constructor(settings: string, resume: boolean) {
    const earlier = resume && existsSync(this.#file) && (JSON.parse(readFileSync(this.#file, "utf8")) as Content);
    const isSame = earlier && earlier.settings === settings;
    this.#content = isSame ? withoutFailures(earlier) : { settings, done: [], observations: [] };
  }

  get observations(): readonly Observation[] {
    return this.#content.observations;
  }

  isDone(step: string): boolean {
    return this.#content.done.includes(step);
  }

  /** Keeps a whole step; one that was interrupted is done again. */
  keep(step: string, observations: readonly Observation[]): void {
    this.#content.observations.push(...observations);
    // What failed is done again.
    if (!observations.some(isFailure)) this.#content.done.push(step);
    mkdirSync(dirname(this.#file), { recursive: true });
    writeFileSync(this.#file, JSON.stringify(this.#content, null, 2));
  }
}

function withoutFailures(content: Content): Content {
  return { ...content, observations: content.observations.filter((one) => !isFailure(one)) };
}

function isFailure(observation: Observation): boolean {
  return "failure" in observation;
}
