import type { ProviderKind } from "../../resources/resource-type";
import type { StackMarker } from "../model/stack-marker";

/** One `pulumi up` of a tenant: the request to an engine process. */
export interface UpRequest {
  readonly stack: string;
  /** Whether the stack existed when the rollout was planned. */
  readonly isExistingStack: boolean;
  /** Whether an engine may have been killed in this stack, so that its state needs a check. */
  readonly shouldCheckPending: boolean;
  readonly resource: string;
  /** The provider that manages the tenant's lists. */
  readonly provider: ProviderKind;
  /** The settings file, relative to `directory`. */
  readonly settings: string;
  /** A settings file to apply first. It changes nothing at the service. */
  readonly firstSettings?: string;
  /** The URNs of the only resources that the run may change. The run then doesn't refresh, so other differences remain. */
  readonly targets?: readonly string[];
  /** The marker of the stack's last rollout, to store in its state. Absent: none. */
  readonly marker?: StackMarker;
  /** The day (UTC) for deciding what has expired. */
  readonly today: string;
  /** The working directory: that of the project. */
  readonly directory: string;
  /** The path of the `pulumi` program. */
  readonly command: string;
  readonly version: string;
  /** The whole environment of the CLI, and so of the provider. */
  readonly environment: Readonly<Record<string, string>>;
}

/** The outcome of an `up`. */
export type UpResult =
  | { readonly ok: true }
  | {
      readonly ok: false;
      /** Whether another Pulumi run holds the stack's lock. */
      readonly isLocked: boolean;
      /** The engine's errors as text without colours, otherwise the end of the CLI's output. */
      readonly message: string;
    };

/** A message to an engine process. */
export type EngineRequest = { readonly kind: "up"; readonly request: UpRequest } | { readonly kind: "cancel" };

/** A message from an engine process. */
export interface EngineResponse {
  readonly kind: "result";
  readonly result: UpResult;
  /** Whether work for this tenant is still in progress there. The process must not serve another tenant then. */
  readonly isUnusable: boolean;
}
