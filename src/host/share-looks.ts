/** One look for all who ask at the same moment. */

/** Answers all calls of one turn of the event loop with one look, made after the last of them. */
export function shareLooks<T>(look: () => T | Promise<T>): () => Promise<T> {
  let next: Promise<T> | null = null;
  return () => {
    next ??= new Promise<void>((resolve) => {
      setImmediate(resolve);
    }).then(() => {
      next = null;
      return look();
    });
    return next;
  };
}
