import { expect } from "vitest";
import type { Canary } from "../../support/leak-canary";

/** Returns the message of the error of a reading, which must not contain the secret. */
export async function captureSourceError(reading: Promise<unknown>, secret: Canary): Promise<string> {
  const error = await reading.then(
    () => new Error("it was read"),
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({ code: "ERR_SOURCE" });
  expect(secret.find("error", `${(error as Error).stack} ${JSON.stringify(error)}`)).toEqual([]);
  return (error as Error).message;
}
