import { Server, ServerCredentials } from "@grpc/grpc-js";
import { ResourceProviderService } from "@pulumi/pulumi/proto/provider_grpc_pb.js";
import { vi } from "vitest";
import { lagPauses } from "./lag-pauses";
import type { ProviderStart, RunningProvider } from "./running-provider";
import { skipPauses } from "./skip-pauses.mts";

/*
 * Replaces `test/support/running-provider.ts`: the native provider runs from the sources, in the process of the test.
 */

export type { ProviderStart, RunningProvider };

export async function runInHost(_program: string, start: ProviderStart): Promise<RunningProvider> {
  skipPauses(start.hasRealPauses ? [] : lagPauses());
  for (const name of Object.keys(process.env)) {
    if (name.startsWith("EMAIL_SECURITY_") && name !== "EMAIL_SECURITY_TEST_PROVIDER") delete process.env[name];
  }
  Object.assign(process.env, start.environment);
  // Each provider has its own module state, as in a process of its own.
  vi.resetModules();
  const { ProviderService } = await import("../../provider/plugin/provider-service.ts");
  const { createRpcs } = await import("../../provider/plugin/rpcs.ts");
  const { EngineLog } = await import("../../provider/plugin/engine-log.ts");
  // No engine listens, so a process would print its messages.
  Object.assign(EngineLog.prototype, { info: start.print, warn: start.print });
  const server = new Server({
    "grpc.max_receive_message_length": 400 * 1024 * 1024,
    "grpc.max_send_message_length": 400 * 1024 * 1024,
    "grpc.max_metadata_size": 16 * 1024 * 1024,
  });
  server.addService(ResourceProviderService, createRpcs(Promise.resolve(new ProviderService(start.engine))));
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return {
    port: String(port),
    kill: () => server.forceShutdown(),
    async stop() {
      server.forceShutdown();
    },
  };
}

export async function runAlone(_command: readonly string[], start: ProviderStart): Promise<RunningProvider> {
  return await runInHost("", start);
}
