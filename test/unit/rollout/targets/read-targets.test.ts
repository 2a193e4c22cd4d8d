import { mkdirSync, symlinkSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Targets } from "../../../../provider/rollout/model/target";
import { readTargets } from "../../../../provider/rollout/targets/read-targets";
import { TargetsFileError } from "../../../../provider/rollout/targets/targets-file-error";
import { createTestDirectory, type TestDirectory } from "../../../support/test-directory";

/** Reads `tenants.yaml` from the given files. Returns the targets with paths relative to their directory. */
function readFiles(files: Readonly<Record<string, string>>, prepare?: (directory: TestDirectory) => void): Targets {
  using directory = createTestDirectory(files);
  prepare?.(directory);
  const targets = readTargets(directory.at("tenants.yaml"));
  const parts = [...Object.entries(targets)].map(([name, value]) =>
    value instanceof Map ? [name, value] : [name, stripDirectory(value, directory)],
  );
  return Object.fromEntries(parts);
}

/** Returns the mistakes as `tenants.yaml:3:5 message`. */
function listMistakes(
  files: string | Readonly<Record<string, string>>,
  prepare?: (directory: TestDirectory) => void,
): string[] {
  using directory = createTestDirectory(typeof files === "string" ? { "tenants.yaml": files } : files);
  prepare?.(directory);
  try {
    readTargets(directory.at("tenants.yaml"));
    return [];
  } catch (error) {
    expect(error).toBeInstanceOf(TargetsFileError);
    const { code, message, findings } = error as TargetsFileError;
    expect(code).toBe("ERR_ROLLOUT_TARGETS");
    for (const finding of findings.slice(0, 100)) expect(message).toContain(finding.message);
    return findings.map(
      (finding) =>
        `${finding.place?.file.replace(`${directory.path}/`, "")}:${finding.place?.line}:${finding.place?.column} ${finding.message.replaceAll(`${directory.path}/`, "")}`,
    );
  }
}

function stripDirectory<Value>(value: Value, directory: TestDirectory): Value {
  return value === undefined ? value : JSON.parse(JSON.stringify(value).replaceAll(`${directory.path}/`, ""));
}

const DEFAULTS = `version: 1
defaults:
  baseUrl: https://mail-security.example/
  key: { environment: "{NAME}_API_KEY" }
  settings: settings/{name}.yaml
`;

/** Prepends the defaults, so that the text starts at line 6. */
const prependDefaults = (text: string): string => `${DEFAULTS}${text}`;

