import type * as pulumi from "@pulumi/pulumi";

/**
 * Returns whether a preview knows an output. Pulumi documents no such query; if the SDK can't answer it, each output
 * counts as known.
 */
export async function isOutputKnown(output: pulumi.Output<unknown>): Promise<boolean> {
  const { isKnown: knownPromise } = output as unknown as { readonly isKnown: unknown };
  // An output returns another output for properties that it doesn't have.
  return knownPromise instanceof Promise ? await knownPromise : true;
}
