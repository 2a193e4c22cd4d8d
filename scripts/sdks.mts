/**
 * `npm run sdks`: generates the SDKs of the native plugin, in `sdk/`, from the schema of the built package. What it makes is
 * committed, and a test compares it.
 */
import { generateSdks, SDK_LANGUAGES } from "#scripts/generate-sdks";

await generateSdks("provider/dist/plugin/schema.json", "sdk");
console.log(`Written: ${SDK_LANGUAGES.map((language) => `sdk/${language}`).join(", ")}`);
