interface Window {
  count: number;
  readonly endsAtMs: number;
}

/**
 * Counts by name in fixed windows of time, in bounded memory: when there are too many names, the one whose window began
 * first is forgotten.
 */
export class WindowCounter {
  readonly #windowMs: number;
  readonly #maximumNames: number;
  /** In the order in which the windows began. */
  readonly #windows = new Map<string, Window>();

  constructor(windowMs: number, maximumNames: number) {
    this.#windowMs = windowMs;
    this.#maximumNames = maximumNames;
  }

  get size(): number {
    return this.#windows.size;
  }

  /** What was counted under a name in its window. */
  read(name: string, nowMs: number): number {
    const window = this.#windows.get(name);
    return window === undefined || window.endsAtMs <= nowMs ? 0 : window.count;
  }

  /** Milliseconds until the window of a name is over; 0 when it has none. */
  remainingMs(name: string, nowMs: number): number {
    return Math.max(0, (this.#windows.get(name)?.endsAtMs ?? 0) - nowMs);
  }

  add(name: string, nowMs: number): void {
    const window = this.#windows.get(name);
    if (window !== undefined && window.endsAtMs > nowMs) {
      window.count += 1;
      return;
    }
    this.#windows.delete(name);
    this.#windows.set(name, { count: 1, endsAtMs: nowMs + this.#windowMs });
    if (this.#windows.size <= this.#maximumNames) return;
    const [oldest] = this.#windows.keys();
    if (oldest !== undefined) this.#windows.delete(oldest);
  }

  clear(name: string): void {
    this.#windows.delete(name);
  }
}

/** Whom an address stands for: an IPv4 address as it is, of an IPv6 address its first 64 bits, which one host owns whole. */
export function networkOf(address: string): string {
  const plain = address.toLowerCase().replace(/^::ffff:(?=\d+\.)/, '');
  if (!plain.includes(':')) return plain;
  const [head = '', tail] = plain.split('%', 1)[0]?.split('::') ?? [];
  const first = head === '' ? [] : head.split(':');
  const last = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => '0');
  const groups = tail === undefined ? first : [...first, ...zeros, ...last];
  return `${groups.slice(0, 4).join(':')}::/64`;
}
