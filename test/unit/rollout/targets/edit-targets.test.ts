import fc from "fast-check";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { addTenant, removeTenant, type TenantFields } from "../../../../provider/rollout/targets/edit-targets";

const NEW: TenantFields = {
  baseUrl: "https://mail.example",
  keyVariable: "NEW_KEY",
  settings: "settings/new.yaml",
};

const FILE = `# All our tenants.
version: 1
defaults:
  settings: settings/{name}.yaml   # one each

tenants:
  # The first customer.
  acme:
    baseUrl: 'https://a.example'   # old host

  # On the new host.
  globex:
    baseUrl: https://b.example
    # Rotated in May.
    key: { environment: GLOBEX_KEY }
    # ends here

# Canaries first.
waves:
  - { name: all }
`;

it("adds a tenant in the style of the last one", () => {
  const added = addTenant(FILE, "new", NEW);
  expect(added).toBe(
    FILE.replace(
      "    # ends here\n",
      `    # ends here

  new:
    baseUrl: https://mail.example
    key: { environment: NEW_KEY }
    settings: settings/new.yaml
`,
    ),
  );
  expect(removeTenant(FILE, "acme")).toBe(FILE.replace(/ {2}# The first customer\.\n {2}acme:\n.*\n/, ""));
  expect(removeTenant(FILE, "globex")).toBe(FILE.replace(/ {2}# On the new host\.\n {2}globex:\n(?: {4}.*\n)+/, ""));
});

it.each([
  ["", "version: 1\n\ntenants:\n  new:\n    labels: { ring: canary }\n"],
  ["version: 1\n", "version: 1\n\ntenants:\n  new:\n    labels: { ring: canary }\n"],
  ["version: 1\ntenants: {} # none\n", "version: 1\ntenants: # none\n  new:\n    labels: { ring: canary }\n"],
  ["version: 1\ntenants:\nwaves: []\n", "version: 1\ntenants:\n  new:\n    labels: { ring: canary }\nwaves: []\n"],
  ["version: 1\ntenants: { a: {}, b: {} }", "version: 1\ntenants: { a: {}, b: {}, new: { labels: { ring: canary } } }"],
  [
    "version: 1\r\ntenants:\r\n    a: { labels: { x: z } }",
    "version: 1\r\ntenants:\r\n    a: { labels: { x: z } }\r\n    new: { labels: { ring: canary } }",
  ],
  [
    "\uFEFFversion: 1\ntenants:\n  a:\n      stack: b\n",
    "\uFEFFversion: 1\ntenants:\n  a:\n      stack: b\n  new:\n      labels: { ring: canary }\n",
  ],
])("adds a tenant to %j", (before, after) => {
  expect(addTenant(before, "new", { labels: { ring: "canary" } })).toBe(after);
});

it.each([
  ["a name that is there", "version: 1\ntenants: { new: {} }\n", "it already has the tenant new"],
  ["JSON", '{"version":1,"tenants":{"a":{}}}\n', "it is a flow mapping"],
  ["an anchor", "version: 1\ntenants:\n  a: &a {}\n  b: *a\n", "can't be edited line by line"],
  ["a list", "version: 1\ntenants: [a]\n", "its `tenants` isn't a mapping of names"],
  ["two documents' end", "version: 1\ntenants:\n  a: {}\n...\n", undefined],
])("handles a file with %s when adding a tenant", (_label, text, reason) => {
  if (reason !== undefined) expect(() => addTenant(text, "new", NEW)).toThrow(reason);
  else
    expect(parse(addTenant(text, "new", NEW))).toMatchObject({
      tenants: { a: {}, new: { baseUrl: NEW.baseUrl } },
    });
});

it("removes the only tenant and one in a flow mapping", () => {
  expect(removeTenant("version: 1\ntenants:\n  a:\n    stack: b\n# end\n", "a")).toBe(
    "version: 1\ntenants: {}\n# end\n",
  );
  expect(removeTenant("version: 1\ntenants: { a: {}, b: { stack: c }, d: {} }\n", "b")).toBe(
    "version: 1\ntenants: { a: {}, d: {} }\n",
  );
  const formatFlow = (a: string): string => `version: 1\ntenants:\n${a}    # about b\n  b: {}\n`;
  expect(removeTenant(formatFlow("  a: { stack: s }\n"), "a")).toBe(formatFlow(""));
  expect(() => removeTenant(FILE, "hooli")).toThrow("it has no tenant hooli");
});

it("leaves other tenants unchanged in any style", () => {
  const name = fc.stringMatching(/^[a-z][a-z0-9_.-]{0,8}$/).filter((candidate) => candidate !== "__proto__");
  const tenant = fc.constantFrom(
    ":\n",
    ": {}\n",
    ": { stack: s1 } # why\n",
    ": { labels: { a: b },\n      stack: s }\n",
    ":\n    stack: s2\n",
    ":\n    # in it\n    labels:\n      a: 'b # c'\n    # below\n",
    ":\n    baseUrl: >-\n      https://a.example\n",
    ":\n    key:\n      command:\n        - vault\n        - read\n",
  );
  const above = fc.constantFrom("", "", "\n", "  # of it\n", "\n  # apart\n\n", "\n  # of it\n");
  const rest = fc.constantFrom("", "\n# Waves\nwaves:\n  - { name: all }\n", "waves: [{ name: all }]\n", "  # end\n");
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.tuple(name, tenant, above), {
        minLength: 2,
        maxLength: 6,
        selector: ([item]) => item.toLowerCase(),
      }),
      rest,
      fc.nat(),
      fc.boolean(),
      (tenants, tail, choice, isWindows) => {
        const formatTenants = (lines: typeof tenants): string =>
          lines.map(([item, text, before]) => `${before}  "${item}"${text}`).join("");
        const convertLineEnds = (text: string): string => (isWindows ? text.replaceAll("\n", "\r\n") : text);
        const text = convertLineEnds(`version: 1\ntenants:\n${formatTenants(tenants)}${tail}`);
        const added = addTenant(text, "zz-new", NEW);
        expect(removeTenant(added, "zz-new").replaceAll(/\s+$/gm, "")).toBe(text.replaceAll(/\s+$/gm, ""));
        const index = choice % tenants.length;
        const [removedName] = tenants[index] as (typeof tenants)[number];
        const remainingText = removeTenant(text, removedName);
        // The rest of the text stays in order, without the lines that belong only to the removed tenant.
        const lines = remainingText.split("\n");
        let from = 0;
        for (const line of text.split("\n")) if (line === lines[from]) from += 1;
        expect(from).toBe(lines.length);
        for (const [other] of tenants) expect(remainingText.includes(`"${other}"`)).toBe(other !== removedName);
      },
    ),
    { seed: 24, numRuns: 150 },
  );
});
