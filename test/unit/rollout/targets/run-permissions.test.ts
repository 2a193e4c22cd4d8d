import { mkdirSync, symlinkSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { KeySource, Target } from "../../../../provider/rollout/model/target";
import { assertRunPermissions } from "../../../../provider/rollout/targets/assert-run-permissions";
import { fillPlaceholders, restorePlaceholders } from "../../../../provider/rollout/targets/placeholders";
import { RunPermissions } from "../../../../provider/rollout/targets/run-permissions";
import { buildTarget, buildVariableSource } from "../../../support/rollout-target";
import { createTestDirectory } from "../../../support/test-directory";

const SERVICE = "https://mail-security.example";
const buildFileSource = (path: string): KeySource => ({ from: "file", path });
const buildCommandSource = (...words: readonly string[]): KeySource => ({ from: "command", command: words });

/** Returns the permissions that would have to be added for the tenant's requests. */
function listMissingPermissions(environment: Record<string, string>, key: KeySource, baseUrl = SERVICE): string[] {
  const disallowed = new RunPermissions(environment).validateTarget(buildTarget("acme", {}, { key, baseUrl }));
  return disallowed.map(({ kind }) => kind);
}

describe("default permissions", () => {
  it("allow only local services by default", () => {
    const own = buildVariableSource("EMAIL_SECURITY_API_KEY_ACME");
    expect(listMissingPermissions({}, own, "http://127.0.0.1:8080")).toEqual([]);
    expect(listMissingPermissions({}, own, "http://[::1]:8080/below")).toEqual([]);
    expect(listMissingPermissions({}, buildVariableSource("EMAIL_SECURITY_API_KEY"), "http://localhost")).toEqual([]);
    expect(listMissingPermissions({}, own)).toEqual(["service"]);
    expect(listMissingPermissions({}, own, "https://127.0.0.1.evil.example")).toEqual(["service"]);
  });

  it.each([
    [buildVariableSource("AWS_SECRET_ACCESS_KEY"), "environment"],
    [buildVariableSource("EMAIL_SECURITY_API_KEYS"), "environment"],
    [buildVariableSource("EMAIL_SECURITY_DATABASE"), "environment"],
    [buildFileSource("/run/secrets/tenants/acme"), "file"],
    [buildFileSource("settings/acme.yaml"), "file"],
    [buildCommandSource("true"), "command"],
  ] as const)("deny every other key source: %o", (key, setting) => {
    expect(listMissingPermissions({}, key, "http://localhost")).toEqual([setting]);
  });
});

describe("allowed services", () => {
  const key = buildVariableSource("EMAIL_SECURITY_API_KEY");
  const allowing = { EMAIL_SECURITY_SERVICES: "https://gate.example/mail/, https://Two.example:443" };

  it.each(["https://gate.example/mail", "https://gate.example/mail/eu", "https://two.example"])(
    "include paths below a named address: %s",
    (address) => expect(listMissingPermissions(allowing, key, address)).toEqual([]),
  );

  it.each([
    "https://gate.example",
    "https://gate.example/mailbox",
    "http://two.example",
    "https://two.example:8443",
    "https://two.example.evil.example",
    // Naming an address permits only that address.
    "http://127.0.0.1:8080",
  ])("exclude every other address: %s", (address) =>
    expect(listMissingPermissions(allowing, key, address)).toEqual(["service"]),
  );

  it("are rejected when not URLs", () => {
    const environment = { EMAIL_SECURITY_SERVICES: "mail-security.example" };
    expect(() => new RunPermissions(environment)).toThrow(/EMAIL_SECURITY_SERVICES contains "mail-security.example"/);
  });
});

describe("allowed variables", () => {
  const allowing = {
    EMAIL_SECURITY_SERVICES: SERVICE,
    EMAIL_SECURITY_KEY_VARIABLES: "ACME_KEY, TENANT_KEY_*",
  };

  it.each([
    ["ACME_KEY", []],
    ["TENANT_KEY_globex", []],
    ["EMAIL_SECURITY_API_KEY_ACME", []],
    ["TENANT_KEY_", ["environment"]],
    ["ACME_KEY_2", ["environment"]],
    ["acme_key", ["environment"]],
  ])("match whole names and prefixes: %s", (name, disallowed) => {
    expect(listMissingPermissions(allowing, buildVariableSource(name))).toEqual(disallowed);
  });

  it.each(["*", "A*KEY", "ACME-KEY", "*_KEY"])("can't be all names or suffixes: %s", (pattern) => {
    const environment = { EMAIL_SECURITY_KEY_VARIABLES: pattern };
    expect(() => new RunPermissions(environment)).toThrow(/EMAIL_SECURITY_KEY_VARIABLES contains/);
  });
});

it("allows only files that really lie in an allowed directory", () => {
  using directory = createTestDirectory({ "keys/..data/acme": "k", "keys/plain": "k", other: "secret" });
  symlinkSync("..data/acme", directory.at("keys/acme"));
  symlinkSync("../other", directory.at("keys/outside"));
  mkdirSync(directory.at("keys-2"));
  const allowing = { EMAIL_SECURITY_SERVICES: SERVICE, EMAIL_SECURITY_KEY_FILES: directory.at("keys") };
  const listRejections = (path: string): string[] =>
    listMissingPermissions(allowing, buildFileSource(directory.at(path)));
  for (const path of ["keys/acme", "keys/plain", "keys/not-there"]) expect(listRejections(path), path).toEqual([]);
  for (const path of ["other", "keys/outside", "keys/../other", "keys-2/acme"]) {
    expect(listRejections(path), path).toEqual(["file"]);
  }
});

describe("allowed commands", () => {
  const allowing = {
    EMAIL_SECURITY_SERVICES: SERVICE,
    EMAIL_SECURITY_COMMANDS: '[vault, read, -field=key, "secret/{name}"]\n["./check.sh", "a word"]\n',
  };

  it("match word by word, with the tenant's own name", () => {
    expect(listMissingPermissions(allowing, buildCommandSource("vault", "read", "-field=key", "secret/acme"))).toEqual(
      [],
    );
    expect(listMissingPermissions(allowing, buildCommandSource("./check.sh", "a word"))).toEqual([]);
    for (const other of [
      ["vault", "read", "-field=key", "secret/globex"],
      ["vault", "read", "-field=key", "secret/{name}"],
      ["vault", "read", "-field=key"],
      ["vault", "read", "-field=key", "secret/acme", "--"],
      ["./check.sh", "a", "word"],
    ]) {
      expect(listMissingPermissions(allowing, buildCommandSource(...other)), other.join(" ")).toEqual(["command"]);
    }
    const countHealthProblems = (words: readonly string[]) =>
      new RunPermissions(allowing).validateHealthCheck({ command: words, timeoutMs: 1 }).length;
    expect(countHealthProblems(["./check.sh", "a word"])).toBe(0);
    expect(countHealthProblems(["vault", "read", "-field=key", "secret/acme"])).toBe(1);
  });

  it.each(["1", "vault read", "[]", "[vault, 1]", "[vault"])("are rejected when malformed: %s", (line) => {
    expect(() => new RunPermissions({ EMAIL_SECURITY_COMMANDS: line })).toThrow(
      /EMAIL_SECURITY_COMMANDS contains a line that isn't a command/,
    );
  });
});

describe("the permission error", () => {
  const describeRejection = (targets: readonly Target[], environment: Record<string, string> = {}): string => {
    try {
      assertRunPermissions("tenants.yaml", targets, [], environment);
    } catch (error) {
      return (error as Error).message;
    }
    return "";
  };

  it("lists all denials", () => {
    const health = { command: ["./check.sh", "it's"], timeoutMs: 1 };
    const targets = [
      buildTarget("acme"),
      buildTarget("globex", {}, { key: buildFileSource("/run/secrets/globex"), baseUrl: "http://127.0.0.1:1" }),
      buildTarget("initech", {}, { key: buildCommandSource("vault", "secret/initech") }),
    ];
    const assertHealthAllowed = (): void =>
      assertRunPermissions("tenants.yaml", targets, [{ name: "canary", health }], {
        EMAIL_SECURITY_KEY_VARIABLES: "OTHER_*",
      });
    expect(assertHealthAllowed).toThrow(
      `This run does not allow the following, which "tenants.yaml" requires. Nothing was run, and no key was read or sent.
  the address "https://mail-security.example", for "acme" (tenants.yaml:1), "initech" (tenants.yaml:1)
  the environment variable acme_KEY, for "acme" (tenants.yaml:1)
  the file "/run/secrets/globex", for "globex" (tenants.yaml:1)
  the command '["vault","secret/initech"]', for "initech" (tenants.yaml:1)
  the command "[\\"./check.sh\\",\\"it's\\"]", for the health of the wave "canary"
A change to that file must not decide this. If all of this is intended, set it where the run starts:
  EMAIL_SECURITY_SERVICES=http://127.0.0.1:1,https://mail-security.example
  EMAIL_SECURITY_KEY_VARIABLES=OTHER_*,acme_KEY
  EMAIL_SECURITY_KEY_FILES=/run/secrets/globex
  EMAIL_SECURITY_COMMANDS='["vault","secret/initech"]
["./check.sh","it'\\''s"]'`.replace("OTHER_*,acme_KEY", "'OTHER_*,acme_KEY'"),
    );
  });

  it("is short for many similar denials", () => {
    const many = Array.from({ length: 300 }, (_, index) =>
      buildTarget(`t${index}`, {}, { key: buildCommandSource("vault", `secret/t${index}`) }),
    );
    const message = describeRejection(many);
    expect(message.split("\n")).toHaveLength(6);
    expect(message).toContain("297 more");
    expect(message).toContain(`EMAIL_SECURITY_COMMANDS='["vault","secret/{name}"]'`);
    const odd = Array.from({ length: 300 }, (_, index) =>
      buildTarget(`t${index}`, {}, { key: buildVariableSource(`V${index}`) }),
    );
    expect(describeRejection(odd).split("\n").length).toBeLessThan(30);
  });

  it("disappears once its suggested settings are set", () => {
    const name = fc.stringMatching(/^[a-z0-9][A-Za-z0-9_.-]{0,8}$/);
    const word = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }).map((text) => text.replaceAll("\0", ""));
    const key: fc.Arbitrary<KeySource> = fc.oneof(
      fc.stringMatching(/^[A-Za-z_]\w{0,10}$/).map(buildVariableSource),
      fc.stringMatching(/^\/no-such\/[a-z]{1,3}\/[a-z]{1,3}$/).map(buildFileSource),
      fc
        .array(
          word.filter((text) => text !== ""),
          { minLength: 1, maxLength: 4 },
        )
        .map((words) => buildCommandSource(...words)),
    );
    const address = fc.constantFrom(SERVICE, "https://two.example/mail", "http://127.0.0.1:9");
    const targetSpecs = fc.uniqueArray(fc.record({ name, key, address }), {
      selector: (item) => item.name,
      maxLength: 6,
    });
    fc.assert(
      fc.property(targetSpecs, (all) => {
        const targets = all.map((item) => buildTarget(item.name, {}, { key: item.key, baseUrl: item.address }));
        const set = parseAssignments(describeRejection(targets));
        expect(describeRejection(targets, set)).toBe("");
        // Nothing else is permitted: an address that wasn't requested is still refused.
        const other = buildTarget(
          "other",
          {},
          { baseUrl: "https://evil.example", key: buildVariableSource("_NOT_ASKED_FOR_") },
        );
        expect(new RunPermissions(set).validateTarget(other).map(({ kind }) => kind)).toEqual([
          "service",
          "environment",
        ]);
      }),
    );
  });
});

/** Returns the variables that a refusal says to set, parsed by a shell. */
function parseAssignments(message: string): Record<string, string> {
  const [, lines = ""] = message.split("run starts:\n");
  const variableLines = lines.matchAll(/^ {2}(EMAIL_SECURITY_\w+)=((?:'[^']*'|\\'|[^'\n])*)$/gm);
  return Object.fromEntries(
    [...variableLines].map(([, variableName = "", value = ""]) => [
      variableName,
      value.replace(/'([^']*)'|\\(')/g, (_, quoted?: string, escaped?: string) => quoted ?? escaped ?? ""),
    ]),
  );
}

it("restores placeholders that fill back to the same text", () => {
  const name = fc.stringMatching(/^[A-Za-z0-9_.-]{1,6}$/);
  const text = fc
    .array(fc.oneof(fc.constantFrom("/", "-", "_", "secret/", "{name}", "{"), name))
    .map((parts) => parts.join(""));
  fc.assert(
    fc.property(name, text, (item, before) => {
      const filled = fillPlaceholders(before, item);
      const again = restorePlaceholders(filled, item);
      if (!/\{(?:name|NAME)\}/.test(filled)) expect(fillPlaceholders(again, item)).toBe(filled);
    }),
  );
});
