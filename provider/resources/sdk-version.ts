import { version } from "@pulumi/pulumi/package.json";
import { getSdkVersionProblem } from "../model/sdk-requirement";

/*
 * Imported in programs before anything that needs the SDK. npm warns only once about an incompatible version, and later
 * failures don't reveal the cause.
 */

const sdkProblem = getSdkVersionProblem(version);
if (sdkProblem !== undefined) throw new Error(sdkProblem);
