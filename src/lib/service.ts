/** The shape of everything long-lived. */

/**
 * `start` resolves when the service is ready, `stop` when it has really stopped. Both may be called again, and stop before
 * start is fine. A constructor does no I/O.
 */
export interface Service {
  start(): Promise<void>;
  stop(): Promise<void>;
}