describe("a complete tenants file", () => {
  const files = {
    "tenants.yaml": `version: 1
project: mail
include: [customers/emea.yaml]
defaults:
  baseUrl: https://mail-security.example/
  key: { environment: "{NAME}_API_KEY" }
  settings: settings/{name}.yaml
  labels: { region: us, tier: gold }
tenants:
  acme-1.b: { labels: { ring: canary, region: eu } }
  "10":
    key: { file: "keys/{name}" }
  "2": { key: { command: [vault, read, "secret/{name}"] }, stack: two, resource: settings }
services:
  https://Mail-Security.example/: { requestsPerSecond: 0.5, maxConcurrent: 8 }
failureTolerance: 2.5%
waves:
  - name: canary
    match: { ring: canary, region: [eu, us] }
    limit: 10%
    maxConcurrent: 3
    failureTolerance: 1
    soak: 90m
    gate: true
    health: { command: [./check.sh, now], timeout: 90s, threats: { min: 3 } }
  - { name: rest, soak: 2d, limit: 3, health: { threats: {} } }
`,
    "customers/emea.yaml": `version: 1
defaults:
  labels: { region: eu }
  settings: "{name}/settings.yml"
  allowInsecureHttp: true
  provider: native
tenants:
  globex:
  hooli: { provider: dynamic, baseUrl: http://hooli.example/api/, key: { file: /run/secrets/hooli }, allowInsecureHttp: true }
`,
  };

  it("is read with tenants in line order", () => {
    const { targets, waves, services, ...rest } = readFiles(files);
    expect(rest).toEqual({
      file: "tenants.yaml",
      files: ["tenants.yaml", "customers/emea.yaml"],
      project: "mail",
      failureTolerance: { percent: 2.5 },
      findings: [],
    });
    const service = { baseUrl: "https://mail-security.example", allowInsecureHttp: false };
    expect(
      targets.map(({ place, ...item }) => ({ ...item, at: `${place.file}:${place.line}:${place.column}` })),
    ).toEqual([
      {
        name: "acme-1.b",
        labels: { region: "eu", tier: "gold", ring: "canary" },
        ...service,
        key: { from: "environment", variable: "ACME_1_B_API_KEY" },
        settings: "settings/acme-1.b.yaml",
        stack: "acme-1.b",
        at: "tenants.yaml:10:3",
      },
      {
        name: "10",
        labels: { region: "us", tier: "gold" },
        ...service,
        key: { from: "file", path: "keys/10" },
        settings: "settings/10.yaml",
        stack: "10",
        at: "tenants.yaml:11:3",
      },
      {
        name: "2",
        labels: { region: "us", tier: "gold" },
        ...service,
        key: { from: "command", command: ["vault", "read", "secret/2"] },
        settings: "settings/2.yaml",
        stack: "two",
        resource: "settings",
        at: "tenants.yaml:13:3",
      },
      {
        name: "globex",
        labels: { region: "eu", tier: "gold" },
        ...service,
        allowInsecureHttp: true,
        key: { from: "environment", variable: "GLOBEX_API_KEY" },
        settings: "customers/globex/settings.yml",
        stack: "globex",
        provider: "native",
        at: "customers/emea.yaml:8:3",
      },
      {
        name: "hooli",
        labels: { region: "eu", tier: "gold" },
        baseUrl: "http://hooli.example/api",
        allowInsecureHttp: true,
        key: { from: "file", path: "/run/secrets/hooli" },
        settings: "customers/hooli/settings.yml",
        stack: "hooli",
        provider: "dynamic",
        at: "customers/emea.yaml:9:3",
      },
    ]);
    expect(waves.map(({ place, ...item }) => ({ ...item, line: place.line }))).toEqual([
      {
        name: "canary",
        match: { ring: ["canary"], region: ["eu", "us"] },
        limit: { percent: 10 },
        maxConcurrent: 3,
        failureTolerance: { count: 1 },
        soakMs: 5_400_000,
        gate: true,
        health: { command: ["./check.sh", "now"], timeoutMs: 90_000, threats: { risePercent: 50, min: 3 } },
        line: 18,
      },
      {
        name: "rest",
        limit: { count: 3 },
        maxConcurrent: 1,
        failureTolerance: { count: 0 },
        soakMs: 172_800_000,
        gate: false,
        health: { timeoutMs: 300_000, threats: { risePercent: 50, min: 10 } },
        line: 26,
      },
    ]);
    expect([...services]).toEqual([["https://mail-security.example", { requestsPerSecond: 0.5, maxConcurrent: 8 }]]);
  });
});

