import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  Metadata,
  type StatusObject,
  status,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import provider from "@pulumi/pulumi/proto/provider_pb.js";
import statusMessages from "@pulumi/pulumi/proto/status_pb.js";
import { Any } from "google-protobuf/google/protobuf/any_pb.js";
import type { Struct } from "google-protobuf/google/protobuf/struct_pb.js";
import type { Properties } from "../resources/front";
import { PartialFailure } from "../resources/lifecycle/lifecycle";
import { EmailSecurityError, withCode } from "../settings/email-security-error";
import { printable } from "../settings/text";
import type { ProviderService, Request } from "./provider-service";
import { structOf } from "./wire";

/**
 * The protocol calls that the service answers, with `list`. gRPC rejects the others, which concern features that the schema
 * doesn't use.
 */
const CALLS = [
  "attach",
  "cancel",
  "check",
  "checkConfig",
  "configure",
  "construct",
  "create",
  "delete",
  "diff",
  "diffConfig",
  "getMapping",
  "getMappings",
  "getPluginInfo",
  "getSchema",
  "handshake",
  "invoke",
  "read",
  "update",
] as const satisfies readonly (keyof ProviderService)[];

/** Returns the service for gRPC. Calls that arrive while it loads wait for it. */
export function rpcs(service: Promise<ProviderService>): UntypedServiceImplementation {
  return { ...Object.fromEntries(CALLS.map((name) => [name, rpc(service, name)])), list: listing(service) };
}

function rpc(
  loading: Promise<ProviderService>,
  name: (typeof CALLS)[number],
): handleUnaryCall<unknown, unknown> {
  return async ({ request }, answer) => {
    try {
      const service = await loading;
      const call = service[name] as (request: unknown) => unknown;
      answer(null, await service.answering(request, async () => await call.call(service, request)));
    } catch (error) {
      if (name !== "construct") await (await loading).endConstructs();
      answer(failureOf(error, request));
    }
  };
}

/** The only call with a streamed answer. */
function listing(
  loading: Promise<ProviderService>,
): handleServerStreamingCall<Request<"ListRequest">, unknown> {
  return async (call) => {
    try {
      const service = await loading;
      const found = await service.answering(call.request, async () => await service.list(call.request));
      for (const one of found) call.write(one);
      call.end();
    } catch (error) {
      call.emit("error", failureOf(error, call.request));
    }
  };
}

/** The engine shows the failure at its resource: expected errors with their code, unexpected ones with their stack. */
function failureOf(error: unknown, request: unknown): Partial<StatusObject> {
  if (error instanceof PartialFailure) return partialFailure(error, request as Written);
  if (error instanceof EmailSecurityError) {
    const details = process.env["EMAIL_SECURITY_DEBUG"] ? `${error.stack}` : "";
    return { code: status.UNKNOWN, details: [withCode(error), details].filter(Boolean).join("\n") };
  }
  return {
    code: status.INTERNAL,
    details: stackOf(error).split("\n").map(printable).join("\n"),
  };
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** What is to be made, or to be changed. */
interface Written {
  readonly getProperties?: () => Struct | undefined;
  readonly getNews?: () => Struct | undefined;
}

/** "Created, but failed to initialize", which keeps the resource in state. */
function partialFailure(
  { id, state, message, reasons }: PartialFailure<unknown>,
  request: Written,
): Partial<StatusObject> {
  const failed = new provider.ErrorResourceInitFailed();
  failed.setId(id);
  failed.setProperties(structOf(state as Properties, request.getNews?.() ?? request.getProperties?.()));
  failed.setReasonsList([...reasons]);
  const detail = new Any();
  detail.pack(failed.serializeBinary(), "pulumirpc.ErrorResourceInitFailed");
  const told = new statusMessages.Status();
  told.setCode(status.UNKNOWN);
  told.setMessage(message);
  told.addDetails(detail);
  const metadata = new Metadata();
  metadata.add("grpc-status-details-bin", Buffer.from(told.serializeBinary()));
  return { code: status.UNKNOWN, details: message, metadata };
}
