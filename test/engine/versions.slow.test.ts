import { readFileSync } from "node:fs";
import pulumi from "@pulumi/pulumi/package.json";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sharedPackage } from "../support/packed-package";
import { matrix } from "../support/scale";
import { FRONTS, type Front, Installation } from "./versions";

/** Those that the page says to have been measured, the oldest first. */
const MEASURED = [...readFileSync("docs/reference/versions.md", "utf8").matchAll(/^\| (\d+\.\d+\.\d+) \| works/gm)].map(
  ([, version = ""]) => version,
);

interface Case {
  readonly sdk: string;
  readonly fronts: readonly Front[];
}

const all = MEASURED.map((sdk): Case => ({ sdk, fronts: FRONTS }));

/**
 * The oldest, over the front that rests more on the SDK. Over the plugin native-package.slow.test.ts has the oldest, and the newest
 * is what all other tests have.
 */
const sample: readonly Case[] = [{ sdk: MEASURED[0] ?? "", fronts: ["dynamic"] }];

const packed = sharedPackage();

describe.each(matrix("versions", all, sample))("@pulumi/pulumi $sdk", ({ sdk, fronts }) => {
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

  it("has its patches of Pulumi's host in place", async () => {
    expect(await installation.patchedMethods()).toHaveLength(3);
  });

  it("rolls out", async () => {
    await installation.rollOut();
  });

  it("has the types", async () => {
    expect(await installation.typeErrors()).toEqual([]);
  });
});

describe("an SDK whose internals are gone", () => {
  let installation: Installation;

  beforeAll(async () => {
    installation = await Installation.of(pulumi.version, packed());
    await installation.hideInternals();
  });

  it("is patched nowhere", async () => {
    expect(await installation.patchedMethods()).toEqual([]);
  });

  afterAll(async () => {
    await installation?.[Symbol.asyncDispose]();
  });

  it.each(FRONTS)("serves a stack of the %s front its whole life", async (front) => {
    await installation.live(front);
  });

  it("rolls out", async () => {
    await installation.rollOut();
  });
});