describe("omitted or unmatched settings", () => {
  it("default to one sequential wave of all tenants", () => {
    const { waves, services, failureTolerance } = readFiles({
      "tenants.yaml": prependDefaults("tenants: { acme: }\n"),
    });
    expect(waves).toMatchObject([
      { name: "all", maxConcurrent: 1, failureTolerance: { count: 0 }, soakMs: 0, gate: false },
    ]);
    expect(waves[0]).not.toHaveProperty("match");
    expect(waves[0]).not.toHaveProperty("limit");
    expect(services.size).toBe(0);
    expect(failureTolerance).toBeUndefined();
  });

  it("take the project from a Pulumi.yaml in the same directory", () => {
    const tenants = { "tenants.yaml": prependDefaults("tenants: { acme: }\n") };
    expect(readFiles(tenants).project).toBe("email-security");
    expect(readFiles({ ...tenants, "Pulumi.yaml": "name: mail # ours\nruntime: nodejs\n" }).project).toBe("mail");
    expect(listMistakes({ ...tenants, "Pulumi.yaml": "runtime: nodejs\n" })).toEqual([
      'Pulumi.yaml:1:1 has no valid Pulumi project name, which is needed because "tenants.yaml" has no `project`; write it in one of the two',
    ]);
  });

  it.each([
    ["ring: canry", "gate: true", 'none has ring: "canry", did you mean canary?', "its gate"],
    ["rnig: canary", "soak: 5m", 'no tenant has a label "rnig", did you mean ring?', "its soak"],
    ["{ ring: canary, region: eu }", "health: { command: [ok] }", "none has all of these labels", "its health check"],
    [
      "ring: [beta, x]",
      "gate: true, soak: 1s",
      'none has ring: "beta" or ring: "x", the known names are canary, early',
      "its soak and its gate",
    ],
  ])("cause an error for an unmatched wave on %s with %s", (match, asks, reason, lost) => {
    const rule = match.startsWith("{") ? match : `{ ${match} }`;
    const file = prependDefaults(`tenants:
  a: { labels: { ring: canary } }
  b: { labels: { ring: early, region: eu } }
waves:
  - { name: first, match: ${rule}, ${asks} }
  - { name: rest }
`);
    const [message = "", ...others] = listMistakes(file);
    expect(others).toEqual([]);
    expect(message).toMatch(/^tenants\.yaml:10:\d+ no tenant matches the wave "first" /);
    expect(message).toContain(`, so it would be skipped, and with it ${lost}; fix its`);
    expect(message.endsWith(`: ${reason}`), message).toBe(true);
    // A wave that waits for nothing loses nothing.
    expect(listMistakes(file.replace(`, ${asks}`, ""))).toEqual([]);
  });

  it("cause a warning for a service without tenants", () => {
    const { findings } = readFiles({
      "tenants.yaml": prependDefaults(
        "tenants: { acme: }\nservices: { https://other.example: { maxConcurrent: 1 } }\n",
      ),
    });
    expect(findings).toMatchObject([{ level: "warning", code: "service-unused", place: { line: 7, column: 13 } }]);
  });
});

