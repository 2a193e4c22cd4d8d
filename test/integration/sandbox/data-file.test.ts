import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startSandbox } from "../../../provider/sandbox";
import { startSandboxCommand } from "../../support/sandbox-command";
import { createCaller, ENTRIES, METRICS, REPORTS, startService, THREATS, VIPS } from "./service";

let directory: string;
let data: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "sandbox-"));
  data = join(directory, "service.db");
});

afterEach(() => rmSync(directory, { recursive: true }));

test("reopens a file with its data, without seeding it again", async () => {
  const entry = { list: "deny", entry_type: "domain", value: "kept.example" };
  const before = await (async () => {
    await using service = await startService({ data });
    const { acme, sandbox } = service;
    await acme.post(ENTRIES, entry);
    await acme.post(`${VIPS}/remove`, { emails: ["ruth.castellan@acme.example"] });
    await acme.delete(`${ENTRIES}/${sandbox.allowDenyEntries("acme").at(-1)?.id}`);
    return readContents(sandbox);
  })();
  await using service = await startService({ data });
  expect(readContents(service.sandbox)).toEqual(before);
  expect(service.sandbox.tenants[0]?.apiKeys.ci).toBe("sandbox-acme-ci");
  expect((await service.acme.post(ENTRIES, entry)).status).toBe(409);
});

test("respects exclusions in detection on opening", async () => {
  const removed = ["ruth.castellan@acme.example", "eleanor.voss@acme.example"];
  {
    await using service = await startService({ data });
    await service.acme.post(`${VIPS}/remove`, { emails: removed });
  }
  // Proves that detection runs: it finds a person whose row was missing from the list.
  const database = new DatabaseSync(data);
  database.exec("UPDATE employees SET source = NULL WHERE email = 'samuel.okoro@acme.example'");
  database.close();
  await using service = await startService({ data });
  const listed = service.sandbox.vips("acme").map((row) => row.email);
  expect(listed).toContain("samuel.okoro@acme.example");
  expect(listed.filter((email) => removed.includes(email))).toEqual([]);
});

test("stores no API key in the file", async () => {
  await (await startSandbox({ data })).close();
  const bytes = readFileSync(data, "latin1");
  expect(bytes).not.toContain("sandbox-acme-ci");
  expect(bytes).toContain("Pulumi (ci)");
  expect(readdirSync(directory)).toEqual(["service.db"]);
});

test("rejects a scenario other than the file's own", async () => {
  await (await startSandbox({ data, scenario: "empty" })).close();
  await expect(startSandbox({ data, scenario: "acme" })).rejects.toMatchObject({
    code: "ERR_SANDBOX_SCENARIO",
    message: expect.stringContaining("seeded with scenario empty"),
  });
  await (await startSandbox({ data, scenario: "empty" })).close();
  await using sandbox = await startSandbox({ data });
  expect(sandbox.allowDenyEntries("acme")).toEqual([]);
});

