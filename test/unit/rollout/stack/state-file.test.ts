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
  writeStateFile("meta.yaml", "version: 1\n");
  writeStateFile("stacks/p/t0.json", JSON.stringify(STATE));
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

function writeStateFile(path: string, text: string): void {
  const file = join(directory, ".pulumi", path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

const readTestState = (more: object = {}): unknown =>
  readStateFile({ backend: `file://${directory}`, project: "p", stack: "t0", ...more });
/** Returns the state with additional properties. */
const extendState = (more: object): string => JSON.stringify({ ...STATE, ...more });
const extendDeployment = (more: object): string =>
  extendState({ checkpoint: { ...STATE.checkpoint, latest: { ...DEPLOYMENT, ...more } } });

it("reads the same state as the CLI would print", () => {
  expect(readTestState()).toEqual({ version: 3, deployment: DEPLOYMENT });
  expect(readTestState({ backend: `file://${directory}/` })).toEqual({ version: 3, deployment: DEPLOYMENT });
  writeStateFile("stacks/p/t0.json", extendDeployment({ resources: null }));
  expect(readTestState()).toEqual({ version: 3, deployment: { ...DEPLOYMENT, resources: null } });
});

it("reads the state of a directory with spaces and other scripts in its name", () => {
  const spaced = join(directory, "é 日本 s");
  cpSync(join(directory, ".pulumi"), join(spaced, ".pulumi"), { recursive: true });
  expect(readTestState({ backend: `file://${spaced}` })).toEqual({ version: 3, deployment: DEPLOYMENT });
});

it("leaves missing stacks and other backends to the CLI", () => {
  for (const stack of ["t1", "organization/p/t0", "../p/t0", "", "."]) expect(readTestState({ stack })).toBeUndefined();
  expect(readTestState({ project: "../stacks/p" })).toBeUndefined();
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
  for (const backend of addresses) expect(readTestState({ backend })).toBeUndefined();
});

it.each(["t0.json.gz", "t0.json.zst"])("leaves the choice of the newer file to the CLI when %s exists", (name) => {
  writeStateFile(`stacks/p/${name}`, "");
  expect(readTestState()).toBeUndefined();
});

it.each(["", "version: 0\n", "version: 2\n", "version: [\n"])("leaves the layout %j to the CLI", (text) => {
  writeStateFile("meta.yaml", text);
  expect(readTestState()).toBeUndefined();
});

it.each([
  ["cut off", JSON.stringify(STATE).slice(0, -9)],
  ["empty", ""],
  ["no object", "null"],
  ["of another version", extendState({ version: 4, features: ["refreshBeforeUpdate"] })],
  ["of none", extendState({ version: undefined })],
  ["without a deployment", extendState({ checkpoint: { latest: null } })],
  ["of resources that are no list", extendDeployment({ resources: {} })],
  ["of a resource without a type", extendDeployment({ resources: [{ urn: "x" }] })],
  ["of pending operations that are no list", extendDeployment({ pending_operations: 1 })],
])("leaves a state that is %s to the CLI", (_label, text) => {
  writeStateFile("stacks/p/t0.json", text);
  expect(readTestState()).toBeUndefined();
});
