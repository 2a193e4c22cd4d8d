import type { ServiceError } from "@grpc/grpc-js";
import provider from "@pulumi/pulumi/proto/provider_pb.js";
import status from "@pulumi/pulumi/proto/status_pb.js";
import type { Struct } from "google-protobuf/google/protobuf/struct_pb.js";

export type ResourceProperties = Record<string, unknown>;

/** Builds a resource's URN, as the engine passes it to a provider. */
export function buildUrn(type: string, name: string): string {
  return `urn:pulumi:dev::settings::${type}::${name}`;
}

/** Converts a message's properties to a plain object. */
export function convertStruct(struct: Struct | undefined): ResourceProperties {
  const { __provider: _shell, ...rest } = (struct?.toJavaScript() ?? {}) as ResourceProperties;
  return rest;
}

/** A partly failed create or update, with the properties that the engine must keep in state. */
export class InitFailed extends Error {
  readonly id: string;
  readonly properties: ResourceProperties;
  readonly reasons: readonly string[];

  constructor(message: string, id: string, properties: ResourceProperties, reasons: readonly string[]) {
    super(message);
    this.id = id;
    this.properties = properties;
    this.reasons = reasons;
  }
}

export type Start<Answer> = (done: (error: ServiceError | null, answer: Answer) => void) => void;

/**
 * Makes a provider call and returns a promise.
 *
 * @param needed the properties that a partial failure must return, so that the engine can continue with the resource.
 * @throws {InitFailed} if the create or update was only partly applied.
 */
export async function call<Answer>(start: Start<Answer>, needed: readonly string[] = []): Promise<Answer> {
  return await new Promise<Answer>((resolve, reject) => {
    start((error, answer) =>
      error === null ? resolve(answer) : reject(initFailure(error, needed) ?? new Error(error.details)),
    );
  });
}

function initFailure(error: ServiceError, needed: readonly string[]): InitFailed | undefined {
  const bytes = error.metadata.get("grpc-status-details-bin")[0];
  if (!(bytes instanceof Buffer)) return undefined;
  const detail = status.Status.deserializeBinary(bytes).getDetailsList()[0];
  if (detail === undefined) return undefined;
  const failed = provider.ErrorResourceInitFailed.deserializeBinary(detail.getValue_asU8());
  const properties = failed.getProperties()?.toJavaScript() ?? {};
  const lost = needed.filter((name) => !(name in properties));
  if (lost.length > 0) throw new Error(`the half-made resource lost its ${lost}`);
  return new InitFailed(error.details, failed.getId(), convertStruct(failed.getProperties()), failed.getReasonsList());
}
