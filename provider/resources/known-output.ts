import type * as pulumi from "@pulumi/pulumi";

/** Whether a preview knows an output. Pulumi doesn't document how to ask; an SDK that can't tell counts each as known. */
export async function isOutputKnown(output: pulumi.Output<unknown>): Promise<boolean> {
  const { isKnown: knownPromise } = output as unknown as { readonly isKnown: unknown };
  // Of what an output lacks it makes another output.
  return knownPromise instanceof Promise ? await knownPromise : true;
}
