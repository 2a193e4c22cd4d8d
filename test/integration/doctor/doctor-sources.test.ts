import { describe, expect, it } from "vitest";
import type { CheckOutcome } from "../../../provider/commands/doctor/check-outcome";
import { sourceChecks } from "../../../provider/commands/doctor/source-check";
import { createTestDirectory } from "../../support/test-directory";
import { FeedServer } from "../sources/feed-server";

/** Runs the check with sources as declared in a settings file, and returns its outcome. */
async function checkSources(
  sources: string,
  environment: NodeJS.ProcessEnv = {},
  files: Readonly<Record<string, string>> = {},
): Promise<CheckOutcome> {
  using directory = createTestDirectory({ "settings/acme.yaml": `version: 1\n${sources}`, ...files });
  const [check] = sourceChecks;
  const outcome = await check?.run({
    environment,
    packageVersion: "1.0.0",
    directory: directory.path,
    files: [directory.at("settings/acme.yaml")],
    now: Date.now,
    probeService: () => Promise.reject(new Error("no request")),
  });
  return outcome as CheckOutcome;
}

const formatSource = (declaration: string): string => `sources:\n  phish: { ${declaration} }\n`;
const graph = formatSource("kind: microsoft-graph, group: Executives, into: vips");
const google = formatSource("kind: google-directory, group: executives@acme.example, into: vips");
const ldap = formatSource(
  'kind: ldap, url: "ldaps://ldap.acme.example", base: "dc=acme", group: Executives, into: vips',
);
const formatFeed = (url: string): string => formatSource(`kind: url, url: "${url}", into: deny, expires: 14d`);
const file = formatSource("kind: url, file: phish.txt, into: deny, expires: 14d");

const GRAPH = { EMAIL_SECURITY_SOURCES: "phish=https://graph.microsoft.com/" };
const GOOGLE = { EMAIL_SECURITY_SOURCES: "phish=https://admin.googleapis.com/" };
const LDAP = { EMAIL_SECURITY_SOURCES: "phish=ldaps://ldap.acme.example/" };
const AZURE = { AZURE_TENANT_ID: "a-tenant", AZURE_CLIENT_ID: "a-client" };

describe("doctor check of sources", () => {
  it("skips settings without sources", async () => {
    expect(await checkSources("deny: [evil.example]\n")).toMatchObject({ status: "skipped" });
  });

  it.each<[label: string, sources: string, environment: NodeJS.ProcessEnv]>([
    ["a feed", formatFeed("https://feeds.example/a.txt"), { EMAIL_SECURITY_SOURCES: "phish=https://feeds.example/" }],
    ["a group in Entra ID", graph, { ...GRAPH, ...AZURE, AZURE_CLIENT_SECRET: "canary" }],
    ["a group in Entra ID, with a token", graph, { ...GRAPH, EMAIL_SECURITY_SOURCE_PHISH_TOKEN: "canary" }],
    ["a Google group", google, { ...GOOGLE, GOOGLE_APPLICATION_CREDENTIALS: __filename }],
    [
      "an LDAP group",
      ldap,
      { ...LDAP, EMAIL_SECURITY_SOURCE_PHISH_USER: "cn=x", EMAIL_SECURITY_SOURCE_PHISH_PASSWORD: "canary" },
    ],
    ["a file of the repository", file, {}],
  ])("passes for %s", async (_label, sources, environment) => {
    const outcome = await checkSources(sources, environment, { "settings/phish.txt": "evil.example\n" });
    expect(outcome).toEqual({ status: "ok", result: "1 source: phish" });
  });

  it.each<[label: string, sources: string, environment: NodeJS.ProcessEnv, status: string, advice: RegExp]>([
    [
      "an address that isn't allowed",
      graph,
      { EMAIL_SECURITY_SOURCES: "other=https://x.example/" },
      "fail",
      /^phish: This run isn't allowed to read "https:\/\/graph\.microsoft\.com\/v1\.0\/groups".*EMAIL_SECURITY_SOURCES=phish=https:\/\/graph\.microsoft\.com\/$/,
    ],
    [
      "an address that isn't valid",
      google,
      { EMAIL_SECURITY_SOURCES: "phish=admin.googleapis.com" },
      "fail",
      /EMAIL_SECURITY_SOURCES=phish=https:\/\/admin\.googleapis\.com\/$/,
    ],
    ["an address, in a run that reads no sources", ldap, {}, "warn", /^phish: This run isn't allowed to read "ldaps:/],
    [
      "missing credentials for Entra ID",
      graph,
      { ...GRAPH, ...AZURE },
      "warn",
      /^phish: the environment has no credentials.*AZURE_CLIENT_SECRET, or EMAIL_SECURITY_SOURCE_PHISH_TOKEN\.$/,
    ],
    [
      "missing credentials for Google",
      google,
      GOOGLE,
      "warn",
      /set GOOGLE_APPLICATION_CREDENTIALS or EMAIL_SECURITY_SOURCE_PHISH_TOKEN\.$/,
    ],
    [
      "a missing key file",
      google,
      { ...GOOGLE, GOOGLE_APPLICATION_CREDENTIALS: "/nowhere/key.json" },
      "fail",
      /GOOGLE_APPLICATION_CREDENTIALS doesn't exist$/,
    ],
    ["an anonymous connection", ldap, LDAP, "warn", /^phish: the connection is anonymous/],
    [
      "a user without a password",
      ldap,
      { ...LDAP, EMAIL_SECURITY_SOURCE_PHISH_USER: "cn=x" },
      "fail",
      /^phish: set both EMAIL_SECURITY_SOURCE_PHISH_USER and EMAIL_SECURITY_SOURCE_PHISH_PASSWORD, or neither$/,
    ],
    [
      "a header without a name",
      formatFeed("http://127.0.0.1/a"),
      { EMAIL_SECURITY_SOURCES: "phish=http://127.0.0.1/", EMAIL_SECURITY_SOURCE_PHISH_HEADER: "canary" },
      "fail",
      /EMAIL_SECURITY_SOURCE_PHISH_HEADER isn't a header/,
    ],
    ["a missing file", file, {}, "fail", /^phish: .*"phish\.txt" can't be read: it doesn't exist\.$/],
  ])("reports a source with %s", async (_label, sources, environment, status, advice) => {
    const outcome = await checkSources(sources, environment);
    expect(outcome).toEqual({ status, result: "1 source: phish", advice: expect.stringMatching(advice) });
    expect(outcome.advice).not.toContain("canary");
  });

  it("sends no request to a source", async () => {
    await using feed = await FeedServer.start();
    const environment = { EMAIL_SECURITY_SOURCES: `phish=${feed.origin}/` };
    expect(await checkSources(formatFeed(`${feed.origin}/a.txt`), environment)).toMatchObject({ status: "ok" });
    expect(feed.requests).toEqual([]);
  });
});