describe("a mistake in one place", () => {
  it.each<[text: string, ...mistakes: string[]]>([
    ["tenants: {}", "6:10 declares no tenant; write one under `tenants`"],
    ["tenants: [acme]", '6:10 tenants must be tenants by their names, not ["acme"]'],
    ["tenant: { acme: {} }", '6:1 "tenant" isn\'t a valid key here; did you mean tenants?'],
    [
      "owner: me\ntenants: { acme: { colour: red } }",
      '6:1 "owner" isn\'t a valid key here; the known names are version, project, include, defaults, tenants, services, notify, failureTolerance, waves',
      '7:20 "colour" isn\'t a valid key here; the known names are baseUrl, key, settings, labels, provider, allowInsecureHttp, stack, resource',
    ],
    ["tenants: { acme: { provider: both } }", '6:30 provider must be dynamic or native, not "both"'],
    ["tenants: { acme: { url: https://a.example } }", '6:20 "url" isn\'t a valid key here; did you mean baseUrl?'],
    [
      "tenants: { a b: {} }",
      '6:12 "a b" isn\'t a valid Pulumi stack name; write 1 to 100 of the letters A to Z, a to z, digits, hyphens, underscores and dots',
    ],
    ["tenants: { ..: {} }", '6:12 ".." is a reserved name; use another'],
    ["tenants: { __proto__: {} }", '6:12 "__proto__" can\'t be used here'],
    ["tenants: { acme: { labels: { __proto__: x } } }", '6:30 "__proto__" can\'t be used here'],
    [
      "tenants: { acme: { labels: { ring: 1 } } }",
      '6:36 ring: 1 is read as 1 by YAML, not as text; write "1" in quotes',
    ],
    [
      "tenants: { acme: { labels: { ring: 'a,b' } } }",
      '6:36 ring is "a,b"; write 1 to 200 characters without commas or surrounding white space',
    ],
    [
      "tenants: { acme: { labels: { ring=x: a } } }",
      '6:30 "ring=x" isn\'t a valid label; write 1 to 100 of the letters A to Z, a to z, digits, hyphens, underscores, dots and slashes',
    ],
    [
      "tenants: { acme: { stack: org/acme } }",
      '6:27 stack "org/acme" contains more than the stack\'s own name: set the project with `project`, and an organization of Pulumi Cloud with PULUMI_DEFAULT_ORGANIZATION, where the run is started',
    ],
    [
      "tenants: { acme: { baseUrl: mail.example } }",
      "6:29 The service's address (baseUrl) isn't a valid URL. Set it to an address such as https://mail-security.example.",
    ],
    [
      "tenants: { acme: { baseUrl: http://mail.example } }",
      '6:29 The service\'s address (baseUrl) is "http://mail.example": plain http would send the API key unencrypted. Use https. If you really need http, set allowInsecureHttp (EMAIL_SECURITY_ALLOW_INSECURE_HTTP=true for resources).',
    ],
    [
      "tenants: { acme: { settings: '{Name}.yaml' } }",
      '6:30 settings contains "{Name}"; the placeholders are {name} and {NAME}',
    ],
    [
      "tenants: { acme: { settings: /etc/acme.yaml } }",
      '6:30 settings "/etc/acme.yaml" is an absolute path, which doesn\'t exist on other machines; write it relative to this file',
    ],
    [
      "tenants: { acme: { settings: acme.csv } }",
      '6:30 settings "acme.csv" isn\'t a settings file; its name must end in .yaml, .yml or .json',
    ],
    [
      "tenants: { 3m: {} }",
      '4:8 environment isn\'t a valid variable name after the name "3m" is inserted; give this tenant its own key, such as { environment: TENANT_{NAME}_API_KEY }',
    ],
    [
      "tenants: { acme: { key: { } } }",
      "6:25 key is empty; write its source: { environment: ACME_API_KEY }, { file: /run/secrets/acme } or { command: [program, argument] }",
    ],
    ["tenants: { acme: { key: { file: a, environment: B } } }", "6:25 key has more than one source; keep one"],
    [
      "tenants: { acme: { key: { command: vault read } } }",
      "6:36 command must be a list of a program and its arguments, such as [vault, read, -field=key, secret/acme]",
    ],
    [
      "tenants: { acme: { key: { env: B } } }",
      "6:27 has an unknown key; write its source: { environment: ACME_API_KEY }, { file: /run/secrets/acme } or { command: [program, argument] }",
    ],
    [
      "tenants: { acme: }\nservices: { mail: {} }",
      "7:13 The service's address (baseUrl) isn't a valid URL. Set it to an address such as https://mail-security.example.",
    ],
    [
      "tenants: { acme: }\nservices:\n  https://mail-security.example: {}\n  https://mail-security.example/: {}",
      '9:3 the service "https://mail-security.example" is declared twice, here and at tenants.yaml:8; keep one of the two',
    ],
    [
      "tenants: { acme: }\nservices: { https://a.example: { requestsPerSecond: 0 } }",
      "7:53 requestsPerSecond is 0; write more than 0",
    ],
    [
      "tenants: { acme: }\nfailureTolerance: 101%",
      '7:19 failureTolerance must be a count or a percentage, such as 3 or 10%, not "101%"',
    ],
    [
      "tenants: { acme: }\nwaves: []",
      "7:8 waves is an empty list; write waves, or remove the line for one wave of all tenants",
    ],
    [
      "tenants: { acme: }\nwaves:\n  - { name: a }\n  - { name: a }",
      '9:13 the wave "a" is declared twice, here and at tenants.yaml:8; rename one of the two',
    ],
    [
      "tenants: { acme: }\nwaves:\n  - { name: a, limit: 0 }",
      "8:23 limit is too low; write at least 1, or more than 0%",
    ],
    [
      "tenants: { acme: }\nwaves:\n  - { name: a, limit: 0.0% }",
      "8:23 limit is too low; write at least 1, or more than 0%",
    ],
    [
      "tenants: { acme: }\nwaves:\n  - { name: a, limit: 1.5 }",
      "8:23 limit must be a count or a percentage, such as 3 or 10%, not 1.5",
    ],
    [
      "tenants: { acme: }\nwaves:\n  - { name: a, soak: 30 }",
      "8:22 soak must be a duration, such as 30s, 15m, 2h or 1d, not 30",
    ],
    ["tenants: { acme: }\nwaves:\n  - { name: a, soak: 31d }", '8:22 soak is "31d"; write a duration of at most 30d'],
    [
      "tenants: { acme: }\nwaves:\n  - { name: a, soak: 1w }",
      '8:22 soak is "1w"; write a duration such as 30s, 15m, 2h or 1d',
    ],
    [
      "tenants: { acme: }\nwaves:\n  - { name: a, maxConcurrent: 0 }",
      "8:31 maxConcurrent is 0; it can't be less than 1",
    ],
    [
      "tenants: { acme: }\nwaves:\n  - { name: a, match: { ring: [] } }",
      "8:31 ring is an empty list, which nothing matches; write a value",
    ],
    [
      "tenants: { acme: }\nwaves:\n  - { name: a, health: {} }",
      "8:24 health checks nothing; write `command` or `threats`",
    ],
    ["tenants: { acme: }\nwaves:\n  - { match: {} }", "8:5 name is missing; write a name"],
    [
      "tenants: { acme: }\nwaves:\n  - { name: a, matches: {} }",
      '8:16 "matches" isn\'t a valid key here; did you mean match?',
    ],
  ])("is reported: %j", (text, ...mistakes) => {
    expect(listMistakes(prependDefaults(`${text}\n`))).toEqual(mistakes.map((mistake) => `tenants.yaml:${mistake}`));
  });

  it("is reported for a missing version or tenant field", () => {
    expect(listMistakes("tenants: { acme: }\n")).toEqual([
      "tenants.yaml:1:1 version is missing; write `version: 1` as the first line",
    ]);
    expect(listMistakes("version: 1\ntenants:\n  acme: { settings: a.yaml }\n")).toEqual([
      'tenants.yaml:3:3 "acme" has no baseUrl; write it here, or for all tenants under `defaults`',
      'tenants.yaml:3:3 "acme" has no key; write it here, or for all tenants under `defaults`',
    ]);
  });

  it("is reported once for all tenants when in the defaults", () => {
    const text =
      "version: 1\ndefaults: { baseUrl: mail, key: { file: a }, settings: '{x}.yaml' }\ntenants: { a: , b: , c: }\n";
    expect(listMistakes(text)).toEqual([
      "tenants.yaml:2:22 The service's address (baseUrl) isn't a valid URL. Set it to an address such as https://mail-security.example.",
      'tenants.yaml:2:56 settings contains "{x}"; the placeholders are {name} and {NAME}',
    ]);
  });

  it("is reported for a missing file", () => {
    using directory = createTestDirectory();
    expect(() => readTargets(directory.at("tenants.yaml"))).toThrow(
      /tenants\.yaml" can.t be read: the file doesn't exist\. This file lists the tenants\./,
    );
  });
});

