import { hostname } from "node:os";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { ServiceRequest } from "../../provider/sandbox";
import { buildBaselineValues, Fleet, getStates } from "../support/fleet";
import { S3Server } from "./s3-server";

/*
 * The stacks' state is in an S3 bucket. A rollout is killed while it holds the stacks' locks, then resumed. Uses the
 * real command, the real engine and a server with the S3 protocol.
 */

const SECRET = "a-secret-that-opens-the-bucket";
/** A process ID that can't exist. */
const NOBODY = 2 ** 22 + 1;

let bucket: S3Server;
let fleet: Fleet;
let onRequest: (request: ServiceRequest) => unknown = () => {};

beforeAll(async () => {
  bucket = await S3Server.start();
  fleet = await Fleet.start({
    tenants: 3,
    waves: "waves:\n  - { name: all, maxConcurrent: 2 }\n",
    environment: {
      PULUMI_BACKEND_URL: bucket.backend,
      AWS_ACCESS_KEY_ID: "somebody",
      AWS_SECRET_ACCESS_KEY: SECRET,
    },
    sandbox: {
      async intercept(request) {
        await onRequest(request);
        return undefined;
      },
    },
  });
});

afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]();
  await bucket?.[Symbol.asyncDispose]();
});

const LOCKS = ".pulumi/locks/organization/fleet";

/** Writes a lock in the format of the CLI. */
async function putLock(name: string, host: string): Promise<string> {
  const object = `${LOCKS}/${name}/a.json`;
  const lock = { pid: NOBODY, username: "ci", hostname: host, timestamp: "2026-01-01T00:00:00.000Z" };
  await bucket.put(object, JSON.stringify(lock));
  return object;
}

it("resumes after a kill with S3 state", async () => {
  // The first write gets no response, so that its stack is certainly locked.
  const released = Promise.withResolvers<void>();
  const firstWrite = new Promise<void>((done) => {
    onRequest = async ({ method }) => {
      if (method === "GET") return;
      done();
      await released.promise;
    };
  });
  const run = fleet.start({}, "rollout", "--yes", "--max-concurrent", "1");
  await firstWrite;
  run.process.kill("SIGKILL");
  for (const { id } of fleet.listProcesses()) process.kill(id, "SIGKILL");
  await run.result;
  await fleet.waitForQuiet();
  onRequest = () => {};
  released.resolve();
  expect(await bucket.listNames(`${LOCKS}/t0/`)).toHaveLength(1);
  expect(await fleet.readStates()).toEqual({ t0: "running", t1: "pending", t2: "pending" });

  // Another prefix of the bucket contains none of the stacks, so all would be considered new.
  const elsewhere = { PULUMI_BACKEND_URL: `${bucket.backend}&prefix=other/` };
  const before = fleet.sandbox.requests.length;
  const strayed = await fleet.start(elsewhere, "rollout", "resume").result;
  expect(strayed).toMatchObject({ code: 1, output: expect.stringContaining("another state backend than") });
  expect(fleet.sandbox.requests).toHaveLength(before);

  // A lock of a run that was killed while it created the stack, and one of a run on another machine.
  await putLock("t1", hostname());
  const foreign = await putLock("t2", "runner-7");
  const resumed = await fleet.runRollout("resume", "--lock-wait", "1");
  expect(resumed.code).toBe(1);
  const report = resumed.report();
  expect(getStates(report)).toEqual({ t0: "done", t1: "done", t2: "failed" });
  const notes = resumed.events.flatMap((event) => (event.kind === "tenant-note" ? [event.message] : []));
  expect(notes.filter((note) => note.includes("was left behind by"))).toHaveLength(2);
  expect(report.tenants.find(({ name }) => name === "t2")?.error).toMatchObject({
    code: "ERR_STACK_LOCKED",
    message: expect.stringMatching(/locked by ci@runner-7 \(pid \d+\), since .*The stack isn't created yet/),
  });
  expect(await bucket.listNames(`${LOCKS}/`)).toEqual([foreign]);

  await bucket.remove(foreign);
  expect(await fleet.runRollout("resume")).toMatchObject({ code: 0 });
  for (const name of fleet.names) expect(fleet.listContents(name)).toEqual(fleet.listDeclaredContents(name));
  const posts = fleet.takeRequests().filter(({ method }) => method === "POST");
  const postedEntries = posts.map(({ tenant, body }) => `${tenant} ${(body as { value: string }).value}`);
  const each = fleet.names.flatMap((name) =>
    [...buildBaselineValues(), `only-${name}.example`].map((value) => `${name} ${value}`),
  );
  expect(postedEntries.sort()).toEqual(each.sort());

  expect(await bucket.listNames(`${LOCKS}/`)).toEqual([]);
  const objects = await bucket.readObjects();
  const stacks = [...objects.keys()].filter((name) => /\/stacks\/fleet\/[^/]*\.json$/.test(name));
  expect(stacks).toEqual(fleet.names.map((name) => `.pulumi/stacks/fleet/${name}.json`));
  const secrets = [
    SECRET,
    fleet.environment["PULUMI_CONFIG_PASSPHRASE"] ?? "",
    ...fleet.sandbox.tenants.map(({ apiKeys }) => apiKeys.ci),
  ];
  for (const secret of secrets) {
    expect(secret).not.toBe("");
    for (const [name, text] of objects) expect(text.includes(secret), name).toBe(false);
    expect(`${run.output()}${resumed.output}`).not.toContain(secret);
  }
  const again = await fleet.runRollout();
  expect(again).toMatchObject({ code: 0 });
});
