/** Who asks: an application, or one of its users. Every query is scoped by it. */
export interface Caller {
  readonly applicationId: number;
  /** Absent in application mode, where all vehicles of the application are visible. */
  readonly userId?: string;
}
