import { describe, expect, it, test } from "vitest";
import { buildTenantsJsonSchema } from "../../../provider/rollout/targets/targets-schema";
import { buildSettingsJsonSchema } from "../../../provider/settings-files/settings-schema";
import { DocsPage } from "../../support/docs-page";
import { collectMappings } from "./schema-mappings";

/**
 * The place where a mapping's keys are documented: the page, the heading, and the column whose cell is not empty for a
 * key of this mapping.
 */
type DocsTable = readonly [page: string, heading: string, column?: number];

const SETTINGS: Readonly<Record<string, DocsTable>> = {
  "": ["settings-file", "File keys"],
  policy: ["policy", "Team policy"],
  "lists.entries": ["settings-file", "List options", 1],
  "lists.vips": ["settings-file", "List options", 2],
  remove: ["settings-file", "`remove`"],
  "vips[]": ["settings-file", "VIPs"],
  "allow[]": ["settings-file", "Allow and deny entries"],
  "allow[].reviewed": ["settings-file", "`reviewed`"],
  "deny[].reviewed": ["settings-file", "`reviewed`"],
  "vips[].reviewed": ["settings-file", "`reviewed`"],
  "allow[].seen": ["settings-file", "`seen`"],
  "deny[].seen": ["settings-file", "`seen`"],
  "vips[].seen": ["settings-file", "`seen`"],
  source: ["settings-file", "Generated files"],
  "deny[]": ["settings-file", "Allow and deny entries"],
};

const TENANT: DocsTable = ["tenants-file", "Tenants and `defaults`"];

const TENANTS: Readonly<Record<string, DocsTable>> = {
  "": ["tenants-file", "File keys"],
  defaults: TENANT,
  "defaults.key": ["tenants-file", "`key`"],
  "tenants.*": TENANT,
  "tenants.*.key": ["tenants-file", "`key`"],
  "services.*": ["tenants-file", "`services`"],
  notify: ["tenants-file", "`notify`"],
  "notify.mail": ["tenants-file", "Receivers"],
  "notify.slack": ["tenants-file", "Receivers"],
  "notify.teams": ["tenants-file", "Receivers"],
  "notify.webhook": ["tenants-file", "Receivers"],
  "waves[]": ["tenants-file", "`waves`"],
  "waves[].health": ["tenants-file", "`health`"],
  "waves[].health.threats": ["tenants-file", "`threats`"],
};

/** Keys that exist only for tenants and are documented in a separate table. */
const TENANT_FIELDS = ["stack", "resource"];

function listDocumentedKeys([page, heading, column = 1]: DocsTable): string[] {
  return new DocsPage(`reference/${page}.md`)
    .getTableRows(heading)
    .filter((cells) => cells[column] !== "")
    .map(([key = ""]) => key.replaceAll("`", ""));
}

describe.for([
  ["settings files", SETTINGS, collectMappings(buildSettingsJsonSchema())],
  ["tenants.yaml", TENANTS, collectMappings(buildTenantsJsonSchema())],
] as const)("keys of %s", ([, tables, mappings]) => {
  it("documents every mapping", () => {
    const known = [...mappings.keys()].filter((path) => path !== "lists");
    expect(Object.keys(tables).toSorted()).toEqual(known.toSorted());
  });

  test.for(Object.entries(tables))('documents exactly the keys of the schema under "%s"', ([path, table]) => {
    const keys = mappings.get(path) ?? [];
    const isShared = path === "defaults";
    expect(listDocumentedKeys(table).toSorted()).toEqual([...keys, ...(isShared ? TENANT_FIELDS : [])].toSorted());
  });
});
