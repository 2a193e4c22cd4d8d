import type { ProviderKind } from "../../resources/resource-type";
import type { StackMarker } from "../model/stack-marker";

export interface UpRequest {
  readonly stack: string;
  readonly isExistingStack: boolean;
  /** Whether an engine may have been killed in this stack, so that its state needs a check. */
  readonly shouldCheckPending: boolean;
  readonly resourceName: string;
  readonly provider: ProviderKind;
  /** The settings file, relative to `directory`. */
  readonly settings: string;
  /** A settings file to apply first. It changes nothing at the service. */
  readonly importSettings?: string;
  /** The URNs of the only resources that the run may change. The run then doesn't refresh, so other differences remain. */
  readonly targets?: readonly string[];
  /** The marker of the stack's last rollout, to store in its state. Absent: none. */
  readonly marker?: StackMarker;
  /** The day (UTC) for deciding what has expired. */
  readonly today: string;
  readonly directory: string;
  readonly command: string;
  readonly version: string;
  readonly environment: Readonly<Record<string, string>>;
}

export type UpResult =
  | { readonly ok: true }
  | {
      readonly ok: false;
      /** Whether another Pulumi run holds the stack's lock. */
      readonly isLocked: boolean;
      /** The engine's errors as text without colours, otherwise the end of the CLI's output. */
      readonly message: string;
    };

export type EngineRequest = { readonly kind: "up"; readonly request: UpRequest } | { readonly kind: "cancel" };

export interface EngineResponse {
  readonly kind: "result";
  readonly result: UpResult;
  /** Whether work for this tenant is still in progress there. The process must not serve another tenant then. */
  readonly isUnusable: boolean;
}
