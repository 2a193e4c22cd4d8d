import { nodeTooOld } from "../settings/node-requirement";

/*
 * Imported first by the command: a person is told in one line what is missing, before anything is loaded that an older
 * Node.js can't.
 */

const refusal = nodeTooOld();
if (refusal !== undefined) {
  console.error(`error: ${refusal}`);
  process.exit(1);
}
