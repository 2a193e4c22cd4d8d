import { createRequire } from "node:module";
import messages from "@pulumi/pulumi/proto/provider_pb.js";
import { DynamicService } from "../../resources/dynamic-service";

const fromPulumi = createRequire(require.resolve("@pulumi/pulumi"));
const { Server, ServerCredentials } = fromPulumi("@grpc/grpc-js") as typeof import("@grpc/grpc-js");
const { ResourceProviderService } = fromPulumi("@pulumi/pulumi/proto/provider_grpc_pb") as {
  readonly ResourceProviderService: Parameters<InstanceType<typeof Server>["addService"]>[0];
};

/** By which variable the engine is told that a provider is there already, and where. */
const ATTACHED = "PULUMI_DEBUG_PROVIDERS";
/** As many bytes as Pulumi's own servers take: a list of thousands comes in one message. */
const MAX_BYTES = 400 * 1024 * 1024;

/**
 * The provider of one tenant's dynamic resources, in this process and for as long as its engine runs. To start Pulumi's host of
 * them instead, twice for each tenant, takes half of what a changed tenant costs.
 */
export class ServedProvider {
  readonly #server: InstanceType<typeof Server>;
  readonly #service: DynamicService;
  /** That of the CLI, which says where this is. */
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
   * @param environment that of the CLI, and with it of the provider.
   * @throws Error where the process may not listen on the loopback interface.
   */
  static async start(environment: Readonly<Record<string, string>>): Promise<ServedProvider> {
    const service = new DynamicService(environment);
    const server = new Server({
      "grpc.max_receive_message_length": MAX_BYTES,
      "grpc.max_send_message_length": MAX_BYTES,
    });
    server.addService(ResourceProviderService, service.rpcs);
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(cannotListen(error)),
      );
    });
    // The first of a name counts; others that somebody attaches to stay.
    const attached = [`pulumi-nodejs:${port}`, environment[ATTACHED]].filter(Boolean).join(",");
    return new ServedProvider(server, service, { ...environment, [ATTACHED]: attached });
  }

  /** Whether Pulumi's SDK here hears which provider is configured; an early one does not, and is left to its own host. */
  static get isPossible(): boolean {
    return typeof messages.ConfigureRequest.prototype.getUrn === "function";
  }

  /** Whether only Pulumi's own host can serve what the stack holds. */
  get isForeign(): boolean {
    return this.#service.isForeign;
  }

  /**
   * Ends it. Nothing more is sent to the service.
   *
   * @returns whether calls are under way still, of an engine that is gone.
   */
  end(): boolean {
    this.#server.forceShutdown();
    return this.#service.end();
  }
}

function cannotListen(error: Error): Error {
  const cause = /\[(.*)\]$/s.exec(error.message)?.[1] ?? error.message;
  return new Error(
    `Pulumi was not begun: the provider that it asks, in this process, can't listen on 127.0.0.1 (${cause}). Let this process open ports there, and resume.`,
  );
}
