import type { ClientBase, QueryConfig } from 'pg';

type Query = (config: string | QueryConfig, values?: unknown[], callback?: unknown) => unknown;

/**
 * Lets a connection parse and plan each of its statements only the first times, which for a join of a few tables by
 * their keys is most of what it costs.
 * @param maximum how many statements the connection keeps; those that come later are planned each time
 */
export function prepareStatements(client: ClientBase, maximum: number): void {
  const names = new Map<string, string>();
  const nameOf = (text: string): string | undefined => {
    const known = names.get(text);
    if (known !== undefined || names.size === maximum) return known;
    const name = `statement-${names.size + 1}`;
    names.set(text, name);
    return name;
  };
  const query = client.query.bind(client) as Query;
  const prepared: Query = (config, values, callback) => {
    const name = typeof config === 'string' && Array.isArray(values) && values.length > 0 ? nameOf(config) : undefined;
    return name === undefined
      ? query(config, values, callback)
      : query({ name, text: config as string }, values, callback);
  };
  client.query = prepared as typeof client.query;
}