describe("a duplicate", () => {
  it("is reported at both places, even across files", () => {
    const mistakes = listMistakes({
      "tenants.yaml": prependDefaults(`include: [more.yaml]
tenants:
  acme: {}
  b: { stack: acme }
  c: { key: { environment: ACME_API_KEY } }
  d: { key: { file: key } }
  e: { key: { file: more/../key } }
  f: { key: { command: [get, key] } }
`),
      "more.yaml": `version: 1
tenants:
  g: { key: { command: [get, key] } }
  acme: {}
  ACME: {}
  h: { key: { command: [get, key] }, baseUrl: https://other.example }
`,
    });
    expect(mistakes).toEqual([
      'more.yaml:3:13 "g" has the address and the key of "f", at tenants.yaml:13, so both are the same tenant of the service; keep one of the two, or give it its own key',
      'more.yaml:4:3 the tenant "acme" is declared twice, here and at tenants.yaml:8; keep one of the two',
      'more.yaml:5:3 the tenant "ACME" differs only in case from "acme", at tenants.yaml:8; rename one of the two',
      'tenants.yaml:9:15 "b" has the stack "acme", which "acme" also has, at tenants.yaml:8; each would remove what the other declares. Give each its own stack',
      'tenants.yaml:10:13 "c" has the address and the key of "acme", at tenants.yaml:8, so both are the same tenant of the service; keep one of the two, or give it its own key',
      'tenants.yaml:12:13 "e" has the address and the key of "d", at tenants.yaml:11, so both are the same tenant of the service; keep one of the two, or give it its own key',
    ]);
  });

  it("is reported with both lines of one file", () => {
    expect(listMistakes(prependDefaults("tenants:\n  acme:\n  acme:\n"))).toEqual([
      'tenants.yaml:8:3 "acme" is a duplicate key, first on line 7, and only one can take effect; keep one',
    ]);
  });
});

