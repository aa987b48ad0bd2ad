/** The application, or one of its users, that makes a request. Every query is scoped by it. */
export interface Caller {
  readonly applicationId: number;
  /** Undefined in application mode, where all vehicles of the application are visible. */
  readonly userId?: string;
}
