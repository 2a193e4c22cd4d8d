import { expect, it } from "vitest";
import { ReadWriteLock } from "../../../provider/tenant/read-write-lock";

function createControlledWork(log: string[], name: string): { work: () => Promise<void>; end: () => void } {
  let end: () => void = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const runWork = async (): Promise<void> => {
    log.push(`${name} begins`);
    await ended;
    log.push(`${name} ends`);
  };
  return { work: runWork, end };
}

const waitForImmediate = () => new Promise((resolve) => setImmediate(resolve));

it("starts a read only while no write runs", async () => {
  const log: string[] = [];
  const turns = new ReadWriteLock();
  const a = createControlledWork(log, "a");
  const b = createControlledWork(log, "b");
  const reading = createControlledWork(log, "reading");
  const late = createControlledWork(log, "late");
  const all = [turns.write(a.work), turns.write(b.work), turns.read(reading.work), turns.write(late.work)];
  await waitForImmediate();
  expect(log).toEqual(["a begins", "b begins"]);
  a.end();
  await waitForImmediate();
  expect(log).not.toContain("reading begins");
  b.end();
  await waitForImmediate();
  expect(log.slice(4)).toEqual(["reading begins"]);
  late.end();
  reading.end();
  await Promise.all(all);
  expect(log.slice(5)).toEqual(["reading ends", "late begins", "late ends"]);
});

it("continues after a failed operation", async () => {
  const turns = new ReadWriteLock();
  const failWork = () => Promise.reject(new Error("no"));
  await expect(turns.write(failWork)).rejects.toThrow("no");
  await expect(turns.read(failWork)).rejects.toThrow("no");
  expect(await turns.write(async () => 1)).toBe(1);
  expect(await turns.read(async () => 2)).toBe(2);
});
