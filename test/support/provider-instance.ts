import type { ResourceProviderClient } from "@pulumi/pulumi/proto/provider_grpc_pb.js";
import provider from "@pulumi/pulumi/proto/provider_pb.js";
import { Struct } from "google-protobuf/google/protobuf/struct_pb.js";
import { buildUrn, call, convertStruct, type ResourceProperties } from "./provider-call";

const TYPE = "pulumi:providers:email-security";
const ID = "0e8ae4ae-1b4d-4b57-8d2c-3c5f3a1c6b6e";

/**
 * Makes the engine's calls to the native plugin for one provider instance: the default one, or one that a program
 * creates.
 */
export class ProviderInstance {
  readonly #client: ResourceProviderClient;
  readonly #name: string;
  readonly #urn: string;

  constructor(client: ResourceProviderClient, name = "default") {
    this.#client = client;
    this.#name = name;
    this.#urn = buildUrn(TYPE, name);
  }

  async check(args: ResourceProperties): Promise<{ inputs: ResourceProperties; failures: string[] }> {
    const request = new provider.CheckRequest();
    request.setUrn(this.#urn);
    request.setName(this.#name);
    request.setType(TYPE);
    request.setOlds(Struct.fromJavaScript({}));
    request.setNews(Struct.fromJavaScript(args as never));
    const answer = await call<InstanceType<typeof provider.CheckResponse>>((done) =>
      this.#client.checkConfig(request, done),
    );
    const failures = answer.getFailuresList().map((failure) => failure.getReason());
    return { inputs: convertStruct(answer.getInputs()), failures };
  }

  /** The engine sends secrets in plain text here. */
  async diff(
    olds: ResourceProperties,
    news: ResourceProperties,
  ): Promise<{ changes: boolean; diffs: string[]; replaces: string[] }> {
    const request = new provider.DiffRequest();
    request.setUrn(this.#urn);
    request.setName(this.#name);
    request.setType(TYPE);
    request.setId(ID);
    request.setOldInputs(Struct.fromJavaScript(olds as never));
    request.setOlds(Struct.fromJavaScript(olds as never));
    request.setNews(Struct.fromJavaScript(news as never));
    const answer = await call<InstanceType<typeof provider.DiffResponse>>((done) =>
      this.#client.diffConfig(request, done),
    );
    const some = provider.DiffResponse.DiffChanges.DIFF_SOME;
    return {
      changes: answer.getChanges() === some,
      diffs: answer.getDiffsList().sort(),
      replaces: answer.getReplacesList(),
    };
  }

  /** @param inputs the checked inputs, with the key as a secret. */
  async configure(inputs: ResourceProperties): Promise<void> {
    const request = new provider.ConfigureRequest();
    request.setId(ID);
    request.setUrn(this.#urn);
    request.setName(this.#name);
    request.setType(TYPE);
    request.setAcceptsecrets(true);
    request.setArgs(Struct.fromJavaScript(inputs as never));
    await call((done) => this.#client.configure(request, done));
  }
}
