// undici has types only for the whole package.
declare module "undici/lib/dispatcher/agent.js" {
  export { Agent as default } from "undici";
}
