import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { readStateFile } from "../../../../provider/rollout/stack/state-file";

const DEPLOYMENT = {
  manifest: { version: "v3.259.0" },
  resources: [{ urn: "urn:pulumi:t0::p::pulumi:pulumi:Stack::p-t0", type: "pulumi:pulumi:Stack", custom: false }],
};
const STATE = { version: 3, checkpoint: { stack: "organization/p/t0", latest: DEPLOYMENT } };

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "email-security-state-"));
  lay("meta.yaml", "version: 1\n");
  lay("stacks/p/t0.json", JSON.stringify(STATE));
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

function lay(path: string, text: string): void {
  const file = join(directory, ".pulumi", path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

const read = (more: object = {}): unknown =>
  readStateFile({ backend: `file://${directory}`, project: "p", stack: "t0", ...more });
/** Returns the state with additional properties. */
const having = (more: object): string => JSON.stringify({ ...STATE, ...more });
const holding = (more: object): string =>
  having({ checkpoint: { ...STATE.checkpoint, latest: { ...DEPLOYMENT, ...more } } });

it("reads the same state as the CLI would print", () => {
  expect(read()).toEqual({ version: 3, deployment: DEPLOYMENT });
  expect(read({ backend: `file://${directory}/` })).toEqual({ version: 3, deployment: DEPLOYMENT });
  lay("stacks/p/t0.json", holding({ resources: null }));
  expect(read()).toEqual({ version: 3, deployment: { ...DEPLOYMENT, resources: null } });
});

it("reads the state of a directory with spaces and other scripts in its name", () => {
  const spaced = join(directory, "é 日本 s");
  cpSync(join(directory, ".pulumi"), join(spaced, ".pulumi"), { recursive: true });
  expect(read({ backend: `file://${spaced}` })).toEqual({ version: 3, deployment: DEPLOYMENT });
});

it("leaves missing stacks and other backends to the CLI", () => {
  for (const stack of ["t1", "organization/p/t0", "../p/t0", "", "."]) expect(read({ stack })).toBeUndefined();
  expect(read({ project: "../stacks/p" })).toBeUndefined();
  const addresses = [
    undefined,
    "s3://states",
    `${directory}`,
    `file://${directory}?prefix=x`,
    `file://${directory}#x`,
    "file://~",
    `file://${directory}%20`,
    `file://${directory} `,
  ];
  for (const backend of addresses) expect(read({ backend })).toBeUndefined();
});

it.each(["t0.json.gz", "t0.json.zst"])("leaves the choice of the newer file to the CLI when %s exists", (name) => {
  lay(`stacks/p/${name}`, "");
  expect(read()).toBeUndefined();
});

it.each(["", "version: 0\n", "version: 2\n", "version: [\n"])("leaves the layout %j to the CLI", (text) => {
  lay("meta.yaml", text);
  expect(read()).toBeUndefined();
});

it.each([
  ["cut off", JSON.stringify(STATE).slice(0, -9)],
  ["empty", ""],
  ["no object", "null"],
  ["of another version", having({ version: 4, features: ["refreshBeforeUpdate"] })],
  ["of none", having({ version: undefined })],
  ["without a deployment", having({ checkpoint: { latest: null } })],
  ["of resources that are no list", holding({ resources: {} })],
  ["of a resource without a type", holding({ resources: [{ urn: "x" }] })],
  ["of pending operations that are no list", holding({ pending_operations: 1 })],
])("leaves a state that is %s to the CLI", (_what, text) => {
  lay("stacks/p/t0.json", text);
  expect(read()).toBeUndefined();
});
