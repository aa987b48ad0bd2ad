/** Bytes that arrived and are not consumed yet; reads whole ranges however the stream was cut. */
export class ByteQueue {
  private chunks: Buffer[] = [];
  private total = 0;

  /** Bytes waiting. */
  get length(): number {
    return this.total;
  }

  append(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.chunks.push(chunk);
    this.total += chunk.length;
  }

  /** The first `count` bytes without consuming them, or undefined while fewer arrived. */
  peek(count: number): Buffer | undefined {
    if (this.total < count) return undefined;
    const first = this.chunks[0];
    if (first !== undefined && first.length >= count) return first.subarray(0, count);
    return this.gather(count).subarray(0, count);
  }

  /** Consumes and returns the first `count` bytes, or undefined while fewer arrived. */
  take(count: number): Buffer | undefined {
    const taken = this.peek(count);
    if (taken === undefined) return undefined;
    this.total -= count;
    const first = this.chunks[0];
    if (first !== undefined && first.length > count) this.chunks[0] = first.subarray(count);
    else this.chunks.shift();
    return taken;
  }

  private gather(count: number): Buffer {
    const parts: Buffer[] = [];
    let gathered = 0;
    while (gathered < count) {
      const chunk = this.chunks.shift();
      if (chunk === undefined) break;
      parts.push(chunk);
      gathered += chunk.length;
    }
    const joined = Buffer.concat(parts, gathered);
    this.chunks.unshift(joined);
    return joined;
  }
}