test("leaves a foreign or newer database untouched", async () => {
  const expectUnchangedRejection = async (message: RegExp) => {
    const bytes = readFileSync(data);
    await expect(startSandbox({ data })).rejects.toMatchObject({
      code: "ERR_SANDBOX_DATA_FILE",
      message: expect.stringMatching(message),
    });
    expect(readFileSync(data)).toEqual(bytes);
    expect(readdirSync(directory)).toEqual(["service.db"]);
  };
  for (const text of ["", "Dear diary", "x".repeat(5_000)]) {
    writeFileSync(data, text);
    await expectUnchangedRejection(/isn't a sandbox database/);
  }
  rmSync(data);
  const stranger = new DatabaseSync(data);
  stranger.exec("CREATE TABLE diary (day TEXT)");
  stranger.close();
  await expectUnchangedRejection(/isn't a sandbox database/);

  rmSync(data);
  await (await startSandbox({ data })).close();
  const later = new DatabaseSync(data);
  later.exec("PRAGMA user_version = 99");
  later.close();
  await expectUnchangedRejection(/schema version 99/);
});

test("keeps the data of schema version 1 in a migration", async () => {
  const entry = { list: "deny", entry_type: "domain", value: "kept.example" };
  const before = await (async () => {
    await using service = await startService({ data });
    await service.acme.post(ENTRIES, entry);
    return readContents(service.sandbox);
  })();
  const earlier = new DatabaseSync(data);
  earlier.exec(
    "DROP TABLE threat_counts; DROP TABLE mail; DROP TABLE threats; DROP TABLE phishing_reports; PRAGMA user_version = 1; VACUUM",
  );
  earlier.close();
  {
    await using service = await startService({ data });
    expect(readContents(service.sandbox)).toEqual(before);
    const { body } = await service.acme.get(`${THREATS}?minutes_ago=999999`);
    expect(body.pagination.total).toBe(1520);
    expect(service.sandbox.threats("acme").map((threat) => threat.sender_domain)).toContain("kept.example");
  }
  const later = new DatabaseSync(data);
  expect(later.prepare("PRAGMA user_version").get()).toEqual({ user_version: 3 });
  later.close();
});

test("counts the threats of schema version 2 in a migration", async () => {
  const readMetrics = async () => {
    await using service = await startService({ data });
    const names = ["threats_over_time", "top_targeted_entities", "top_threat_types", "hours_saved"];
    return await Promise.all(
      [service.acme, service.globex].flatMap((tenant) =>
        names.map(async (name) => (await tenant.get(`${METRICS}/${name}?days=200`)).body.results),
      ),
    );
  };
  const before = await readMetrics();
  const earlier = new DatabaseSync(data);
  earlier.exec("DROP TABLE threat_counts; PRAGMA user_version = 2; VACUUM");
  earlier.close();
  expect(await readMetrics()).toEqual(before);
});

test("generates mail only once", async () => {
  const mail = await (async () => {
    await using service = await startService({ data, threats: 200 });
    return [service.sandbox.threats("acme"), service.sandbox.phishingReports("acme")];
  })();
  for (const threats of [undefined, 200]) {
    await using service = await startService({ data, ...(threats !== undefined && { threats }), seed: 7 });
    expect([service.sandbox.threats("acme"), service.sandbox.phishingReports("acme")]).toEqual(mail);
    expect((await service.acme.get(REPORTS)).status).toBe(200);
  }
  await expect(startSandbox({ data, threats: 300 })).rejects.toMatchObject({
    code: "ERR_SANDBOX_OPTION",
    message: expect.stringContaining("200 threats of tenant acme"),
  });
});

test("keeps the requested size even before any mail is read", async () => {
  await (await startSandbox({ data, threats: 90 })).close();
  await using sandbox = await startSandbox({ data });
  expect(sandbox.threats("acme")).toHaveLength(90);
});

test("reports an invalid path or a file in use", async () => {
  await expect(startSandbox({ data: directory })).rejects.toMatchObject({ code: "ERR_SANDBOX_DATA_FILE" });
  await expect(startSandbox({ data: join(directory, "no", "where.db") })).rejects.toMatchObject({
    code: "ERR_SANDBOX_DATA_FILE",
  });
  await expect(startSandbox({ data, port: -1 })).rejects.toMatchObject({ code: "ERR_SANDBOX_PORT" });
  expect(existsSync(data)).toBe(false);
  await using _ = await startSandbox({ data });
  await expect(startSandbox({ data })).rejects.toMatchObject({
    code: "ERR_SANDBOX_DATA_FILE",
    message: expect.stringContaining("another sandbox is using it"),
  });
});

test("keeps every acknowledged write after a kill", async () => {
  const child = startSandboxCommand(["--data", data]);
  const url = await child.url;
  const acme = createCaller(url, "sandbox-acme-ci");
  const answered = { created: new Set<string>(), deleted: new Set<string>(), excluded: new Set<string>() };
  let sent = 0;

  // Eight writers create, exclude and sometimes delete until the process is killed.
  const writeUntilKilled = async () => {
    for (;;) {
      const n = sent++;
      const value = `d${n}.example`;
      const created = await acme.post(ENTRIES, { list: "deny", entry_type: "domain", value });
      answered.created.add(created.body.results.id);
      await acme.post(`${VIPS}/remove`, { emails: [`p${n}@a.example`, `q${n}@a.example`] });
      answered.excluded.add(`p${n}@a.example`).add(`q${n}@a.example`);
      if (n % 3 !== 0) continue;
      await acme.delete(`${ENTRIES}/${created.body.results.id}`);
      answered.deleted.add(created.body.results.id);
    }
  };
  const writers = Array.from({ length: 8 }, () => writeUntilKilled().catch(() => {}));
  while (answered.created.size < 150) await new Promise((resolve) => setTimeout(resolve, 1));
  child.process.kill("SIGKILL");
  await Promise.all([...writers, child.ended]);

  await using sandbox = await startSandbox({ data });
  const entries = new Set(sandbox.allowDenyEntries("acme").map((entry) => entry.id));
  const exclusions = new Set(sandbox.exclusions("acme"));
  const listAudited = (action: string) => {
    const targets = sandbox
      .audit("acme")
      .filter((row) => row.action === action)
      .map((row) => row.target);
    expect(new Set(targets).size).toBe(targets.length);
    return new Set(targets);
  };
  const created = listAudited("allow_deny_entry.create");
  const deleted = listAudited("allow_deny_entry.delete");
  const excluded = listAudited("vip_employee.remove");

  expect(subtractTexts(answered.created, created)).toEqual([]);
  expect(subtractTexts(answered.deleted, deleted)).toEqual([]);
  expect(subtractTexts(answered.excluded, excluded)).toEqual([]);
  // The data matches the audit log: no extra rows, and no partial writes.
  const seeded = new Set(await listSeededIds());
  expect(subtractTexts(entries, seeded)).toEqual(subtractTexts(created, deleted));
  expect(subtractTexts(exclusions, new Set(["walter.finch@acme.example"]))).toEqual(subtractTexts(excluded, new Set()));
  expect(excluded.size % 2).toBe(0);
});

test("leaves no partial file when killed during creation", async () => {
  // Seeding takes a moment; at some of these delays the process is in the middle of it.
  for (const delayMs of [60, 120, 180, 240]) {
    const file = join(directory, `${delayMs}.db`);
    const child = startSandboxCommand(["--data", file]);
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    child.process.kill("SIGKILL");
    await child.ended;
    await using sandbox = await startSandbox({ data: file });
    expect(sandbox.allowDenyEntries("acme")).toHaveLength(12);
  }
});

function subtractTexts(texts: Set<string>, others: Set<string>): string[] {
  return [...texts].filter((text) => !others.has(text)).sort();
}

async function listSeededIds(): Promise<string[]> {
  await using fresh = await startSandbox();
  return fresh.allowDenyEntries("acme").map((entry) => entry.id);
}

function readContents(sandbox: Awaited<ReturnType<typeof startSandbox>>): unknown {
  return ["acme", "globex"].map((tenant) => [
    sandbox.vips(tenant),
    sandbox.allowDenyEntries(tenant),
    sandbox.exclusions(tenant),
    sandbox.audit(tenant),
  ]);
}
