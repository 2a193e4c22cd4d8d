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
import { EmailSecurityError, formatErrorWithCode } from "../model/email-security-error";
import { sanitizeLine } from "../model/text";
import { PartialFailureError } from "../resources/lifecycle/lifecycle";
import type { Properties } from "../resources/provider-adapter";
import type { ProviderRequest, ProviderService } from "./provider-service";
import { encodeProperties } from "./wire";

/**
 * The protocol calls that the service implements, with `list`. gRPC rejects the others, which concern features that the
 * schema doesn't use.
 */
const CALL_NAMES = [
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
export function createRpcs(service: Promise<ProviderService>): UntypedServiceImplementation {
  return {
    ...Object.fromEntries(CALL_NAMES.map((name) => [name, createRpc(service, name)])),
    list: createListRpc(service),
  };
}

function createRpc(
  servicePromise: Promise<ProviderService>,
  name: (typeof CALL_NAMES)[number],
): handleUnaryCall<unknown, unknown> {
  return async ({ request }, callback) => {
    try {
      const service = await servicePromise;
      const call = service[name] as (request: unknown) => unknown;
      callback(null, await service.runCall(request, async () => await call.call(service, request)));
    } catch (error) {
      if (name !== "construct") await (await servicePromise).endConstructs();
      callback(buildErrorStatus(error, request));
    }
  };
}

/** The only call with a stream as its response. */
function createListRpc(
  servicePromise: Promise<ProviderService>,
): handleServerStreamingCall<ProviderRequest<"ListRequest">, unknown> {
  return async (call) => {
    try {
      const service = await servicePromise;
      const messages = await service.runCall(call.request, async () => await service.list(call.request));
      for (const message of messages) call.write(message);
      call.end();
    } catch (error) {
      call.emit("error", buildErrorStatus(error, call.request));
    }
  };
}

/**
 * The engine shows the message at its resource. An error written for people has its code, and an unexpected one its
 * stack.
 */
function buildErrorStatus(error: unknown, request: unknown): Partial<StatusObject> {
  if (error instanceof PartialFailureError) return buildPartialFailureStatus(error, request as WriteRequest);
  if (error instanceof EmailSecurityError) {
    const details = process.env["EMAIL_SECURITY_DEBUG"] ? `${error.stack}` : "";
    return {
      code: status.UNKNOWN,
      details: [formatErrorWithCode(error), details].filter(Boolean).join("\n"),
    };
  }
  return {
    code: status.INTERNAL,
    details: getErrorStack(error).split("\n").map(sanitizeLine).join("\n"),
  };
}

function getErrorStack(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

interface WriteRequest {
  readonly getProperties?: () => Struct | undefined;
  readonly getNews?: () => Struct | undefined;
}

/** "Created, but failed to initialize", which keeps the resource in state. */
function buildPartialFailureStatus(
  { id, state, message, reasons }: PartialFailureError<unknown>,
  request: WriteRequest,
): Partial<StatusObject> {
  const initFailure = new provider.ErrorResourceInitFailed();
  initFailure.setId(id);
  initFailure.setProperties(encodeProperties(state as Properties, request.getNews?.() ?? request.getProperties?.()));
  initFailure.setReasonsList([...reasons]);
  const detail = new Any();
  detail.pack(initFailure.serializeBinary(), "pulumirpc.ErrorResourceInitFailed");
  const statusMessage = new statusMessages.Status();
  statusMessage.setCode(status.UNKNOWN);
  statusMessage.setMessage(message);
  statusMessage.addDetails(detail);
  const metadata = new Metadata();
  metadata.add("grpc-status-details-bin", Buffer.from(statusMessage.serializeBinary()));
  return { code: status.UNKNOWN, details: message, metadata };
}
