import type { Dispatcher } from "undici";
import { expect, it, vi } from "vitest";
import { exchange } from "../../../provider/client/http-exchange";

it("treats a response too long for a string as truncated", async () => {
  const dispatcher = {
    dispatch(_options: unknown, handler: Dispatcher.DispatchHandler): boolean {
      const controller = {} as Dispatcher.DispatchController;
      handler.onResponseStart?.(controller, 200, {});
      handler.onResponseData?.(controller, Buffer.from("{}"));
      // undici swallows errors thrown here.
      try {
        handler.onResponseEnd?.(controller, {});
      } catch {}
      return true;
    },
  } as unknown as Dispatcher;
  const tooLong = new Error("Cannot create a string longer than 0x1fffffe8 characters");
  const decode = vi.spyOn(TextDecoder.prototype, "decode").mockImplementation(() => {
    throw tooLong;
  });
  try {
    const bounds = { timeoutMs: 1_000, maxBytes: 1_000 };
    const received = await exchange(dispatcher, { path: "/", method: "GET" }, bounds);
    expect(received).toMatchObject({ status: 200, text: "", truncationCause: tooLong });
  } finally {
    decode.mockRestore();
  }
});
