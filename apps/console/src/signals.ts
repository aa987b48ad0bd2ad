/** Assigns a signal. An assignment is no expression, so each callback would need a body of its own. */
export function assign<Value>(signal: { value: Value }, value: Value): void {
  signal.value = value;
}
