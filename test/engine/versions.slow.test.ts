import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sharedPackage } from "../support/packed-package";
import { matrix } from "../support/scale";
import { FRONTS, type Front, Installation } from "./versions";

/** Those that the page says to have been measured, the oldest first. */
const MEASURED = [
  ...readFileSync("docs/reference/versions.md", "utf8").matchAll(/^\| (\d+\.\d+\.\d+) \| works/gm),
].map(([, version = ""]) => version);

interface Case {
  readonly sdk: string;
  readonly fronts: readonly Front[];
  /** Also rollouts, and whether the types compile. */
  readonly isWhole: boolean;
}

const all = MEASURED.map((sdk): Case => ({ sdk, fronts: FRONTS, isWhole: true }));

/**
 * The oldest, and one in the middle, over the front that rests more on the SDK. Over the plugin native-package.slow.test.ts has the
 * oldest, and the newest is what all other tests have.
 */
const sample: readonly Case[] = [
  { sdk: MEASURED[0] ?? "", fronts: ["dynamic"], isWhole: true },
  { sdk: "3.200.0", fronts: ["dynamic"], isWhole: false },
];

const packed = sharedPackage();

describe.each(matrix("versions", all, sample))("@pulumi/pulumi $sdk", ({ sdk, fronts, isWhole }) => {
  let installation: Installation;

  beforeAll(async () => {
    installation = await Installation.of(sdk, packed());
  });

  afterAll(async () => {
    await installation?.[Symbol.asyncDispose]();
  });

  it.each(fronts)("serves a stack of the %s front its whole life", async (front) => {
    await installation.live(front);
  });

  it.runIf(isWhole)("rolls out", async () => {
    await installation.rollOut();
  });

  it.runIf(isWhole)("has the types", async () => {
    expect(await installation.typeErrors()).toEqual([]);
  });
});
