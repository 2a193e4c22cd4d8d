import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, it } from "vitest";
import { PageRunner } from "./run-page";

/** Tests that run each page of a folder of the docs, one after the other. */
export function describePages(folder: string): void {
  let runner: PageRunner;

  beforeAll(async () => {
    runner = await PageRunner.start();
  });

  afterAll(async () => {
    await runner?.[Symbol.asyncDispose]();
  });

  it.each(readdirSync(folder).filter((name) => name.endsWith(".md")))(`${folder}/%s`, async (name) => {
    await runner.run(join(folder, name));
  });
}
