import { expect, it } from "vitest";
import type { SettingsClientOptions } from "../../../provider/client";
import { CONFIGURATION_ERRORS, SERVICE_ERRORS } from "../../../provider/commands/explain/client-error-explanations";
import { DocsPage } from "../../support/docs-page";

const page = new DocsPage("reference/client.md");

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
  const documentedOptions = page.getTableRows("Options").map(([name = ""]) => name.replaceAll("`", ""));
  expect(documentedOptions).toEqual(Object.keys(options));
});

/** Codes of the same groups that the client never fails with. */
const NOT_OF_THE_CLIENT = ["ERR_CUSTOM_TIMEOUT", "ERR_MISSING_PACKAGE"];

it("documents every error code", () => {
  const known = Object.keys({ ...SERVICE_ERRORS, ...CONFIGURATION_ERRORS });
  const expected = known.filter((code) => !NOT_OF_THE_CLIENT.includes(code));
  expect(page.getTableCodes("Failures").toSorted()).toEqual(expected.toSorted());
});
