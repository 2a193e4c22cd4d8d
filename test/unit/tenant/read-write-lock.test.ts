import { expect, it } from "vitest";
import { ReadWriteLock } from "../../../provider/tenant/read-write-lock";

function controlled(log: string[], name: string): { work: () => Promise<void>; end: () => void } {
  let end: () => void = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const work = async (): Promise<void> => {
    log.push(`${name} begins`);
    await ended;
    log.push(`${name} ends`);
  };
  return { work, end };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

it("runs writes concurrently and reads exclusively", async () => {
  const log: string[] = [];
  const turns = new ReadWriteLock();
  const a = controlled(log, "a");
  const b = controlled(log, "b");
  const reading = controlled(log, "reading");
  const late = controlled(log, "late");
  const all = [turns.write(a.work), turns.write(b.work), turns.read(reading.work), turns.write(late.work)];
  await settle();
  expect(log).toEqual(["a begins", "b begins"]);
  a.end();
  await settle();
  expect(log).not.toContain("reading begins");
  b.end();
  await settle();
  expect(log.slice(4)).toEqual(["reading begins"]);
  late.end();
  reading.end();
  await Promise.all(all);
  expect(log.slice(5)).toEqual(["reading ends", "late begins", "late ends"]);
});

it("continues after a failed operation", async () => {
  const turns = new ReadWriteLock();
  const fails = () => Promise.reject(new Error("no"));
  await expect(turns.write(fails)).rejects.toThrow("no");
  await expect(turns.read(fails)).rejects.toThrow("no");
  expect(await turns.write(async () => 1)).toBe(1);
  expect(await turns.read(async () => 2)).toBe(2);
});
