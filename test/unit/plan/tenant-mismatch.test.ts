import { expect, it } from "vitest";
import type { VipEmployeeRow } from "../../../provider/client";
import { detectDrift } from "../../../provider/gitops/detect-drift";
import { buildObservedState } from "../../../provider/plan/observed-state";
import { OtherTenantError } from "../../../provider/resources/lifecycle/errors";
import { inspectSettings } from "../../../provider/settings-files/read-settings";
import type { Settings } from "../../../provider/settings-files/settings-model";

/** The own domains of a machine with settings files of both tenants. */
const ENVIRONMENT = ["globex.example", "acme.example"];

const inspectText = (text: string) =>
  inspectSettings("s.yaml", {
    today: "2026-11-21",
    ownDomains: ENVIRONMENT,
    readFile: () => `version: 1\n${text}`,
  });

const detectMailboxDrift = (text: string, mailbox: string) => {
  const vips = Array.from({ length: 5 }, (_, index) => ({ email: `${index}.${mailbox}`, source: "manual" }));
  const observed = buildObservedState("2026-11-21T00:00:00.000Z", [], vips as VipEmployeeRow[]);
  return detectDrift(inspectText(text).settings as Settings, observed, "host", undefined, {
    ownDomains: ENVIRONMENT,
  });
};

it("prefers the files' own domains over the environment's", () => {
  expect(() => detectMailboxDrift("ownDomains: [acme.example]\ndeny: [a.example]\n", "x@globex.example")).toThrow(
    OtherTenantError,
  );
  const { items } = detectMailboxDrift("ownDomains: [acme.example]\ndeny: [a.example]\n", "x@acme.example");
  expect(items.filter(({ kind }) => kind === "entry").map(({ driftKind, value }) => [driftKind, value])).toEqual([
    ["missing", "a.example"],
  ]);
  expect(() => detectMailboxDrift("deny: [a.example]\n", "x@globex.example")).not.toThrow();
  expect(() => detectMailboxDrift("deny: [a.example]\n", "x@hooli.example")).toThrow(OtherTenantError);
});

it("flags risky allows by own domains of files and environment", () => {
  const codes = inspectText("ownDomains: [acme.example]\nallow: [acme.example, globex.example]\n").findings;
  expect(codes.map(({ code }) => code)).toEqual(["allow-own-domain", "allow-own-domain"]);
});
