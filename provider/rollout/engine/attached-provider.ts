import { createRequire } from "node:module";
import messages from "@pulumi/pulumi/proto/provider_pb.js";
import { DynamicService } from "../../resources/dynamic-service";

const requireFromPulumi = createRequire(require.resolve("@pulumi/pulumi"));
const { Server, ServerCredentials } = requireFromPulumi("@grpc/grpc-js") as typeof import("@grpc/grpc-js");
const { ResourceProviderService } = requireFromPulumi("@pulumi/pulumi/proto/provider_grpc_pb") as {
  readonly ResourceProviderService: Parameters<InstanceType<typeof Server>["addService"]>[0];
};

const ATTACHED_PROVIDERS_VARIABLE = "PULUMI_DEBUG_PROVIDERS";
/** The same limit as Pulumi's own servers, since a list of thousands arrives in one message. */
const MAX_MESSAGE_BYTES = 400 * 1024 * 1024;

/**
 * The provider of one tenant's dynamic resources, in this process, for the lifetime of its engine. Pulumi's own host would start
 * twice per tenant and take half of the time that a changed tenant takes.
 */
export class AttachedProvider {
  readonly #server: InstanceType<typeof Server>;
  readonly #service: DynamicService;
  readonly environment: Readonly<Record<string, string>>;

  private constructor(
    server: InstanceType<typeof Server>,
    service: DynamicService,
    environment: Readonly<Record<string, string>>,
  ) {
    this.#server = server;
    this.#service = service;
    this.environment = environment;
  }

  /**
   * @param environment the environment of the CLI, and so of the provider.
   * @throws {Error} if the process may not listen on the loopback interface.
   */
  static async start(environment: Readonly<Record<string, string>>): Promise<AttachedProvider> {
    const service = new DynamicService(environment);
    const server = new Server({
      "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
      "grpc.max_send_message_length": MAX_MESSAGE_BYTES,
    });
    server.addService(ResourceProviderService, service.rpcs);
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, boundPort) =>
        error === null ? resolve(boundPort) : reject(buildListenError(error)),
      );
    });
    // The first entry of a name wins. Other attached providers stay.
    const attachedProviders = [`pulumi-nodejs:${port}`, environment[ATTACHED_PROVIDERS_VARIABLE]]
      .filter(Boolean)
      .join(",");
    return new AttachedProvider(server, service, {
      ...environment,
      [ATTACHED_PROVIDERS_VARIABLE]: attachedProviders,
    });
  }

  /** Whether this version of Pulumi's SDK receives the URN of the configured provider. Older versions use their own host. */
  static get isSupported(): boolean {
    return typeof messages.ConfigureRequest.prototype.getUrn === "function";
  }

  /** Whether the stack holds resources that only Pulumi's own host can serve. */
  get needsPulumiHost(): boolean {
    return this.#service.isForeignRequested;
  }

  /**
   * Ends the provider, which sends nothing to the service afterwards.
   *
   * @returns whether calls of a dead engine are still in progress.
   */
  end(): boolean {
    this.#server.forceShutdown();
    return this.#service.end();
  }
}

function buildListenError(error: Error): Error {
  const cause = /\[(.*)\]$/s.exec(error.message)?.[1] ?? error.message;
  return new Error(
    `Pulumi was not started: its provider, in this process, can't listen on 127.0.0.1 (${cause}). Allow this process to open ports there, and resume.`,
  );
}
