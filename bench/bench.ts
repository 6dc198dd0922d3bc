/** What a benchmark is: a name, and rows of figures. */

/** Figures by column; each row of a report has the same columns. */
export type BenchRow = Readonly<Record<string, string | number>>;

export interface BenchReport {
  readonly rows: readonly BenchRow[];
  /** What a reader must know to judge the figures. */
  readonly notes: readonly string[];
}

/** Registered in main.ts. */
export interface Bench {
  /** As it is given on the command line. */
  readonly name: string;
  /** What it measures, in one line. */
  readonly about: string;
  run(): Promise<BenchReport>;
}
