import { nodeTooOld } from "./node-requirement";

/*
 * Imported first by everything that starts a process of its own: on an older Node.js what comes after fails in ways
 * that tell nobody why.
 */

const nodeProblem = nodeTooOld();
if (nodeProblem !== undefined) throw new Error(nodeProblem);
