import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { getCacheDirectory } from "pulumi-email-security/engine";
import type { Observation } from "#bench/measurement";

interface Content {
  /** The sizes and repeats of the bench, and the commit and machine it ran on. */
  readonly settings: string;
  /** The peers and runs that have finished. */
  readonly done: string[];
  readonly observations: Observation[];
}

/** The measurements so far, in a file in the user's cache directory, so that an interrupted bench can resume. */
export class MeasurementJournal {
  readonly #file = join(getCacheDirectory(), "bench", "journal.json");
  readonly #content: Content;

  /** @param resume whether to continue from an existing journal, if its settings are the same */
  constructor(settings: string, resume: boolean) {
    const earlier = resume && existsSync(this.#file) && (JSON.parse(readFileSync(this.#file, "utf8")) as Content);
    const isSame = earlier && earlier.settings === settings;
    this.#content = isSame ? removeFailures(earlier) : { settings, done: [], observations: [] };
  }

  get observations(): readonly Observation[] {
    return this.#content.observations;
  }

  isDone(step: string): boolean {
    return this.#content.done.includes(step);
  }

  /** Stores a finished step. An interrupted step runs again from the start. */
  keep(step: string, observations: readonly Observation[]): void {
    this.#content.observations.push(...observations);
    // A failed step runs again on resume.
    if (!observations.some(isFailure)) this.#content.done.push(step);
    mkdirSync(dirname(this.#file), { recursive: true });
    writeFileSync(this.#file, JSON.stringify(this.#content, null, 2));
  }
}

function removeFailures(content: Content): Content {
  return { ...content, observations: content.observations.filter((observation) => !isFailure(observation)) };
}

function isFailure(observation: Observation): boolean {
  return "failure" in observation;
}
