import { readFileSync } from "node:fs";
import pulumi from "@pulumi/pulumi/package.json";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { selectCases } from "../support/matrix-sampling";
import { sharePackage } from "../support/packed-package";
import { Installation, type InstalledProviderKind, PROVIDERS } from "./versions";

/** The versions that the docs list as tested, oldest first. */
const MEASURED = [...readFileSync("docs/reference/versions.md", "utf8").matchAll(/^\| (\d+\.\d+\.\d+) \| works/gm)].map(
  ([, version = ""]) => version,
);

interface VersionCase {
  readonly sdk: string;
  readonly providers: readonly InstalledProviderKind[];
}

const all = MEASURED.map((sdk): VersionCase => ({ sdk, providers: PROVIDERS }));

/**
 * The oldest version with the dynamic provider, which depends more on the SDK. native-package.slow.test.ts covers the
 * oldest version with the plugin, and all other tests use the newest.
 */
const sample: readonly VersionCase[] = [{ sdk: MEASURED[0] ?? "", providers: ["dynamic"] }];

const packed = sharePackage();

describe.each(selectCases("versions", all, sample))("@pulumi/pulumi $sdk", ({ sdk, providers }) => {
  let installation: Installation;

  beforeAll(async () => {
    installation = await Installation.install(sdk, packed());
  });

  afterAll(async () => {
    await installation?.[Symbol.asyncDispose]();
  });

  it.each(providers)("serves a stack of the %s provider", async (providerKind) => {
    await installation.runStack(providerKind);
  });

  it("has every patch of Pulumi's host applied", async () => {
    expect(await installation.listPatchedMethods()).toHaveLength(3);
  });

  it("completes a rollout", async () => {
    await installation.rollOut();
  });

  it("compiles with the package's types", async () => {
    expect(await installation.typeErrors()).toEqual([]);
  });
});

describe("SDK without the internals to patch", () => {
  let installation: Installation;

  beforeAll(async () => {
    installation = await Installation.install(pulumi.version, packed());
    await installation.hideInternals();
  });

  it("has no patch applied", async () => {
    expect(await installation.listPatchedMethods()).toEqual([]);
  });

  afterAll(async () => {
    await installation?.[Symbol.asyncDispose]();
  });

  it.each(PROVIDERS)("serves a stack of the %s provider without patches", async (providerKind) => {
    await installation.runStack(providerKind);
  });

  it("completes a rollout without patches", async () => {
    await installation.rollOut();
  });
});
