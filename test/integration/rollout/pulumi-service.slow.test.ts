import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { exportStack } from "../../../provider/plan/stack-lists";
import { PulumiLockStore } from "../../../provider/rollout/locks/pulumi-lock-store";
import { type RolloutLock, serializeLock } from "../../../provider/rollout/locks/rollout-lock";
import { runEnvironment } from "../../support/run-environment";

/*
 * Stacks in Pulumi Cloud, with an organization in their names: the real CLI against a minimal stand-in for the service.
 */

const OWN = "20261121-0800-aaaaaa";
const OTHER = "20261121-0801-bbbbbb";
const lock: RolloutLock = {
  rollout: OWN,
  project: "fleet",
  state: "open",
  status: "waits",
  at: "2026-11-21T08:00:00.000Z",
  journal: "here",
  events: 1,
  pending: ["t0"],
  unreviewed: [],
};

let server: Server;
let directory: string;
let environment: NodeJS.ProcessEnv;
/** The stacks that were requested. */
let stackRequests: string[] = [];

function answerRequest(path: string): unknown {
  const [, stack, isExport] = /^\/api\/stacks\/([^?]+?)(\/export)?(?:\?|$)/.exec(path) ?? [];
  if (path === "/api/user") return { githubLogin: "ann", name: "Ann", organizations: [{ githubLogin: "acme" }] };
  if (path.startsWith("/api/capabilities")) return { capabilities: [] };
  if (path.startsWith("/api/user/stacks")) {
    // The stacks of all organizations that the user belongs to.
    const buildStackSummary = (orgName: string, stackName: string) => ({
      orgName,
      projectName: "email-security-rollouts",
      stackName,
    });
    return { stacks: [buildStackSummary("acme", OWN), buildStackSummary("globex", OTHER)] };
  }
  if (stack === undefined) return undefined;
  stackRequests.push(stack);
  if (stack !== `acme/email-security-rollouts/${OWN}`) return undefined;
  if (isExport === undefined) {
    return { orgName: "acme", projectName: "email-security-rollouts", stackName: OWN, version: 1 };
  }
  const resource = {
    urn: "urn:pulumi:s::p::t::n",
    custom: false,
    type: "t",
    outputs: { lock: serializeLock(lock) },
  };
  return { version: 3, deployment: { manifest: {}, resources: [resource] } };
}

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "email-security-service-"));
  writeFileSync(join(directory, "Pulumi.yaml"), "name: fleet\nruntime: nodejs\n");
  server = createServer(({ url = "" }, response) => {
    const answer = answerRequest(url);
    response.writeHead(answer === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(answer ?? { code: 404, message: "Not Found" }));
  });
  await new Promise<void>((listening) => void server.listen(0, "127.0.0.1", listening));
  environment = {
    ...runEnvironment(),
    PULUMI_HOME: join(directory, ".home"),
    PULUMI_BACKEND_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    PULUMI_ACCESS_TOKEN: "pul-0",
    PULUMI_DEFAULT_ORGANIZATION: "acme",
  };
});

afterAll(() => {
  server?.close();
  rmSync(directory, { recursive: true, force: true });
});

it("reads stacks and locks of the configured organization only", async () => {
  expect(await exportStack("t0", { directory, baseEnvironment: environment })).toBeUndefined();
  expect(new Set(stackRequests)).toEqual(new Set(["acme/fleet/t0"]));
  stackRequests = [];
  using locks = new PulumiLockStore(environment, "here");
  expect(await locks.read()).toEqual([lock]);
  expect(new Set(stackRequests)).toEqual(
    new Set([`acme/email-security-rollouts/${OWN}`, `acme/email-security-rollouts/${OTHER}`]),
  );
});
