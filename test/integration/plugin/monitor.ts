import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from "@grpc/grpc-js";
import { ResourceMonitorService } from "@pulumi/pulumi/proto/resource_grpc_pb.js";
import monitor from "@pulumi/pulumi/proto/resource_pb.js";
import { Empty } from "google-protobuf/google/protobuf/empty_pb.js";
import { convertStruct, type ResourceProperties } from "../../support/provider-call";

type RegisterRequest = InstanceType<typeof monitor.RegisterResourceRequest>;

/** A resource registration that the engine received. */
export interface Registration {
  readonly type: string;
  readonly name: string;
  readonly parent: string;
  readonly provider: string;
  readonly aliases: readonly string[];
  readonly dependencies: readonly string[];
  readonly inputs: ResourceProperties;
}

/** The engine's resource monitor, as far as a component needs it: it records registrations. */
export class RecordingMonitor implements AsyncDisposable {
  readonly address: string;
  readonly registrations: Registration[] = [];
  /** The components reported as complete. */
  readonly completed: string[] = [];
  readonly #server: Server;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.address = `127.0.0.1:${port}`;
  }

  static async start(): Promise<RecordingMonitor> {
    const server = new Server();
    let own: RecordingMonitor | undefined;
    server.addService(ResourceMonitorService, {
      registerResource: ({ request }: ServerUnaryCall<RegisterRequest, unknown>, done: sendUnaryData<unknown>) => {
        const answer = new monitor.RegisterResourceResponse();
        answer.setUrn(`urn:of:${request.getName()}`);
        own?.registrations.push({
          type: request.getType(),
          name: request.getName(),
          parent: request.getParent(),
          provider: request.getProvider(),
          aliases: request.getAliasesList().map((alias) => alias.getSpec()?.getType() ?? alias.getUrn()),
          dependencies: request.getDependenciesList(),
          inputs: convertStruct(request.getObject()),
        });
        done(null, answer);
      },
      registerResourceOutputs: (
        { request }: ServerUnaryCall<InstanceType<typeof monitor.RegisterResourceOutputsRequest>, unknown>,
        done: sendUnaryData<unknown>,
      ) => {
        own?.completed.push(request.getUrn());
        done(null, new Empty());
      },
    });
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      );
    });
    own = new RecordingMonitor(server, port);
    return own;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise<void>((resolve) => this.#server.tryShutdown(() => resolve()));
  }
}
