import "../model/exit-on-old-node";
import "./version-argument";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { ResourceProviderService } from "@pulumi/pulumi/proto/provider_grpc_pb.js";
import { hardenProcess } from "../resources/provider-process";
import { tuneGarbageCollection } from "./gc-tuning";
import type { ProviderService } from "./provider-service";
import { createRpcs } from "./rpcs";

/*
 * The main program of the plugin. The engine starts it with its own address as the last argument, reads the port from the first
 * line of output, and calls it over gRPC. The modules for the calls load while the engine connects.
 */

hardenProcess();

const server = new Server({
  // The same maximum as Pulumi's own servers: a list of thousands arrives in one message.
  "grpc.max_receive_message_length": 400 * 1024 * 1024,
  "grpc.max_send_message_length": 400 * 1024 * 1024,
  "grpc.max_metadata_size": 16 * 1024 * 1024,
  // Nobody reads its call statistics.
  "grpc.enable_channelz": 0,
});
const service = Promise.withResolvers<ProviderService>();
server.addService(ResourceProviderService, createRpcs(service.promise));
server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error;
  process.stdout.write(`${port}\n`, () => service.resolve(loadService()));
});

async function loadService(): Promise<ProviderService> {
  const { ProviderService } = await import("./provider-service.js");
  tuneGarbageCollection();
  return new ProviderService(process.argv.slice(2).at(-1));
}
