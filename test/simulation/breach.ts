/** How the simulation says that something which must always hold didn't. */

export class Breach extends Error {
  override readonly name = "Breach";
}
