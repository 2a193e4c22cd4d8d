import { globSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { SettingsClient, type SettingsClientOptions } from "../../../provider/client";
import { codesIn, DocsPage } from "../../support/docs-page";

const page = new DocsPage("reference/client.md");

it("documents every method of every group", () => {
  const client = new SettingsClient({ baseUrl: "http://127.0.0.1", apiKey: "key" });
  const groups = Object.entries(client).map(([group, api]: [string, object]) => [
    group,
    Object.getOwnPropertyNames(Object.getPrototypeOf(api))
      .filter((name) => name !== "constructor")
      .toSorted(),
  ]);
  const documentedGroups = page
    .rows("Groups and methods")
    .map(([group = "", methods = ""]) => [group.replaceAll("`", ""), codesIn(methods).toSorted()]);
  expect(Object.fromEntries(documentedGroups)).toEqual(Object.fromEntries(groups));
});

it("documents every option", () => {
  // Compiles only if the names are complete and exact.
  const options: Record<keyof SettingsClientOptions, true> = {
    baseUrl: true,
    apiKey: true,
    timeoutMs: true,
    retries: true,
    allowInsecureHttp: true,
    maxResponseBytes: true,
    dispatcher: true,
    limiter: true,
    time: true,
  };
  const documentedOptions = page.rows("Options").map(([name = ""]) => name.replaceAll("`", ""));
  expect(documentedOptions).toEqual(Object.keys(options));
});

it("documents every error code", () => {
  const source = globSync("provider/client/*.ts").map((file) => readFileSync(file, "utf8"));
  const known = source.flatMap((text) => text.match(/(?<=")ERR_(?!SSL_|TLS_)[A-Z_]+(?=")/g) ?? []);
  expect(page.codes("Failures").toSorted()).toEqual([...new Set(known)].toSorted());
});