describe("included files", () => {
  const formatInclude = (path: string): string => prependDefaults(`include: [${path}]\ntenants: { acme: }\n`);

  it.each([
    ["none.yaml", /^tenants\.yaml:6:11 "none\.yaml" can't be read: the file doesn't exist$/],
    ["tenants.yaml", /^tenants\.yaml:6:11 "tenants\.yaml" is already included; remove this line$/],
    ["'*.csv'", /^tenants\.yaml:6:11 "\*\.csv" isn't a settings file/],
    ["https://mail.example/a.yaml", /^tenants\.yaml:6:11 "https:.*" isn't a file/],
    ["/etc/a.yaml", /^tenants\.yaml:6:11 "\/etc\/a\.yaml" is an absolute path/],
  ])("are rejected for the path %s", (path, mistake) => {
    expect(listMistakes(formatInclude(path))).toEqual([expect.stringMatching(mistake)]);
  });

  it("may hold only tenants and their defaults", () => {
    expect(listMistakes({ "tenants.yaml": formatInclude("a.yaml"), "a.yaml": "version: 1\nwaves: []\n" })).toEqual([
      'a.yaml:2:1 "waves" isn\'t a valid key here; the known names are version, defaults, tenants',
    ]);
  });

  it("must lie within the repository, even through links", () => {
    const formatTenants = (include: string, settings: string): string =>
      `version: 1\ninclude: ${include}\ndefaults: { baseUrl: https://mail.example, key: { file: ../key } }\ntenants: { acme: { settings: ${settings} } }\n`;
    const linkOutside = (directory: TestDirectory): void => {
      mkdirSync(directory.at("repository/.git"));
      symlinkSync(directory.at("outside"), directory.at("repository/link"));
    };
    const listPathErrors = (include: string, settings: string): string[] => {
      const files = {
        "tenants.yaml": "",
        "repository/deep/tenants.yaml": formatTenants(include, settings),
        "outside/a.yaml": "version: 1\nsecret: here\n",
      };
      using directory = createTestDirectory(files);
      linkOutside(directory);
      try {
        readTargets(directory.at("repository/deep/tenants.yaml"));
        return [];
      } catch (error) {
        expect(String(error)).not.toContain("secret");
        return (error as TargetsFileError).findings.map(({ place, message }) => `${place?.line} ${message.slice(-60)}`);
      }
    };
    expect(listPathErrors("[]", "../acme.yaml")).toEqual([]);
    expect(listPathErrors("[]", "..acme.yaml")).toEqual([]);
    const settings = "4 s outside this file's repository, where changes aren't reviewed";
    expect(listPathErrors("[]", "../../outside/acme.yaml").map((error) => error.slice(-50))).toEqual([
      settings.slice(-50),
    ]);
    expect(listPathErrors("[]", "../link/none.yaml").map((error) => error.slice(-50))).toEqual([settings.slice(-50)]);
    const include = "it is outside the repository of the file that includes it";
    expect(listPathErrors("[../../outside/a.yaml]", "a.yaml")).toEqual([expect.stringContaining(include)]);
    expect(listPathErrors("[../link/a.yaml]", "a.yaml")).toEqual([expect.stringContaining(include)]);
  });
});

it("reports mistakes in 10,000 tenants quickly", () => {
  const lines = Array.from({ length: 10_000 }, (_, index) => `  t${index}: { settings: /abs/${index}.yaml }`);
  const mistakes = listMistakes(prependDefaults(`tenants:\n${lines.join("\n")}\n`));
  expect(mistakes).toHaveLength(10_000);
});
